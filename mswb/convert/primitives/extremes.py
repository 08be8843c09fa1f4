"""Where the largest, the smallest and the middle element is; the first of equal ones, as in MindSpore on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.extents import axis_in, converted, dtype_of, rank_of, size, vector
from mswb.convert.primitives.kernels import FLOATS, run, where, working
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.reduction import kept, reduced
from mswb.convert.program import Call


def _axis(call: Call, default: Any) -> Any:
    """The axis argument, which is ``dim`` in newer operators; None for all elements in a row."""
    return call.get("axis", call.get("dim", default))


# -- ONNX


def position(b: OnnxBuilder, op: str, x: Value, axis: int, keep: bool) -> Value:
    """ArgMax or ArgMin as int64."""
    return b.op(op, b.cast(x, working(op, x.dtype)), axis=axis, keepdims=int(keep))


def _place(op: str, dtype: str, default: Any = -1) -> Callable[[Call, OnnxBuilder], Value]:
    """The place alone; of all elements in a row where no axis is given."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, axis, keep = tensor(call), _axis(call, default), kept(call)
        wanted = dtype_of(call, dtype, "output_type")
        if axis is not None:
            return b.cast(position(b, op, x, axis_in(axis, rank_of(x)), keep), wanted)
        found = b.cast(position(b, op, b.reshape(x, (-1,)), 0, False), wanted)
        return b.reshape(found, (1,) * rank_of(x)) if keep else found

    return lower


def _both(arg: str, reduce: str, value_first: bool) -> Callable[[Call, OnnxBuilder], tuple[Value, Value]]:
    """The place and the element."""

    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
        x = tensor(call)
        axis = axis_in(_axis(call, 0), rank_of(x))
        place = position(b, arg, x, axis, kept(call))
        value = reduced(b, reduce, x, (axis,), kept(call))
        return (value, place) if value_first else (place, value)

    return lower


def _median(call: Call, b: OnnxBuilder) -> Any:
    """The lower one of two in the middle: sorted upwards, NaN last, at (count - 1) // 2."""
    x = tensor(call)
    whole = call.op == "MedianExt" or bool(call.get("global_median", False))
    given = b.reshape(x, (-1,)) if whole else x
    axis = 0 if whole else axis_in(_axis(call, -1), rank_of(x))
    keep = not whole and kept(call)
    nan = b.op("IsNaN", given) if given.dtype in FLOATS else None
    ordered = given if nan is None else where(b, nan, float("inf"), given)
    used = working("TopK", given.dtype)
    count = vector(b, size(b, given, axis))
    values, places = b.ops("TopK", b.cast(ordered, used), count, axis=axis, largest=0, sorted=1, count=2)
    if nan is not None and call.get("ignore_nan", False):
        full = reduced(b, "ReduceSum", b.cast(b.op("Not", nan), "int64"), (axis,), True)
    else:
        full = b.reshape(count, (1,) * rank_of(given))
        shape = b.shape_of(reduced(b, "ReduceMax", b.cast(places, "int64"), (axis,), True))
        full = b.op("Expand", full, shape)
    middle = run(b, "Div", run(b, "Max", run(b, "Sub", full, 1), 0), 2)
    value = b.cast(b.op("GatherElements", values, middle, axis=axis), x.dtype)
    place = b.op("GatherElements", places, middle, axis=axis)
    if nan is not None:
        lost = reduced(b, "ReduceMin" if call.get("ignore_nan", False) else "ReduceMax", nan, (axis,), True)
        value = where(b, lost, float("nan"), value)
        place = where(b, lost, position(b, "ArgMax", nan, axis, True), place)
    if not keep:
        value, place = b.squeeze(value, (axis,)), b.squeeze(place, (axis,))
    return value if call.op == "MedianExt" else (value, place)


# -- numbers


def _place_of(function: Callable[..., Any], dtype: str, default: Any = -1) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x, axis = call.input(0), _axis(call, default)
        found = function(x, axis=axis, keepdims=kept(call))
        return converted(np.asarray(found), dtype_of(call, dtype, "output_type"))

    return evaluate


def _both_of(value_first: bool, place: Callable[..., Any], value: Callable[..., Any]) -> Callable[[Call], Any]:
    def evaluate(call: Call) -> Any:
        x, axis = call.input(0), _axis(call, 0)
        parts = (
            np.asarray(place(x, axis=axis, keepdims=kept(call))).astype(np.int64),
            np.asarray(value(x, axis=axis, keepdims=kept(call))),
        )
        return parts[::-1] if value_first else parts

    return evaluate


def _median_of(call: Call) -> Any:
    x, ignore = call.input(0), bool(call.get("ignore_nan", False))
    whole = call.op == "MedianExt" or bool(call.get("global_median", False))
    given, axis = (x.reshape(-1), 0) if whole else (x, _axis(call, -1))
    order = np.argsort(given, axis=axis, kind="stable")
    nan = np.isnan(given) if given.dtype.kind == "f" else np.zeros(given.shape, bool)
    count = np.sum(~nan, axis=axis, keepdims=True) if ignore else given.shape[axis]
    middle = np.maximum((count - 1) // 2, 0) + np.zeros_like(np.sum(nan, axis=axis, keepdims=True))
    place = np.take_along_axis(order, middle, axis)
    value = np.take_along_axis(given, place, axis)
    lost = (np.all if ignore else np.any)(nan, axis=axis, keepdims=True)
    if given.dtype.kind == "f":
        value, place = np.where(lost, np.nan, value), np.where(lost, np.argmax(nan, axis, keepdims=True), place)
    if whole or not kept(call):
        value, place = np.squeeze(value, axis), np.squeeze(place, axis)
    return value if call.op == "MedianExt" else (value, place.astype(np.int64))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "ArgMaxExt": _place("ArgMax", "int64", None),
    "ArgMaxWithValue": _both("ArgMax", "ReduceMax", False),
    "ArgMinExt": _place("ArgMin", "int64", None),
    "ArgMinWithValue": _both("ArgMin", "ReduceMin", False),
    "Argmax": _place("ArgMax", "int32"),
    "Argmin": _place("ArgMin", "int32"),
    "MaxDim": _both("ArgMax", "ReduceMax", True),
    "Median": _median,
    "MedianDim": _median,
    "MedianExt": _median,
    "MinDim": _both("ArgMin", "ReduceMin", True),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "ArgMaxExt": _place_of(np.argmax, "int64", None),
    "ArgMaxWithValue": _both_of(False, np.argmax, np.max),
    "ArgMinExt": _place_of(np.argmin, "int64", None),
    "ArgMinWithValue": _both_of(False, np.argmin, np.min),
    "Argmax": _place_of(np.argmax, "int32"),
    "Argmin": _place_of(np.argmin, "int32"),
    "MaxDim": _both_of(True, np.argmax, np.max),
    "Median": _median_of,
    "MedianDim": _median_of,
    "MedianExt": _median_of,
    "MinDim": _both_of(True, np.argmin, np.min),
}
