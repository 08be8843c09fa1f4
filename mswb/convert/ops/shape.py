"""Shapes: what reads them, and what lays the elements of a tensor out anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from mswb.convert import integers as ints
from mswb.convert.graph import TYPE_IDS, Builder, Shape, Value
from mswb.convert.integers import Ints
from mswb.convert.onnx.node import Lower, OnnxNode, Refused


def _axis_given(b: Builder, node: OnnxNode, rank: int) -> Ints | None:
    axes = ints.given(node, b, "axes", 1)
    return None if axes is None else ints.from_front(b, axes, rank)


def _reshape(node: OnnxNode, b: Builder) -> Value:
    value = node.input(0)
    wanted = ints.given(node, b, "shape", 1)
    if wanted is None:
        raise Refused("the shape is missing")
    if node.get("allowzero", 0):
        return _to(b, value, wanted)
    known = ints.content(wanted)
    if known is not None and value.rank is not None:
        wide = value.shape or ()
        numbers = [wide[at] if size == 0 else size for at, size in enumerate(known.tolist())]
        if numbers.count(None) == 1 and not {0, -1} & set(numbers):
            return b.reshape(value, [-1 if number is None else number for number in numbers])
        kept = [ints.dim(b, value, at) if number is None else number for at, number in enumerate(numbers)]
        return ints.reshape(b, value, kept)
    own, places = ints.all_dims(b, value), ints.arange(b, ints.count(b, wanted))
    last = ints.calc(b, "Sub", value.rank if value.rank is not None else ints.dim(b, b.shape_of(value), 0), 1)
    if ints.content(last) is not None and int(np.asarray(ints.content(last))) < 0:
        return _to(b, value, wanted)
    same = ints.pick(b, own, ints.calc(b, "Minimum", places, last))
    zero = ints.calc(b, "Equal", wanted, 0)
    return _to(b, value, ints.calc(b, "Select", zero, same, wanted))


def _to(b: Builder, value: Value, wanted: Ints) -> Value:
    """The value in a shape that may hold one -1."""
    known = ints.content(wanted)
    return b.reshape(value, ints.as_value(b, wanted) if known is None else known.tolist())


def _transpose(node: OnnxNode, b: Builder) -> Value:
    rank = node.rank()
    order = node.get("perm") or list(range(rank))[::-1]
    return b.transpose(node.input(0), order) if rank > 1 else node.input(0)


def _squeeze(node: OnnxNode, b: Builder) -> Value:
    value, rank = node.input(0), node.input(0).rank
    if not node.has(1) and "axes" not in node.attributes:
        if value.fixed is not None:
            return b.reshape(value, [size for size in value.fixed if size != 1])
        return b.op("Squeeze", value, (), shape=None)
    if rank is None:
        raise Refused("the rank of input 0 is only known when the model runs")
    axes = _axis_given(b, node, rank)
    assert axes is not None
    known = ints.content(axes)
    if known is not None:
        gone = set(known.tolist())
        return ints.reshape(b, value, [ints.dim(b, value, at) for at in range(rank) if at not in gone])
    left = rank - ints.length(axes, "axes")
    kept = ints.spread(b, np.ones(rank, np.int64), axes, np.zeros(rank - left, np.int64))
    return _to(b, value, ints.pick(b, ints.all_dims(b, value), _places(b, kept, rank, left)))


def _places(b: Builder, marks: Ints, rank: int, count: int) -> Ints:
    """Where a vector holds its ``count`` ones, in order: the n-th is the one that n others come before."""
    before = ints.calc(b, "Sub", _running(b, marks), marks)
    ones = ints.calc(b, "Equal", marks, 1)
    home = ints.calc(b, "Select", ones, before, rank)
    grid = ints.calc(b, "Equal", np.arange(count).reshape(-1, 1), home)
    numbered = ints.calc(b, "Select", grid, np.arange(rank), 0)
    return ints.total(b, numbered, 1)


def _running(b: Builder, marks: Ints) -> Ints:
    """The sums up to each place, the place included."""
    count = ints.length(marks, "marks")
    triangle = np.tri(count, dtype=np.int64)
    return ints.total(b, ints.calc(b, "Mul", triangle, marks), 1)


def _unsqueeze(node: OnnxNode, b: Builder) -> Value:
    value, given = node.input(0), ints.given(node, b, "axes", 1)
    if given is None:
        raise Refused("axes are missing")
    known = ints.content(given)
    if known is not None and value.rank is None:
        for axis in sorted(known.tolist()) if (known >= 0).all() or (known < 0).all() else [None]:
            if axis is None:
                raise Refused("axes from both ends, and the rank is only known when the model runs", attribute="axes")
            value = b.op("ExpandDims", value, axis, shape=None)
        return value
    before = node.rank()
    rank = before + ints.length(given, "axes")
    axes = ints.from_front(b, given, rank)
    if not before:
        return b.reshape(value, [1] * rank)
    known = ints.content(axes)
    if known is not None:
        rest, new = iter(ints.each_dim(b, value)), set(known.tolist())
        return ints.reshape(b, value, [1 if at in new else next(rest) for at in range(rank)])
    old = ints.spread(b, np.ones(rank, np.int64), axes, np.zeros(rank - before, np.int64))
    place = ints.calc(b, "Maximum", ints.calc(b, "Sub", _running(b, old), 1), 0)
    wanted = ints.pick(b, ints.all_dims(b, value), place)
    return _to(b, value, ints.calc(b, "Select", ints.calc(b, "Equal", old, 1), wanted, 1))


def _flatten(node: OnnxNode, b: Builder) -> Value:
    value, rank, axis = node.input(0), node.rank(), int(node.get("axis", 1))
    if not -rank <= axis <= rank:
        raise Refused(f"axis {axis} is outside of {rank} dimensions", attribute="axis")
    parts = ints.each_dim(b, value)
    at = axis + rank if axis < 0 else axis
    return ints.reshape(b, value, [ints.product(b, parts[:at]), ints.product(b, parts[at:])])


def _expand(node: OnnxNode, b: Builder) -> Value:
    value, wanted = node.input(0), ints.given(node, b, "shape", 1)
    if wanted is None:
        raise Refused("the shape is missing")
    known = ints.content(wanted)
    if known is not None and value.fixed is not None:
        shape = np.broadcast_shapes(value.fixed, tuple(known.tolist()))
        return value if shape == value.fixed else b.op("BroadcastTo", value, shape, shape=shape)
    return ints.expand(b, value, wanted)


def _tile(node: OnnxNode, b: Builder) -> Value:
    value, repeats = node.input(0), ints.given(node, b, "repeats", 1)
    if repeats is None:
        raise Refused("repeats are missing")
    if value.rank == 0:
        return value
    known = ints.content(repeats)
    if known is not None and value.fixed is not None and known.all() and all(value.fixed):
        shape = tuple(size * times for size, times in zip(value.fixed, known.tolist(), strict=True))
        return b.op("Tile", value, tuple(known.tolist()), shape=shape, attributes={})
    for axis in range(node.rank()):
        times, size = ints.item(b, repeats, axis), ints.dim(b, value, axis)
        if ints.content(times) is None or int(np.asarray(ints.content(times))) != 1:
            places = ints.arange(b, ints.calc(b, "Mul", size, times))
            value = ints.take(b, value, axis, ints.calc(b, "FloorMod", places, ints.calc(b, "Maximum", size, 1)))
    return value


def _concat(node: OnnxNode, b: Builder) -> Value:
    parts = [node.input(at) for at in range(len(node.inputs))]
    if len(parts) == 1:
        return parts[0]
    axis = node.axis(1 if node.version < 4 else 0)
    shapes = [part.shape for part in parts if part.shape is not None]
    shape = None
    if len(shapes) == len(parts):
        along = [one[axis] for one in shapes]
        length = None if None in along else sum(size or 0 for size in along)
        others = [next((size for size in column if size is not None), None) for column in zip(*shapes, strict=True)]
        shape = (*others[:axis], length, *others[axis + 1 :])
    return b.op("Concat", b.tuple(parts), axis, dtype=parts[0].dtype, shape=shape)


def _split(node: OnnxNode, b: Builder) -> list[Value | None]:
    value, axis, count = node.input(0), node.axis(0), len(node.outputs)
    size, lengths = ints.dim(b, value, axis), ints.given(node, b, "split", 1)
    starts: list[Ints]
    if lengths is None:
        each = ints.calc(b, "FloorDiv", ints.calc(b, "Add", size, count - 1), count)
        starts = [ints.calc(b, "Minimum", ints.calc(b, "Mul", each, at), size) for at in range(count)] + [size]
    else:
        starts = places_of(b, lengths, count)
    return list(pieces(b, value, axis, starts))


def places_of(b: Builder, lengths: Ints, count: int) -> list[Ints]:
    """Where pieces of so many lengths start, and where the last one ends."""
    starts: list[Ints] = [np.array(0, np.int64)]
    for at in range(count):
        starts.append(ints.calc(b, "Add", starts[-1], ints.item(b, lengths, at)))
    return starts


def pieces(b: Builder, value: Value, axis: int, starts: Sequence[Ints]) -> Sequence[Value]:
    """A value cut along an axis at these places, the first and the last of which are its ends."""
    known = [ints.content(one) for one in starts]
    bounds = [int(one) for one in known if one is not None]
    sure = len(bounds) == len(starts) and bool((np.diff(bounds) > 0).all())
    if not sure or value.fixed is None or 0 in value.fixed:  # SplitWithSize takes no value without elements
        return [_piece(b, value, axis, first, last) for first, last in pairwise(starts)]
    results = [(value.dtype, _sized(value.shape, axis, last - first)) for first, last in pairwise(bounds)]
    return b.ops("SplitWithSize", value, tuple(np.diff(bounds).tolist()), axis, results=results)


def _sized(shape: Shape | None, axis: int, size: int) -> Shape | None:
    return None if shape is None else (*shape[:axis], size, *shape[axis + 1 :])


def _piece(b: Builder, value: Value, axis: int, first: Ints, last: Ints) -> Value:
    places = ints.arange(b, ints.calc(b, "Sub", last, first))
    return ints.take(b, value, axis, ints.calc(b, "Add", places, first))


def _shape(node: OnnxNode, b: Builder) -> Value:
    value, start, end = node.input(0), int(node.get("start", 0)), node.get("end")
    if value.rank is None:
        whole = b.shape_of(value)
        if not start and end is None:
            return whole
        masks = (0, int(end is None), 0, 0, 0)
        return b.op("StridedSlice", whole, (start,), (end or 0,), (1,), *masks, shape=(None,))
    parts = list(range(value.rank))[start:end]
    if value.shape is not None and all(value.shape[at] is not None for at in parts):
        return b.constant(np.array([value.shape[at] for at in parts], np.int64))
    whole = b.shape_of(value)
    return whole if len(parts) == value.rank else ints.as_value(b, ints.pick(b, whole, np.array(parts, np.int64)))


def _size(node: OnnxNode, b: Builder) -> Value:
    value = node.input(0)
    if value.rank is None:
        return b.op("ReduceProd", b.shape_of(value), (0,), False, shape=())
    return ints.as_value(b, ints.product(b, ints.each_dim(b, value)))


def _constant_of_shape(node: OnnxNode, b: Builder) -> Value:
    content = np.asarray(node.get("value", np.zeros(1, np.float32))).reshape(-1)
    wanted = ints.given(node, b, "shape", 0)
    assert wanted is not None
    return ints.filled(b, wanted, content[0], content.dtype.name)


def _range(node: OnnxNode, b: Builder) -> Value:
    """Elements ceil((limit - start) / delta), each start + its number times delta; in float64, as numpy has it."""
    dtype = node.input(0).dtype
    wide = "float64" if np.dtype(dtype).kind == "f" else "int64"
    start, limit, delta = (b.cast(b.reshape(node.input(at), ()), wide) for at in range(3))
    span = b.op("Sub", limit, start, shape=())
    if wide == "int64":
        count: Ints = ints.calc(b, "Sub", 0, ints.calc(b, "FloorDiv", ints.calc(b, "Sub", 0, span), delta))
    else:
        count = b.cast(b.op("Ceil", b.op("Div", span, delta, shape=()), shape=()), "int64")
    numbers = b.cast(ints.as_value(b, ints.arange(b, ints.calc(b, "Maximum", count, 0))), wide)
    scaled = b.op("Mul", numbers, delta, shape=(None,))
    return b.cast(b.op("Add", scaled, start, shape=(None,)), dtype)


def _eye_like(node: OnnxNode, b: Builder) -> Value:
    from mswb.convert.onnx.model import dtype_name

    value = node.input(0)
    dtype = dtype_name(int(node.get("dtype", 0))) or value.dtype
    if dtype not in TYPE_IDS:
        raise Refused(f"MindSpore has no data type {dtype}", attribute="dtype")
    rows, columns = (ints.arange(b, ints.dim(b, value, axis)) for axis in (0, 1))
    moved = ints.calc(b, "Add", ints.along(b, rows, 0, 2), int(node.get("k", 0)))
    return b.cast(ints.as_value(b, ints.calc(b, "Equal", moved, ints.along(b, columns, 1, 2))), dtype)


def _trilu(node: OnnxNode, b: Builder) -> Value:
    value, rank = node.input(0), node.rank()
    k = ints.given(node, b, "k", 1)
    known = 0 if k is None else ints.content(k)
    if known is not None:
        upper, number = bool(node.get("upper", 1)), int(np.asarray(known).reshape(-1)[0])
        whole = ("Triu", value, number) if upper else ("Tril", value)
        return b.op(*whole, shape=value.shape, attributes=None if upper else {"diagonal": number})
    rows, columns = (ints.arange(b, ints.dim(b, value, axis)) for axis in (rank - 2, rank - 1))
    diagonal = ints.calc(b, "Add", ints.along(b, rows, 0, 2), 0 if k is None else ints.item(b, k, 0))
    above = ints.along(b, columns, 1, 2)
    one, other = (above, diagonal) if node.get("upper", 1) else (diagonal, above)
    dropped = ints.calc(b, "Less", one, other)
    return ints.select(b, dropped, np.zeros((), value.dtype), value)


def _depth_to_space(node: OnnxNode, b: Builder) -> Value:
    value, size = node.input(0), int(node.get("blocksize", 1))
    n, c, h, w = _four(node, b)
    depth = ints.calc(b, "FloorDiv", c, size * size)
    if node.get("mode", "DCR") == "CRD":
        parts, order = [n, depth, size, size, h, w], (0, 1, 4, 2, 5, 3)
    else:
        parts, order = [n, size, size, depth, h, w], (0, 3, 4, 1, 5, 2)
    moved = b.transpose(ints.reshape(b, value, parts), order)
    return ints.reshape(b, moved, [n, depth, ints.calc(b, "Mul", h, size), ints.calc(b, "Mul", w, size)])


def _space_to_depth(node: OnnxNode, b: Builder) -> Value:
    value, size = node.input(0), int(node.get("blocksize", 1))
    n, c, h, w = _four(node, b)
    high, wide = (ints.calc(b, "FloorDiv", one, size) for one in (h, w))
    crd = node.get("mode", "DCR") == "CRD"
    moved = b.transpose(
        ints.reshape(b, value, [n, c, high, size, wide, size]), (0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4)
    )
    return ints.reshape(b, moved, [n, ints.calc(b, "Mul", c, size * size), high, wide])


def _four(node: OnnxNode, b: Builder) -> list[Ints]:
    if node.rank() != 4:
        raise Refused(f"{node.op} of {node.rank()} dimensions instead of 4")
    return ints.each_dim(b, node.input(0))


TO_MINDIR: Mapping[str, Lower] = {
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Flatten": _flatten,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
