"""Branches and loops: functions of the MindIR model, or unrolled where the number of steps is known and small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, numpy_helper

from mswb.convert.graph import Builder, Shape, Value
from mswb.convert.onnx.model import every_node
from mswb.convert.onnx.node import RANDOM, OnnxNode, Refused
from mswb.convert.subgraph import (
    WithLowering,
    arguments,
    build,
    captured,
    choose,
    close_function,
    inferred,
    inside,
    loop,
    named_shape,
    open_function,
    parts,
    types,
)

if TYPE_CHECKING:
    from mswb.convert.to_mindir import Lowering

UNROLLED = 1000
"""Nodes up to which a loop whose number of steps is known is written out."""
ENDLESS = 1 << 31
"""Steps from which a limit is none: exporters write the highest int64 for a while loop."""
_WIDENINGS = 8


# -- branches


def _if(node: OnnxNode, b: Builder, lowering: Lowering) -> Sequence[Value]:
    condition = node.input(0)
    graphs = [node.graph("then_branch"), node.graph("else_branch")]
    if condition.array is not None:
        return build(graphs[0 if condition.array.reshape(-1)[0] else 1], [], b, lowering)
    taken = captured(graphs, lowering)
    functions, results = [], []
    for title, graph in zip(("then", "else"), graphs, strict=True):
        inner = open_function(b, title)
        given = arguments(inner, list(taken.values()))
        with inside([graph], list(taken), given, inner, lowering):
            results.append(build(graph, [], inner, lowering))
        close_function(inner, results[-1])
        functions.append((inner, list(taken.values())))
    like = [_joined(*pair) for pair in zip(*results, strict=True)]
    return parts(b, choose(b, condition, functions, "tuple"), like)


def _joined(one: Value, other: Value) -> tuple[str, Shape | None]:
    """What is known of a value that is either of two."""
    if "sequence" in (one.dtype, other.dtype):
        raise Refused("a branch gives a sequence, which MindSpore has no data type for")
    if one.dtype != other.dtype:
        raise Refused(f"one branch gives {one.dtype or 'an unknown type'}, the other {other.dtype or 'an unknown one'}")
    return one.dtype, widened(one.shape, other.shape)


def widened(one: Shape | None, other: Shape | None) -> Shape | None:
    """The shape of what has either of two shapes."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(first if first == second else None for first, second in zip(one, other, strict=True))


# -- loops


@dataclass(frozen=True)
class Plan:
    """What Loop and Scan have in common: a graph that is run again and again.

    Attributes:
        states: the first values of what each step changes.
        count: how many steps there are at most; None where only the condition ends them.
        condition: whether the first step is done; None where it always is.
        inputs: of the graph, from the step's number, the condition and the states.
        others: values outside the graph that ``inputs`` uses; it gets them as they are within the function.
        steady: whether the graph leaves the condition as it is.
        places: where an output of the graph is: the condition (None when it has none), the states, the others.
    """

    graph: GraphProto
    states: list[Value]
    count: Value | None
    condition: Value | None
    inputs: Callable[[Builder, Value, Value, Sequence[Value], Sequence[Value]], list[Value]]
    others: Sequence[Value] = ()
    steady: bool = True
    has_condition: bool = True

    def split(self, outputs: Sequence[Value]) -> tuple[Value | None, list[Value], list[Value]]:
        """A step's condition, states, and what is collected."""
        first = int(self.has_condition)
        end = first + len(self.states)
        return (outputs[0] if first else None), list(outputs[first:end]), list(outputs[end:])

    @property
    def collected(self) -> int:
        """How many results are collected."""
        return len(self.graph.output) - int(self.has_condition) - len(self.states)


def _loop(node: OnnxNode, b: Builder, lowering: Lowering) -> Sequence[Value]:
    graph = node.graph("body")
    states = [node.input(at) for at in range(2, len(node.inputs))]
    plan = Plan(
        graph, states, _endless(node.optional(0)), node.optional(1),
        lambda inner, number, condition, now, others: [number, condition, *now], steady=_steady(graph),
    )  # fmt: skip
    finals, collected = _run(plan, node, b, lowering)
    return [*finals, *collected]


def _endless(count: Value | None) -> Value | None:
    if count is None or (count.array is not None and int(count.array.reshape(-1)[0]) >= ENDLESS):
        return None
    return count


def _steady(graph: GraphProto) -> bool:
    """Whether the condition that a step gives is the one that it got, or true."""
    true = {tensor.name for tensor in graph.initializer if numpy_helper.to_array(tensor).all()}
    makers = {name: node for node in graph.node for name in node.output}
    name = graph.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name in makers and makers[name].op_type == "Constant":
        tensors = [one.t for one in makers[name].attribute if one.name == "value"]
        return bool(tensors) and bool(numpy_helper.to_array(tensors[0]).all())
    return name == graph.input[1].name or name in true


def _run(plan: Plan, node: OnnxNode, b: Builder, lowering: Lowering) -> tuple[list[Value], list[Value]]:
    """The last states, and what was collected, stacked along a new first axis."""
    count = None if plan.count is None or plan.count.array is None else int(plan.count.array.reshape(-1)[0])
    first = True if plan.condition is None else None if plan.condition.array is None else bool(plan.condition.array)
    if first is False or (count is not None and count <= 0):
        return plan.states, _nothing(plan, node, b)
    size = sum(1 for _ in every_node(plan.graph.node))
    if plan.steady and first and count is not None and count * size <= UNROLLED:
        return _unrolled(plan, count, b, lowering)
    if any(value.dtype == "sequence" for value in plan.states):
        raise Refused("a sequence goes through a loop whose number of steps is only known when the model runs")
    return _as_functions(plan, first, b, lowering)


def _nothing(plan: Plan, node: OnnxNode, b: Builder) -> list[Value]:
    made = []
    for dtype, shape in node.results[len(plan.states) :]:
        if shape is None or None in shape[1:]:
            raise Refused("it has no steps, and the shape of what it would collect is not known")
        sizes = [size or 0 for size in shape[1:]]
        array = np.zeros((0, *sizes), dtype)
        made.append(replace(b.constant(array), array=array))
    return made


def _unrolled(plan: Plan, count: int, b: Builder, lowering: Lowering) -> tuple[list[Value], list[Value]]:
    states, rows = plan.states, list[list[Value]]()
    for step in range(count):
        inputs = plan.inputs(b, _constant(b, np.array(step)), _constant(b, np.array(True)), states, plan.others)
        _, states, made = plan.split(build(plan.graph, inputs, b, lowering))
        rows.append(made)
    return states, [stacked(b, column) for column in zip(*rows, strict=True)]


def _constant(b: Builder, array: np.ndarray[Any, Any]) -> Value:
    return replace(b.constant(array), array=array)


def stacked(b: Builder, values: Sequence[Value]) -> Value:
    """Values along a new first axis."""
    shape = values[0].shape
    for value in values[1:]:
        shape = widened(shape, value.shape)
    rows = [b.op("ExpandDims", value, 0, shape=None if value.shape is None else (1, *value.shape)) for value in values]
    if len(rows) == 1:
        return rows[0]
    whole = None if shape is None else (len(rows), *shape)
    return b.op("Concat", b.tuple(rows), 0, dtype=values[0].dtype, shape=whole)


def _as_functions(plan: Plan, first: bool | None, b: Builder, lowering: Lowering) -> tuple[list[Value], list[Value]]:
    count = plan.count
    if count is None and plan.collected:
        if any(one.op_type in RANDOM for one in every_node(plan.graph.node)):
            raise Refused("how many rows a loop with random numbers collects is only known when it has run")
        # how many rows there will be: the loop without what it collects is run for it
        count = _cycle(plan, None, first, [], b, lowering)[0]
    limit = None if count is None else scalar(b, count)
    if not plan.collected:
        return _cycle(plan, limit, first, [], b, lowering)[1 : 1 + len(plan.states)], []
    assert limit is not None
    buffers = [_buffer(b, limit, *like) for like in _rows(plan, b, lowering)]
    done, *values = _cycle(plan, limit, first, buffers, b, lowering)
    states, filled = values[: len(plan.states)], values[len(plan.states) :]
    return states, filled if plan.steady and first else [_head(b, one, done) for one in filled]


def _cycle(
    plan: Plan, limit: Value | None, first: bool | None, buffers: Sequence[Value], b: Builder, lowering: Lowering
) -> list[Value]:
    """The number of steps done, the last states, and the buffers with what was collected."""
    given = [
        _opened(b, value, shape, steady)
        for value, shape, steady in zip(plan.states, *_settled(plan, lowering), strict=True)
    ]
    number = b.scalar(0, "int64")
    tested = not (plan.steady and first)
    condition = [] if not tested else [scalar(b, plan.condition or b.constant(np.array(True)))]
    limits = [] if limit is None else [limit]
    taken = captured([plan.graph], lowering)
    others = [*limits, *plan.others, *taken.values()]
    states = [replace(one, array=None) for one in (number, *condition, *given, *buffers)]
    at_states, at_buffers = 1 + len(condition), 1 + len(condition) + len(given)

    def keep(inner: Builder, now: list[Value], rest: list[Value]) -> Sequence[Value]:
        tests = [inner.op("Less", now[0], rest[0], dtype="bool", shape=())] if limits else []
        tests += now[1:at_states]
        if not tests:
            return [inner.constant(np.array(True))]
        return tests if len(tests) == 1 else [inner.op("LogicalAnd", *tests, shape=())]

    def step(inner: Builder, now: list[Value], rest: list[Value]) -> Sequence[Value]:
        own, around = rest[len(limits) :][: len(plan.others)], rest[len(limits) + len(plan.others) :]
        going = now[1] if tested else _constant(inner, np.array(True))
        with inside([plan.graph], list(taken), around, inner, lowering):
            inputs = plan.inputs(inner, now[0], going, now[at_states:at_buffers], own)
            again, new, made = plan.split(build(plan.graph, inputs, inner, lowering))
        _same_types(plan.states, new)
        flags = [scalar(inner, again)] if tested and again is not None else []
        filled = [_put(inner, *pair, now[0]) for pair in zip(now[at_buffers:], made, strict=False)]
        return [inner.op("Add", now[0], inner.scalar(1, "int64"), shape=()), *flags, *new, *filled]

    done = loop(b, states, others, keep, step)
    return [done[0], *done[at_states:]]


def _same_types(before: Sequence[Value], after: Sequence[Value]) -> None:
    for one, other in zip(before, after, strict=True):
        if other.dtype and one.dtype != other.dtype:
            raise Refused(f"a value of the loop turns from {one.dtype} into {other.dtype}")


def _settled(plan: Plan, lowering: Lowering) -> tuple[list[Shape | None], list[bool]]:
    """The shapes that the states have in every step, what changes being open; and which are sure to stay."""
    shapes = [value.shape for value in plan.states]
    if not plan.has_condition:  # the states of a Scan keep their shapes
        return shapes, [True] * len(shapes)
    symbols: list[Any] = [None if shape is None else tuple(f"state_{at}_{axis}" if size is None else size
               for axis, size in enumerate(shape)) for at, shape in enumerate(shapes)]  # fmt: skip
    for _ in range(_WIDENINGS):
        found = _after(plan, symbols, lowering)
        wider = [
            None if one is None or other is None or len(one) != len(other)
            else tuple(first if first == second else None for first, second in zip(one, other, strict=True))
            for one, other in zip(symbols, found, strict=True)
        ]  # fmt: skip
        if wider == symbols:
            break
        symbols = [None if one is None else tuple(one) for one in wider]
    final = [None if one is None else tuple(size if isinstance(size, int) else None for size in one)
             for one in symbols]  # fmt: skip
    return final, [one is not None and None not in one for one in symbols]


def _after(plan: Plan, symbols: Sequence[Any], lowering: Lowering) -> list[Any]:
    """The shapes of the states behind one step, with names for sizes that stay."""
    states = [replace(value, shape=shape, array=None) for value, shape in zip(plan.states, symbols, strict=True)]
    model = inferred(plan.graph, _inputs(plan, states), lowering)
    first = int(plan.has_condition)
    return [named_shape(one) for one in model.graph.output[first : first + len(states)]]


def _inputs(plan: Plan, states: Sequence[Value]) -> list[Value]:
    """The inputs of a step, for what ONNX infers of it."""
    number, flag = Value("number", "int64", ()), Value("condition", "bool", ())
    return plan.inputs(Builder("types"), number, flag, states, plan.others)


def _opened(b: Builder, value: Value, shape: Shape | None, steady: bool) -> Value:
    """A first state; where its shape may change, one whose shape MindSpore only learns when it runs.

    It compiles a loop for the shapes of the first step, and would answer wrong where they change without notice.
    """
    if steady:
        return replace(value, array=None)
    if shape is None:
        raise Refused(f"the number of dimensions of {value.name} may change from step to step")
    places = b.op("NonZero", b.constant(np.ones(1, np.int32)), dtype="int64", shape=(None, 1))
    one = b.op("StridedSlice", b.shape_of(places), (0,), (1,), (1,), 0, 0, 0, 0, 0, shape=(1,))  # 1, when it runs
    sizes = b.op("Mul", b.shape_of(value), one, shape=(len(shape),))
    return replace(b.op("Reshape", value, b.as_tuple(sizes), shape=shape), array=None)


def _rows(plan: Plan, b: Builder, lowering: Lowering) -> list[tuple[str, Value | tuple[int, ...]]]:
    """Data type and shape of what one step collects; the shape as a value where it is only known at run time."""
    shapes = _settled(plan, lowering)[0]
    states = [replace(value, shape=shape, array=None) for value, shape in zip(plan.states, shapes, strict=True)]
    found = types(plan.graph, _inputs(plan, states), lowering)
    names = [one.name for one in plan.graph.output][int(plan.has_condition) + len(plan.states) :]
    known = [found.get(name, ("", None)) for name in names]
    if all(dtype and shape is not None and None not in shape for dtype, shape in known):
        return [(dtype, tuple(size or 0 for size in shape or ())) for dtype, shape in known]
    number, flag = b.scalar(0, "int64"), b.constant(np.array(True))
    made = plan.split(build(plan.graph, plan.inputs(b, number, flag, plan.states, plan.others), b, lowering))[2]
    if any(not value.dtype or value.rank is None for value in made):
        raise Refused("the rank or data type of what the loop collects is only known when the model runs")
    return [(value.dtype, b.shape_of(value)) for value in made]


def _buffer(b: Builder, count: Value, dtype: str, row: Value | tuple[int, ...]) -> Value:
    """Zeros: so many rows of this shape."""
    zero = b.scalar(0, dtype)
    if count.array is not None and isinstance(row, tuple):
        shape = (int(count.array), *row)
        return b.op("BroadcastTo", zero, shape, shape=shape)
    sizes = b.constant(np.array(row, np.int64)) if isinstance(row, tuple) else row
    rank = len(row) if isinstance(row, tuple) else (row.shape or (0,))[0] or 0
    whole = b.op("Concat", b.tuple([b.reshape(count, (1,)), sizes]), 0, dtype="int64", shape=(1 + rank,))
    known = (None, *(row if isinstance(row, tuple) else (None,) * rank))
    return b.op("FillV2", whole, zero, dtype=dtype, shape=known, attributes={})


def _put(b: Builder, buffer: Value, row: Value, number: Value) -> Value:
    """The buffer with one row set."""
    at = b.reshape(number, (1, 1))
    shape = None if row.shape is None else (1, *row.shape)
    return b.op("TensorScatterUpdate", buffer, at, b.op("ExpandDims", row, 0, shape=shape), shape=buffer.shape,
                attributes={})  # fmt: skip


def _head(b: Builder, buffer: Value, count: Value) -> Value:
    """The first rows of a buffer."""
    end = b.as_tuple(b.reshape(count, (1,)))
    shape = None if buffer.shape is None else (None, *buffer.shape[1:])
    return b.op("StridedSlice", buffer, (0,), end, (1,), 0, 0, 0, 0, 0, shape=shape)


def scalar(b: Builder, value: Value) -> Value:
    """A value of one element without dimensions."""
    if value.array is not None:
        array = value.array.reshape(())
        return _constant(b, array)
    return value if value.rank == 0 else b.reshape(value, ())


# -- Scan


def _scan(node: OnnxNode, b: Builder, lowering: Lowering) -> Sequence[Value]:
    if node.version >= 9:
        return _scanned(node, [node.input(at) for at in range(len(node.inputs))], b, lowering)
    # opset 8: the first input is the lengths, all others have a batch axis in front
    if node.has(0):
        raise Refused("Scan of opset 8 with lengths of its own for each member of the batch")
    values = [node.input(at) for at in range(1, len(node.inputs))]
    batch = (values[0].shape or (None,))[0]
    if batch is None:
        raise Refused("the size of the batch is only known when the model runs", nearest="export it with opset 9")
    rows = [
        _scanned(node, [_slice(b, value, _constant(b, np.array(at)), 0) for value in values], b, lowering)
        for at in range(batch)
    ]
    return [stacked(b, column) for column in zip(*rows, strict=True)]


def _scanned(node: OnnxNode, values: list[Value], b: Builder, lowering: Lowering) -> Sequence[Value]:
    graph = node.graph("body")
    width = int(node.get("num_scan_inputs"))
    states, sources = values[: len(values) - width], values[len(values) - width :]
    axes = _each(node.get("scan_input_axes"), width)
    axes = [axis % rank for axis, rank in zip(axes, map(_rank, sources), strict=True)]
    backwards = _each(node.get("scan_input_directions", node.get("directions")), width)
    if not sources:
        raise Refused("Scan without anything to go over")
    count = _length(b, sources, axes)

    def inputs(inner: Builder, number: Value, _: Value, now: Sequence[Value], others: Sequence[Value]) -> list[Value]:
        length, *whole = others
        last = _last(inner, length, number) if any(backwards) else number
        return [
            *now,
            *(_slice(inner, one, last if back else number, axis)
              for one, back, axis in zip(whole, backwards, axes, strict=True)),
        ]  # fmt: skip

    plan = Plan(graph, states, count, None, inputs, others=[count, *sources], has_condition=False)
    finals, collected = _run(plan, node, b, lowering)
    reverse = _each(node.get("scan_output_directions"), len(collected))
    onto = _each(node.get("scan_output_axes"), len(collected))
    return [*finals, *(_arranged(b, *one) for one in zip(collected, reverse, onto, strict=True))]


def _each(given: Sequence[int] | None, count: int) -> list[int]:
    return [0] * count if not given else [int(one) for one in given]


def _rank(value: Value) -> int:
    if value.rank is None:
        raise Refused("the rank of what is scanned is only known when the model runs")
    return value.rank


def _length(b: Builder, sources: Sequence[Value], axes: Sequence[int]) -> Value:
    for one, axis in zip(sources, axes, strict=True):
        size = (one.shape or ())[axis]
        if size is not None:
            return _constant(b, np.array(size))
    sizes = b.shape_of(sources[0])
    return b.op("Gather", sizes, b.scalar(axes[0], "int64"), 0, 0, dtype="int64", shape=())


def _last(b: Builder, length: Value, number: Value) -> Value:
    """The place that is as far from the end as ``number`` is from the start."""
    if length.array is not None and number.array is not None:
        return _constant(b, np.array(int(length.array) - 1 - int(number.array)))
    end = b.op("Sub", length, b.scalar(1, "int64"), shape=())
    return b.op("Sub", end, number, shape=())


def _slice(b: Builder, value: Value, number: Value, axis: int) -> Value:
    shape = None if value.shape is None else (*value.shape[:axis], *value.shape[axis + 1 :])
    return b.op("Gather", value, number, axis, 0, shape=shape)


def _arranged(b: Builder, value: Value, backwards: int, axis: int) -> Value:
    """What was collected along axis 0, in the order and along the axis that are asked for."""
    if backwards:
        value = b.op("ReverseV2", value, (0,), shape=value.shape)
    rank = _rank(value)
    axis %= rank
    return value if not axis else b.transpose(value, [*range(1, axis + 1), 0, *range(axis + 1, rank)])


TO_MINDIR: Mapping[str, Callable[..., Any]] = {
    "If": WithLowering(_if),
    "Loop": WithLowering(_loop),
    "Scan": WithLowering(_scan),
}
