"""The ONNX graph that a conversion builds: values with what ONNX itself infers of them, one method an operator.

Constants are folded, equal ones are written once, and what nobody reads is left out at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TypeProto, helper, numpy_helper

from mswb.convert.fold import evaluate
from mswb.convert.graph import NUMBERS, Array, Names, Shape, Value
from mswb.convert.onnx.node import RANDOM

OPSET = 21
"""What is written: the newest that every common runtime of the last years loads, and old enough for GPUs' parsers."""
IR_VERSION = 10
_DATA_LIMIT = 4096
"""Elements of a constant that shape inference is shown."""
Given = Value | Array | None


@dataclass(slots=True)
class Shared(Names):
    """What the graph and those inside it share: names, constants, and which of them are written."""

    constants: dict[Any, Value] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    """Constants that have the name of a weight, and that name."""
    weights: dict[str, Value] = field(default_factory=dict)
    """Constants that some node reads, by name."""


class OnnxBuilder:
    """One graph under construction: the model's, a branch or the body of a loop."""

    def __init__(self, shared: Shared | None = None) -> None:
        self.shared = Shared() if shared is None else shared
        self.scope = ""
        """What results are named after."""
        self.nodes: list[NodeProto] = []

    def inner(self) -> OnnxBuilder:
        """A graph inside of this one, which may read its values."""
        within = OnnxBuilder(self.shared)
        within.scope = self.scope
        return within

    # -- values

    def constant(self, array: Array, name: str = "", made_of: str = "") -> Value:
        """A constant, which is written when something reads it; equal short ones are one.

        Args:
            name: of a weight.
            made_of: the weight that it was computed from, which gives it its name.
        """
        key = (array.dtype.name, array.shape, array.tobytes()) if array.nbytes <= 1024 and not name else None
        if key is not None and key in self.shared.constants:
            return self.shared.constants[key]
        value = Value(self.shared.name(name or made_of or "constant"), array.dtype.name, tuple(array.shape), array)
        if key is not None:
            self.shared.constants[key] = value
        if name or made_of:
            self.shared.named[value.name] = name or made_of
        return value

    def ints(self, numbers: Iterable[int]) -> Value:
        """A one-dimensional int64 constant."""
        return self.constant(np.array([int(one) for one in numbers], np.int64))

    def scalar(self, number: float, dtype: str) -> Value:
        """A constant without dimensions."""
        from mswb.convert.program import numpy_dtype

        return self.constant(np.array(number, numpy_dtype(dtype)))

    # -- operators

    def op(self, op: str, *inputs: Given, dtype: str = "", shape: Shape | None = None, **attributes: Any) -> Value:
        """Call an operator of ONNX and return its result.

        Args:
            inputs: values, or arrays, which become constants; None for one that is left out.
            dtype, shape: of the result, where more is known than ONNX infers.
            attributes: as ``onnx.helper.make_node`` takes them; None for one that is left out.
        """
        found = self.ops(op, *inputs, count=1, **attributes)[0]
        return replace(found, dtype=found.dtype or dtype, shape=both(found.shape, shape))

    def ops(self, op: str, *inputs: Given, count: int, **attributes: Any) -> tuple[Value, ...]:
        """Call an operator with several results."""
        given = [self.constant(one) if isinstance(one, np.ndarray) else one for one in inputs]
        while given and given[-1] is None:
            given.pop()
        kept = {name: value for name, value in attributes.items() if value is not None}
        node = helper.make_node(op, ["" if one is None else one.name for one in given], [""] * count, **kept)
        folded = self._folded(node, given)
        if folded is not None:
            named = self.shared.named
            source = next((named[one.name] for one in given if one is not None and one.name in named), "")
            return tuple(self.constant(one, made_of=source) for one in folded)
        names = [self.shared.name(f"{self.scope}/{op}" if self.scope else op) for _ in range(count)]
        node.output[:] = names
        node.name = names[0]
        types = _infer(node, given)
        self.add(node, given)
        return tuple(Value(name, *types.get(name, ("", None))) for name in names)

    def add(self, node: NodeProto, given: Iterable[Value | None] = ()) -> None:
        """Add a node as it is."""
        self.use(given)
        self.nodes.append(node)

    def use(self, values: Iterable[Value | None]) -> None:
        """Note what is read: constants among it have to be written."""
        self.shared.weights.update({one.name: one for one in values if one is not None and one.array is not None})

    def _folded(self, node: NodeProto, given: Sequence[Value | None]) -> list[Array] | None:
        if node.op_type in ("Shape", "Size") and given and given[0] is not None and given[0].fixed is not None:
            fixed = np.array(given[0].fixed, np.int64)
            settings = {one.name: one.i for one in node.attribute}
            part = fixed[settings.get("start", 0) : settings.get("end")]
            return [part if node.op_type == "Shape" else np.array(fixed.prod(), np.int64)]
        if not given or node.op_type in RANDOM or any(one is not None and one.array is None for one in given):
            return None
        asked = NodeProto()
        asked.CopyFrom(node)
        asked.output[:] = [f"result{at}" for at in range(len(node.output))]
        return evaluate(asked, [None if one is None else one.array for one in given], OPSET)

    # -- what most conversions need

    def cast(self, value: Value, dtype: str) -> Value:
        """The value in another data type; itself when it has it."""
        return value if value.dtype == dtype else self.op("Cast", value, to=NUMBERS[dtype])

    def reshape(self, value: Value, shape: Sequence[int] | Value) -> Value:
        """The value with other sizes: numbers (one may be -1), or an int64 tensor."""
        if isinstance(shape, Value):
            return self.op("Reshape", value, shape, allowzero=1)
        known = tuple(None if size < 0 else int(size) for size in shape)
        return self.op("Reshape", value, self.ints(shape), shape=known, allowzero=int(0 in shape) or None)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """The value with its dimensions in another order."""
        return self.op("Transpose", value, perm=[int(one) for one in order])

    def squeeze(self, value: Value, axes: Sequence[int]) -> Value:
        """The value without dimensions of size 1."""
        return self.op("Squeeze", value, self.ints(axes)) if axes else value

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        """The value with new dimensions of size 1, at these places of the result."""
        return self.op("Unsqueeze", value, self.ints(axes)) if axes else value

    def shape_of(self, value: Value) -> Value:
        """The sizes as an int64 tensor."""
        return self.op("Shape", value)

    # -- the end

    def finish(self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[Value]) -> GraphProto:
        """The graph with these results, without nodes that nothing needs; constants go to the outermost one."""
        self.use(outputs)
        kept = list(needed(self.nodes, {value.name for value in outputs}))
        return helper.make_graph(kept, name, list(inputs), [declared(value) for value in outputs])

    def constants_of(self, nodes: Iterable[NodeProto], outputs: Iterable[str]) -> dict[str, Array]:
        """The constants that these nodes read, graphs inside of them included, by name."""
        read = {*outputs} | {name for node in nodes for name in every_input(node)}
        return {name: np.asarray(value.array) for name, value in self.shared.weights.items() if name in read}


def every_input(node: NodeProto) -> set[str]:
    """All that a node and the graphs in it read."""
    found = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            found.update(value.name for value in graph.output)
            for one in graph.node:
                found |= every_input(one)
    return found - {""}


def needed(nodes: Sequence[NodeProto], wanted: set[str]) -> list[NodeProto]:
    """The nodes that these results depend on, in order."""
    kept: list[NodeProto] = []
    read = set(wanted)
    for node in reversed(nodes):
        if read.intersection(node.output):
            kept.append(node)
            read |= every_input(node)
    return kept[::-1]


def declared(value: Value) -> onnx.ValueInfoProto:
    """The declaration of a value as an input or output."""
    return helper.make_tensor_value_info(value.name, NUMBERS[value.dtype], value.shape)


def both(one: Shape | None, other: Shape | None) -> Shape | None:
    """What two descriptions of one shape tell together; the first wins."""
    if one is None or other is None or len(one) != len(other):
        return other if one is None else one
    return tuple(first if first is not None else second for first, second in zip(one, other, strict=True))


def _infer(node: NodeProto, given: Sequence[Value | None]) -> Mapping[str, tuple[str, Shape | None]]:
    """Data type and shape of each result, by ONNX's own rules."""
    known = [one for one in given if one is not None]
    types = {one.name: _type(one) for one in known if one.dtype in NUMBERS}
    data = {
        one.name: numpy_helper.from_array(one.array, one.name)
        for one in known
        if one.array is not None and one.array.size <= _DATA_LIMIT
    }
    opsets = [helper.make_opsetid("", OPSET)]
    try:
        schema = onnx.defs.get_schema(node.op_type, OPSET, node.domain)
        found = onnx.shape_inference.infer_node_outputs(schema, node, types, data, None, opsets, IR_VERSION)
    except (onnx.shape_inference.InferenceError, RuntimeError):
        return {}
    return {name: _read(kind) for name, kind in found.items()}


def _type(value: Value) -> TypeProto:
    return helper.make_tensor_type_proto(NUMBERS[value.dtype], value.shape)


_NAMES = {number: name for name, number in NUMBERS.items()}


def _read(kind: TypeProto) -> tuple[str, Shape | None]:
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return _NAMES.get(tensor.elem_type, ""), None
    sizes = tuple(one.dim_value if one.HasField("dim_value") else None for one in tensor.shape.dim)
    return _NAMES.get(tensor.elem_type, ""), sizes
