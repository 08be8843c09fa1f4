"""Boxes of detection networks, given by two corners (x1, y1, x2, y2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.indices import part, sizes
from mswb.convert.primitives.kernels import single
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

# -- ONNX


def _columns(b: OnnxBuilder, boxes: Value) -> list[Value]:
    return list(b.ops("Split", boxes, count=4, axis=1, num_outputs=4))


def _four(call: Call, name: str, default: float) -> list[float]:
    return [float(one) for one in call.get(name, (default,) * 4)]


def _scales(call: Call) -> list[tuple[float, float]]:
    """Mean and standard deviation of each number."""
    return list(zip(_four(call, "means", 0.0), _four(call, "stds", 1.0), strict=True))


class _Sums:
    """Arithmetic of columns, numbers among them."""

    def __init__(self, b: OnnxBuilder) -> None:
        self.b = b

    def __call__(self, op: str, *given: Value | float) -> Value:
        dtype = next(one.dtype for one in given if isinstance(one, Value))
        return self.b.op(op, *(one if isinstance(one, Value) else self.b.scalar(one, dtype) for one in given))

    def middle(self, low: Value, high: Value) -> Value:
        return self("Mul", self("Add", low, high), 0.5)

    def length(self, low: Value, high: Value) -> Value:
        return self("Add", self("Sub", high, low), 1.0)

    def within(self, value: Value, low: float, high: float) -> Value:
        return self("Max", self("Min", value, high), low)


def _encode(call: Call, b: OnnxBuilder) -> Value:
    """How far the second boxes' middles and sizes are from the first's."""
    own, do = tensor(call, 0).dtype, _Sums(b)
    (x1, y1, x2, y2), (u1, v1, u2, v2) = (_columns(b, single(b, tensor(call, at))) for at in (0, 1))
    width, height = do.length(x1, x2), do.length(y1, y2)
    moved = [
        do("Div", do("Sub", do.middle(u1, u2), do.middle(x1, x2)), width),
        do("Div", do("Sub", do.middle(v1, v2), do.middle(y1, y2)), height),
        do("Log", do("Div", do.length(u1, u2), width)),
        do("Log", do("Div", do.length(v1, v2), height)),
    ]
    scaled = [do("Div", do("Sub", one, mean), std) for one, (mean, std) in zip(moved, _scales(call), strict=True)]
    return b.cast(b.op("Concat", *scaled, axis=1), own)


def _decode(call: Call, b: OnnxBuilder) -> Value:
    """The boxes that are that far from the first ones, cut to the picture."""
    own, do = tensor(call, 0).dtype, _Sums(b)
    (x1, y1, x2, y2), deltas = (_columns(b, single(b, tensor(call, at))) for at in (0, 1))
    scaled = [do("Add", do("Mul", one, std), mean) for one, (mean, std) in zip(deltas, _scales(call), strict=True)]
    dx, dy, dw, dh = scaled
    most = abs(float(np.log(call.get("wh_ratio_clip", 0.016))))
    width = do("Mul", do.length(x1, x2), do("Exp", do.within(dw, -most, most)))
    height = do("Mul", do.length(y1, y2), do("Exp", do.within(dh, -most, most)))
    x = do("Add", do.middle(x1, x2), do("Mul", dx, do.length(x1, x2)))
    y = do("Add", do.middle(y1, y2), do("Mul", dy, do.length(y1, y2)))
    rows, columns = (float(one) for one in call.integers("max_shape"))
    corners = [
        do.within(do("Add", middle, do("Mul", do("Sub", length, 1.0), sign)), 0.0, limit)
        for sign in (-0.5, 0.5)
        for middle, length, limit in ((x, width, columns), (y, height, rows))
    ]
    return b.cast(b.op("Concat", *corners, axis=1), own)


def _overlaps(call: Call, b: OnnxBuilder) -> Value:
    """What each of the second boxes has in common with each of the first: the sides count their ends, too."""
    own, do = tensor(call, 0).dtype, _Sums(b)
    (x1, y1, x2, y2), (u1, v1, u2, v2) = (_columns(b, single(b, tensor(call, at))) for at in (0, 1))
    area = b.transpose(do("Mul", do.length(x1, x2), do.length(y1, y2)), (1, 0))
    other = do("Mul", do.length(u1, u2), do.length(v1, v2))
    first = [b.transpose(one, (1, 0)) for one in (x1, y1, x2, y2)]
    sides = [
        do("Max", do.length(do("Max", low, begin), do("Min", high, end)), 0.0)
        for low, begin, high, end in ((first[0], u1, first[2], u2), (first[1], v1, first[3], v2))
    ]
    common = do("Mul", *sides)
    whole = other if call.get("mode", "iou") == "iof" else do("Sub", do("Add", area, other), common)
    return b.cast(do("Div", common, whole), own)


def _suppress(call: Call, b: OnnxBuilder) -> tuple[Value, Value, Value]:
    """All boxes by falling score, their numbers in that order, and which ones no better box covers."""
    given = tensor(call, 0)
    boxes = single(b, given)
    count = sizes(b, boxes, 0, 1)
    scores = b.squeeze(part(b, boxes, 4, 5, 1), [1])
    _, order = b.ops("TopK", scores, count, count=2, largest=1, sorted=1)
    best = b.op("Gather", boxes, order, axis=0)
    number = b.squeeze(count, [0])
    each = b.op("Range", b.scalar(0, "int64"), number, b.scalar(1, "int64"))
    rank = b.unsqueeze(b.cast(b.op("Sub", number, each), "float32"), [0, 1])
    threshold = b.constant(np.array([call.get("iou_threshold", 0.5)], np.float32))
    chosen = b.op("NonMaxSuppression", b.unsqueeze(part(b, best, 0, 4, 1), [0]), rank, count, threshold)
    places = part(b, chosen, 2, 3, 1)
    nothing = b.op("Expand", b.constant(np.array(False)), count)
    kept = b.op("ScatterND", nothing, places, b.op("Expand", b.constant(np.array(True)), sizes(b, places, 0, 1)))
    return b.cast(best, given.dtype), b.cast(each, "int32"), kept


def _inside(call: Call, b: OnnxBuilder) -> Value:
    """Which boxes lie in a picture, given by height, width and the ratio that both are multiplied with."""
    boxes, given = (single(b, tensor(call, at)) for at in (0, 1))
    sizes_of = b.op("Mul", part(b, given, 0, 2), part(b, given, 2, 3))
    last = b.op("Sub", b.op("Gather", sizes_of, b.ints([1, 0]), axis=0), b.scalar(1.0, sizes_of.dtype))
    begins = b.op("GreaterOrEqual", part(b, boxes, 0, 2, 1), b.scalar(0.0, boxes.dtype))
    ends = b.op("LessOrEqual", part(b, boxes, 2, 4, 1), last)
    fits = b.cast(b.op("And", begins, ends), "int32")
    return b.cast(b.op("ReduceMin", fits, b.ints([1]), keepdims=0), "bool")


# -- numpy


def _np_size(boxes: Array) -> tuple[Array, Array, Array, Array]:
    x1, y1, x2, y2 = boxes.T
    return (x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1 + 1.0, y2 - y1 + 1.0


def _np_encode(call: Call) -> Array:
    x, y, width, height = _np_size(call.input(0))
    u, v, wide, high = _np_size(call.input(1))
    moved = np.stack([(u - x) / width, (v - y) / height, np.log(wide / width), np.log(high / height)], 1)
    return np.asarray((moved - _four(call, "means", 0.0)) / _four(call, "stds", 1.0))


def _np_decode(call: Call) -> Array:
    x, y, width, height = _np_size(call.input(0))
    dx, dy, dw, dh = (call.input(1) * _four(call, "stds", 1.0) + _four(call, "means", 0.0)).T
    most = abs(float(np.log(call.get("wh_ratio_clip", 0.016))))
    wide, high = (one * np.exp(np.clip(delta, -most, most)) for one, delta in ((width, dw), (height, dh)))
    middle = np.stack([x + dx * width, y + dy * height], 1)
    half = (np.stack([wide, high], 1) - 1.0) * 0.5
    rows, columns = call.integers("max_shape")
    return np.concatenate([np.clip(middle + sign * half, 0.0, (columns, rows)) for sign in (-1.0, 1.0)], 1)


def _np_common(boxes: Array, others: Array, end: float) -> tuple[Array, Array, Array]:
    """Common area and own areas, of each of the others with each of the boxes."""
    low = np.maximum(boxes[None, :, :2], others[:, None, :2])
    high = np.minimum(boxes[None, :, 2:4], others[:, None, 2:4])
    common = np.maximum(high - low + end, 0.0).prod(-1)
    area, other = ((one[:, 2:4] - one[:, :2] + end).prod(-1) for one in (boxes, others))
    return common, area[None], other[:, None]


def _np_overlaps(call: Call) -> Array:
    common, area, other = _np_common(call.input(0), call.input(1), 1.0)
    return np.asarray(common / (other if call.get("mode", "iou") == "iof" else area + other - common))


def _np_suppress(call: Call) -> tuple[Array, Array, Array]:
    boxes = call.input(0)
    best = boxes[np.argsort(-boxes[:, 4], kind="stable")]
    common, area, other = _np_common(best, best, 0.0)
    covers = common / (area + other - common) > float(call.get("iou_threshold", 0.5))
    kept = np.ones(len(best), bool)
    for at in range(len(best)):
        if kept[at]:
            kept[at + 1 :] &= ~covers[at, at + 1 :]
    return best, np.arange(len(best), dtype=np.int32), kept


def _np_inside(call: Call) -> Array:
    boxes, (height, width, ratio) = call.input(0), call.input(1)
    last = np.array([width, height]) * ratio - 1.0
    return np.asarray(((boxes[:, :2] >= 0.0) & (boxes[:, 2:] <= last)).all(1))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "BoundingBoxDecode": _decode,
    "BoundingBoxEncode": _encode,
    "CheckValid": _inside,
    "IOU": _overlaps,
    "NMSWithMask": _suppress,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "BoundingBoxDecode": _np_decode,
    "BoundingBoxEncode": _np_encode,
    "CheckValid": _np_inside,
    "IOU": _np_overlaps,
    "NMSWithMask": _np_suppress,
}
