"""DeformConv: a convolution whose windows read the image at places of their own, between its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes, windows
from mswb.convert.ops.linear import matmul
from mswb.convert.ops.normalization import arithmetic
from mswb.convert.ops.windows import Windows


def _deform_conv(node: OnnxNode, b: Builder) -> Value:
    """Columns gathered between the elements, times the weight; what lies outside of the image is 0."""
    image, weight, offset = (node.input(at) for at in range(3))
    if node.rank() != 4 or weight.fixed is None or image.shape is None or image.dtype != "float32":
        raise Refused("only images of float32 with two axes and weights of a known shape are convolved at moved places")
    outputs, depth, *kernel = weight.fixed
    group, moved = (int(node.get(name, 1)) for name in ("group", "offset_group"))
    channels, places = depth * group, int(np.prod(kernel))
    asked = windows.read(node, kernel)
    batch, high, wide = (sizes.size(b, offset, at) for at in (0, 2, 3))
    shifts = sizes.reshape(b, offset, [batch, moved, places, 2, high, wide])
    spots = [_spots(b, asked, offset, sizes.squeeze(b, sizes.cut(b, shifts, 3, at, 1 - at), 3), at) for at in (0, 1)]
    rows = sizes.product(b, [batch, moved])
    depth_moved = channels // moved
    flat = sizes.reshape(b, image, [rows, depth_moved, -1])
    values = _between(b, image, b.transpose(flat, (0, 2, 1)), spots, rows)
    if node.has(4):
        values = arithmetic(b, "Mul", values, sizes.reshape(b, node.input(4), [rows, -1, 1]))
    apart = sizes.reshape(b, b.transpose(values, (0, 2, 1)), [batch, group, depth * places, -1])
    folded = b.reshape(weight, (group, outputs // group, depth * places))
    result = sizes.reshape(b, matmul(b, folded, apart), [batch, outputs, high, wide])
    return arithmetic(b, "Add", result, b.reshape(node.input(3), (-1, 1, 1))) if node.has(3) else result


def _spots(b: Builder, asked: Windows, offset: Value, shift: Value, at: int) -> Value:
    """Where each place of each window reads along one axis: (batch, groups of offsets, places, height, width)."""
    inside = np.indices(asked.kernel).reshape(2, -1)[at] * asked.dilations[at] - asked.pads[at][0]
    start = b.cast(sizes.positions(b, offset, 2 + at), "float32")
    start = arithmetic(b, "Mul", sizes.expand(b, start, 2), b.scalar(asked.strides[at], "float32"))
    regular = arithmetic(b, "Add", start, b.constant(inside.astype(np.float32).reshape(1, 1, -1, 1, 1)))
    return arithmetic(b, "Add", shift, regular)


def _between(b: Builder, image: Value, flat: Value, spots: Sequence[Value], rows: sizes.Size) -> Value:
    """The image at these spots by linear interpolation: (rows, spots, channels) from (rows, elements, channels)."""
    lengths = [sizes.as_tensor(b, sizes.size(b, image, at)) for at in (2, 3)]
    lasts = [b.cast(arithmetic(b, "Sub", one, b.constant(np.ones(1, np.int64))), "float32") for one in lengths]
    lower = [b.op("Floor", one, shape=one.shape) for one in spots]
    zero, one = b.scalar(0, "float32"), b.scalar(1, "float32")
    total = None
    for corner in product((0, 1), repeat=2):
        share, index = None, None
        for axis, side in enumerate(corner):
            spot = arithmetic(b, "Add", lower[axis], b.scalar(side, "float32"))
            far = b.op("Abs", arithmetic(b, "Sub", spots[axis], spot), shape=spot.shape)
            inner = arithmetic(b, "Minimum", arithmetic(b, "Maximum", spot, zero), lasts[axis])
            inside = b.op("Equal", spot, inner, dtype="bool", shape=spot.shape)
            part = b.op("Select", inside, arithmetic(b, "Sub", one, far), zero, dtype="float32", shape=spot.shape)
            share = part if share is None else arithmetic(b, "Mul", share, part)
            place = b.cast(inner, "int64")
            index = place if index is None else arithmetic(b, "Add", arithmetic(b, "Mul", index, lengths[1]), place)
        assert share is not None and index is not None
        found = b.op("Gather", flat, sizes.reshape(b, index, [rows, -1]), 1, 1, shape=(None, None, None))
        part = arithmetic(b, "Mul", found, sizes.reshape(b, share, [rows, -1, 1]))
        total = part if total is None else arithmetic(b, "Add", total, part)
    assert total is not None
    return total


TO_MINDIR: Mapping[str, Lower] = {"DeformConv": _deform_conv}
