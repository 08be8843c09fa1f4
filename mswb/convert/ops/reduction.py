"""Reductions: sums, norms, extremes and their places, running sums.

MindSpore leaves the result of a reduction over no elements unset. Where an axis may be empty it is replaced by what the
sum, product or extreme of nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mswb.convert.graph import Builder, Shape, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.exact import as_float, bounds, call, select, working


@dataclass(frozen=True, slots=True)
class Axes:
    """What a reduction goes over.

    Attributes:
        fixed: the axes, counted from the front; None where they are only known at run time.
        value: these, as a tuple in the graph.
        count: how many these are, where it is known.
        keep: whether the result has a dimension of size 1 for each.
    """

    fixed: tuple[int, ...] | None
    keep: bool
    value: Value | None = None
    count: int | None = None

    def shape(self, x: Value) -> Shape | None:
        """The shape of the result."""
        if x.shape is None:
            return None
        if self.fixed is not None:
            kept = [1 if at in self.fixed else size for at, size in enumerate(x.shape)]
            return tuple(size for at, size in enumerate(kept) if self.keep or at not in self.fixed)
        if self.keep:
            return (None,) * len(x.shape)
        return None if self.count is None else (None,) * (len(x.shape) - self.count)


Formula = Callable[[Builder, Value, Axes], Value]
_NEUTRAL: Mapping[str, Callable[[str], float]] = {
    "ReduceSum": lambda dtype: 0,
    "ReduceProd": lambda dtype: 1,
    "ReduceMax": lambda dtype: bounds(dtype)[0],
    "ReduceMin": lambda dtype: bounds(dtype)[1],
    "ReduceAny": lambda dtype: 0,
}
"""What each primitive makes of nothing, by data type."""


def reduced(b: Builder, primitive: str, x: Value, axes: Axes) -> Value:
    """A primitive of ``_NEUTRAL`` over axes, right where there is nothing to reduce."""
    if axes.fixed == () or x.shape == ():
        return x
    shape, neutral = axes.shape(x), _NEUTRAL[primitive](x.dtype)
    if x.fixed is not None and 0 in x.fixed and axes.fixed is not None:
        assert shape is not None
        return b.constant(np.full([size or 0 for size in shape], neutral, x.dtype))
    used = working(primitive, x.dtype)
    if primitive == "ReduceSum" and x.dtype in ("int64", "uint64"):
        return _guarded(b, x, axes, _long_sum(b, x, axes), neutral)
    return _guarded(b, x, axes, b.cast(_bare(b, primitive, b.cast(x, used), axes), x.dtype), neutral)


def _bare(b: Builder, primitive: str, x: Value, axes: Axes) -> Value:
    over = axes.fixed if axes.value is None else axes.value
    more = (False,) if primitive == "ReduceSum" else ()
    return b.op(primitive, x, over, axes.keep, *more, shape=axes.shape(x))


def _long_sum(b: Builder, x: Value, axes: Axes) -> Value:
    """The sum of 64-bit integers by their halves: MindSpore's own goes by way of doubles."""
    signed = b.cast(x, "int64")
    high = _bare(b, "ReduceSum", call(b, "RightShift", signed, 32), axes)
    low = _bare(b, "ReduceSum", call(b, "BitwiseAnd", signed, (1 << 32) - 1), axes)
    return b.cast(call(b, "Add", call(b, "Mul", high, 1 << 32), low), x.dtype)


def _guarded(b: Builder, x: Value, axes: Axes, made: Value, neutral: float) -> Value:
    """The result, replaced where what was reduced may have been empty."""
    over = range(len(x.shape or ())) if axes.fixed is None else axes.fixed
    if x.shape is None:
        count = b.op("ReduceProd", b.shape_of(x), (0,), True, dtype="int64", shape=(1,))
    else:
        unsure = [at for at in over if not x.shape[at]]
        if not unsure:
            return made
        count = sizes.as_tensor(b, sizes.product(b, [sizes.size(b, x, at) for at in unsure]))
    empty = b.op("Equal", b.reshape(count, []), b.scalar(0, "int64"), dtype="bool", shape=())
    return select(b, empty, neutral, made)


def count_of(b: Builder, x: Value, axes: Axes) -> Value:
    """How many elements go into each result, an int64 scalar."""
    if axes.fixed is None:
        ones = b.op("OnesLike", b.cast(x, "int32"), dtype="int32", shape=x.shape)
        return b.cast(reduced(b, "ReduceSum", ones, axes), "int64")
    if x.shape is None:
        raise Refused("the rank of input 0 is only known when the model runs")
    found = sizes.product(b, [sizes.size(b, x, at) for at in axes.fixed])
    return b.reshape(found, []) if isinstance(found, Value) else b.scalar(found, "int64")


def _sum(b: Builder, x: Value, axes: Axes) -> Value:
    return reduced(b, "ReduceSum", x, axes)


def _mean(b: Builder, x: Value, axes: Axes) -> Value:
    """The mean; of integers cut towards zero, as their division is."""
    count = b.cast(count_of(b, x, axes), x.dtype)
    return call(b, "Div" if np.dtype(x.dtype).kind == "f" else "RealDiv", _sum(b, x, axes), count)


def _l1(b: Builder, x: Value, axes: Axes) -> Value:
    return _sum(b, call(b, "Abs", x), axes)


def _square_sum(b: Builder, x: Value, axes: Axes) -> Value:
    return _sum(b, call(b, "Mul", x, x), axes)


def _l2(b: Builder, x: Value, axes: Axes) -> Value:
    """The root of the sum of squares; of integers in double precision, cut."""
    total = _square_sum(b, x, axes)
    if np.dtype(x.dtype).kind == "f":
        return call(b, "Sqrt", total)
    return b.cast(call(b, "Sqrt", b.cast(total, "float64")), x.dtype)


def _log_sum(b: Builder, x: Value, axes: Axes) -> Value:
    return call(b, "Log", _sum(b, x, axes))


def _log_sum_exp(b: Builder, x: Value, axes: Axes) -> Value:
    """log(sum(exp(x - m))) + m with m the maximum where that is finite."""
    if axes.fixed == ():
        return x
    kept = Axes(axes.fixed, True, axes.value, axes.count)
    top = reduced(b, "ReduceMax", x, kept)
    top = select(b, call(b, "IsFinite", top), top, 0)
    total = call(b, "Log", _sum(b, call(b, "Exp", call(b, "Sub", x, top)), kept))
    found = call(b, "Add", total, top)
    return found if axes.keep else _without(b, found, axes)


def _without(b: Builder, x: Value, axes: Axes) -> Value:
    """The value without the dimensions of size 1 that a reduction has kept."""
    if axes.fixed is None:
        return reduced(b, "ReduceMax", x, axes)
    shape = None if x.shape is None else tuple(one for at, one in enumerate(x.shape) if at not in axes.fixed)
    return b.op("Squeeze", x, axes.fixed, shape=shape)


def extreme(b: Builder, primitive: str, x: Value, axes: Axes) -> Value:
    """ReduceMax or ReduceMin, NaN where there is one: MindSpore's own passes over it."""
    found = reduced(b, primitive, x, axes)
    if np.dtype(x.dtype).kind != "f" or found is x or found.array is not None:
        return found
    return select(b, reduced(b, "ReduceAny", call(b, "IsNan", x), axes), np.nan, found)


def reduction(formula: Formula, *, floats_only: bool = False, accurate: bool = True) -> Lower:
    """A Reduce operator: axes are an attribute in old opsets, an input in new ones, and all when none are given.

    Args:
        floats_only: integers are refused: ONNX gives them no meaning here.
        accurate: sums of half precision are made in single.
    """

    def lower(node: OnnxNode, b: Builder) -> Value:
        given = node.input(0)
        if floats_only and np.dtype(given.dtype).kind != "f":
            raise Refused(
                f"ONNX defines it for floats only, not for {given.dtype}", nearest="cast its input to a float"
            )
        axes = _axes(node, b)
        return b.cast(formula(b, as_float(b, given) if accurate else given, axes), given.dtype)

    return lower


def _axes(node: OnnxNode, b: Builder) -> Axes:
    keep, given = bool(node.get("keepdims", 1)), node.optional(1)
    noop = bool(node.get("noop_with_empty_axes", 0))
    if given is not None and given.array is None and given.shape != (0,):
        return _later(given, keep, noop, b)
    numbers = node.integers("axes", 1) if given is None or given.array is not None else []
    if not numbers and noop:
        return Axes((), keep)
    rank = node.rank() if numbers is None or not numbers or min(numbers) < 0 else node.input(0).rank
    over = sorted({one % rank if rank else 0 for one in numbers}) if numbers else range(rank or 0)
    if numbers and rank is not None and not all(-rank <= one < max(rank, 1) for one in numbers):
        raise Refused(f"axes {numbers} are outside of {rank} dimensions", attribute="axes")
    return Axes(tuple(over), keep)


def _later(given: Value, keep: bool, noop: bool, b: Builder) -> Axes:
    count = given.shape[0] if given.shape else None
    if noop and not count:
        raise Refused("whether axes is empty is only known when the model runs", nearest="--freeze", freeze=given.name)
    return Axes(None, keep, b.as_tuple(b.cast(given, "int64")), count)


def extreme_index(b: Builder, x: Value, axis: int, primitive: str, *, last: bool) -> Value:
    """The place of the maximum or minimum along an axis, which is kept; NaN is taken to be it.

    Args:
        primitive: ``ReduceMax`` or ``ReduceMin``.
        last: of several the last place, else the first.
    """
    over = Axes((axis,), True)
    top = extreme(b, primitive, x, over)
    hit = call(b, "Equal", x, top)
    if np.dtype(x.dtype).kind == "f":
        hit = call(b, "LogicalOr", hit, call(b, "IsNan", x))
    places = sizes.positions(b, x, axis)
    length = sizes.as_tensor(b, sizes.size(b, x, axis))
    missing: Value | float = -1 if last else b.reshape(length, [1] * (x.rank or 1))
    found = select(b, hit, places, missing)
    return b.op("ReduceMax" if last else "ReduceMin", found, (axis,), True, dtype="int64", shape=over.shape(x))


def _index(primitive: str) -> Lower:
    def lower(node: OnnxNode, b: Builder) -> Value:
        given, axis = node.input(0), node.axis(0)
        if given.rank == 0:
            return b.scalar(0, "int64")
        found = extreme_index(b, given, axis, primitive, last=bool(node.get("select_last_index", 0)))
        return found if node.get("keepdims", 1) else _without(b, found, Axes((axis,), False))

    return lower


def _axis_input(node: OnnxNode, b: Builder) -> Value | int:
    """An axis that is an input: a number, or a scalar of the graph."""
    given = node.input(1)
    if given.array is None:
        return b.op("TensorToScalar", b.reshape(b.cast(given, "int64"), []), dtype="int", attributes={})
    axis, rank = int(given.array.reshape(-1)[0]), node.rank()
    if not -rank <= axis < rank:
        raise Refused(f"axis {axis} is outside of {rank} dimensions")
    return axis % rank


def _running(primitive: str) -> Lower:
    """A running sum or product; half precision in single, integers in a width that wraps the same."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        given = node.input(0)
        x = as_float(b, given)
        used = working(primitive, x.dtype)
        axis = _axis_input(node, b)
        exclusive, reverse = bool(node.get("exclusive", 0)), bool(node.get("reverse", 0))
        return b.cast(b.op(primitive, b.cast(x, used), axis, exclusive, reverse, shape=x.shape), given.dtype)

    return lower


def _lp_normalization(node: OnnxNode, b: Builder) -> Value:
    """x over its L1 or L2 norm along an axis; zero where that is zero."""
    given, axis = node.input(0), node.axis(-1)
    power = int(node.get("p", 2))
    if power not in (1, 2):
        raise Refused(f"ONNX defines p as 1 or 2, not {power}", attribute="p")
    x, axes = as_float(b, given), Axes((axis,), True)
    norm = _l1(b, x, axes) if power == 1 else _l2(b, x, axes)
    return b.cast(select(b, call(b, "Equal", norm, 0), 0, call(b, "Div", x, norm)), given.dtype)


TO_MINDIR: Mapping[str, Lower] = {
    "ArgMax": _index("ReduceMax"),
    "ArgMin": _index("ReduceMin"),
    "CumProd": _running("CumProd"),
    "CumSum": _running("CumSum"),
    "LpNormalization": _lp_normalization,
    "ReduceL1": reduction(_l1),
    "ReduceL2": reduction(_l2),
    "ReduceLogSum": reduction(_log_sum, floats_only=True),
    "ReduceLogSumExp": reduction(_log_sum_exp, floats_only=True),
    "ReduceMax": reduction(lambda b, x, axes: extreme(b, "ReduceMax", x, axes), accurate=False),
    "ReduceMean": reduction(_mean),
    "ReduceMin": reduction(lambda b, x, axes: extreme(b, "ReduceMin", x, axes), accurate=False),
    "ReduceProd": reduction(lambda b, x, axes: reduced(b, "ReduceProd", x, axes)),
    "ReduceSum": reduction(_sum),
    "ReduceSumSquare": reduction(_square_sum),
}
