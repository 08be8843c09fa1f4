"""Resize and Upsample: one axis after the other, by gathering neighbours and weighing them.

MindSpore's own kernels agree with ONNX in few of its forms, so none is used. Where a neighbour lies and what it weighs
follows the ONNX specification of Resize; the weights of all modes are one formula (the triangle of linear, the Keys
cubic), which antialiasing only widens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mswb.convert.arith import Num, arange, num, size, where
from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_WIDE: Mapping[str, str] = {
    "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64", "int8": "float64",
    "uint8": "float64", "int16": "float64", "uint16": "float64", "int32": "float64", "uint32": "float64",
}  # fmt: skip
"""The data type in which neighbours are weighed; for integers one in which a tie is a tie."""
_REACH: Mapping[str, int] = {"linear": 1, "cubic": 2}
"""Neighbours to each side."""


@dataclass(frozen=True)
class Axis:
    """How one axis is resized.

    Attributes:
        before: its size; ``after`` that of the result; ``scale`` their ratio in float64, as the model gives it.
        roi: start and end of what is cut out, as parts of the axis.
    """

    at: int
    before: Num
    after: Num
    scale: Num
    roi: tuple[Num, Num] | None = None

    @property
    def unchanged(self) -> bool:
        """Whether it surely stays as it is."""
        same = self.scale.array is not None and float(self.scale.array) == 1.0
        return same and self.roi is None


Sample = Callable[[Num, Axis, Num], Num]
"""A tensor, one axis of it and where its results lie on that axis → these results."""


def _resize(node: OnnxNode, b: Builder) -> Value:
    old = node.op == "Upsample" or node.version < 11
    mode = str(node.get("mode", "nearest"))
    mode = {"bilinear": "linear"}.get(mode, mode)
    way = "asymmetric" if old else str(node.get("coordinate_transformation_mode", "half_pixel"))
    if mode not in ("nearest", *_REACH):
        raise Refused(f"mode {mode} is not one that ONNX has", attribute="mode")
    if way not in _WAYS:
        raise Refused(
            f"{way} is not a coordinate transformation that ONNX has", attribute="coordinate_transformation_mode"
        )
    if node.get("antialias", 0) and mode == "nearest":
        raise Refused("nearest has no antialiasing", attribute="antialias")
    axes = [one for one in _axes(node, b, way, old) if not one.unchanged]
    given, outside = num(b, node.input(0)), float(node.get("extrapolation_value", 0.0))
    if mode == "nearest":
        rounding = "floor" if old else str(node.get("nearest_mode", "round_prefer_floor"))
        held = given.cast("float32") if given.dtype == "bfloat16" else given
        found = _each(held, axes, way, lambda x, axis, at: _nearest(x, axis, at, rounding), outside)
        return found.cast(given.dtype).value
    if given.dtype not in _WIDE:
        raise Refused(f"{given.dtype} holds numbers that no float64 does", nearest="mode nearest")
    wide = given.cast(_WIDE[given.dtype])
    return _narrow(_each(wide, axes, way, lambda x, axis, at: _weighed(x, axis, at, mode, node), outside), given.dtype)


def _narrow(found: Num, dtype: str) -> Value:
    """Back in the data type of the input: integers are rounded and held in their range."""
    if np.dtype(dtype if dtype != "bfloat16" else "float32").kind == "f":
        return found.cast(dtype).value
    info = np.iinfo(dtype)
    return found.one("Rint").clip(float(info.min), float(info.max)).cast(dtype).value


# -- sizes


def _axes(node: OnnxNode, b: Builder, way: str, old: bool) -> list[Axis]:
    x, rank = node.input(0), node.rank()
    axes = [int(axis) % rank for axis in node.get("axes", range(rank))]
    before = [size(b, x, axis) for axis in axes]
    sizes = None if old else _given(node, 3)
    if sizes is not None:
        after = [num(b, sizes).cast("int64").at(at) for at in range(len(axes))]
        scales = [new.cast("float64") / now.cast("float64") for new, now in zip(after, before, strict=True)]
        after, scales = _aspect(str(node.get("keep_aspect_ratio_policy", "stretch")), before, after, scales)
    else:
        factors = _scales(node, b, old)
        scales = [factors.at(at).cast("float64") for at in range(len(axes))]
        # float32 as in ONNX's shape inference: 0.7 of 10 is 7
        products = [factors.at(at) * now.cast("float32") for at, now in enumerate(before)]
        after = [product.floor().cast("int64") for product in products]
    rois = _rois(node, b, len(axes)) if way == "tf_crop_and_resize" else [None] * len(axes)
    return [Axis(*one) for one in zip(axes, before, after, scales, rois, strict=True)]


def _given(node: OnnxNode, at: int) -> Value | None:
    """An input; None where it is left out or empty."""
    value = node.optional(at)
    return None if value is None or value.shape == (0,) else value


def _scales(node: OnnxNode, b: Builder, old: bool) -> Num:
    if "scales" in node.attributes:
        return num(b, np.array(node.get("scales"), np.float32))
    value = node.input(1) if old else _given(node, 2)
    if value is None:
        raise Refused("neither scales nor sizes are given")
    return num(b, value)


def _aspect(policy: str, before: Sequence[Num], after: list[Num], scales: list[Num]) -> tuple[list[Num], list[Num]]:
    """One scale for all axes: the smallest or the largest that the sizes ask for."""
    if policy == "stretch":
        return after, scales
    scale = scales[0]
    for other in scales[1:]:
        scale = scale.least(other) if policy == "not_larger" else scale.most(other)
    sizes = [(scale * now.cast("float64") + 0.5).floor().cast("int64") for now in before]
    return sizes, [scale] * len(before)


def _rois(node: OnnxNode, b: Builder, count: int) -> list[tuple[Num, Num] | None]:
    value = _given(node, 1)
    if value is None:
        raise Refused("tf_crop_and_resize needs a roi", attribute="coordinate_transformation_mode")
    roi = num(b, value)
    return [(roi.at(at), roi.at(count + at)) for at in range(count)]


# -- coordinates


def _half_pixel(y: Num, axis: Axis) -> Num:
    return (y + 0.5) / axis.scale - 0.5


def _asymmetric(y: Num, axis: Axis) -> Num:
    return y / axis.scale


def _symmetric(y: Num, axis: Axis) -> Num:
    """The middle of the input goes to the middle of the output; the order of the steps decides what is a tie."""
    before, after = axis.before.cast("float64"), axis.after.cast("float64")
    offset = before * 0.5 * (1.0 - after / (axis.scale * before))
    return offset + (y + 0.5) / axis.scale - 0.5


def _pytorch(y: Num, axis: Axis) -> Num:
    alone = _alone(axis)
    return where(alone, y * 0.0 - 0.5, _half_pixel(y, axis))


def _crop(y: Num, axis: Axis) -> Num:
    assert axis.roi is not None
    (start, end), last = axis.roi, axis.before.cast("float64") - 1.0
    extent = (end - start).cast("float64")
    inside = where(_alone(axis), y * 0.0 + extent * last / 2.0, _spread(y * extent, axis))
    return inside + start.cast("float64") * last


def _spread(y: Num, axis: Axis) -> Num:
    """With the first and the last result on the corners; the order of the steps decides what is a tie."""
    before = axis.before.cast("float64")
    gaps = axis.scale * before - 1.0
    alone = gaps.equal(0.0)
    return where(alone, y * 0.0, y * (before - 1.0) / where(alone, gaps + 1.0, gaps))


def _alone(axis: Axis) -> Num:
    return (axis.scale * axis.before.cast("float64")).equal(1.0)


def _for_nearest(y: Num, axis: Axis) -> Num:
    return (y + 0.5) / axis.scale


_WAYS = {
    "half_pixel": _half_pixel, "asymmetric": _asymmetric, "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": _pytorch, "align_corners": _spread, "tf_crop_and_resize": _crop,
    "tf_half_pixel_for_nn": _for_nearest,
}  # fmt: skip


# -- values


def _each(x: Num, axes: Sequence[Axis], way: str, sample: Sample, outside: float) -> Num:
    for axis in axes:
        at = _WAYS[way](arange(axis.after).cast("float64"), axis)
        x = sample(x, axis, at)
        if way == "tf_crop_and_resize":
            beyond = (at < 0.0) | (at > axis.before.cast("float64") - 1.0)
            x = where(_along(beyond, x, axis.at), num(x.b, np.array(outside).astype(x.dtype)), x)
    return x


def _along(vector: Num, x: Num, axis: int) -> Num:
    """A vector that stands along one axis of a tensor."""
    rank = len(x.shape or ())
    return vector.reshape(*(-1 if at == axis else 1 for at in range(rank)))


def _nearest(x: Num, axis: Axis, at: Num, rounding: str) -> Num:
    rounded = {
        "round_prefer_floor": lambda: (at - 0.5).ceil(),
        "round_prefer_ceil": lambda: (at + 0.5).floor(),
        "floor": at.floor,
        "ceil": at.ceil,
    }
    if rounding not in rounded:
        raise Refused(f"{rounding} is not a rounding that ONNX has", attribute="nearest_mode")
    return x.take(rounded[rounding]().cast("int64").clip(0, axis.before - 1), axis.at)


def _weighed(x: Num, axis: Axis, at: Num, mode: str, node: OnnxNode) -> Num:
    """The sum of neighbours by their weights; ``at`` is where each result lies among them."""
    b, one = x.b, num(x.b, np.array(1.0))
    shrink = axis.scale.least(1.0) if node.get("antialias", 0) else one
    first = (float(-_REACH[mode]) / shrink).floor() + 1.0
    taps = (arange((2.0 - 2.0 * first).cast("int64")).cast("float64") + first).reshape(1, -1)
    base = (at.ceil() - 1.0).reshape(-1, 1)
    distance = ((taps - (at.reshape(-1, 1) - base)) * shrink).one("Abs")
    weights = _linear(distance) if mode == "linear" else _cubic(distance, float(node.get("cubic_coeff_a", -0.75)))
    index = (base + taps).cast("int64")
    if node.get("exclude_outside", 0):
        inside = (index >= 0) & (index < axis.before)
        weights = where(inside, weights, num(b, np.array(0.0)))
    total = weights.sum(1, keep=True)
    weights = (weights / where(total.equal(0.0), one, total)).cast(x.dtype)
    index = index.clip(0, axis.before - 1)
    if taps.array is None:
        for _ in range(len(x.shape or ()) - axis.at - 1):
            weights = weights.expand(-1)
        return (x.take(index, axis.at) * weights).sum(axis.at + 1)
    parts = [
        x.take(_column(index, tap), axis.at) * _along(_column(weights, tap), x, axis.at)
        for tap in range(taps.array.size)
    ]
    return sum(parts[1:], parts[0])


def _column(table: Num, at: int) -> Num:
    return table.take(num(table.b, np.array(at, np.int64)), 1)


def _linear(distance: Num) -> Num:
    return (1.0 - distance).most(0.0)


def _cubic(distance: Num, a: float) -> Num:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return where(distance <= 1.0, near, where(distance < 2.0, far, distance * 0.0))


TO_MINDIR: Mapping[str, Lower] = {"Resize": _resize, "Upsample": _resize}
