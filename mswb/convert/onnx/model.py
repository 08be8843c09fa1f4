"""An ONNX model as a conversion needs it: checked, its functions inlined, the types of its tensors inferred, its large
weights left in the file.

The protobuf that the onnx package sees holds no large weight: each is an input of the graph there, with its type, so
neither the checker nor the shape inference ever has them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto

from mswb.convert import sniff, wire
from mswb.convert.facts import plain
from mswb.convert.graph import Array, Shape
from mswb.convert.mindir.reader import as_error, refuse_others
from mswb.convert.onnx.inference import infer
from mswb.convert.wire import Damage, Source, Span
from mswb.findings import MswbError, Where, stop

LARGE = 4096
"""Bytes from which a weight stays in the file."""
_MODEL_GRAPH, _GRAPH_INITIALIZER, _GRAPH_INPUT = 7, 5, 11
"""Numbers of fields in onnx.proto."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A large initializer: where its bytes lie.

    Attributes:
        path: the file; ``span`` its bytes there, little endian.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    path: str
    span: Span

    def read(self) -> Array:
        """Its content, mapped from the file."""
        dtype = np.dtype(self.dtype)
        count = len(self.span) // dtype.itemsize
        mapped = np.memmap(self.path, dtype, "r", self.span.start, (count,)) if count else np.empty(0, dtype)
        return mapped.reshape(self.dims)


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A checked model.

    Attributes:
        proto: the model without its large weights; its functions are inlined and its nodes sorted.
        opset: the version of ai.onnx in the file; ``proto`` is of opset 7 at least.
        types: data type and shape of every tensor that is known, by name.
    """

    path: str
    proto: ModelProto
    weights: Mapping[str, Weight]
    opset: int
    types: Mapping[str, tuple[str, Shape | None]] = field(default_factory=dict)


Prepare = Callable[[ModelProto, Collection[str]], None]
"""Changes a model in place; given the names of the inputs that stand for large weights."""


def load(path: str, keep: Iterable[tuple[str, str]] = (), prepare: Prepare | None = None) -> OnnxModel:
    """Read and check an ONNX model.

    Args:
        keep: the operators (domain, name) that a converter exists for; all others that ONNX defines by simpler ones
            are replaced by these.
        prepare: called with the checked model before anything is replaced.

    Raises:
        MswbError: ``not-a-model``, ``truncated``, ``opset-missing``, ``opset-too-new``, ``graph-cycle``,
            ``duplicate-tensor``, ``external-data-missing``, ``external-data-escape``, ``onnx-invalid`` or
            ``model-shape-mismatch``.
    """
    from mswb.convert.onnx import check as onnx_check
    from mswb.convert.onnx import shapes as onnx_shapes

    with wire.open_source(path) as source:
        refuse_others(source, "onnx")
        try:
            data, weights = _without_weights(source)
            proto = onnx.load_model_from_string(data)
        except Damage as damage:
            raise as_error(path, damage, sniff.KINDS["onnx"]) from None
        except Exception as problem:  # protobuf's own error has no public base
            raise stop("not-a-model", where=Where(file=path), values={"reason": str(problem)}) from None
    if not _is_text(proto):
        raise stop("not-a-model", where=Where(file=path), values={"reason": "a name in it is not UTF-8"})
    _use_short_domain(proto)
    onnx_check.versions(path, proto)
    proto = onnx_check.sorted_nodes(path, proto)
    onnx_check.check(path, proto)
    original = onnx_opset(proto)
    proto = onnx_check.raised(path, proto)
    if prepare is not None:
        prepare(proto, weights.keys())
    proto = _inlined(proto, set(keep))
    proto = _inferred(proto)
    model = OnnxModel(path, proto, weights, original, dict(types_of(proto)))
    onnx_shapes.check(model)
    return model


def changed(model: OnnxModel, proto: ModelProto, weights: Mapping[str, Weight]) -> OnnxModel:
    """A model with another graph and other weights; each of these is an input of the graph, as ever."""
    inferred = _inferred(proto)
    return replace(model, proto=inferred, weights=weights, types=dict(types_of(inferred)))


def _is_text(message: Any) -> bool:
    """Whether all names in a message are text; the protobuf package gives bytes for those that are not."""
    for kind, content in message.ListFields():
        if kind.type == kind.TYPE_STRING:
            if not all(isinstance(one, str) for one in ([content] if isinstance(content, (str, bytes)) else content)):
                return False
        elif kind.type == kind.TYPE_MESSAGE and not all(map(_is_text, _several(content))):
            return False
    return True


def _several(content: Any) -> Iterable[Any]:
    return (content,) if hasattr(content, "ListFields") else content


def onnx_opset(proto: ModelProto) -> int:
    """The version of ONNX's own operators."""
    return next(int(one.version) for one in proto.opset_import if not one.domain)


def _use_short_domain(proto: ModelProto) -> None:
    """ONNX's own domain by its usual name, "": the onnx package knows no operator of "ai.onnx"."""
    graphs = (proto.graph.node, *(function.node for function in proto.functions))
    nodes = (node for graph in graphs for node in every_node(graph))
    imports = (one for owner in (proto, *proto.functions) for one in owner.opset_import)
    for one in (*nodes, *imports):
        if one.domain == "ai.onnx":
            one.domain = ""


def _without_weights(source: Source) -> tuple[bytes, dict[str, Weight]]:
    """The file's bytes with every large initializer of the main graph made an input; and these initializers."""
    out, weights = bytearray(), dict[str, Weight]()
    for top in wire.fields(source, Span(0, source.size)):
        if top.number != _MODEL_GRAPH or top.wire != 2:
            out += source.at(top.at, top.end - top.at)
            continue
        graph, declared = bytearray(), set[str]()
        for one in wire.fields(source, Span(top.start, top.end)):
            weight = _weight(source, one) if one.number == _GRAPH_INITIALIZER else None
            if weight is not None:
                if weight.name in weights:
                    raise twice(source.path, weight.name, "weight")
                weights[weight.name] = weight
                continue
            graph += source.at(one.at, one.end - one.at)
            if one.number == _GRAPH_INPUT:
                declared.add(onnx.ValueInfoProto.FromString(source.at(one.start, one.end - one.start)).name)
        # before IR version 4, each initializer stands among the inputs, too
        graph += b"".join(_field(_GRAPH_INPUT, _as_input(one)) for one in weights.values() if one.name not in declared)
        out += _field(_MODEL_GRAPH, bytes(graph))
    return bytes(out), weights


def twice(path: str, name: str, kind: str) -> MswbError:
    """The error for a name that two things have."""
    values = {"name": plain(name), "count": 2, "kind": kind}
    return stop("duplicate-tensor", where=Where(node=plain(name), file=path), values=values)


def _field(number: int, payload: bytes) -> bytes:
    from mswb.convert.mindir.writer import varint

    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _as_input(weight: Weight) -> bytes:
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(weight.dtype))
    return bytes(onnx.helper.make_tensor_value_info(weight.name, number, weight.dims).SerializeToString())


def _weight(source: Source, at: wire.Field) -> Weight | None:
    """The initializer in this field, if it is a large one whose bytes lie raw in a file."""
    from mswb.convert.onnx import external
    from mswb.convert.onnx.reader import TABLE, Record

    tensor = wire.decode(source, Span(at.start, at.end), "Tensor", TABLE, dict.fromkeys(TABLE, Record))
    number = int(tensor.data_type or 0)
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, TypeError):
        return None
    dims = tuple(int(size) for size in tensor.dims)
    if not tensor.name or dtype.kind not in "biuf" or min(dims, default=0) < 0:
        return None
    wanted = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
    if tensor.external_data:
        path, start = external.place(source.path, tensor, wanted)
        return Weight(tensor.name, dtype.name, dims, path, Span(start, start + wanted))
    if isinstance(tensor.raw_data, Span) and len(tensor.raw_data) == wanted > LARGE:
        return Weight(tensor.name, dtype.name, dims, source.path, tensor.raw_data)
    return None


def _inlined(proto: ModelProto, keep: set[tuple[str, str]]) -> ModelProto:
    """Calls of the model's own functions, and of operators that ONNX defines by others, replaced by their bodies."""
    from onnx.inliner import inline_local_functions, inline_selected_functions

    if proto.functions:
        proto = inline_local_functions(proto)
    used = {(node.domain, node.op_type) for node in every_node(proto.graph.node)}
    wanted = [one for one in used if one not in keep and one[0] in ("", "ai.onnx", "ai.onnx.preview.training")]
    if not wanted:
        return proto
    try:
        return inline_selected_functions(_inferred(proto), wanted, inline_schema_functions=True)
    except Exception:  # the inliner wants types that are not always known; what is left is refused by name
        return proto


def every_node(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes, and those of the graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                yield from every_node(graph.node)


def _inferred(proto: ModelProto) -> ModelProto:
    try:
        return infer(proto)
    except Exception:  # what is not known stays unknown; the checker has spoken already
        return proto


def types_of(proto: ModelProto) -> Iterator[tuple[str, tuple[str, Shape | None]]]:
    """Name, data type and shape of the tensors that the graph tells of."""
    graph = proto.graph
    for value in (*graph.value_info, *graph.input, *graph.output):
        if value.type.HasField("tensor_type"):
            yield value.name, type_of(value)
    for tensor in graph.initializer:
        yield tensor.name, (dtype_name(tensor.data_type), tuple(tensor.dims))


def type_of(value: Any) -> tuple[str, Shape | None]:
    """Data type and shape of a value's declaration."""
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in tensor.shape.dim
        )
    return dtype_name(tensor.elem_type), shape


def dtype_name(number: int) -> str:
    """A data type as numpy spells it; "" for none."""
    if number == TensorProto.BFLOAT16:
        return "bfloat16"
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name
    except (KeyError, TypeError):
        return ""
