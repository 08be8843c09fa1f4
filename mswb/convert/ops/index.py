"""Elements by their places: what gathers, scatters, cuts, and finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mswb.convert import integers as ints
from mswb.convert.graph import Builder, Value
from mswb.convert.integers import Ints
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_GATHERED = 1 << 12
"""Up to so many elements an axis of known size is cut by their places, and not by its ends."""
_FAR = 1 << 31


# -- by index


def _wide(b: Builder, value: Value) -> Ints:
    return value.array.astype(np.int64) if value.array is not None else b.cast(value, "int64")


def _from_front(b: Builder, places: Ints, size: Ints) -> Ints:
    """Places, counted from the front."""
    known = ints.content(places)
    if known is not None and (known >= 0).all():
        return places
    negative = ints.calc(b, "Less", places, 0)
    return ints.calc(b, "Select", negative, ints.calc(b, "Add", places, size), places)


def _gather(node: OnnxNode, b: Builder) -> Value:
    value, axis = node.input(0), node.axis(0)
    places = _from_front(b, _wide(b, node.input(1)), ints.dim(b, value, axis))
    return ints.take(b, value, axis, places)


def _gather_elements(node: OnnxNode, b: Builder) -> Value:
    value, places, axis = node.input(0), node.input(1), node.axis(0)
    return _gather_at(b, value, _coordinates(b, places, axis, ints.dim(b, value, axis)), places.shape)


def _coordinates(b: Builder, places: Value, axis: int, size: Ints) -> Value:
    """The place of each element in all dimensions, one behind another in a last one."""
    rank = places.rank or 0
    here = _from_front(b, _wide(b, places), size)
    zeros = ints.calc(b, "Mul", here, 0)
    parts: list[Ints] = []
    for at in range(rank):
        row = here
        if at != axis:
            numbers = ints.along(b, ints.arange(b, ints.dim(b, places, at)), at, rank)
            row = ints.calc(b, "Add", zeros, numbers)
        parts.append(row)
    return _stacked(b, parts, places.shape)


def _stacked(b: Builder, parts: Sequence[Ints], shape: tuple[int | None, ...] | None) -> Value:
    columns = [b.op("ExpandDims", ints.as_value(b, part), -1, dtype="int64") for part in parts]
    whole = (*shape, len(parts)) if shape is not None else None
    return b.op("Concat", b.tuple(columns), -1, dtype="int64", shape=whole)


def _gather_at(b: Builder, value: Value, places: Value, shape: tuple[int | None, ...] | None) -> Value:
    return b.op("GatherNd", value, places, dtype=value.dtype, shape=shape)


def _points(b: Builder, value: Value, given: Value, first: int) -> tuple[Ints, int]:
    """Index tuples, counted from the front, into the dimensions from ``first`` on; and their length."""
    if given.shape is None or given.shape[-1] is None:
        what = "how long the index tuples are is only known when the model runs"
        raise Refused(what, nearest="--freeze", freeze=given.name)
    count = given.shape[-1]
    if value.rank is None:
        raise Refused("the rank of the data is only known when the model runs")
    bounds = ints.vector(b, [ints.dim(b, value, first + at) for at in range(count)])
    return _from_front(b, _wide(b, given), bounds), count


def _gather_nd(node: OnnxNode, b: Builder) -> Value:
    value, given, batch = node.input(0), node.input(1), int(node.get("batch_dims", 0))
    points, count = _points(b, value, given, batch)
    assert value.shape is not None and given.shape is not None
    shape = (*given.shape[:-1], *value.shape[batch + count :])
    if not batch:
        return _gather_at(b, value, ints.as_value(b, points), shape)
    grid = [ints.along(b, ints.arange(b, ints.dim(b, value, at)), at, len(given.shape)) for at in range(batch)]
    zeros = ints.calc(b, "Mul", points, 0)
    first = ints.as_value(b, zeros)
    one = ints.take(b, first, len(given.shape) - 1, np.zeros(1, np.int64))
    columns = [ints.calc(b, "Add", one, row) for row in grid]
    whole = (*given.shape[:-1], batch + count)
    both = b.op("Concat", b.tuple([*columns, points]), len(given.shape) - 1, dtype="int64", shape=whole)
    return _gather_at(b, value, both, shape)


_SCATTER: Mapping[str, str] = {
    "none": "TensorScatterUpdate", "add": "TensorScatterAdd", "mul": "TensorScatterMul", "max": "TensorScatterMax",
    "min": "TensorScatterMin",
}  # fmt: skip


def _put(b: Builder, value: Value, places: Value, updates: Value, how: str) -> Value:
    primitive = _SCATTER.get(how)
    if primitive is None:
        raise Refused(f"reduction {how}", attribute="reduction")
    attributes: dict[str, int] | None = None if primitive == "TensorScatterAdd" else {}
    return b.op(primitive, value, places, updates, shape=value.shape, attributes=attributes)


def _scatter_elements(node: OnnxNode, b: Builder) -> Value:
    value, places, axis = node.input(0), node.input(1), node.axis(0)
    at = _coordinates(b, places, axis, ints.dim(b, value, axis))
    return _put(b, value, at, node.input(2), node.get("reduction", "none"))


def _scatter_nd(node: OnnxNode, b: Builder) -> Value:
    value = node.input(0)
    points, _ = _points(b, value, node.input(1), 0)
    return _put(b, value, ints.as_value(b, points), node.input(2), node.get("reduction", "none"))


def _tensor_scatter(node: OnnxNode, b: Builder) -> Value:
    """Each batch's update from its own place on along an axis; in a ring where the mode is circular."""
    cache, update, axis = node.input(0), node.input(1), node.axis(-2)
    rank = node.rank()
    size, count, batch = ints.dim(b, cache, axis), ints.dim(b, update, axis), ints.dim(b, update, 0)
    steps = ints.along(b, ints.arange(b, count), 1, 2)
    rows = ints.along(b, ints.arange(b, batch), 0, 2)
    places: Ints = ints.calc(b, "Add", ints.calc(b, "Mul", rows, 0), steps)
    if node.has(2):
        places = ints.calc(b, "Add", ints.along(b, _wide(b, node.input(2)), 0, 2), places)
    if node.get("mode", "linear") == "circular":
        places = ints.calc(b, "FloorMod", places, size)
    numbers = ints.calc(b, "Add", ints.calc(b, "Mul", places, 0), rows)
    order = [0, axis, *(at for at in range(1, rank) if at != axis)]
    back = [order.index(at) for at in range(rank)]
    at = _stacked(b, [numbers, places], ints.shape_of(places))
    return b.transpose(_put(b, b.transpose(cache, order), at, b.transpose(update, order), "none"), back)


# -- by range


def _slice(node: OnnxNode, b: Builder) -> Value:
    value, rank = node.input(0), node.rank()
    starts, ends = ints.given(node, b, "starts", 1), ints.given(node, b, "ends", 2)
    places: Ints
    axes, steps = ints.given(node, b, "axes", 3), ints.given(node, b, "steps", 4)
    if starts is None or ends is None:
        raise Refused("starts or ends are missing")
    places = ints.arange(b, ints.count(b, starts)) if axes is None else ints.from_front(b, axes, rank)
    if isinstance(places, Value):
        none = np.zeros(rank, np.int64)
        starts = ints.spread(b, none, places, starts)
        ends = ints.spread(b, none + np.iinfo(np.int64).max, places, ends)
        steps = None if steps is None else ints.spread(b, none + 1, places, steps)
        places = np.arange(rank)
    if steps is None:
        steps = np.ones(len(places), np.int64)
    rows = {axis: [ints.item(b, one, at) for one in (starts, ends, steps)] for at, axis in enumerate(places.tolist())}
    known = {axis: [int(np.asarray(one)) for one in row] for axis, row in rows.items() if not any(map(_open, row))}
    known = {axis: row for axis, row in known.items() if _sure(value, axis, *row)}
    if known:
        value = _strided(b, value, known)
    for axis, (start, end, step) in rows.items():
        if axis not in known:
            value = _cut(b, value, axis, start, end, step)
    return value


def _open(number: Ints) -> bool:
    """Whether only the run tells a number."""
    return ints.content(number) is None


def _sure(value: Value, axis: int, start: int, _: int, step: int) -> bool:
    """Whether StridedSlice is right: not where a step back may start behind the end of an axis of unknown size."""
    return value.shape is None or value.shape[axis] is not None or step > 0 or start < 0 or start >= _FAR


def _turns(value: Value, axis: int, start: int, stop: int, step: int) -> bool:
    """Whether a slice is the whole axis from its last element to the first."""
    size = None if value.shape is None else value.shape[axis]
    if size is None:
        return step == -1 and (start == -1 or start >= _FAR) and stop <= -_FAR
    return step == -1 and size > 1 and len(range(size)[start:stop:step]) == size


def _may_be_empty(value: Value, axis: int) -> bool:
    """Whether StridedSlice could crash: where it cuts a value without elements behind its open dimension."""
    shape = value.shape or ()
    size = shape[axis] if axis < len(shape) else None
    return size is not None and size <= _GATHERED and any(one is None or one == 0 for one in shape[:axis])


def _strided(b: Builder, value: Value, rows: Mapping[int, Sequence[int]]) -> Value:
    """Several axes cut by numbers that are known; a bit of a mask stands for "as far as it goes".

    Axes that are only turned around go first: where just one axis changes its size, MindSpore's kernel cuts that one
    and leaves the others as they are.
    """
    turned = {axis: row for axis, row in rows.items() if _turns(value, axis, *row)}
    if 0 < len(turned) < len(rows):
        return _strided(b, _strided(b, value, turned), {axis: rows[axis] for axis in rows.keys() - turned.keys()})
    gathered = {axis: row for axis, row in rows.items() if _may_be_empty(value, axis)}
    for axis, (start, stop, step) in gathered.items():
        taken = np.arange((value.shape or ())[axis], dtype=np.int64)[start:stop:step]
        value = ints.take(b, value, axis, taken)
    rows = {axis: row for axis, row in rows.items() if axis not in gathered}
    if not rows:
        return value
    sizes = list(value.shape or ())
    rank = len(sizes)
    begin, end, stride = [0] * rank, [0] * rank, [1] * rank
    from_edge = to_edge = (1 << rank) - 1
    for axis, (start, stop, step) in rows.items():
        size, bit = sizes[axis], 1 << axis
        if size is None:
            open_start, open_stop = (start < 0) == (step > 0), (stop > 0) == (step > 0)
            from_edge &= ~bit if not (open_start and abs(start) >= _FAR) else -1
            to_edge &= ~bit if not (open_stop and abs(stop) >= _FAR) else -1
        else:
            places = range(size)[start:stop:step]
            start, stop, step = (places.start, places.stop, places.step) if places else (0, 0, 1)
            sizes[axis] = len(places)
            from_edge &= ~bit
            to_edge &= ~bit if stop >= 0 else -1
        begin[axis], end[axis], stride[axis] = (max(-_FAR, min(one, _FAR)) for one in (start, stop, step))
    masks = (from_edge, to_edge, 0, 0, 0)
    return b.op("StridedSlice", value, tuple(begin), tuple(end), tuple(stride), *masks, shape=tuple(sizes))


def _cut(b: Builder, value: Value, axis: int, start: Ints, end: Ints, step: Ints) -> Value:
    """Every ``step``-th element from ``start`` until before ``end``, both held within the axis as in Python."""
    size = ints.dim(b, value, axis)
    first, last = (_from_front(b, one, size) for one in (start, end))
    back = ints.calc(b, "Less", step, 0)
    top = ints.calc(b, "Select", back, ints.calc(b, "Sub", size, 1), size)
    bottom = ints.calc(b, "Select", back, -1, 0)
    first, last = (ints.calc(b, "Minimum", ints.calc(b, "Maximum", one, bottom), top) for one in (first, last))
    span = ints.calc(b, "Sub", first, last)
    count = ints.calc(b, "Maximum", ints.calc(b, "Sub", 0, ints.calc(b, "FloorDiv", span, step)), 0)
    places = ints.calc(b, "Add", ints.calc(b, "Mul", ints.arange(b, count), step), first)
    return ints.take(b, value, axis, places)


# -- by content


def _one_hot(node: OnnxNode, b: Builder) -> Value:
    """On where a place is its index, counted from either end; off everywhere for an index that is outside."""
    indices, values = node.input(0), node.input(2)
    rank = node.rank()
    axis = int(node.get("axis", -1))
    axis += rank + 1 if axis < 0 else 0
    depth_given = ints.given(node, b, "depth", 1)
    assert depth_given is not None
    depth = ints.item(b, depth_given, 0)
    places = _from_front(b, _wide(b, indices), depth)
    known = ints.content(places)
    grid = ints.along(b, ints.arange(b, depth), axis, rank + 1)
    wide: Ints = (
        np.expand_dims(known, axis)
        if known is not None
        else b.op("ExpandDims", places, axis, dtype="int64", shape=_with(ints.shape_of(places), axis))
    )
    on = ints.calc(b, "Equal", wide, grid)
    off_value, on_value = (b.op("Gather", values, np.array(at, np.int64), 0, 0, shape=()) for at in (0, 1))
    return ints.select(b, on, on_value, off_value)


def _with(shape: tuple[int | None, ...] | None, axis: int) -> tuple[int | None, ...] | None:
    return None if shape is None else (*shape[:axis], 1, *shape[axis:])


def _found(b: Builder, flat: Value) -> Value:
    """Where a vector is not zero. MindSpore's operator fails on an empty one: a one is put behind what may be that."""
    sure = flat.fixed is not None and all(flat.fixed)
    if not sure:
        flat = b.op("Concat", b.tuple([flat, np.ones(1, flat.dtype)]), 0, dtype=flat.dtype, shape=(None,))
    places = b.reshape(b.op("NonZero", flat, dtype="int64", shape=(None, 1)), (-1,))
    return places if sure else b.op("StridedSlice", places, (0,), (-1,), (1,), 0, 0, 0, 0, 0, shape=(None,))


def _non_zero(node: OnnxNode, b: Builder) -> Value:
    """The places in the flat tensor, each divided into one a dimension."""
    value, rank = node.input(0), max(node.rank(), 1)
    places: Ints = _found(b, b.reshape(value, (-1,)))
    rows: list[Value] = []
    for axis in reversed(range(rank)):
        size = ints.dim(b, value, axis) if value.rank else np.array(1)
        row = ints.calc(b, "FloorMod", places, size) if axis else places
        rows.insert(0, b.op("ExpandDims", ints.as_value(b, row), 0, shape=(1, None)))
        places = ints.calc(b, "FloorDiv", places, size)
    return rows[0] if rank == 1 else b.op("Concat", b.tuple(rows), 0, dtype="int64", shape=(rank, None))


def _compress(node: OnnxNode, b: Builder) -> Value:
    value, condition = node.input(0), node.input(1)
    axis = node.axis() if "axis" in node.attributes else 0
    if "axis" not in node.attributes:
        value = b.reshape(value, (-1,))
    return ints.take(b, value, axis, _found(b, condition))


def _array_feature_extractor(node: OnnxNode, b: Builder) -> Value:
    value = node.input(0)
    places = b.reshape(node.input(1), (-1,))
    if node.rank() == 1:
        value = b.op("ExpandDims", value, 0, shape=(1, *(value.shape or (None,))))
    return ints.take(b, value, (value.rank or 1) - 1, places)


def _reverse_sequence(node: OnnxNode, b: Builder) -> Value:
    along, batch = int(node.get("time_axis", 0)), int(node.get("batch_axis", 1))
    lengths = b.cast(node.input(1), "int64")
    value = node.input(0)
    return b.op("ReverseSequence", value, lengths, shape=value.shape, attributes={"seq_dim": along, "batch_dim": batch})


TO_MINDIR: Mapping[str, Lower] = {
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Slice": _slice,
    "TensorScatter": _tensor_scatter,
    "ai.onnx.ml.ArrayFeatureExtractor": _array_feature_extractor,
}
