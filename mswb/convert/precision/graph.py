"""An ONNX graph written anew, each node in float32 or float16."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from mswb.convert.onnx.check import free_names
from mswb.convert.onnx.weights import Stored, Weights, converted, placeholder
from mswb.convert.to_onnx import NODE_MAP

SINGLE, HALF = int(TensorProto.FLOAT), int(TensorProto.FLOAT16)
FRACTIONS = frozenset({SINGLE, HALF, int(TensorProto.BFLOAT16)})
_NAMES = {SINGLE: "float32", HALF: "float16", int(TensorProto.BFLOAT16): "bfloat16"}
_TYPED = frozenset({"to", "dtype", "output_datatype"})
"""Attributes that hold the data type of a result."""


def has_graphs(node: NodeProto) -> bool:
    """Whether a node holds graphs."""
    return any(one.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for one in node.attribute)


class Formals:
    """Which data types the inputs and outputs of operators may have, by ONNX's own definitions."""

    def __init__(self, proto: ModelProto) -> None:
        self._versions = {"" if one.domain == "ai.onnx" else one.domain: one.version for one in proto.opset_import}
        self._schemas: dict[tuple[str, str], Any] = {}

    def allows(self, node: NodeProto, at: int, dtype: int, *, output: bool = False) -> bool:
        """Whether an input (or output) of a node may be of a data type."""
        schema = self._schema(node)
        formals = () if schema is None else schema.outputs if output else schema.inputs
        if not formals:
            return dtype == SINGLE
        wanted = {HALF: "tensor(float16)", SINGLE: "tensor(float)"}[dtype]
        return wanted in formals[min(at, len(formals) - 1)].types

    def twin(self, node: NodeProto, at: int) -> int | None:
        """The input whose data type an output has."""
        schema = self._schema(node)
        if schema is None or not schema.outputs:
            return None
        wanted = schema.outputs[min(at, len(schema.outputs) - 1)].type_str
        return next((number for number, one in enumerate(schema.inputs) if one.type_str == wanted), None)

    def _schema(self, node: NodeProto) -> Any:
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (domain, node.op_type)
        if key not in self._schemas:
            try:
                found = onnx.defs.get_schema(node.op_type, self._versions.get(domain, 1), domain)
            except onnx.defs.SchemaError:
                found = None
            self._schemas[key] = found
        return self._schemas[key]


class Rewriter:
    """One rewriting.

    Args:
        types: the data type of each tensor.
        weights: constants beside the model.
        halves: the nodes that compute in float16, by place; all others compute in float32.
        limited: constants that are limited to the range of float16.
    """

    def __init__(
        self, proto: ModelProto, types: Mapping[str, int], formals: Formals, weights: Weights, *,
        halves: set[int], limited: set[str],
    ) -> None:  # fmt: skip
        self.weights: dict[str, Stored] = dict(weights)
        self._proto, self._types, self._formals = proto, types, formals
        self._halves, self._limited = halves, limited
        self._taken = {*types, *(name for node in proto.graph.node for name in (node.name, *node.input, *node.output))}
        self._same: dict[str, str] = {}
        """The tensor that a Cast which is left out would have cast."""
        self._now: dict[str, int] = {}
        """The data type of each tensor as it will be."""
        self._native: dict[str, str] = {}
        """Another name for what is computed in another data type than the output of its name."""
        self._casts: dict[tuple[str, int], str] = {}
        self._nodes: list[NodeProto] = []
        self._written: set[str] = set()

    def model(self) -> ModelProto:
        """The model in its new precision."""
        old = self._proto.graph
        self._plan(old)
        for at, node in enumerate(old.node):
            self._node(at, node)
        for value in old.output:
            self._output(value)
        graph = _shell(old)
        graph.node.extend(self._nodes)
        read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
        read |= {name for node in graph.node if has_graphs(node) for name in _captured(node)}
        graph.initializer.extend(self._initializers(old, read))
        model = ModelProto()
        model.CopyFrom(_without_graph(self._proto))
        model.graph.CopyFrom(graph)
        _map_names(model, self._same, {name for node in graph.node for name in node.output})
        return model

    # -- what each tensor will be

    def _plan(self, graph: GraphProto) -> None:
        constants = {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._now = {value.name: self._types.get(value.name, 0) for value in graph.input}
        for at, node in enumerate(graph.node):
            if self._is_dropped(node):
                self._same[node.output[0]] = self._source(node.input[0])
            for number, name in enumerate(node.output):
                self._now[name] = self._made(at, node, number, name)
        wanted: dict[str, set[int]] = {}
        for at, node in enumerate(graph.node):
            for name, dtype in self._reads(at, node) if not self._is_dropped(node) else ():
                wanted.setdefault(self._source(name), set()).add(dtype)
        for value in graph.output:
            if self._is_fraction(value.name):
                wanted.setdefault(self._source(value.name), set()).add(value.type.tensor_type.elem_type)
        for name, dtype in constants.items():
            self._now[name] = _held(dtype, wanted.get(name, set())) if dtype in FRACTIONS else dtype
        for value in graph.output:
            dtype = value.type.tensor_type.elem_type
            source = self._source(value.name)
            if self._is_fraction(value.name) and self._now[source] != dtype:
                if source == value.name:
                    self._native[source] = self._free(f"{source}/{_NAMES[self._now[source]]}")
                self._casts.setdefault((source, dtype), value.name)

    def _made(self, at: int, node: NodeProto, number: int, name: str) -> int:
        """The data type of a result."""
        known = self._types.get(name, 0)
        if known not in FRACTIONS:
            return known
        wanted = self._precision(at)
        return wanted if self._formals.allows(node, number, wanted, output=True) or has_graphs(node) else SINGLE

    def _precision(self, at: int) -> int:
        return HALF if at in self._halves else SINGLE

    def _reads(self, at: int, node: NodeProto) -> Iterator[tuple[str, int]]:
        """The fractions that a node reads, each with the data type that it wants."""
        for number, name in enumerate(node.input):
            if self._is_fraction(name):
                yield name, self._wanted(at, node, number, name)
        if has_graphs(node):
            yield from ((name, SINGLE) for name in _captured(node) if self._is_fraction(name))

    def _wanted(self, at: int, node: NodeProto, number: int, name: str) -> int:
        """The data type in which a node reads an input."""
        if node.op_type in ("Cast", "CastLike") and number == 0:
            return self._now.get(self._source(name), self._types[name])  # it takes any
        wanted = self._precision(at)
        return wanted if self._formals.allows(node, number, wanted) or has_graphs(node) else SINGLE

    def _is_dropped(self, node: NodeProto) -> bool:
        """Whether a node only casts between fractions."""
        return node.op_type in ("Cast", "CastLike") and all(map(self._is_fraction, (node.input[0], node.output[0])))

    def _is_fraction(self, name: str) -> bool:
        return self._types.get(name) in FRACTIONS

    def _source(self, name: str) -> str:
        return self._same.get(name, name)

    # -- nodes

    def _node(self, at: int, node: NodeProto) -> None:
        if self._is_dropped(node):
            return
        new = NodeProto()
        new.CopyFrom(node)
        new.input[:] = [
            self._as(name, self._wanted(at, node, number, name)) if self._is_fraction(name) else name
            for number, name in enumerate(node.input)
        ]
        new.output[:] = [self._native.get(name, name) for name in node.output]
        captured = {name: self._as(name, SINGLE) for name in _captured(node) if self._is_fraction(name)}
        retype(new, self._precision(at), limited=not self._limited.isdisjoint(node.output))
        for graph in graphs_of(new):
            _single(graph, captured)
        self._add(new)

    def _add(self, node: NodeProto) -> None:
        self._nodes.append(node)
        self._written.update(node.output)

    def _label(self, op: str, given: str, name: str, **attributes: Any) -> None:
        """Add a node that gives a tensor another name or data type."""
        self._add(helper.make_node(op, [given], [name], name=self._free(f"{name}/{op}"), **attributes))

    def _as(self, name: str, dtype: int) -> str:
        """A tensor in a data type, by a Cast that all who want it share."""
        source = self._source(name)
        if self._now.get(source) == dtype:
            return self._native.get(source, source)
        key = (source, dtype)
        pending = self._casts.get(key)
        if pending is None:
            pending = self._casts[key] = self._free(f"{source}/{_NAMES[dtype]}")
        if pending not in self._written:
            self._label("Cast", self._native.get(source, source), pending, to=dtype)
        return pending

    def _free(self, base: str) -> str:
        """A name like this one that nothing has yet."""
        found, number = base, 1
        while found in self._taken:
            found, number = f"{base}_{number}", number + 1
        self._taken.add(found)
        return found

    def _output(self, value: ValueInfoProto) -> None:
        """Give an output its name and data type, where no node does."""
        name, dtype = value.name, value.type.tensor_type.elem_type
        if name in self._written or not (name in self._same or name in self._native):
            return
        held = self._as(name, dtype)
        if held != name:
            self._label("Identity", held, name)

    # -- constants

    def _initializers(self, graph: GraphProto, read: set[str]) -> Iterator[TensorProto]:
        for tensor in graph.initializer:
            if tensor.name not in read:
                self.weights.pop(tensor.name, None)
                continue
            dtype = self._now[tensor.name]
            limited = tensor.name in self._limited
            stored = self.weights.get(tensor.name)
            if dtype not in _NAMES:
                yield tensor
            elif stored is not None:
                self.weights[tensor.name] = Stored(stored.array, _NAMES[dtype], limited)
                yield placeholder(tensor.name, self.weights[tensor.name])
            else:
                yield _tensor(tensor, dtype, limited=limited)


def _held(own: int, wanted: set[int]) -> int:
    """The data type in which a constant is written: what all want; else its own, which loses nothing."""
    if len(wanted) == 1:
        return next(iter(wanted))
    return HALF if own == HALF else SINGLE


def _tensor(tensor: TensorProto, dtype: int, *, limited: bool = False) -> TensorProto:
    if tensor.data_type == dtype or tensor.data_type not in FRACTIONS:
        return tensor
    return numpy_helper.from_array(
        converted(numpy_helper.to_array(tensor), _NAMES[dtype], limited=limited), tensor.name
    )


def retype(node: NodeProto, dtype: int, *, limited: bool = False) -> None:
    """Make the data types of fractions that a node's attributes tell another one, in place."""
    for one in node.attribute:
        if one.type == AttributeProto.INT and one.name in _TYPED and one.i in FRACTIONS:
            one.i = dtype
        elif one.type == AttributeProto.TENSOR and one.t.data_type in FRACTIONS:
            one.t.CopyFrom(_tensor(one.t, dtype, limited=limited))


# -- graphs inside of nodes


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs that a node holds."""
    for one in node.attribute:
        if one.type == AttributeProto.GRAPH:
            yield one.g
        yield from one.graphs


def _captured(node: NodeProto) -> list[str]:
    """What the graphs of a node read from around it."""
    return list(dict.fromkeys(name for graph in graphs_of(node) for name in free_names(graph)))


def _single(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Make a graph float32 throughout, in place; ``names`` are those of what it reads from around it."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    seen = {name: new for name, new in names.items() if name not in own}
    for node in graph.node:
        node.input[:] = [seen.get(name, name) for name in node.input]
        retype(node, SINGLE)
        for inner in graphs_of(node):
            _single(inner, seen)
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = seen.get(value.name, value.name)
        if value.type.tensor_type.elem_type in FRACTIONS:
            value.type.tensor_type.elem_type = SINGLE
    tensors = [_tensor(tensor, SINGLE) for tensor in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(tensors)


# -- the rest of a model


def _shell(graph: GraphProto) -> GraphProto:
    """Name, inputs and outputs."""
    return helper.make_graph([], graph.name, list(graph.input), list(graph.output), doc_string=graph.doc_string)


def _without_graph(proto: ModelProto) -> ModelProto:
    bare = ModelProto()
    for kind, content in proto.ListFields():
        if kind.name == "graph":
            continue
        if isinstance(content, (int, str)):
            setattr(bare, kind.name, content)
        else:
            getattr(bare, kind.name).extend(content)
    return bare


def _map_names(model: ModelProto, same: Mapping[str, str], made: set[str]) -> None:
    """Correct the note of which result is which."""
    for one in model.metadata_props:
        if one.key == NODE_MAP:
            told = {theirs: same.get(name, name) for theirs, name in json.loads(one.value).items()}
            kept = {theirs: name for theirs, name in told.items() if name in made}
            one.value = json.dumps(kept, separators=(",", ":"))
