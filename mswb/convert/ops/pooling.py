"""Pooling: the largest, the mean or the norm of what windows cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mswb.convert.graph import Builder, Value, broadcast
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes, windows
from mswb.convert.ops.windows import Windows

_NARROW = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32"}
"""Integers whose values all fit in another type that the kernels have."""


def _read(node: OnnxNode) -> Windows:
    kernel = [int(one) for one in node.get("kernel_shape", [])]
    if node.rank() != len(kernel) + 2:
        raise Refused(f"kernel_shape {kernel} does not fit to {node.rank()} dimensions", attribute="kernel_shape")
    return windows.read(node, kernel)


def _lowest(dtype: str) -> float:
    return -np.inf if np.dtype(dtype).kind == "f" else int(np.iinfo(dtype).min)


def _max_pool(node: OnnxNode, b: Builder) -> Sequence[Value | None]:
    """By slices and Maximum, which takes no longer than MindSpore's MaxPool on the CPU; that one starts from the
    lowest finite number, which is wrong where all of a window is minus infinity.
    """
    given, asked = node.input(0), _read(node)
    x = b.cast(given, _NARROW.get(given.dtype, given.dtype))
    if len(node.outputs) > 1 and node.outputs[1]:
        value, index = _with_index(node, b, x, asked)
        return [b.cast(value, given.dtype), index]
    whole = windows.padded(b, x, asked, _lowest(x.dtype))
    return [b.cast(windows.folded(b, whole, asked, "Maximum"), given.dtype)]


def _pooled(x: Value, asked: Windows) -> tuple[int | None, ...]:
    """The shape after windows have gone over a padded tensor."""
    assert x.shape is not None
    rows = zip(x.shape[2:], asked.widths, asked.strides, strict=True)
    return (*x.shape[:2], *(None if one is None else (one - width) // stride + 1 for one, width, stride in rows))


def _with_index(node: OnnxNode, b: Builder, x: Value, asked: Windows) -> tuple[Value, Value]:
    """The largest of each window and where it lies in the whole tensor; of equal ones the first."""
    assert x.shape is not None
    count = len(asked.kernel)
    lengths = [sizes.size(b, x, axis) for axis in range(2, 2 + count)]
    places = [sizes.positions(b, x, 2 + at) for at in range(count)]
    order = list(range(count))
    if node.get("storage_order", 0):
        places, lengths = places[::-1], lengths[::-1]
    index = places[0]
    for at in order[1:]:
        index = b.op("Add", _scaled(b, index, lengths[at]), places[at], shape=broadcast(index.shape, places[at].shape))
    value = windows.padded(b, x, asked, _lowest(x.dtype))
    index = windows.padded(b, index, asked, 0)
    for at in reversed(order):
        pairs = zip(windows.taps(b, value, asked, at), windows.taps(b, index, asked, at), strict=True)
        value, index = next(pairs)
        for other, place in pairs:
            larger = b.op("Greater", other, value, dtype="bool", shape=value.shape)
            index = b.op("Select", larger, place, index, dtype="int64", shape=value.shape)
            value = b.op("Maximum", value, other, shape=value.shape)
    plane = sizes.product(b, lengths)
    image = _scaled(b, sizes.positions(b, x, 0), sizes.product(b, [sizes.size(b, x, 1), plane]))
    channel = _scaled(b, sizes.positions(b, x, 1), plane)
    start = b.op("Add", image, channel, shape=broadcast(image.shape, channel.shape))
    return value, b.op("Add", index, start, shape=value.shape)


def _scaled(b: Builder, x: Value, by: sizes.Size) -> Value:
    return b.op("Mul", x, sizes.as_tensor(b, by), shape=x.shape)


def _average_pool(node: OnnxNode, b: Builder) -> Value:
    given, asked = node.input(0), _read(node)
    if np.dtype(given.dtype).kind != "f":
        raise Refused(f"the mean of {given.dtype} has no kernel")
    x = b.cast(given, "float32" if given.dtype == "float16" else given.dtype)
    plain = not asked.same and not any(map(any, asked.reach)) and set(asked.dilations) == {1}
    if plain and x.rank == 4 and x.dtype == "float32":
        pooled = b.op("AvgPool", x, asked.kernel, asked.strides, 2, 0, shape=_pooled(x, asked))
        return b.cast(pooled, given.dtype)
    total = windows.folded(b, windows.padded(b, x, asked, 0), asked, "Add")
    for count in _counts(b, x, asked, bool(node.get("count_include_pad", 0))):
        total = b.op("Div", total, count, shape=total.shape)
    return b.cast(total, given.dtype)


def _counts(b: Builder, x: Value, asked: Windows, with_pads: bool) -> list[Value]:
    """How many elements each window counts along each axis; what ceil_mode reaches beyond the pads never counts."""
    result = []
    for at, (begin, end) in enumerate(asked.pads):
        ones = b.reshape(sizes.ones_along(b, x, 2 + at, x.dtype), (1, 1, x.shape[2 + at] or -1 if x.shape else -1))
        one = _single(asked, at)
        if with_pads and not one.same:
            right = one.reach[0][1]
            ones = sizes.pad(b, ones, [(begin, min(end, right))], 1)
            ones = sizes.pad(b, ones, [(0, max(right - end, 0))], 0)
        else:
            ones = windows.padded(b, ones, one, int(with_pads))
        count = windows.folded(b, ones, one, "Add")
        target = [1] * (x.rank or 0)
        target[2 + at] = -1
        result.append(b.reshape(count, target))
    return result


def _single(asked: Windows, at: int) -> Windows:
    """The same windows along one axis."""
    one = slice(at, at + 1)
    return replace(
        asked,
        kernel=asked.kernel[one],
        strides=asked.strides[one],
        dilations=asked.dilations[one],
        pads=asked.pads[one],
    )


def _lp_pool(node: OnnxNode, b: Builder) -> Value:
    """The p-th root of the sum of the p-th powers; pads are zeros."""
    given, asked, p = node.input(0), _read(node), int(node.get("p", 2))
    x = b.cast(given, "float32" if given.dtype == "float16" else given.dtype)
    total = windows.folded(b, windows.padded(b, _power(b, x, p), asked, 0), asked, "Add")
    return b.cast(_root(b, total, p), given.dtype)


def _power(b: Builder, x: Value, p: int) -> Value:
    """The p-th power of what is there without its sign."""
    if p == 2:
        return b.op("Mul", x, x, shape=x.shape)
    positive = b.op("Abs", x, shape=x.shape)
    return positive if p == 1 else b.op("Pow", positive, b.scalar(p, x.dtype), shape=x.shape)


def _root(b: Builder, x: Value, p: int) -> Value:
    if p == 2:
        return b.op("Sqrt", x, shape=x.shape)
    return x if p == 1 else b.op("Pow", x, b.scalar(1 / p, x.dtype), shape=x.shape)


def _global(primitive: str) -> Lower:
    """A reduction over all axes behind the channels."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        given = node.input(0)
        x = b.cast(given, "float32" if given.dtype == "float16" else given.dtype)
        return b.cast(_reduced(b, primitive, x, node.rank()), given.dtype)

    return lower


def _reduced(b: Builder, primitive: str, x: Value, rank: int) -> Value:
    axes = tuple(range(2, rank))
    shape = None if x.shape is None else (*x.shape[:2], *[1] * (rank - 2))
    if not axes:
        return x
    return b.op(primitive, x, axes, True, *([False] if primitive == "ReduceSum" else []), shape=shape)


def _global_lp_pool(node: OnnxNode, b: Builder) -> Value:
    given, p = node.input(0), int(node.get("p", 2))
    x = b.cast(given, "float32" if given.dtype == "float16" else given.dtype)
    total = _reduced(b, "ReduceSum", _power(b, x, p), node.rank())
    return b.cast(_root(b, total, p), given.dtype)


def _max_unpool(node: OnnxNode, b: Builder) -> Value:
    """The values at the places that MaxPool told; zeros elsewhere."""
    x, index, asked = node.input(0), node.input(1), _read(node)
    lengths: list[sizes.Size] = [sizes.size(b, x, 0), sizes.size(b, x, 1)]
    for at, (begin, end) in enumerate(asked.pads):
        lengths.append(sizes.stretched(b, sizes.size(b, x, 2 + at), asked.strides[at], asked.kernel[at] - begin - end))
    total = sizes.as_tensor(b, sizes.product(b, lengths))
    zeros = b.op("FillV2", total, b.scalar(0, x.dtype), dtype=x.dtype, shape=(None,), attributes={})
    places = b.reshape(index, (-1, 1))
    filled = b.op("TensorScatterUpdate", zeros, places, b.reshape(x, (-1,)), shape=(None,), attributes={})
    result = sizes.reshape(b, filled, lengths)
    return _extended(b, result, node.input(2), lengths) if node.has(2) else result


def _extended(b: Builder, x: Value, wanted: Value, lengths: Sequence[sizes.Size]) -> Value:
    """The tensor with zeros behind each axis up to a shape."""
    count = len(lengths)
    parts = [sizes.as_tensor(b, one) for one in lengths]
    have = b.op("Concat", b.tuple(parts), 0, dtype="int64", shape=(count,))
    more = b.op("Sub", wanted, have, shape=(count,))
    shape = (None,) * count if wanted.array is None else tuple(int(one) for one in wanted.array)
    return sizes.pad_by(b, x, windows.paired(b, b.constant(np.zeros(count, np.int64)), more, count), 0, shape)


TO_MINDIR: Mapping[str, Lower] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global("ReduceMean"),
    "GlobalLpPool": _global_lp_pool,
    "GlobalMaxPool": _global("ReduceMax"),
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
}
