"""Sizes that may only be known at run time: read from a tensor, multiplied, reshaped by; positions along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mswb.convert.graph import Builder, Shape, Value

Size = int | Value
"""A number, or an int64 tensor with one element."""


def size(b: Builder, x: Value, axis: int) -> Size:
    """How long an axis is."""
    known = x.shape[axis] if x.shape is not None else None
    if known is not None:
        return known
    return b.op("StridedSlice", b.shape_of(x), (axis,), (axis + 1,), (1,), 0, 0, 0, 0, 0, shape=(1,))


def as_tensor(b: Builder, one: Size) -> Value:
    """A size as an int64 tensor with one element."""
    return one if isinstance(one, Value) else b.constant(np.array([one], np.int64))


def product(b: Builder, sizes: Sequence[Size]) -> Size:
    """Sizes multiplied."""
    fixed = int(np.prod([one for one in sizes if not isinstance(one, Value)], dtype=np.int64))
    result: Size = fixed
    for one in sizes:
        if isinstance(one, Value):
            result = one if result == 1 else b.op("Mul", one, as_tensor(b, result), shape=(1,))
    return result


def stretched(b: Builder, length: Size, stride: int, more: int) -> Size:
    """(length - 1) * stride + more."""
    if not isinstance(length, Value):
        return (length - 1) * stride + more
    scaled = b.op("Mul", length, as_tensor(b, stride), shape=(1,))
    return b.op("Add", scaled, as_tensor(b, more - stride), shape=(1,))


def reshape(b: Builder, x: Value, sizes: Sequence[Size]) -> Value:
    """The value with these dimensions; one may be -1."""
    shape: Shape = tuple(None if isinstance(one, Value) or one < 0 else one for one in sizes)
    if shape == x.shape and None not in shape:
        return x
    unknown = [at for at, one in enumerate(sizes) if isinstance(one, Value) or one < 0]
    if len(unknown) <= 1:
        return b.reshape(x, [-1 if isinstance(one, Value) else one for one in sizes])
    return b.op("Reshape", x, as_tuple(b, sizes), shape=shape)


def as_tuple(b: Builder, sizes: Sequence[Size]) -> Value:
    """Sizes as a shape, the way that most operators take one."""
    fixed = tuple(one for one in sizes if not isinstance(one, Value))
    if len(fixed) == len(sizes):
        return b.constant(fixed)
    parts = [as_tensor(b, one) for one in sizes]
    return b.as_tuple(b.op("Concat", b.tuple(parts), 0, dtype="int64", shape=(len(parts),)))


def expand(b: Builder, x: Value, axis: int) -> Value:
    """The value with one more dimension of size 1 at this place."""
    shape = None if x.shape is None else (*x.shape[:axis], 1, *x.shape[axis:])
    return b.op("ExpandDims", x, axis, shape=shape)


def squeeze(b: Builder, x: Value, axis: int) -> Value:
    """The value without this dimension of size 1."""
    shape = None if x.shape is None else (*x.shape[:axis], *x.shape[axis + 1 :])
    return b.op("Squeeze", x, (axis,), shape=shape)


def cut(b: Builder, x: Value, axis: int, start: int, rest: int, stride: int = 1) -> Value:
    """A slice of one axis: without the first ``start`` and the last ``rest`` elements, every ``stride``-th."""
    if start == rest == 0 and stride == 1:
        return x
    assert x.shape is not None
    rank, length = len(x.shape), x.shape[axis]
    begin, end, strides = [0] * rank, [1] * rank, [1] * rank
    others = sum(1 << at for at in range(rank) if at != axis)
    begin[axis], strides[axis] = start, stride
    end[axis] = length - rest if length is not None else -rest
    end_mask = others if rest or length is not None else others | 1 << axis
    left = None if length is None else max(0, -(-(length - start - rest) // stride))
    shape = (*x.shape[:axis], left, *x.shape[axis + 1 :])
    given = (tuple(begin), tuple(end), tuple(strides), others, end_mask, 0, 0, 0)
    return b.op("StridedSlice", x, *given, shape=shape)


def pad(b: Builder, x: Value, pairs: Sequence[tuple[int, int]], content: float) -> Value:
    """The value with elements added before and after each of its last axes; cut where a number is negative."""
    assert x.shape is not None
    first = len(x.shape) - len(pairs)
    for at, (begin, end) in enumerate(pairs):
        x = cut(b, x, first + at, max(-begin, 0), max(-end, 0))
    more = [(max(begin, 0), max(end, 0)) for begin, end in pairs]
    if not any(map(any, more)):
        return x
    assert x.shape is not None
    sizes = [None if one is None else one + sum(pair) for one, pair in zip(x.shape[first:], more, strict=True)]
    flat = tuple(number for pair in reversed(more) for number in pair)
    return pad_by(b, x, b.constant(flat), content, (*x.shape[:first], *sizes))


def pad_by(b: Builder, x: Value, pads: Value, content: float, shape: Shape | None) -> Value:
    """The value with elements added; ``pads`` tells how many, begin and end, of the last axis first."""
    attributes = {"mode": "constant", "paddings_contiguous": True}
    return b.op("PadV3", x, pads, b.scalar(content, x.dtype), shape=shape, attributes=attributes)


def ones_along(b: Builder, x: Value, axis: int, dtype: str) -> Value:
    """Ones as many as the axis is long; all other dimensions are 1."""
    assert x.shape is not None
    rank, length = len(x.shape), x.shape[axis]
    shape = tuple(length if at == axis else 1 for at in range(rank))
    if length is not None:
        return b.constant(np.ones([one or 0 for one in shape], dtype))
    target = [1] * axis + [length] + [1] * (rank - axis - 1)
    parts = [as_tensor(b, size(b, x, axis) if one is None else one) for one in target]
    whole = b.op("Concat", b.tuple(parts), 0, dtype="int64", shape=(rank,)) if rank > 1 else parts[0]
    return b.op("FillV2", whole, b.scalar(1, dtype), dtype=dtype, shape=shape, attributes={})


def positions(b: Builder, x: Value, axis: int) -> Value:
    """0, 1, 2 … along an axis, int64; all other dimensions are 1."""
    ones = ones_along(b, x, axis, "int64")
    if ones.array is not None:
        return b.constant(np.cumsum(ones.array, axis=axis) - 1)
    counted = b.op("CumSum", ones, axis, False, False, shape=ones.shape)
    return b.op("Sub", counted, b.constant(np.ones((1,) * len(ones.shape or ()), np.int64)), shape=ones.shape)
