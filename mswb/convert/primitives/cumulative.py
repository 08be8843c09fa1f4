"""Running sums, products, extremes and logarithms of sums of exponentials.

ONNX has the sum alone. The others go in steps of 1, 2, 4 … elements (Hillis and Steele), which is exact for what is
associative: after each step an element stands for twice as many before it. Along a size that only the run tells they
are a Scan of ONNX, one element after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder, declared
from mswb.convert.primitives.extents import (
    END,
    along,
    axis_in,
    carried,
    converted,
    counted,
    dtype_of,
    fixed,
    rank_of,
    size,
    slices,
)
from mswb.convert.primitives.kernels import FLOATS, run, single, where, working
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call, numpy_dtype

Combine = Callable[[OnnxBuilder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""What stands for the elements before and after together."""


def _axis(call: Call, rank: int) -> int:
    given = call.get("axis", call.get("dim", None))
    return axis_in(call.input(1) if given is None else given, rank)


def _open_axis(call: Call) -> Value | None:
    """The axis as a tensor, where only the run tells it."""
    given = call.get("axis", call.get("dim", None))
    given = call.input(1) if given is None else given
    return given if isinstance(given, Value) and given.array is None else None


LOWEST = float(np.finfo(np.float32).min)
"""What the logarithm of an empty sum is in MindSpore."""


# -- ONNX


def _total(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if call.op == "CumsumExt":
        x = b.cast(x, dtype_of(call, x.dtype if x.dtype in (*FLOATS, "bfloat16") else "int64"))
    axis = _open_axis(call)
    axis = (
        b.constant(np.array(_axis(call, rank_of(x)), np.int64))
        if axis is None
        else b.reshape(b.cast(axis, "int64"), ())
    )
    flags = {name: int(bool(call.get(name, False))) or None for name in ("exclusive", "reverse")}
    return carried(b, "CumSum", x, axis, **flags)


def scan(b: OnnxBuilder, given: Sequence[Value], axis: int, combine: Combine, firsts: Sequence[float]) -> list[Value]:
    """All running results along an axis; ``firsts`` change nothing before the first element."""
    count = given[0].shape[axis] if given[0].shape is not None else None
    if count is None:
        return _stepwise(b, given, axis, combine, firsts)
    found, step = list(given), 1
    while step < count:
        before = [slices(b, one, [axis], [0], [-step]) for one in found]
        after = [slices(b, one, [axis], [step], [END]) for one in found]
        first = [slices(b, one, [axis], [0], [step]) for one in found]
        joined = combine(b, before, after)
        found = [b.op("Concat", *pair, axis=axis) for pair in zip(first, joined, strict=True)]
        step *= 2
    return found


def _stepwise(
    b: OnnxBuilder, given: Sequence[Value], axis: int, combine: Combine, firsts: Sequence[float]
) -> list[Value]:
    rank, inner = rank_of(given[0]), b.inner()
    others = [at for at in range(rank) if at != axis]
    shape = tuple((given[0].shape or ())[at] for at in others)
    sizes = b.op("Gather", b.shape_of(given[0]), b.ints(others), axis=0)
    start = [b.op("Expand", b.scalar(first, one.dtype), sizes) for one, first in zip(given, firsts, strict=True)]
    state, element = ([Value(b.shared.name(name), one.dtype, shape) for one in given] for name in ("state", "element"))
    found = combine(inner, state, element)
    found = [*found, *(inner.op("Identity", one) for one in found)]
    body = inner.finish("step", [declared(one) for one in (*state, *element)], found)
    names = [b.shared.name(f"{b.scope}/Scan" if b.scope else "Scan") for _ in found]
    axes = [axis] * len(given)
    node = helper.make_node(
        "Scan", [one.name for one in (*start, *given)], names, name=names[0], body=body, num_scan_inputs=len(given),
        scan_input_axes=axes, scan_output_axes=axes,
    )  # fmt: skip
    b.add(node, [*start, *given])
    kinds = zip(names[len(given) :], given, strict=True)
    return [Value(name, one.dtype, one.shape) for name, one in kinds]


def _turned(b: OnnxBuilder, x: Value, axis: int, turned: bool) -> Value:
    return slices(b, x, [axis], [-1], [-END], [-1]) if turned else x


def _shifted(b: OnnxBuilder, x: Value, axis: int, first: float) -> Value:
    """The elements one place later, after a given first one."""
    rank, used = rank_of(x), working("Pad", x.dtype)
    pads = b.ints([int(at == axis) for at in range(rank)] + [0] * rank)
    padded = carried(b, "Pad", x, pads, b.scalar(first, used))
    return slices(b, padded, [axis], [0], [-1])


def _running(combine: Combine, first: float) -> Callable[[Call, OnnxBuilder], Value]:
    """A running result of one tensor, from ``first`` on; with the element itself, or without."""

    def along_axis(b: OnnxBuilder, x: Value, axis: int, call: Call) -> Value:
        turned = bool(call.get("reverse", False))
        given = _turned(b, x, axis, turned)
        given = _shifted(b, given, axis, first) if call.get("exclusive", False) else given
        return _turned(b, scan(b, [given], axis, combine, [first])[0], axis, turned)

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        wide, rank, axis = single(b, x), rank_of(x), _open_axis(call)
        if axis is None:
            return b.cast(along_axis(b, wide, _axis(call, rank), call), x.dtype)
        found = along_axis(b, wide, rank - 1, call)
        for at in range(rank - 1):  # one of them, by the axis that the run tells
            chosen = b.op("Equal", b.op("Mod", b.cast(axis, "int64"), b.scalar(rank, "int64")), b.scalar(at, "int64"))
            found = where(b, chosen, along_axis(b, wide, at, call), found)
        return b.cast(found, x.dtype)

    return lower


def _times(b: OnnxBuilder, before: Sequence[Value], after: Sequence[Value]) -> Sequence[Value]:
    return [run(b, "Mul", before[0], after[0])]


def _log_add(b: OnnxBuilder, before: Sequence[Value], after: Sequence[Value]) -> Sequence[Value]:
    """log(e^x + e^y) as max + log(1 + e^(min - max))"""
    high, low = run(b, "Max", before[0], after[0]), run(b, "Min", before[0], after[0])
    apart = where(b, b.op("Equal", low, high), 0.0, b.op("Sub", low, high))
    return [b.op("Add", high, b.op("Log", run(b, "Add", b.op("Exp", apart), 1.0)))]


def _last(op: str) -> Combine:
    """The later pair of element and place, unless the earlier element is strictly beyond it; NaN is beyond all."""

    def combine(b: OnnxBuilder, before: Sequence[Value], after: Sequence[Value]) -> Sequence[Value]:
        keeps = run(b, op, after[0], before[0])
        if after[0].dtype in FLOATS:
            keeps = b.op("Or", keeps, b.op("IsNaN", after[0]))
        return [where(b, keeps, late, early) for early, late in zip(before, after, strict=True)]

    return combine


def _extreme(op: str, dtype: str) -> Callable[[Call, OnnxBuilder], tuple[Value, Value]]:
    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
        x = tensor(call)
        axis = _axis(call, rank_of(x))
        places = b.op("Expand", along(b, counted(b, size(b, x, axis)), axis, rank_of(x)), b.shape_of(x))
        kind = numpy_dtype(x.dtype)
        ends = (
            (-np.inf, np.inf) if kind.kind == "f" or x.dtype == "bfloat16" else (np.iinfo(kind).min, np.iinfo(kind).max)
        )
        value, place = scan(b, [x, places], axis, _last(op), [ends[op == "LessOrEqual"], -1])
        return value, b.cast(place, dtype)

    return lower


# -- numbers


def running(x: Array, axis: int, function: Callable[[Array], Array], first: float, call: Call) -> Array:
    """A running result with the options of a call."""
    given = np.flip(x, axis) if call.get("reverse", False) else x
    if call.get("exclusive", False):
        moved = np.moveaxis(given, axis, 0)
        start = np.full((min(1, len(moved)), *moved.shape[1:]), first, moved.dtype)
        given = np.moveaxis(np.concatenate([start, moved[:-1]]), 0, axis)
    found = function(given)
    return np.flip(found, axis) if call.get("reverse", False) else found


def _axis_of(call: Call) -> int:
    given = call.get("axis", call.get("dim", None))
    return fixed(call.input(1) if given is None else given, "the axis")[0]


def _total_of(call: Call) -> Array:
    x, axis = call.input(0), _axis_of(call)
    if call.op == "CumsumExt":
        x = converted(x, dtype_of(call, "float64" if x.dtype.kind == "f" else "int64"))
    return running(x, axis, lambda given: np.cumsum(given, axis, dtype=x.dtype), 0, call)


def _product_of(call: Call) -> Array:
    x, axis = call.input(0), _axis_of(call)
    return running(x, axis, lambda given: np.cumprod(given, axis, dtype=x.dtype), 1, call)


def _log_sum_of(call: Call) -> Array:
    axis = _axis_of(call)
    return running(call.input(0), axis, lambda given: np.logaddexp.accumulate(given, axis), LOWEST, call)


def _extreme_of(function: Any, dtype: str) -> Callable[[Call], tuple[Array, Array]]:
    def evaluate(call: Call) -> tuple[Array, Array]:
        x, axis = call.input(0), _axis_of(call)
        value = function.accumulate(x, axis)
        sizes = [1] * x.ndim
        sizes[axis] = -1
        places = np.where((x == value) | (x != x), np.arange(x.shape[axis]).reshape(sizes), 0)
        return value, np.maximum.accumulate(places, axis).astype(dtype)

    return evaluate


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "CumProd": _running(_times, 1.0),
    "CumSum": _total,
    "Cummax": _extreme("GreaterOrEqual", "int64"),
    "Cummin": _extreme("LessOrEqual", "int32"),
    "CumminExt": _extreme("LessOrEqual", "int64"),
    "CumsumExt": _total,
    "CumulativeLogsumexp": _running(_log_add, LOWEST),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "CumProd": _product_of,
    "CumSum": _total_of,
    "Cummax": _extreme_of(np.maximum, "int64"),
    "Cummin": _extreme_of(np.minimum, "int32"),
    "CumminExt": _extreme_of(np.minimum, "int64"),
    "CumsumExt": _total_of,
    "CumulativeLogsumexp": _log_sum_of,
}
