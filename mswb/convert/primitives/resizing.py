"""Resizing of images: where MindSpore and ONNX agree ONNX's Resize, else places and weights of MindSpore's kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives import weights
from mswb.convert.primitives.kernels import single
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.weights import Kernel, Scaled
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
_RESIZED = ("float16", "float32", "int8", "int32", "uint8")
"""The data types that onnxruntime has Resize for."""
_ONNX_WAYS = {
    "asymmetric": "asymmetric", "half": "half_pixel", "corners": "align_corners", "half or first": "pytorch_half_pixel"
}  # fmt: skip
_WAYS = ("asymmetric", "corners", "half or first")
"""MindSpore's coordinate transformations by their number."""


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
                found: Value = b.constant(weights.nearest(scaled, place, old, new))
            else:
                found = weights.running_nearest(scaled, place, b, old, new)
            x = b.op("Gather", x, found, axis=axis)
        return x

    return lower


def _whole_times(scaled: Scaled, before: Sequence[at.Size], after: Sequence[at.Size]) -> bool:
    """Whether every element is only repeated; then no rounding can tell MindSpore and ONNX apart."""
    for axis, (old, new) in enumerate(zip(before, after, strict=True)):
        if not isinstance(old, int) or not isinstance(new, int) or not old or new % old:
            return False
        if not np.array_equal(weights.nearest(scaled, axis, old, new), np.arange(new) // (new // old)):
            return False
    return True


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
            return _weighed(b, x, scaled, weights.LINEAR)
        axes, _, after = _sides(scaled, b, x)
        factors = None if scaled.way == "corners" else scaled.factors
        found = _resize(b, single(b, x), axes, after, "linear", _ONNX_WAYS[scaled.way], factors)
        return b.cast(found, x.dtype)

    return lower


def _cubic(scaled: Scaled) -> Kernel:
    return weights.FLAT if scaled.way == "half" else weights.STEEP


def _cubic_lower(call: Call, b: OnnxBuilder) -> Value:
    scaled = _by_flags(call)
    return _weighed(b, tensor(call), scaled, _cubic(scaled))


def _exact_cubic_lower(call: Call, b: OnnxBuilder) -> Value:
    return _weighed(b, tensor(call), _by_scales(call), weights.EXACT_CUBIC)


def _weighed(b: OnnxBuilder, x: Value, scaled: Scaled, kernel: Kernel) -> Value:
    """Elements of one axis after the other by their weights."""
    _fractions(x.dtype)
    wide = single(b, x)
    for place, (axis, old, new) in enumerate(zip(*_sides(scaled, b, x), strict=True)):
        if isinstance(old, int) and isinstance(new, int):
            wide = _tapped(b, wide, axis, weights.taps(kernel, scaled, place, old, new))
        else:
            wide = _summed(b, wide, axis, weights.running_taps(kernel, scaled, place, b, old, new))
    return b.cast(wide, x.dtype)


def _tapped(b: OnnxBuilder, x: Value, axis: int, taps: weights.Taps) -> Value:
    rows, shares = taps
    if rows.shape[1] == (x.shape or ())[axis] and np.array_equal(shares.max(0), np.ones(rows.shape[1])):
        return x
    return _summed(b, x, axis, [(b.constant(row), b.constant(one)) for row, one in zip(rows, shares, strict=True)])


def _summed(b: OnnxBuilder, x: Value, axis: int, taps: Sequence[tuple[Value, Value]]) -> Value:
    rank = at.rank_of(x)
    found: Value | None = None
    for row, share in taps:
        taken = b.op("Gather", x, row, axis=axis)
        part = b.op("Mul", taken, at.along(b, b.cast(share, x.dtype), axis, rank))
        found = part if found is None else b.op("Add", found, part)
    assert found is not None
    return found


# -- in numbers


def _nearest_now(asked: Asked) -> Compute:
    def now(call: Call) -> Array:
        x, scaled = call.input(0), asked(call)
        for axis, new in enumerate(scaled.after(x.shape[2:])):
            x = np.take(x, weights.nearest(scaled, axis, x.shape[2 + axis], new), 2 + axis)
        found: Array = x
        return found

    return now


def _weighed_now(x: Array, scaled: Scaled, taps: Callable[[Scaled, int, int, int], weights.Taps]) -> Array:
    _fractions(x.dtype.name)
    for axis, new in enumerate(scaled.after(x.shape[2:])):
        rows, shares = taps(scaled, axis, x.shape[2 + axis], new)
        shape = [-1 if one == 2 + axis else 1 for one in range(x.ndim)]
        x = sum(np.take(x, row, 2 + axis) * share.reshape(shape) for row, share in zip(rows, shares, strict=True))
    return x


def _kernel_now(asked: Asked, kernel: Callable[[Scaled], Kernel]) -> Compute:
    def now(call: Call) -> Array:
        scaled = asked(call)
        return _weighed_now(call.input(0), scaled, partial(weights.taps, kernel(scaled)))

    return now


def _by_area(call: Call) -> Scaled:
    return Scaled(call.input(1), None, "corners" if call.get("align_corners", False) else "asymmetric")


def _area_lower(call: Call, b: OnnxBuilder) -> Value:
    """Of images with channels last; always in single precision."""
    x, scaled = b.transpose(b.cast(tensor(call), "float32"), (0, 3, 1, 2)), _by_area(call)
    for place, (axis, old, new) in enumerate(zip(*_sides(scaled, b, x), strict=True)):
        if not isinstance(old, int) or not isinstance(new, int):
            raise Refused("a size that it resizes is only known when the model runs", nearest="--input_shape")
        x = _tapped(b, x, axis, weights.area(scaled, place, old, new))
    return b.transpose(x, (0, 2, 3, 1))


def _area_now(call: Call) -> Array:
    x = np.moveaxis(call.input(0).astype(np.float64), -1, 1)
    return np.moveaxis(_weighed_now(x, _by_area(call), weights.area), 1, -1)


def _nearest_both(asked: Asked) -> tuple[Lower, Compute]:
    return _nearest_lower(asked), _nearest_now(asked)


def _linear_both(asked: Asked) -> tuple[Lower, Compute]:
    return _linear_lower(asked), _kernel_now(asked, lambda scaled: weights.LINEAR)


_SCALED_LINEAR, _SCALED_NEAREST = _linear_both(_by_scales), _nearest_both(_by_scales)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "ResizeArea": (_area_lower, _area_now),
    "ResizeBicubic": (_cubic_lower, _kernel_now(_by_flags, _cubic)),
    "ResizeBilinear": _linear_both(_by_flags),
    "ResizeBilinearV2": _linear_both(_by_flags),
    "ResizeLinear1D": _linear_both(_by_mode),
    "ResizeNearestNeighbor": _nearest_both(_by_flags),
    "ResizeNearestNeighborV2": _nearest_both(_by_flags),
    "UpsampleBicubic2D": (_exact_cubic_lower, _kernel_now(_by_scales, lambda scaled: weights.EXACT_CUBIC)),
    "UpsampleBilinear2D": _SCALED_LINEAR,
    "UpsampleLinear1D": _SCALED_LINEAR,
    **{f"UpsampleNearest{rank}D": _SCALED_NEAREST for rank in (1, 2, 3)},
    "UpsampleTrilinear3D": _SCALED_LINEAR,
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
