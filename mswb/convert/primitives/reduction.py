"""Reductions: sums, means, products, extremes, truth and deviations.

Formulas are those of MindSpore's documentation; what it does with integers was seen by running it: a mean is the sum in
the tensor's own data type, divided without remainder towards zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.extents import (
    END,
    axes_in,
    carried,
    converted,
    dtype_of,
    fixed,
    numbers,
    product,
    rank_of,
    size,
    slices,
    vector,
)
from mswb.convert.primitives.kernels import FLOATS, INTEGERS, run, single
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call

Axes = tuple[int, ...]
_NAMES = ("axis", "dim", "axes")
_KEPT = ("keep_dims", "keepdim", "keepdims")


def given_axes(call: Call) -> Axes | None:
    """The axes that a call reduces, whatever their argument is called; none for all."""
    given = _asked(call)
    return None if given is None else fixed(given, "the axis") or None


def open_axes(call: Call, b: OnnxBuilder) -> Axes | Value | None:
    """The same, or a tensor of them where only the run tells: reductions of ONNX take one."""
    given = _asked(call)
    return given_axes(call) if given is None or numbers(given) is not None else vector(b, given)


def _asked(call: Call) -> Any:
    return next((found for name in _NAMES if (found := call.get(name, None)) is not None), None)


def kept(call: Call) -> bool:
    """Whether a reduced axis stays, with size 1."""
    return any(bool(call.get(name, False)) for name in _KEPT)


def reduced(b: OnnxBuilder, op: str, x: Value, axes: Axes | Value | None, keep: bool) -> Value:
    """A reduction of ONNX over some axes; over all when there are none.

    onnxruntime computes integers in double precision and does not wrap: sums of them go by way of int64, and products
    by single multiplications where sizes are known.
    """
    if x.dtype == "bool" and (x.fixed is None or 0 in x.fixed):  # of no elements, onnxruntime knows none of bool
        return b.cast(reduced(b, op, b.cast(x, "uint8"), axes, keep), "bool")
    if op == "ReduceProd" and x.dtype in INTEGERS and x.fixed is not None and not isinstance(axes, Value):
        return _integer_product(b, x, axes_in(axes, len(x.fixed)) if x.fixed else [], keep)
    if op in ("ReduceSum", "ReduceProd") and x.dtype in INTEGERS and x.dtype != "int64":
        return b.cast(reduced(b, op, b.cast(x, "int64"), axes, keep), x.dtype)
    if isinstance(axes, Value):
        count = 0 if keep else None if axes.shape is None else axes.shape[0]
        shape = None if x.shape is None or count is None else (None,) * (len(x.shape) - count)
        return carried(b, op, x, axes, keepdims=int(keep), shape=shape)
    wanted = axes if x.rank != 0 else None
    return carried(b, op, x, None if wanted is None else b.ints(wanted), keepdims=int(keep))


def _integer_product(b: OnnxBuilder, x: Value, axes: Sequence[int], keep: bool) -> Value:
    """The first half times the second, until one is left."""
    for axis in axes:
        count = (x.fixed or ())[axis]
        if count == 0:
            ones = b.cast(reduced(b, "ReduceProd", b.cast(x, "float64"), (axis,), True), x.dtype)
            x, count = ones, 1
        while count > 1:
            half = count // 2
            first, second = (slices(b, x, [axis], [start], [start + half]) for start in (0, half))
            rest = [slices(b, x, [axis], [2 * half], [END])] if count % 2 else []
            x = run(b, "Mul", first, second)
            x, count = b.op("Concat", x, *rest, axis=axis) if rest else x, count - half
    return x if keep else b.squeeze(x, axes)


def axes_of(x: Array, axes: Axes | None) -> Axes | None:
    """Axes as numpy takes them."""
    return axes if x.ndim else None


# -- ONNX


def _plain(op: str, truth: str = "") -> Callable[[Call, OnnxBuilder], Value]:
    """A reduction that ONNX has; of bool under another name."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        return reduced(b, truth if truth and x.dtype == "bool" else op, x, open_axes(call, b), kept(call))

    return lower


def _sum(call: Call, b: OnnxBuilder) -> Value:
    x, axes = tensor(call), open_axes(call, b)
    if axes is None and call.get("skip_mode", False):
        return x
    return reduced(b, "ReduceMax" if x.dtype == "bool" else "ReduceSum", x, axes, kept(call))


def _extended(op: str) -> Callable[[Call, OnnxBuilder], Value]:
    """A reduction that may ask for a data type; integers become int64 unless it does."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        wanted = dtype_of(call, x.dtype if x.dtype in (*FLOATS, "bfloat16") else "int64")
        return reduced(b, op, b.cast(x, wanted), open_axes(call, b), kept(call))

    return lower


def counted(b: OnnxBuilder, x: Value, axes: Axes | None, dtype: str) -> Value:
    """How many elements are reduced to one."""
    if axes is None:
        return b.cast(b.op("Size", x), dtype)
    found = product(b, (size(b, x, axis) for axis in axes_in(axes, rank_of(x))))
    return b.scalar(found, dtype) if isinstance(found, int) else b.cast(b.reshape(found, ()), dtype)


def _mean(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.dtype in (*FLOATS, "bfloat16"):
        return reduced(b, "ReduceMean", x, open_axes(call, b), kept(call))
    axes = given_axes(call)
    return run(b, "Div", reduced(b, "ReduceSum", x, axes, kept(call)), counted(b, x, axes, x.dtype))


def _truth(op: str) -> Callable[[Call, OnnxBuilder], Value]:
    return lambda call, b: reduced(b, op, b.cast(tensor(call), "bool"), open_axes(call, b), kept(call))


def variance(b: OnnxBuilder, x: Value, axes: Axes | None, correction: int, keep: bool) -> tuple[Value, Value]:
    """The variance, divided by the count less the correction, and the mean."""
    mean = reduced(b, "ReduceMean", x, axes, True)
    squares = reduced(b, "ReduceSumSquare", b.op("Sub", x, mean), axes, keep)
    count = counted(b, x, axes, x.dtype)
    divisor = run(b, "Max", run(b, "Sub", count, correction), 0) if correction else count
    return b.op("Div", squares, divisor), mean if keep else reduced(b, "ReduceMean", x, axes, False)


def _spread(root: bool, both: bool) -> Callable[[Call, OnnxBuilder], Any]:
    """Variance or standard deviation, alone or with the mean."""

    def lower(call: Call, b: OnnxBuilder) -> Any:
        x = tensor(call)
        found, mean = variance(b, single(b, x), given_axes(call), _correction(call), kept(call))
        first = b.cast(b.op("Sqrt", found) if root else found, x.dtype)
        return (first, b.cast(mean, x.dtype)) if both else first

    return lower


def _correction(call: Call) -> int:
    """What is taken from the count: old operators say whether they are unbiased."""
    unbiased = call.get("unbiased", None)
    return int(number(call, "correction", 1)) if unbiased is None else int(bool(unbiased))


def _log_sum_exp(call: Call, b: OnnxBuilder) -> Value:
    return reduced(b, "ReduceLogSumExp", tensor(call), open_axes(call, b), kept(call))


def _count(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return reduced(b, "ReduceSum", b.cast(b.cast(x, "bool"), "int64"), given_axes(call), kept(call))


def _nan_sum(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.dtype in FLOATS:
        x = b.op("Where", b.op("IsNaN", x), b.scalar(0, x.dtype), x)
    wanted = dtype_of(call, x.dtype if x.dtype in (*FLOATS, "bfloat16") else "int64")
    return reduced(b, "ReduceSum", b.cast(x, wanted), given_axes(call), kept(call))


# -- numbers


def _numpy(function: Callable[..., Any]) -> Callable[[Call], Any]:
    """A function of numpy that takes an axis and whether it stays, and keeps the data type."""

    def evaluate(call: Call) -> Any:
        x = call.input(0)
        return np.asarray(function(x, axis=axes_of(x, given_axes(call)), keepdims=kept(call))).astype(x.dtype)

    return evaluate


def _extreme_of(function: Callable[..., Any], largest: bool) -> Callable[[Call], Array]:
    """The largest or smallest; of no elements the other end of the data type, as in ONNX."""

    def evaluate(call: Call) -> Array:
        x = call.input(0)
        others: dict[str, Any] = {}
        if not x.size and x.dtype.kind == "f":
            others["initial"] = -np.inf if largest else np.inf
        elif not x.size:
            info = np.iinfo(np.uint8 if x.dtype.kind == "b" else x.dtype)
            others["initial"] = x.dtype.type(info.min if largest else info.max)
        return np.asarray(function(x, axis=axes_of(x, given_axes(call)), keepdims=kept(call), **others)).astype(x.dtype)

    return evaluate


def _sum_of(call: Call) -> Array:
    x, axes = call.input(0), given_axes(call)
    if axes is None and call.get("skip_mode", False):
        found: Array = x
        return found
    return np.asarray(np.sum(x, axis=axes_of(x, axes), keepdims=kept(call), dtype=x.dtype))


def _product_of(call: Call) -> Array:
    x = call.input(0)
    return np.asarray(np.prod(x, axis=axes_of(x, given_axes(call)), keepdims=kept(call), dtype=x.dtype))


def _mean_of(call: Call) -> Array:
    x, axes = call.input(0), axes_of(call.input(0), given_axes(call))
    if x.dtype.kind == "f":
        return np.asarray(np.mean(x, axis=axes, keepdims=kept(call)))
    total = np.sum(x, axis=axes, keepdims=kept(call), dtype=x.dtype)
    count = x.dtype.type(x.size // max(total.size, 1))
    quotient = np.abs(total.astype(object)) // abs(int(count))
    return np.asarray(np.where(total < 0, -quotient, quotient)).astype(x.dtype)


def _extended_of(function: Callable[..., Any]) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x = call.input(0)
        wanted = converted(x, dtype_of(call, "float64" if x.dtype.kind == "f" else "int64"))
        found = function(wanted, axis=axes_of(x, given_axes(call)), keepdims=kept(call))
        return np.asarray(found).astype(wanted.dtype)

    return evaluate


def spread(x: Array, axes: Axes | None, correction: int, keep: bool) -> tuple[Array, Array]:
    """The variance and the mean."""
    mean = np.mean(x, axis=axes, keepdims=True)
    squares = np.sum(np.square(x - mean), axis=axes, keepdims=keep)
    count = x.size // max(np.size(mean), 1)
    return np.asarray(squares / max(count - correction, 0)), np.asarray(np.mean(x, axis=axes, keepdims=keep))


def _spread_of(root: bool, both: bool) -> Callable[[Call], Any]:
    def evaluate(call: Call) -> Any:
        x = call.input(0)
        found, mean = spread(x, axes_of(x, given_axes(call)), _correction(call), kept(call))
        found = np.sqrt(found) if root else found
        return (found, mean) if both else found

    return evaluate


def log_sum_exp(x: Array, axis: Axes | None, keepdims: bool) -> Array:
    """The logarithm of the sum of exponentials, without overflow."""
    top = np.max(x, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - safe), axis=axis, keepdims=True)) + safe
    return np.asarray(total if keepdims else np.sum(total, axis=axis))


def _count_of(call: Call) -> Array:
    x = call.input(0)
    return np.asarray(np.sum(x != 0, axis=axes_of(x, given_axes(call)), keepdims=kept(call))).astype(np.int64)


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "All": _truth("ReduceMin"),
    "Any": _truth("ReduceMax"),
    "AnyExt": _truth("ReduceMax"),
    "CountNonZero": _count,
    "LogSumExp": _log_sum_exp,
    "Max": _plain("ReduceMax"),
    "MeanExt": _extended("ReduceMean"),
    "Min": _plain("ReduceMin"),
    "Nansum": _nan_sum,
    "ProdExt": _extended("ReduceProd"),
    "ReduceAll": _truth("ReduceMin"),
    "ReduceAny": _truth("ReduceMax"),
    "ReduceMax": _plain("ReduceMax"),
    "ReduceMean": _mean,
    "ReduceMin": _plain("ReduceMin"),
    "ReduceProd": _plain("ReduceProd", "ReduceMin"),
    "ReduceStd": _spread(True, True),
    "ReduceSum": _sum,
    "Std": _spread(True, False),
    "StdMean": _spread(True, True),
    "SumExt": _extended("ReduceSum"),
    "Var": _spread(False, False),
    "VarMean": _spread(False, True),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "All": lambda call: np.all(call.input(0) != 0),
    "Any": lambda call: np.any(call.input(0) != 0),
    "AnyExt": lambda call: _numpy(np.any)(_as_truth(call)),
    "CountNonZero": _count_of,
    "LogSumExp": _numpy(log_sum_exp),
    "Max": _numpy(np.max),
    "MeanExt": _extended_of(np.mean),
    "Min": _numpy(np.min),
    "Nansum": _extended_of(np.nansum),
    "ProdExt": _extended_of(np.prod),
    "ReduceAll": lambda call: _numpy(np.all)(_as_truth(call)),
    "ReduceAny": lambda call: _numpy(np.any)(_as_truth(call)),
    "ReduceMax": _extreme_of(np.max, True),
    "ReduceMean": _mean_of,
    "ReduceMin": _extreme_of(np.min, False),
    "ReduceProd": _product_of,
    "ReduceStd": _spread_of(True, True),
    "ReduceSum": _sum_of,
    "Std": _spread_of(True, False),
    "StdMean": _spread_of(True, True),
    "SumExt": _extended_of(np.sum),
    "Var": _spread_of(False, False),
    "VarMean": _spread_of(False, True),
}


def _as_truth(call: Call) -> Call:
    return Call(call.op, call.name, (call.input(0) != 0, *call.inputs[1:]), call.attributes, call.result)
