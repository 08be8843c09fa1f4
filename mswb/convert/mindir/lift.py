"""Operators of a MindIR graph lifted from half precision to float32, by as few casts as that takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from mswb.convert.mindir.schema import FUNCTION, REF, Attribute, Graph, Model, Node, Primitive, Value

FLOAT32, INT = 1, 7
"""TensorProto.DataType of float32; the type of an attribute that is an integer."""
FLOAT32_ID = 43
"""What float32 is called where it is an input of Cast."""
IDS: Mapping[str, int] = {"float16": 42, "bfloat16": 45}
_TUPLES = frozenset({"MakeList", "MakeTuple", "make_list"})
_ITEMS = frozenset({"TupleGetItem", "tuple_getitem"})
_THROUGH = frozenset({"Depend", "Load"})
_HALF = {10: "float16", 16: "bfloat16"}


@dataclass(frozen=True, slots=True)
class Lifted:
    """A model with operators in float32: the casts that were put in, and those that turned into nothing."""

    model: Model
    casts: int
    removed: int
    outputs: tuple[str, ...]
    """The outputs of the graph that are float32 now."""


def lift(model: Model, names: Collection[str], dtypes: Mapping[str, str]) -> Lifted:
    """The model with the operators that give these results in float32.

    Args:
        names: results of the entry graph.
        dtypes: the data type of each result that is a tensor, by name.
    """
    graph = model.graph
    assert graph is not None
    work = _Lift(model, graph, dict(dtypes))
    work.choose(names)
    return work.done()


@dataclass(slots=True)
class _Lift:
    model: Model
    graph: Graph
    dtypes: dict[str, str]
    made: dict[str, Node] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    casts: int = 0
    removed: int = 0
    _known: dict[str, str] = field(default_factory=dict)

    def choose(self, names: Collection[str]) -> None:
        """Note the nodes that are lifted; with an item of a tuple goes the operator that gives it, and its
        others; what is only handed on is lifted with it."""
        self.types = {f"{REF}{one.name}": one.op_type or "" for one in self.model.primitives}
        self.made = {name: node for node in self.graph.node for name in node.output}
        declared = [(one.name, one) for one in self.graph.parameter]
        declared += [(value.name, value.tensor[0]) for value in self.graph.input if value.tensor]
        self.dtypes |= {name or "": _HALF[one.data_type or 0] for name, one in declared if one.data_type in _HALF}
        for name in names:
            node = self.made.get(name)
            while node is not None and self._op(node) in _ITEMS and node.input:
                node = self.made.get(node.input[0])
            if node is not None:
                self.chosen.update(node.output)
        for node in self.graph.node:
            if self._op(node) in _ITEMS | _THROUGH and node.input and node.input[0] in self.chosen:
                self.chosen.update(node.output)

    def done(self) -> Lifted:
        """The model."""
        for node in self.graph.node:
            self.nodes.append(self._lifted(node) if self._is_lifted(node) else self._kept(node))
        half = {name for name in self.chosen if self._half(name)}
        outputs = tuple(_typed(value) if value.name in half else value for value in self.graph.output)
        primitives = self.model.primitives
        if self.casts:
            primitives = (*primitives, Primitive(name=_CAST, op_type="Cast", instance_name="Cast", prim_type=FUNCTION))
        graph = replace(self.graph, node=tuple(self.nodes), output=outputs, at=None)
        changed = tuple(value.name or "" for value in self.graph.output if value.name in half)
        model = replace(self.model, graph=graph, primitives=primitives, at=None)
        return Lifted(model, self.casts, self.removed, changed)

    def _op(self, node: Node) -> str:
        kind = node.op_type or ""
        return self.types.get(kind, "") if kind.startswith(REF) else kind

    def _is_lifted(self, node: Node) -> bool:
        return any(name in self.chosen for name in node.output)

    def _half(self, name: str) -> str:
        """The half-precision type of a value; "" when it has another, or is none."""
        if name in self.dtypes:
            return self.dtypes[name] if self.dtypes[name] in IDS else ""
        node = self.made.get(name)
        if node is None:
            return ""
        if node.op_type == "Constant":
            tensors = [tensor for attribute in node.attribute for tensor in attribute.tensors]
            return _HALF.get(tensors[0].data_type or 0, "") if len(tensors) == 1 else ""
        return self._half(node.input[0]) if self._op(node) in _THROUGH and node.input else ""

    def _lifted(self, node: Node) -> Node:
        op = self._op(node)
        if op in _ITEMS | _THROUGH:
            return replace(_bare(node), at=None)
        inputs = [self._full(name) for name in node.input]
        if op == "Cast" and len(inputs) > 1 and self._half(node.output[0]):
            inputs[1] = self._number(FLOAT32_ID)
            self.removed += 1
        return replace(_bare(node), input=tuple(inputs), at=None)

    def _kept(self, node: Node) -> Node:
        if self._op(node) == "Cast":  # from float32 as well as from half precision, and nothing is lost in between
            return node
        inputs = tuple(self._narrow(name) for name in node.input)
        return node if inputs == node.input else replace(node, input=inputs, at=None)

    def _full(self, name: str) -> str:
        """A value for an operator in float32."""
        node = self.made.get(name)
        if node is not None and self._op(node) in _TUPLES:
            if not any(self._half(one) for one in node.input):
                return name
            parts = tuple(self._full(one) for one in node.input)
            new = f"{name}::float32"
            if new not in self._known:
                self._known[new] = self._add(new, replace(_bare(node), input=parts))
            return new
        half = self._half(name)
        if not half or name in self.chosen:
            return name
        return self._cast(name, f"{name}::float32", FLOAT32_ID)

    def _narrow(self, name: str) -> str:
        """A value for an operator that stays as it is."""
        half = self._half(name)
        return self._cast(name, f"{name}::{half}", IDS[half]) if half and name in self.chosen else name

    def _cast(self, name: str, new: str, type_id: int) -> str:
        if new not in self._known:
            self.casts += 1
            node = Node(input=(name, self._number(type_id)), op_type=f"{REF}{_CAST}", domain="Default")
            self._known[new] = self._add(new, node)
        return self._known[new]

    def _number(self, number: int) -> str:
        name = f"mswb::{number}"
        if name not in self._known:
            attribute = Attribute(name="value", type=INT, i=number)
            self._known[name] = self._add(name, Node(op_type="Constant", attribute=(attribute,)))
        return self._known[name]

    def _add(self, name: str, node: Node) -> str:
        self.nodes.append(replace(node, name=name, output=(name,), at=None))
        return name


_CAST = "Cast:mswb"


def _bare(node: Node) -> Node:
    """A node without the note of its result's type, which is another one now."""
    return replace(node, attribute=tuple(one for one in node.attribute if one.name != "shape"))


def _typed(value: Value) -> Value:
    """An output that is float32 now."""
    return replace(value, tensor=tuple(replace(one, data_type=FLOAT32, at=None) for one in value.tensor), at=None)
