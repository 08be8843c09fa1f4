"""Resizing of images: which elements each result takes, and with what weights.

Where MindSpore and ONNX agree, ONNX's Resize is written. Elsewhere each axis is gathered by places and weights that
follow MindSpore's kernels: nearest places are found in single precision, and the weights of the cubic come from a table
with 1024 steps between two elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx_graph import OnnxBuilder
from mswb.convert.onnx_node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.kernels import single
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
_RESIZED = ("float16", "float32", "int8", "int32", "uint8")
"""The data types that onnxruntime has Resize for."""
_STEPS = 1024
_ONNX_WAYS = {
    "asymmetric": "asymmetric", "half": "half_pixel", "corners": "align_corners", "half or first": "pytorch_half_pixel"
}  # fmt: skip
_WAYS = ("asymmetric", "corners", "half or first")
"""MindSpore's coordinate transformations by their number."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """What a call asks for: the sizes of the last axes, or factors for them, and how places are found."""

    sizes: Any
    factors: tuple[float, ...] | None
    way: str

    def after(self, before: Sequence[int]) -> list[int]:
        """The sizes of the result."""
        if self.factors is not None:
            return [int(np.floor(size * factor)) for size, factor in zip(before, self.factors, strict=True)]
        return list(at.integers(self.sizes))

    def ratio(self, axis: int, before: int, after: int) -> float:
        """How far two neighbours of the result lie from each other in the input."""
        if self.way == "corners" and after > 1:
            return (before - 1) / (after - 1)
        if self.factors is not None and self.way != "corners":
            return 1 / self.factors[axis]
        return before / after


def _by_flags(call: Call) -> Scaled:
    corners, half = (bool(call.get(name, False)) for name in ("align_corners", "half_pixel_centers"))
    return Scaled(call.get("size"), None, "corners" if corners else "half" if half else "asymmetric")


def _by_mode(call: Call) -> Scaled:
    way = call.get("coordinate_transformation_mode", "align_corners")
    named = {"align_corners": "corners", "half_pixel": "half or first", "asymmetric": "asymmetric"}
    return Scaled(call.get("size"), None, named[way] if isinstance(way, str) else _WAYS[int(way)])


def _by_scales(call: Call) -> Scaled:
    factors = call.get("scales", None)
    known = None if factors is None else tuple(float(one) for one in factors)
    way = "asymmetric" if "Nearest" in call.op else "corners" if call.get("align_corners", False) else "half"
    return Scaled(call.get("output_size", None), known, way)


Asked = Callable[[Call], Scaled]


# -- places and weights


def nearest(scaled: Scaled, axis: int, before: int, after: int) -> Array:
    """The element that each result takes, found in single precision as MindSpore does."""
    ratio = np.float32(scaled.ratio(axis, before, after))
    if scaled.factors is None:
        down = (before - 1, after - 1) if scaled.way == "corners" and after > 1 else (before, after)
        ratio = np.float32(down[0]) / np.float32(down[1])
    place = np.arange(after).astype(np.float32)
    found = (place + np.float32(0.5)) * ratio if scaled.way == "half" else place * ratio
    whole = np.floor(found + np.float32(0.5)) if scaled.way == "corners" else np.floor(found)
    held: Array = np.minimum(whole.astype(np.int64), before - 1)
    return held


def _places(scaled: Scaled, axis: int, before: int, after: int) -> Array:
    place, ratio = np.arange(after), scaled.ratio(axis, before, after)
    half = scaled.way == "half" or (scaled.way == "half or first" and after > 1)
    return (place + 0.5) * ratio - 0.5 if half else place * ratio


Taps = tuple[Array, Array]
"""For each result of an axis the elements that it takes, and their weights; a row for each of them."""


def _linear(scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    found = _places(scaled, axis, before, after)
    first = np.floor(found)
    weight = found - first
    return _held([first, first + 1], before), np.stack([1 - weight, weight])


def _cubic(scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    """Keys' cubic; with half pixels it is the flatter one, and what lies outside has no weight."""
    found = _places(scaled, axis, before, after)
    first = np.floor(found)
    part = np.rint((found - first) * _STEPS) / _STEPS
    rows = [first + step for step in (-1, 0, 1, 2)]
    half = scaled.way == "half"
    weights = np.stack([_keys(np.abs(part - step), -0.5 if half else -0.75) for step in (-1, 0, 1, 2)])
    if half:
        weights = np.where([(row >= 0) & (row < before) for row in rows], weights, 0)
        weights = weights / weights.sum(0)
    return _held(rows, before), weights


def _keys(distance: Array, a: float) -> Array:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _held(rows: Sequence[Array], size: int) -> Array:
    return np.clip(np.stack(rows), 0, size - 1).astype(np.int64)


# -- in ONNX


def _sides(scaled: Scaled, b: OnnxBuilder, x: Value) -> tuple[list[int], list[at.Size], list[at.Size]]:
    """The axes that are resized, their sizes and those of the result."""
    rank = at.rank_of(x)
    axes = list(range(2, rank))
    before = [at.size(b, x, axis) for axis in axes]
    if scaled.factors is None:
        return axes, before, at.parts(b, scaled.sizes)
    known = at.numbers(tuple(before))
    after: list[at.Size] = list(scaled.after(known)) if known is not None else [
        b.cast(b.op("Floor", b.op("Mul", b.cast(at.vector(b, size), "float64"), b.scalar(factor, "float64"))), "int64")
        for size, factor in zip(before, scaled.factors, strict=True)
    ]  # fmt: skip
    return axes, before, after


def _nearest_lower(asked: Asked) -> Lower:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, scaled = tensor(call), asked(call)
        axes, before, after = _sides(scaled, b, x)
        if x.dtype in _RESIZED and _whole_times(scaled, before, after):
            return _resize(b, x, axes, after, "nearest", "asymmetric", nearest_mode="floor")
        for place, (axis, old, new) in enumerate(zip(axes, before, after, strict=True)):
            if isinstance(old, int) and isinstance(new, int):
                found: Value = b.constant(nearest(scaled, place, old, new))
            else:
                found = _nearest_running(scaled, place, b, old, new)
            x = b.op("Gather", x, found, axis=axis)
        return x

    return lower


def _whole_times(scaled: Scaled, before: Sequence[at.Size], after: Sequence[at.Size]) -> bool:
    """Whether every element is only repeated; then no rounding can tell MindSpore and ONNX apart."""
    for axis, (old, new) in enumerate(zip(before, after, strict=True)):
        if not isinstance(old, int) or not isinstance(new, int) or not old or new % old:
            return False
        if not np.array_equal(nearest(scaled, axis, old, new), np.arange(new) // (new // old)):
            return False
    return True


def _nearest_running(scaled: Scaled, axis: int, b: OnnxBuilder, old: at.Size, new: at.Size) -> Value:
    one, half = b.ints([1]), b.scalar(0.5, "float32")
    before, after = at.vector(b, old), at.vector(b, new)
    if scaled.factors is not None:
        ratio = b.scalar(float(np.float32(1 / scaled.factors[axis])), "float32")
    else:
        corners = scaled.way == "corners"
        alone = b.op("Equal", after, one)
        over, under = (b.op("Where", alone, size, b.op("Sub", size, one)) if corners else size
                       for size in (before, after))  # fmt: skip
        ratio = b.op("Div", b.cast(over, "float32"), b.cast(under, "float32"))
    place = b.cast(at.counted(b, new), "float32")
    found = b.op("Mul", b.op("Add", place, half) if scaled.way == "half" else place, ratio)
    whole = b.op("Floor", b.op("Add", found, half) if scaled.way == "corners" else found)
    return b.op("Min", b.cast(whole, "int64"), b.op("Sub", before, one))


def _resize(b: OnnxBuilder, x: Value, axes: Sequence[int], after: Sequence[at.Size], mode: str, way: str,
            factors: Sequence[float] | None = None, **attributes: Any) -> Value:  # fmt: skip
    """ONNX's Resize, of images that it sees as having two dimensions or more."""
    flat = len(axes) == 1
    if flat:
        x, axes, after = b.unsqueeze(x, [2]), [2, 3], [1, *after]
    scales = None if factors is None else b.constant(np.array([1.0, *factors] if flat else factors, np.float32))
    sizes = at.vector(b, tuple(after)) if scales is None else None
    found = b.op(
        "Resize", x, None, scales, sizes, axes=list(axes), mode=mode, coordinate_transformation_mode=way,
        shape=None if x.shape is None else (*x.shape[:2], *at.shape_of(after)), **attributes,
    )  # fmt: skip
    return b.squeeze(found, [2]) if flat else found


def _fractions(dtype: str) -> None:
    """MindSpore weighs fractions alone."""
    if "float" not in dtype:
        raise Refused(f"MindSpore has no kernel that weighs {dtype}")


def _linear_lower(asked: Asked) -> Lower:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, scaled = tensor(call), asked(call)
        _fractions(x.dtype)
        if x.dtype == "float64":
            return _weighed(b, x, scaled, _linear)
        axes, _, after = _sides(scaled, b, x)
        factors = None if scaled.way == "corners" else scaled.factors
        found = _resize(b, single(b, x), axes, after, "linear", _ONNX_WAYS[scaled.way], factors)
        return b.cast(found, x.dtype)

    return lower


def _weighed_lower(asked: Asked, taps: Callable[[Scaled, int, int, int], Taps]) -> Lower:
    return lambda call, b: _weighed(b, tensor(call), asked(call), taps)


def _weighed(b: OnnxBuilder, x: Value, scaled: Scaled, taps: Callable[[Scaled, int, int, int], Taps]) -> Value:
    """Elements of one axis after the other by their weights."""
    _fractions(x.dtype)
    axes, before, after = _sides(scaled, b, x)
    rank, wide = at.rank_of(x), single(b, x)
    for place, (axis, old, new) in enumerate(zip(axes, before, after, strict=True)):
        if not isinstance(old, int) or not isinstance(new, int):
            raise Refused("a size that it resizes is only known when the model runs", nearest="--input_shape")
        rows, weights = taps(scaled, place, old, new)
        if old == new and np.array_equal(weights.max(0), np.ones(new)):
            continue
        shape = [-1 if one == axis else 1 for one in range(rank)]
        parts = [
            b.op("Mul", b.op("Gather", wide, b.constant(row), axis=axis),
                 b.constant(weight.reshape(shape).astype(wide.dtype)))
            for row, weight in zip(rows, weights, strict=True)
        ]  # fmt: skip
        wide = parts[0]
        for part in parts[1:]:
            wide = b.op("Add", wide, part)
    return b.cast(wide, x.dtype)


# -- in numbers


def _nearest_now(asked: Asked) -> Compute:
    def now(call: Call) -> Array:
        x, scaled = call.input(0), asked(call)
        for axis, new in enumerate(scaled.after(x.shape[2:])):
            x = np.take(x, nearest(scaled, axis, x.shape[2 + axis], new), 2 + axis)
        found: Array = x
        return found

    return now


def _weighed_now(asked: Asked, taps: Callable[[Scaled, int, int, int], Taps]) -> Compute:
    def now(call: Call) -> Array:
        x, scaled = call.input(0), asked(call)
        _fractions(x.dtype.name)
        for axis, new in enumerate(scaled.after(x.shape[2:])):
            rows, weights = taps(scaled, axis, x.shape[2 + axis], new)
            shape = [-1 if one == 2 + axis else 1 for one in range(x.ndim)]
            x = sum(
                np.take(x, row, 2 + axis) * weight.reshape(shape) for row, weight in zip(rows, weights, strict=True)
            )
        found: Array = x
        return found

    return now


def _upsample_cubic(scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    """The steeper cubic, without a table; elements outside are those at the edge."""
    found = _places(scaled, axis, before, after)
    first = np.floor(found)
    weights = np.stack([_keys(np.abs(found - first - step), -0.75) for step in (-1, 0, 1, 2)])
    return _held([first + step for step in (-1, 0, 1, 2)], before), weights


def _area(scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    """The mean of what lies under each result, elements at the border in part."""
    ratio = scaled.ratio(axis, before, after)
    start = np.arange(after) * ratio
    first = np.floor(start)
    rows = [first + step for step in range(int(np.ceil(ratio)) + 1)]
    shares = [np.clip(np.minimum(row + 1, start + ratio) - np.maximum(row, start), 0, 1) for row in rows]
    return _held(rows, before), np.stack(shares) / ratio


def _by_area(call: Call) -> Scaled:
    return Scaled(call.input(1), None, "corners" if call.get("align_corners", False) else "asymmetric")


def _area_lower(call: Call, b: OnnxBuilder) -> Value:
    """Of images with channels last; always in single precision."""
    x = b.transpose(b.cast(tensor(call), "float32"), (0, 3, 1, 2))
    return b.transpose(_weighed(b, x, _by_area(call), _area), (0, 2, 3, 1))


def _area_now(call: Call) -> Array:
    x = np.moveaxis(call.input(0).astype(np.float64), -1, 1)
    found = _weighed_now(_by_area, _area)(replace(call, inputs=(x, *call.inputs[1:])))
    return np.moveaxis(found, 1, -1)


def _nearest_both(asked: Asked) -> tuple[Lower, Compute]:
    return _nearest_lower(asked), _nearest_now(asked)


def _linear_both(asked: Asked) -> tuple[Lower, Compute]:
    return _linear_lower(asked), _weighed_now(asked, _linear)


_SCALED_LINEAR, _SCALED_NEAREST = _linear_both(_by_scales), _nearest_both(_by_scales)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "ResizeArea": (_area_lower, _area_now),
    "ResizeBicubic": (_weighed_lower(_by_flags, _cubic), _weighed_now(_by_flags, _cubic)),
    "ResizeBilinear": _linear_both(_by_flags),
    "ResizeBilinearV2": _linear_both(_by_flags),
    "ResizeLinear1D": _linear_both(_by_mode),
    "ResizeNearestNeighbor": _nearest_both(_by_flags),
    "ResizeNearestNeighborV2": _nearest_both(_by_flags),
    "UpsampleBicubic2D": (_weighed_lower(_by_scales, _upsample_cubic), _weighed_now(_by_scales, _upsample_cubic)),
    "UpsampleBilinear2D": _SCALED_LINEAR,
    "UpsampleLinear1D": _SCALED_LINEAR,
    **{f"UpsampleNearest{rank}D": _SCALED_NEAREST for rank in (1, 2, 3)},
    "UpsampleTrilinear3D": _SCALED_LINEAR,
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
