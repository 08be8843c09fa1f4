"""Pooling to a given number of windows: the i-th of n goes from floor(i size / n) to ceil((i + 1) size / n).

The windows of several dimensions are boxes, so that one dimension after the other is pooled: the mean of means over
boxes is the mean, the largest of the largest the largest, and the first of equals stays the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.extents import Size, calc, carried, counted, fixed, product, rank_of, reshape, size, sizes
from mswb.convert.primitives.extents import slices as cut
from mswb.convert.primitives.extremes import position
from mswb.convert.primitives.kernels import single
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.reduction import reduced
from mswb.convert.primitives.windows import per_axis
from mswb.convert.program import Call

Wanted = tuple[int | None, ...]


def _wanted(call: Call, count: int) -> Wanted:
    """How many windows each dimension gets; None where it stays as it is."""
    given = call.get("output_size", call.inputs[1] if len(call.inputs) > 1 else None)
    if isinstance(given, tuple):
        given = tuple(-1 if one is None else one for one in given)
    known = per_axis(fixed(given, "the number of windows"), count)
    return tuple(None if one < 0 else one for one in known)


# -- ONNX


def _bounds(b: OnnxBuilder, length: Size, at: int, count: int) -> tuple[Size, Size]:
    """Where a window starts and ends."""
    end = calc(b, "Div", calc(b, "Add", calc(b, "Mul", length, at + 1), count - 1), count)
    return calc(b, "Div", calc(b, "Mul", length, at), count), end


def _even(x: Value, wanted: Wanted) -> tuple[int, ...] | None:
    """The sizes of the windows where they all have the same; None where they differ or a size is open."""
    known = () if x.shape is None else x.shape[-len(wanted) :]
    found = []
    for given, count in zip(known, wanted, strict=True):
        if given is None or (count is not None and (count == 0 or given % count)):
            return None
        found.append(1 if count is None else given // count)
    return tuple(found)


def _mean(count: int) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        given, wanted = tensor(call), _wanted(call, count)
        x, rank = single(b, given), rank_of(given)
        if all(one == 1 for one in wanted):
            return b.cast(reduced(b, "ReduceMean", x, tuple(range(rank - count, rank)), True), given.dtype)
        windows = _even(x, wanted)
        if windows is not None and x.dtype == "float32" and rank == count + 2:
            return b.cast(b.op("AveragePool", x, kernel_shape=windows, strides=windows), given.dtype)
        for axis, number in zip(range(rank - count, rank), wanted, strict=True):
            if number is not None:
                parts = _parts(b, [x], axis, number)
                means = [reduced(b, "ReduceMean", one, (axis,), True) for (one,) in parts]
                x = b.op("Concat", *means, axis=axis)
        return b.cast(x, given.dtype)

    return lower


def _parts(b: OnnxBuilder, given: list[Value], axis: int, count: int) -> list[list[Value]]:
    """The windows along one dimension."""
    length = size(b, given[0], axis)
    bounds = [_bounds(b, length, at, count) for at in range(count)]
    return [[cut(b, one, [axis], [start], [end]) for one in given] for start, end in bounds]


def _largest(count: int, dtype: str = "int64") -> Callable[[Call, OnnxBuilder], tuple[Value, Value]]:
    """The largest of each window and its place in the pooled dimensions, as one number."""

    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
        x = tensor(call)
        rank, lengths = rank_of(x), sizes(b, x)
        plane = reshape(b, counted(b, product(b, lengths[-count:])), lengths[-count:])
        pair = [x, b.op("Expand", plane, b.shape_of(x))]
        for axis, number in reversed(list(zip(range(rank - count, rank), _wanted(call, count), strict=True))):
            if number is None:
                continue
            found = []
            for part in _parts(b, pair, axis, number):
                at = position(b, "ArgMax", part[0], axis, True)
                found.append([carried(b, "GatherElements", one, at, axis=axis) for one in part])
            pair = [b.op("Concat", *one, axis=axis) for one in zip(*found, strict=True)]
        return pair[0], b.cast(pair[1], dtype)

    return lower


# -- numbers


def _slices(length: int, count: int | None) -> list[slice]:
    if count is None:
        return [slice(at, at + 1) for at in range(length)]
    return [slice(at * length // count, -(-(at + 1) * length // count)) for at in range(count)]


def _mean_of(count: int) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x = call.input(0)
        for axis, number in zip(range(x.ndim - count, x.ndim), _wanted(call, count), strict=True):
            moved = np.moveaxis(x, axis, 0)
            x = np.moveaxis(np.stack([np.mean(moved[one], axis=0) for one in _slices(len(moved), number)]), 0, axis)
        return np.asarray(x)

    return evaluate


def _largest_of(count: int, dtype: str = "int64") -> Callable[[Call], tuple[Array, Array]]:
    def evaluate(call: Call) -> tuple[Array, Array]:
        x = call.input(0)
        plane = np.arange(int(np.prod(x.shape[-count:]))).reshape(x.shape[-count:])
        pair = [x, np.broadcast_to(plane, x.shape)]
        for axis, number in reversed(list(zip(range(x.ndim - count, x.ndim), _wanted(call, count), strict=True))):
            moved = [np.moveaxis(one, axis, 0) for one in pair]
            found = []
            for one in _slices(len(moved[0]), number):
                at = np.argmax(moved[0][one], axis=0)[None]
                found.append([np.take_along_axis(each[one], at, 0)[0] for each in moved])
            pair = [np.moveaxis(np.stack(one), 0, axis) for one in zip(*found, strict=True)]
        return pair[0], pair[1].astype(dtype)

    return evaluate


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "AdaptiveAvgPool1D": _mean(1),
    "AdaptiveAvgPool2D": _mean(2),
    "AdaptiveAvgPool2DExt": _mean(2),
    "AdaptiveAvgPool3D": _mean(3),
    "AdaptiveAvgPool3DExt": _mean(3),
    "AdaptiveMaxPool1D": _largest(1),
    "AdaptiveMaxPool2D": _largest(2),
    "AdaptiveMaxPool3D": _largest(3, "int32"),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "AdaptiveAvgPool1D": _mean_of(1),
    "AdaptiveAvgPool2D": _mean_of(2),
    "AdaptiveAvgPool2DExt": _mean_of(2),
    "AdaptiveAvgPool3D": _mean_of(3),
    "AdaptiveAvgPool3DExt": _mean_of(3),
    "AdaptiveMaxPool1D": _largest_of(1),
    "AdaptiveMaxPool2D": _largest_of(2),
    "AdaptiveMaxPool3D": _largest_of(3, "int32"),
}
