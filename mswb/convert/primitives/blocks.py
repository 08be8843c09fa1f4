"""Blocks of an image moved to another dimension and back, and the windows of an image as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.padding import padded, padded_now
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]


class _Numpy:
    """Sizes and moves on arrays, so that one description serves ONNX and an evaluation."""

    sizes = staticmethod(lambda x: list(x.shape))
    reshape = staticmethod(lambda x, wanted: x.reshape(wanted))
    transpose = staticmethod(np.transpose)
    product = staticmethod(lambda parts: int(np.prod(parts)))
    divided = staticmethod(lambda whole, by: whole // by)
    padded = staticmethod(padded_now)


class _Onnx:
    """The same on values of a graph."""

    def __init__(self, b: OnnxBuilder) -> None:
        self.b = b

    def sizes(self, x: Value) -> list[at.Size]:
        return at.sizes(self.b, x)

    def reshape(self, x: Value, wanted: Sequence[at.Size]) -> Value:
        return at.reshape(self.b, x, wanted)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        return self.b.transpose(x, order)

    def product(self, parts: Sequence[at.Size]) -> at.Size:
        return at.product(self.b, parts)

    def divided(self, whole: at.Size, by: int) -> at.Size:
        return at.calc(self.b, "Div", whole, by)

    def padded(self, x: Value, edges: Sequence[tuple[int, int, int]], mode: str) -> Value:
        return padded(self.b, x, edges, mode)


Move = Callable[[Call, Any, Any], Any]
"""Of a call, what sizes and moves are, and the input."""


def _both(move: Move) -> tuple[Lower, Compute]:
    return lambda call, b: move(call, _Onnx(b), tensor(call)), lambda call: move(call, _Numpy, call.input(0))


def _image(call: Call, on: Any, x: Any) -> Any:
    parts = on.sizes(x)
    if len(parts) != 4:
        raise Refused(f"an input of {len(parts)} dimensions")
    if call.attributes.get("data_format", "NCHW") != "NCHW":
        raise Refused(f"data_format {call.attributes['data_format']}", attribute="data_format")
    return parts


def _depth_to_space(call: Call, on: Any, x: Any) -> Any:
    """The block's places come before the depth."""
    (n, c, h, w), size = _image(call, on, x), int(number(call, "block_size"))
    depth = on.divided(c, size * size)
    moved = on.transpose(on.reshape(x, [n, size, size, depth, h, w]), (0, 3, 4, 1, 5, 2))
    return on.reshape(moved, [n, depth, on.product([h, size]), on.product([w, size])])


def _space_to_depth(call: Call, on: Any, x: Any) -> Any:
    (n, c, h, w), size = _image(call, on, x), int(number(call, "block_size"))
    high, wide = on.divided(h, size), on.divided(w, size)
    moved = on.transpose(on.reshape(x, [n, c, high, size, wide, size]), (0, 3, 5, 1, 2, 4))
    return on.reshape(moved, [n, on.product([c, size * size]), high, wide])


def _pixel_shuffle(call: Call, on: Any, x: Any) -> Any:
    """The depth comes before the block's places."""
    *outer, c, h, w = on.sizes(x)
    size, many = int(number(call, "upscale_factor")), len(outer)
    depth = on.divided(c, size * size)
    order = [*range(many), *(many + place for place in (0, 3, 1, 4, 2))]
    moved = on.transpose(on.reshape(x, [*outer, depth, size, size, h, w]), order)
    return on.reshape(moved, [*outer, depth, on.product([h, size]), on.product([w, size])])


def _channel_shuffle(call: Call, on: Any, x: Any) -> Any:
    n, c, *inner = on.sizes(x)
    groups = int(number(call, "group"))
    moved = on.reshape(x, [n, groups, on.divided(c, groups), *inner])
    return on.reshape(on.transpose(moved, [0, 2, 1, *range(3, 3 + len(inner))]), [n, c, *inner])


def _block(call: Call, name: str, many: int) -> tuple[list[int], list[int]]:
    """The block's sizes, and what is cut off or added: by attributes, or as inputs."""
    given = call.inputs[1:3] if len(call.inputs) > 2 else ()
    if given:
        sizes, edges = (at.fixed(one, "the block") for one in given)
    elif "block_size" in call.attributes:
        sizes, edges = (int(number(call, "block_size")),) * many, at.fixed(call.get(name), name)
    else:
        sizes, edges = at.fixed(call.get("block_shape"), "block_shape"), at.fixed(call.get(name), name)
    if len(edges) != 2 * len(sizes):
        raise Refused(f"{len(edges)} edges of a block of {len(sizes)} dimensions")
    return list(sizes), list(edges)


def _batch_to_space(call: Call, on: Any, x: Any) -> Any:
    """The block's places, which lead the batch, go behind the last dimensions; then these are cut."""
    parts = on.sizes(x)
    sizes, edges = _block(call, "crops", 2)
    many, rank = len(sizes), len(parts)
    batch = on.divided(parts[0], int(np.prod(sizes)))
    first = rank - many
    inner = [place for axis in range(many) for place in (many + first + axis, axis)]
    moved = on.transpose(on.reshape(x, [*sizes, batch, *parts[1:]]), [*range(many, many + first), *inner])
    wide = [on.product([size, part]) for size, part in zip(sizes, parts[first:], strict=True)]
    whole = on.reshape(moved, [batch, *parts[1:first], *wide])
    return on.padded(
        whole, [(first + axis, -edges[2 * axis], -edges[2 * axis + 1]) for axis in range(many)], "constant"
    )


def _space_to_batch(call: Call, on: Any, x: Any) -> Any:
    rank = len(on.sizes(x))
    sizes, edges = _block(call, "paddings", 2)
    many = len(sizes)
    first = rank - many
    x = on.padded(x, [(first + axis, edges[2 * axis], edges[2 * axis + 1]) for axis in range(many)], "constant")
    parts = on.sizes(x)
    rest = [on.divided(part, size) for size, part in zip(sizes, parts[first:], strict=True)]
    split = [one for pair in zip(rest, sizes, strict=True) for one in pair]
    order = [
        *(first + 2 * axis + 1 for axis in range(many)),
        *range(first),
        *(first + 2 * axis for axis in range(many)),
    ]
    moved = on.transpose(on.reshape(x, [*parts[:first], *split]), order)
    return on.reshape(moved, [on.product([parts[0], int(np.prod(sizes))]), *parts[1:first], *rest])


# -- windows as columns


def _pair(given: Any) -> tuple[int, int]:
    found = at.fixed(given, "the window")
    return (found[0], found[0]) if len(found) == 1 else (found[0], found[1])


def _window(call: Call) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Size, stride, dilation, and the padding above, below, to the left and to the right."""
    old = call.op == "Im2Col"
    mode = call.attributes.get("padding_mode", "CALCULATED")
    if mode != "CALCULATED":
        raise Refused(f"padding_mode {mode}", attribute="padding_mode")
    names = ("ksizes", "strides", "dilations", "pads") if old else ("kernel_size", "stride", "dilation", "padding")
    size, stride, dilation = (_pair(call.get(name)) for name in names[:3])
    pads = at.fixed(call.get(names[3]), names[3])
    if len(pads) == 4:
        return size, stride, dilation, (pads[0], pads[1], pads[2], pads[3])
    high, wide = _pair(pads)
    return size, stride, dilation, (high, high, wide, wide)


def _im2col(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    size, stride, dilation, pads = _window(call)
    x = padded(b, x, [(2, *pads[:2]), (3, *pads[2:])], "constant")
    counts: list[at.Size] = []
    for axis in (0, 1):  # the second window's axis lies one further back after the first is split
        reach = dilation[axis] * (size[axis] - 1) + 1
        free = at.calc(b, "Sub", at.size(b, x, 2 + 2 * axis), reach)
        count = at.calc(b, "Add", at.calc(b, "Div", free, stride[axis]), 1)
        steps = b.op("Mul", at.counted(b, count), b.scalar(stride[axis], "int64"))
        offsets = b.constant((np.arange(size[axis]) * dilation[axis]).reshape(-1, 1))
        x = b.op("Gather", x, b.op("Add", offsets, b.unsqueeze(steps, [0])), axis=2 + 2 * axis)
        counts.append(count)
    n, c = at.sizes(b, x)[:2]
    moved = b.transpose(x, (0, 1, 2, 4, 3, 5))
    area, length = size[0] * size[1], at.product(b, counts)
    if call.op == "Im2Col":
        return at.reshape(b, moved, [n, c, area, length])
    return at.reshape(b, moved, [n, at.product(b, (c, area)), length])


def _im2col_now(call: Call) -> Array:
    x: Array = call.input(0)
    size, stride, dilation, pads = _window(call)
    x = padded_now(x, [(2, *pads[:2]), (3, *pads[2:])], "constant")
    places = []
    for axis in (0, 1):
        count = (x.shape[2 + axis] - dilation[axis] * (size[axis] - 1) - 1) // stride[axis] + 1
        places.append(np.arange(size[axis])[:, None] * dilation[axis] + np.arange(count) * stride[axis])
    rows, columns = places
    found = x[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    shape = (x.shape[0], x.shape[1], size[0] * size[1], -1)
    flat: Array = found.reshape(shape)
    return flat if call.op == "Im2Col" else flat.reshape(x.shape[0], x.shape[1] * size[0] * size[1], -1)


def _image_size(call: Call) -> tuple[int, int]:
    return _pair(call.input(1))


def _col2im(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    size, stride, dilation, pads = _window(call)
    if x.dtype not in ("float16", "float32"):
        raise Refused(f"onnxruntime's Col2Im has no kernel for {x.dtype}")
    parts = at.sizes(b, x)
    if len(parts) == 4:
        x = at.reshape(b, x, [parts[0], at.product(b, parts[1:3]), parts[3]])
    top, bottom, left, right = pads
    found = b.op(
        "Col2Im", b.cast(x, "float32"), b.ints(_image_size(call)), b.ints(size), strides=list(stride),
        dilations=list(dilation), pads=[top, left, bottom, right],
    )  # fmt: skip
    return b.cast(found, x.dtype)


def _col2im_now(call: Call) -> Array:
    """The sum of all windows at their places."""
    x, (high, wide) = call.input(0), _image_size(call)
    size, stride, dilation, (top, bottom, left, right) = _window(call)
    count = [
        (whole - dilation[axis] * (size[axis] - 1) - 1) // stride[axis] + 1
        for axis, whole in enumerate((high + top + bottom, wide + left + right))
    ]
    windows = x.reshape(x.shape[0], -1, size[0], size[1], count[0], count[1])
    found = np.zeros((*windows.shape[:2], high + top + bottom, wide + left + right), x.dtype)
    for row in range(size[0]):
        for column in range(size[1]):
            first, second = row * dilation[0], column * dilation[1]
            rows = slice(first, first + count[0] * stride[0], stride[0])
            columns = slice(second, second + count[1] * stride[1], stride[1])
            found[:, :, rows, columns][:, :, : count[0], : count[1]] += windows[:, :, row, column]
    return found[:, :, top : top + high, left : left + wide]


# -- any places


def _places(call: Call) -> Array:
    """Where in the flat input each element of the result lies."""
    sizes, strides = (at.fixed(call.get(name), name) for name in ("size", "stride"))
    found = np.full(sizes, int(number(call, "storage_offset", 0)), np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        found = found + np.arange(size).reshape([-1 if one == axis else 1 for one in range(len(sizes))]) * stride
    return found


def _as_strided(call: Call, b: OnnxBuilder) -> Value:
    return b.op("Gather", b.reshape(tensor(call), (-1,)), b.constant(_places(call)), axis=0)


_BATCH_TO_SPACE, _SPACE_TO_BATCH = _both(_batch_to_space), _both(_space_to_batch)
_IM2COL, _COL2IM = (_im2col, _im2col_now), (_col2im, _col2im_now)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "AsStrided": (_as_strided, lambda call: call.input(0).reshape(-1)[_places(call)]),
    "BatchToSpace": _BATCH_TO_SPACE,
    "BatchToSpaceND": _BATCH_TO_SPACE,
    "BatchToSpaceNDV2": _BATCH_TO_SPACE,
    "ChannelShuffle": _both(_channel_shuffle),
    "Col2Im": _COL2IM,
    "Col2ImExt": _COL2IM,
    "DepthToSpace": _both(_depth_to_space),
    "Im2Col": _IM2COL,
    "Im2ColExt": _IM2COL,
    "PixelShuffle": _both(_pixel_shuffle),
    "SpaceToBatch": _SPACE_TO_BATCH,
    "SpaceToBatchND": _SPACE_TO_BATCH,
    "SpaceToDepth": _both(_space_to_depth),
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
