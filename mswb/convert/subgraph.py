"""Graphs in attributes: built in place, or as functions of the MindIR model that get what they use as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import onnx
from onnx import GraphProto, ModelProto, helper, numpy_helper

from mswb.convert.facts import plain
from mswb.convert.graph import NUMBERS, SMALL, Builder, Shape, Value
from mswb.convert.mindir.schema import REF
from mswb.convert.onnx.check import free_names
from mswb.convert.onnx.inference import infer
from mswb.convert.onnx.model import types_of
from mswb.convert.onnx.node import Above, OnnxNode, Refused

if TYPE_CHECKING:
    from mswb.convert.to_mindir import Lowering

Types = dict[str, tuple[str, "Shape | None"]]
Make = Callable[[Builder, "list[Value]"], "Sequence[Value]"]
"""Builds the content of a function from its inputs."""


class WithLowering:
    """An entry that needs the conversion under way: for graphs in attributes, and for sequences."""

    needs_lowering = True

    def __init__(self, lower: Above) -> None:
        self._lower = lower

    def __call__(self, node: OnnxNode, b: Builder, lowering: Lowering) -> Value | Sequence[Value | None]:
        return self._lower(node, b, lowering)


def build(graph: GraphProto, given: Sequence[Value], b: Builder, lowering: Lowering) -> list[Value]:
    """The results of a graph that is built into ``b``; its inputs are these values.

    Raises:
        Refused: it has another number of inputs.
    """
    if len(graph.input) != len(given):
        raise Refused(f"its graph has {len(graph.input)} inputs, and {len(given)} are given")
    known = types(graph, given, lowering)
    outer, lowering.values, scope = lowering.values, dict(lowering.values), b.scope
    try:
        lowering.values |= {one.name: value for one, value in zip(graph.input, given, strict=True)}
        lowering.constants(graph, b)
        lowering.nodes(graph, b, known)
        missing = [plain(one.name) for one in graph.output if one.name not in lowering.values]
        if missing:
            raise Refused(f"its graph gives no {missing[0]}")
        return [lowering.values[one.name] for one in graph.output]
    finally:
        lowering.values, b.scope = outer, scope


def types(graph: GraphProto, given: Sequence[Value], lowering: Lowering) -> Types:
    """What ONNX infers of the tensors in a graph that gets these inputs."""
    return dict(types_of(inferred(graph, given, lowering)))


def inferred(graph: GraphProto, given: Sequence[Value], lowering: Lowering) -> ModelProto:
    """A graph that gets these inputs, as a model with what ONNX infers of it."""
    whole = GraphProto()
    whole.CopyFrom(graph)
    names = [one.name for one in graph.input]
    around = [(name, lowering.values[name]) for name in free_names(graph) if name in lowering.values]
    known = [*zip(names, given, strict=True), *around]
    del whole.value_info[:], whole.input[:]
    whole.input.extend(_declared(name, value) for name, value in known)
    whole.initializer.extend(
        numpy_helper.from_array(value.array, name)
        for name, value in known
        if value.array is not None and value.array.nbytes <= SMALL and value.dtype in NUMBERS
    )
    for one in whole.output:
        one.ClearField("type")
    source = lowering.source.proto
    model = ModelProto(ir_version=source.ir_version, graph=whole, opset_import=source.opset_import)
    try:
        model = infer(model)
    except Exception:  # what is not known stays unknown
        model.graph.value_info.extend(graph.value_info)
    return model


def named_shape(value: onnx.ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """A declared shape with its sizes, or their names."""
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in kind.shape.dim)


def _declared(name: str, value: Value) -> onnx.ValueInfoProto:
    if value.dtype not in NUMBERS:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, NUMBERS[value.dtype], value.shape)


def captured(graphs: Sequence[GraphProto], lowering: Lowering) -> dict[str, Value]:
    """What graphs use of the values around them and a function must get as arguments: no constants, no weights."""
    weights = {tensor.name for tensor in lowering.builder.shared.parameters}
    names = dict.fromkeys(name for graph in graphs for name in free_names(graph))
    found = {name: lowering.values[name] for name in names if name in lowering.values}
    return {name: value for name, value in found.items() if value.array is None and value.name not in weights}


@contextmanager
def inside(
    graphs: Sequence[GraphProto], names: Sequence[str], given: Sequence[Value], b: Builder, lowering: Lowering
) -> Iterator[None]:
    """Within a function: what it got stands for the values around it, and constants are its own."""
    outer = lowering.values
    own = dict(outer)
    for name in dict.fromkeys(name for graph in graphs for name in free_names(graph)):
        array = outer[name].array if name in outer else None
        if array is not None and array.nbytes <= SMALL and array.dtype.name in NUMBERS:
            own[name] = replace(b.constant(array), array=array)
    lowering.values = own | dict(zip(names, given, strict=True))
    try:
        yield
    finally:
        lowering.values = outer


def open_function(b: Builder, title: str) -> Builder:
    """A new function of the model; its name is taken at once, so that others can call it."""
    inner = Builder(f"{b.name}/{b.scope}/{title}", b.shared)
    inner.scope = b.scope
    return inner


def arguments(inner: Builder, values: Sequence[Value]) -> list[Value]:
    """Inputs of a function that take these values.

    Raises:
        Refused: a value is no tensor, or its data type is not known.
    """
    for value in values:
        if value.dtype not in NUMBERS:
            raise Refused(f"{value.name} is no tensor of a known data type, and a function can't take it")
    return [inner.input(f"{inner.name}.{value.name}", value.dtype, value.shape) for value in values]


def close_function(inner: Builder, results: Sequence[Value]) -> None:
    """Add a function to the model: it returns one value, or several as a tuple."""
    whole = results[0] if len(results) == 1 else inner.tuple(results)
    made = {name for node in inner.nodes if node.op_type != "Constant" for name in node.output}
    if whole.name not in made:  # an input, a constant or a weight: a result is that of a node
        whole = inner.op("Depend", whole, 0, dtype=whole.dtype, shape=whole.shape)
    inner.shared.functions.append(inner.finish([whole]))


def choose(b: Builder, condition: Value, functions: Sequence[tuple[Builder, Sequence[Value]]], dtype: str) -> Value:
    """The result of the first function where the condition holds, else of the second; each with its arguments."""
    partials = [
        b.op("Partial", Value(one.name, "function"), *given, dtype="function", attributes={"side_effect_propagate": 1})
        for one, given in functions
    ]
    flag = condition if condition.rank == 0 else b.reshape(condition, ())
    chosen = b.op("Switch", flag, *partials, dtype="function", attributes={})
    return b.call(f"{REF}{chosen.name}", "choice", [], dtype=dtype)


def parts(b: Builder, whole: Value, like: Sequence[tuple[str, Shape | None]]) -> list[Value]:
    """The results of a function, given by data type and shape: one, or the parts of a tuple."""
    if len(like) == 1:
        return [replace(whole, dtype=like[0][0], shape=like[0][1])]
    return [b.item(whole, at, dtype, shape) for at, (dtype, shape) in enumerate(like)]


Step = Callable[[Builder, "list[Value]", "list[Value]"], "Sequence[Value]"]
"""From a function's states and its other values to what it computes of them."""


def loop(b: Builder, states: Sequence[Value], others: Sequence[Value], keep: Step, step: Step) -> list[Value]:
    """``while keep(states): states = step(states)`` as the functions that MindSpore makes of a loop.

    Args:
        others: values that both need and the loop does not change.
        keep: gives one value, a bool without dimensions.
    """
    header, body, after = (open_function(b, title) for title in ("header", "body", "after"))
    count = len(states)
    given = arguments(header, [*states, *others])
    (going,) = keep(header, given[:count], given[count:])
    within = arguments(body, [*states, *others])
    new = step(body, within[:count], within[count:])
    again = body.call(f"{REF}{header.name}", "again", [*new, *within[count:]], dtype="tuple")
    close_function(body, [again])
    close_function(after, arguments(after, states))
    ways = ((body, given), (after, given[:count]))
    close_function(header, [choose(header, going, ways, "tuple")])
    whole = b.call(f"{REF}{header.name}", "loop", [*states, *others], dtype="tuple")
    return parts(b, whole, [(value.dtype, value.shape) for value in states])
