"""ONNX to MindIR: each node by the entry of its operator, all that can't be converted told at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from mswb import __version__
from mswb.convert import ops
from mswb.convert.blocked import Blocked, grouped
from mswb.convert.facts import plain
from mswb.convert.fold import evaluate
from mswb.convert.graph import NUMBERS, Array, Builder, Shape, Value
from mswb.convert.mindir import schema
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.model import OnnxModel, Prepare, dtype_name, load, type_of
from mswb.convert.onnx.node import RANDOM, OnnxNode, Refused
from mswb.convert.wire import InFile
from mswb.findings import Finding

_MODEL_VERSION = "2.10.0"


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for.

    Attributes:
        frozen: inputs whose content is fixed, by name.
    """

    frozen: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Converted:
    """A conversion's result.

    Attributes:
        model: the MindIR model; None when something is blocked.
        node_map: MindIR name of each ONNX tensor.
        findings: what blocks it, or what should be known of it.
    """

    source: OnnxModel
    model: schema.Model | None
    node_map: Mapping[str, str]
    findings: tuple[Finding, ...]


def convert(path: str, options: Options = Options(), prepare: Prepare | None = None) -> Converted:
    """Convert an ONNX file; nothing is written.

    Args:
        prepare: changes the model that was read, before its functions are inlined.

    Raises:
        MswbError: the file can't be read; see :func:`mswb.convert.onnx.model.load`.
    """
    return convert_model(load(path, kept(), prepare), options)


def kept() -> list[tuple[str, str]]:
    """Domain and name of the operators that have an entry, which loading a model leaves as they are."""
    return [(name.rpartition(".")[0], name.rpartition(".")[2]) for name in ops.table()]


def save(done: Converted, path: str) -> int:
    """Write the model of a conversion and return its bytes."""
    if done.model is None:
        raise ValueError("a conversion that is blocked has no model")
    return write(done.model, path)


def convert_model(source: OnnxModel, options: Options = Options()) -> Converted:
    """Convert a model that is loaded."""
    lowering = Lowering(source, options)
    graph = lowering.entry()
    if lowering.blocked:
        known = {*ops.table(), *(one.name for one in onnx.defs.get_all_schemas())}
        return Converted(source, None, {}, tuple(grouped(source.path, lowering.blocked, known)))
    names = {name: value.name for name, value in lowering.values.items()}
    shared = lowering.builder.shared
    entry = replace(graph, parameter=tuple(shared.parameters))
    model = schema.Model(
        ir_version="1.1",
        producer_name="MindSpore",
        producer_version=_MODEL_VERSION,
        model_version=_MODEL_VERSION,
        little_endian=1,
        mind_ir_version=schema.NEWEST,
        graph=entry,
        functions=tuple(shared.functions),
        primitives=tuple(shared.primitives.values()),
        user_info=tuple(schema.Entry(key=key, value=text) for key, text in _provenance(source, names)),
    )
    return Converted(source, model, names, tuple(lowering.notes))


def _provenance(source: OnnxModel, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "mswb.version", __version__
    yield "mswb.source", os.path.basename(source.path)
    yield "mswb.opset", str(source.opset)
    wanted = {name: names[name] for node in source.proto.graph.node for name in node.output if name in names}
    yield "mswb.node_map", json.dumps(wanted, separators=(",", ":"))


class Lowering:
    """One conversion under way."""

    def __init__(self, source: OnnxModel, options: Options) -> None:
        self.source = source
        self.options = options
        self.builder = Builder(source.proto.graph.name or "main_graph")
        self.values: dict[str, Value] = {}
        """The value of each ONNX tensor by name, those of enclosing graphs included."""
        self.lists: dict[str, tuple[Value, ...]] = {}
        """The members of each sequence, by the name of its value; MindSpore itself has none."""
        self.blocked: list[Blocked] = []
        self.notes: list[Finding] = []
        self._guesses: set[str] = set()
        """The results of nodes that are blocked."""
        self._versions = {one.domain or "": one.version for one in source.proto.opset_import}
        self._table = ops.table()

    def entry(self) -> schema.Graph:
        """The entry graph."""
        proto = self.source.proto.graph
        self.constants(proto, self.builder)
        for value in proto.input:
            self._input(value)
        self.nodes(proto, self.builder, self.source.types)
        outputs = [self.values.get(value.name) for value in proto.output]
        return self.builder.finish([self._own(value) for value in outputs if value is not None])

    def _own(self, value: Value) -> Value:
        """A result as the output of a graph: a constant or a weight has no node that gives it."""
        made = {name for node in self.builder.nodes if node.op_type != "Constant" for name in node.output}
        return (
            value if value.name in made else self.builder.op("Depend", value, 0, dtype=value.dtype, shape=value.shape)
        )

    def constants(self, proto: GraphProto, builder: Builder) -> None:
        """The initializers of a graph, as values of ``builder``."""
        for tensor in proto.initializer:
            array = onnx.numpy_helper.to_array(tensor)
            self.values[tensor.name] = _weight(builder, tensor, array)
        for weight in self.source.weights.values() if proto is self.source.proto.graph else ():
            self.values[weight.name] = self.builder.parameter(
                weight.name, weight.dtype, weight.dims, InFile(weight.span.start, weight.span.end, weight.path)
            )

    def _input(self, value: Any) -> None:
        if value.name in self.values:
            return
        dtype, shape = _given_type(value)
        if value.name in self.options.frozen:
            self.values[value.name] = self.builder.constant(self.options.frozen[value.name].astype(dtype))
        elif dtype not in NUMBERS or dtype == "string":
            self.block("unsupported-dtype", value.name, "(input)", dtype or "a sequence or map", "")
            self.values[value.name] = Value(value.name, dtype, shape)
        else:
            self.values[value.name] = self.builder.input(value.name, dtype, shape)

    # -- nodes

    def nodes(self, proto: GraphProto, builder: Builder, types: Mapping[str, tuple[str, Shape | None]]) -> None:
        """Convert the nodes of a graph into ``builder``; their results go to ``values``."""
        for node in proto.node:
            if all(name in self.values for name in node.input if name):
                self._node(node, builder, types)

    def _node(self, proto: NodeProto, builder: Builder, types: Mapping[str, tuple[str, Shape | None]]) -> None:
        try:
            node = self._read(proto, types)
        except (KeyError, TypeError, ValueError):  # a tensor in an attribute has a data type that there is not
            self.block("unsupported-form", plain(proto.name), plain(proto.op_type), "an attribute can't be read")
            self.values |= {name: Value(name) for name in proto.output}
            self._guesses.update(proto.output)
            return
        builder.scope = plain(proto.name or proto.op_type)
        folded = self._folded(proto, node)
        if folded is not None:
            self._keep(node, [builder.constant(array) for array in folded])
            return
        name = f"{node.domain}.{node.op}" if node.domain not in ("", "ai.onnx") else node.op
        lower = self._table.get(name)
        if lower is None:
            self.block("unsupported-op", node.name, name, "", "")
            self._unknown(node)
            return
        guessed = any(name in self._guesses and not self.values[name].dtype for name in proto.input if name)
        try:
            made = lower(node, builder, self) if getattr(lower, "needs_lowering", False) else lower(node, builder)
            self._keep(node, [made] if isinstance(made, Value) else list(made))
            self._guesses.update(node.outputs if guessed else ())
        except Refused as refused:
            if not guessed:
                self.block("unsupported-form", node.name, name, refused.reason, refused.nearest, refused.freeze)
            self._unknown(node)
        except Exception as problem:  # an entry counts on what ONNX promises of its operator; a damaged model breaks it
            if not guessed:
                reason = f"it is not as ONNX defines it ({type(problem).__name__}: {plain(str(problem))[:200]})"
                self.block("unsupported-form", node.name, name, reason)
            self._unknown(node)

    def _read(self, proto: NodeProto, types: Mapping[str, tuple[str, Shape | None]]) -> OnnxNode:
        return OnnxNode(
            proto.op_type,
            proto.domain,
            plain(proto.name or proto.op_type),
            self._versions.get(proto.domain if proto.domain != "ai.onnx" else "", self.source.opset),
            tuple(self.values[name] if name else None for name in proto.input),
            tuple(proto.output),
            {one.name: _attribute(one) for one in proto.attribute},
            tuple(types.get(name, ("", None)) for name in proto.output),
        )

    def _keep(self, node: OnnxNode, made: Sequence[Value | None]) -> None:
        for name, (dtype, shape), value in zip(node.outputs, node.results, made, strict=False):
            if name and value is not None:
                known = shape if value.shape is None else _both(value.shape, shape)
                self.values[name] = replace(value, dtype=value.dtype or dtype, shape=known)

    def _unknown(self, node: OnnxNode) -> None:
        """Go on behind a node that is blocked, so that all of them are found."""
        for name, (dtype, shape) in zip(node.outputs, node.results, strict=True):
            self.values[name] = Value(name, dtype, shape)
            self._guesses.add(name)

    def _folded(self, proto: NodeProto, node: OnnxNode) -> list[Array] | None:
        """The results of a node that depends on constants alone (of a Constant, and of the shape of a fixed tensor)."""
        if proto.op_type in ("Shape", "Size") and node.domain in ("", "ai.onnx"):
            fixed = node.input(0).fixed
            if fixed is None:
                return None
            if proto.op_type == "Size":
                return [np.array(np.prod(fixed, dtype=np.int64))]
            return [np.array(fixed[node.get("start", 0) : node.get("end")], np.int64)]
        known = [value is None or value.array is not None for value in node.inputs]
        graphs = any(isinstance(value, GraphProto) for value in node.attributes.values())
        if not all(known) or graphs or proto.op_type in RANDOM or (not node.inputs and proto.op_type != "Constant"):
            return None
        if node.version < _EVALUATED_FROM.get(proto.op_type, 0) or (
            node.op == "LpNormalization" and node.get("p") == 1
        ):
            return None
        return evaluate(proto, [value.array if value is not None else None for value in node.inputs], node.version)

    def block(self, code: str, node: str, op: str, reason: str = "", nearest: str = "", freeze: str = "") -> None:
        """Note what can't be converted."""
        self.blocked.append(Blocked(code, node, op, reason, nearest, freeze))


def _given_type(value: Any) -> tuple[str, Shape | None]:
    """Data type and shape of an input; an optional tensor is one that is given."""
    if value.type.HasField("optional_type") and value.type.optional_type.elem_type.HasField("tensor_type"):
        inner = onnx.ValueInfoProto(name=value.name, type=value.type.optional_type.elem_type)
        return type_of(inner)
    return type_of(value) if value.type.HasField("tensor_type") else ("", None)


def _weight(builder: Builder, tensor: TensorProto, array: Array) -> Value:
    if dtype_name(tensor.data_type) not in NUMBERS:
        return Value(tensor.name, dtype_name(tensor.data_type), tuple(tensor.dims), array)
    return replace(builder.constant(array), array=array)


_EVALUATED_FROM = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13}
"""Before this opset the reference evaluator gives these operators their later meaning (and never takes absolute values
for LpNormalization with p = 1)."""


def _both(one: Shape, other: Shape | None) -> Shape:
    if other is None or len(one) != len(other):
        return one
    return tuple(first if first is not None else second for first, second in zip(one, other, strict=True))


def _attribute(proto: AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    return value
