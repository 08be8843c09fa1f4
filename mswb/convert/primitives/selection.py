"""What picks by a mask or by value, and what is counted or put together by numbers of groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.indices import axis_of, filled, integer, joined, like, moved, part, rank, sizes
from mswb.convert.primitives.kernels import KERNELS, run, where
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.scatter import put
from mswb.convert.program import Call, numpy_dtype

_UNIQUE: Mapping[str, str] = {
    **dict.fromkeys(["bool", "int16", "int32", "uint8", "uint16", "uint32", "uint64"], "int64"),
    **dict.fromkeys(["float16", "bfloat16"], "float32"),
}
"""Data types that onnxruntime's Unique has no kernel for, and one in which equal stays equal."""

# -- ONNX: masks


def _flatten(b: OnnxBuilder, value: Value) -> Value:
    return b.reshape(value, (-1,))


def compressed(b: OnnxBuilder, data: Value, keep: Value, axis: int = 0) -> Value:
    """What a vector of flags keeps of a dimension."""
    used = "float32" if data.dtype == "bfloat16" else data.dtype
    return b.cast(b.op("Compress", b.cast(data, used), keep, axis=axis), data.dtype)


def _masked_select(call: Call, b: OnnxBuilder) -> Value:
    data, mask = tensor(call, 0), b.cast(tensor(call, 1), "bool")
    return compressed(b, _flatten(b, like(b, data, mask)), _flatten(b, like(b, mask, data)))


def _masked_scatter(call: Call, b: OnnxBuilder) -> Value:
    """The source's numbers, one after the other, where the mask holds."""
    data, mask, source = tensor(call, 0), b.cast(tensor(call, 1), "bool"), tensor(call, 2)
    flags = like(b, mask, data)
    each = b.op("CumSum", b.cast(_flatten(b, flags), "int64"), b.scalar(0, "int64"))
    place = b.op("Max", b.op("Sub", each, b.scalar(1, "int64")), b.scalar(0, "int64"))
    new = b.op("Gather", _flatten(b, b.cast(source, data.dtype)), place, axis=0)
    return where(b, flags, b.reshape(new, b.shape_of(data)), data)


def _found(call: Call, b: OnnxBuilder) -> Value:
    data = tensor(call, 0)
    if rank(data) == 0:
        raise Refused("its input has no dimensions")
    return b.op("NonZero", data if data.dtype in KERNELS["NonZero"] else b.cast(data, "bool"))


def _non_zero_each(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    places = _found(call, b)
    return tuple(b.op("Gather", places, b.scalar(at, "int64"), axis=0) for at in range(rank(tensor(call, 0))))


# -- ONNX: equal ones


def _distinct(b: OnnxBuilder, data: Value, in_order: bool) -> tuple[Value, Value, Value]:
    used = _UNIQUE.get(data.dtype, data.dtype)
    given = b.cast(_flatten(b, data), used)
    values, _, inverse, counts = b.ops("Unique", given, count=4, sorted=int(in_order))
    return b.cast(values, data.dtype), b.reshape(inverse, b.shape_of(data)), counts


def _index_dtype(data: Value) -> str:
    return "int64" if data.dtype == "int64" else "int32"


def _unique(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    data = tensor(call, 0)
    values, inverse, _ = _distinct(b, data, False)
    return values, b.cast(inverse, _index_dtype(data))


def _unique_padded(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    """As many as the input has, the rest filled up with a number."""
    data, pad = tensor(call, 0), call.input(1)
    values, inverse = _unique(call, b)
    more = b.op("Sub", b.op("Size", data), b.op("Size", values))
    number = b.reshape(b.cast(pad, data.dtype), ()) if isinstance(pad, Value) else b.scalar(pad, data.dtype)
    return b.op("Concat", values, b.op("Expand", number, b.reshape(more, (1,))), axis=0), inverse


def _unique_sorted(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    return _distinct(b, tensor(call, 0), True)[: 3 if call.op == "Unique2" else 2]


def _runs(call: Call, b: OnnxBuilder) -> tuple[Value, Value, Value]:
    """The first of neighbours that are equal, the run that each belongs to, and how long the runs are."""
    data, dim = tensor(call, 0), call.get("dim", None)
    axis = 0 if dim is None else axis_of(call, "dim", rank(data))
    line = _flatten(b, data) if dim is None else moved(b, data, axis, 0)
    ends = np.iinfo(np.int64).max
    differs = b.op("Not", run(b, "Equal", part(b, line, 1, ends), part(b, line, 0, -1)))
    if rank(line) > 1:
        axes = b.ints(range(1, rank(line)))
        differs = b.op("Greater", b.op("ReduceMax", b.cast(differs, "int32"), axes, keepdims=0), b.scalar(0, "int32"))
    count = sizes(b, line, 0, 1)
    keep = b.op("Concat", b.constant(np.array([True])), differs, axis=0)
    keep = b.op("Slice", keep, b.ints([0]), count, b.ints([0]))  # nothing has no first one
    values = moved(b, compressed(b, line, keep), 0, axis)
    each = b.op("CumSum", b.cast(keep, "int64"), b.scalar(0, "int64"))
    inverse = b.op("Sub", each, b.scalar(1, "int64"))
    begins = b.squeeze(b.op("NonZero", keep), [0])
    after = b.op("Concat", part(b, begins, 1, ends), count, axis=0)
    counts = b.op("Sub", b.op("Slice", after, b.ints([0]), sizes(b, begins)), begins)
    return values, inverse if dim is not None else b.reshape(inverse, b.shape_of(data)), counts


def _difference(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    """What the first list has and the second has not, and where."""
    data, others = tensor(call, 0), tensor(call, 1)
    same = run(b, "Equal", b.unsqueeze(data, [1]), b.unsqueeze(b.cast(others, data.dtype), [0]))
    found = b.op("ReduceSum", b.cast(same, "int64"), b.ints([1]), keepdims=0)
    keep = b.op("Equal", found, b.scalar(0, "int64"))
    where_kept = b.squeeze(b.op("NonZero", keep), [0])
    return compressed(b, data, keep), b.cast(where_kept, str(call.get("out_idx", "int32")))


# -- ONNX: groups


def _extreme(dtype: str, largest: bool) -> Any:
    kind: Any = numpy_dtype(dtype)
    info: Any = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
    return info.max if largest else info.min


_START: Mapping[str, Callable[[str], Any]] = {
    "add": lambda dtype: 0,
    "mul": lambda dtype: 1,
    "min": lambda dtype: _extreme(dtype, True),
    "max": lambda dtype: _extreme(dtype, False),
}
"""What a group without members gives."""


def _grouped(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    """Groups in any order; a negative number belongs to none, which is a row of its own until the end."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        data, group, given = tensor(call, 0), b.cast(tensor(call, 1), "int64"), call.input(2)
        count = b.reshape(b.cast(given, "int64"), (1,)) if isinstance(given, Value) else b.ints([given])
        at = b.op("Where", b.op("Less", group, b.scalar(0, "int64")), count, group)
        rows = b.op("Add", count, b.ints([1]))
        shape = joined(b, [rows, sizes(b, data, rank(group))]) if rank(data) > rank(group) else rows
        start = filled(b, shape, _START[how](data.dtype), data.dtype)
        found = put(b, start, b.unsqueeze(at, [-1]), data, how)
        return b.op("Slice", found, b.ints([0]), count, b.ints([0]))

    return lower


def _segments(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    """Groups in ascending order, as many as the last one tells."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        data, group = tensor(call, 0), b.cast(tensor(call, 1), "int64")
        last = part(b, group, -1, np.iinfo(np.int64).max)
        rows = b.reshape(b.op("Add", last, b.ints([1])), (1,))
        tail = sizes(b, data, 1)
        shape = joined(b, [rows, tail]) if rank(data) > 1 else rows
        reduction = "add" if how == "mean" else how
        start = filled(b, shape, _START[reduction](data.dtype), data.dtype)
        found = put(b, start, b.unsqueeze(group, [-1]), data, reduction)
        if how in ("add", "mul"):
            return found
        members = put(b, filled(b, rows, 0, "int64"), b.unsqueeze(group, [-1]), filled(b, sizes(b, group), 1, "int64"),
                      "add")  # fmt: skip
        members = b.unsqueeze(members, range(1, rank(data)))
        if how == "mean":
            return run(b, "Div", found, b.cast(b.op("Max", members, b.scalar(1, "int64")), data.dtype))
        return where(b, b.op("Equal", members, b.scalar(0, "int64")), 0, found)

    return lower


def _histogram(call: Call, b: OnnxBuilder) -> Value:
    data = tensor(call, 0)
    bins, low, high = integer(call.get("bins"), "bins"), float(call.get("min", 0.0)), float(call.get("max", 0.0))
    line = b.cast(_flatten(b, data), "float64")
    if low == high:
        least, most = (b.op(op, line, keepdims=0) for op in ("ReduceMin", "ReduceMax"))
        flat = b.op("Equal", least, most)
        least, most = (b.op("Where", flat, b.op("Add", one, b.scalar(step, "float64")), one)
                       for one, step in ((least, -1.0), (most, 1.0)))  # fmt: skip
    else:
        least, most = b.scalar(low, "float64"), b.scalar(high, "float64")
    inside = b.op("And", b.op("GreaterOrEqual", line, least), b.op("LessOrEqual", line, most))
    share = b.op("Div", b.op("Mul", b.op("Sub", line, least), b.scalar(bins, "float64")), b.op("Sub", most, least))
    place = b.op("Min", b.op("Where", inside, share, b.scalar(0.0, "float64")), b.scalar(bins - 1, "float64"))
    zeros = b.constant(np.zeros(bins, np.int64))
    found = b.op("ScatterElements", zeros, b.cast(place, "int64"), b.cast(inside, "int64"), axis=0, reduction="add")
    return b.cast(found, "int32" if data.dtype == "int32" else "float32")


# -- ONNX: sequences of different lengths


def _reverse_sequence(call: Call, b: OnnxBuilder) -> Value:
    data, lengths = tensor(call, 0), b.cast(tensor(call, 1), "int64")
    time, batch = axis_of(call, "seq_dim", rank(data)), axis_of(call, "batch_dim", rank(data), 0)
    order = [batch, time, *(one for one in range(rank(data)) if one not in (batch, time))]
    first = b.transpose(data, order) if order != sorted(order) else data
    used = "float32" if data.dtype == "bfloat16" else data.dtype
    found = b.op("ReverseSequence", b.cast(first, used), lengths, time_axis=1, batch_axis=0)
    back = [order.index(one) for one in range(rank(data))]
    found = b.cast(found, data.dtype)
    return b.transpose(found, back) if back != sorted(back) else found


# -- numpy


def _np_masked_scatter(call: Call) -> Array:
    found = np.array(call.input(0))
    mask = np.broadcast_to(call.input(1).astype(bool), found.shape)
    found[mask] = call.input(2).reshape(-1)[: int(mask.sum())].astype(found.dtype)
    return found


def _np_masked_select(call: Call) -> Array:
    data, mask = np.broadcast_arrays(call.input(0), call.input(1).astype(bool))
    return np.asarray(data[mask])


def _np_unique(call: Call) -> tuple[Array, Array]:
    data = call.input(0)
    values, first, inverse = np.unique(data.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[order], place[inverse].reshape(data.shape).astype(np.int64 if data.dtype == np.int64 else np.int32)


def _np_unique_padded(call: Call) -> tuple[Array, Array]:
    values, inverse = _np_unique(call)
    more = call.input(0).size - values.size
    return np.concatenate([values, np.full(more, call.input(1), values.dtype)]), inverse


def _np_unique_sorted(call: Call) -> tuple[Array, ...]:
    values, inverse, counts = np.unique(call.input(0).reshape(-1), return_inverse=True, return_counts=True)
    found = (values, inverse.reshape(call.input(0).shape).astype(np.int64), counts.astype(np.int64))
    return found[: 3 if call.op == "Unique2" else 2]


def _np_runs(call: Call) -> tuple[Array, Array, Array]:
    data, dim = call.input(0), call.get("dim", None)
    axis = 0 if dim is None else axis_of(call, "dim", data.ndim)
    line = data.reshape(-1) if dim is None else np.moveaxis(data, axis, 0)
    differs = (line[1:] != line[:-1]).reshape(max(len(line) - 1, 0), -1).any(1)
    keep = np.concatenate([[True], differs])[: len(line)]
    inverse = np.cumsum(keep).astype(np.int64) - 1
    counts = np.diff(np.append(np.flatnonzero(keep), len(line))).astype(np.int64)
    return np.moveaxis(line[keep], 0, axis), inverse.reshape(data.shape) if dim is None else inverse, counts


def _np_difference(call: Call) -> tuple[Array, Array]:
    keep = ~np.isin(call.input(0), call.input(1))
    return call.input(0)[keep], np.flatnonzero(keep).astype(str(call.get("out_idx", "int32")))


_AT: Mapping[str, Any] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _group(data: Array, group: Array, count: int, how: str, start: Any) -> Array:
    found = np.full((count, *data.shape[group.ndim :]), start, data.dtype)
    kept = group >= 0
    _AT[how].at(found, group[kept], data[kept])
    return found


def _np_grouped(how: str) -> Callable[[Call], Array]:
    def lower(call: Call) -> Array:
        data, noted = call.input(0), call.result
        dtype = noted[0] if isinstance(noted, tuple) and noted else "float32"
        start = float(_START[how](dtype)) if data.dtype.kind == "f" else _START[how](data.dtype.name)
        return _group(data, call.input(1), integer(call.input(2), "num_segments"), how, start)

    return lower


def _np_segments(how: str) -> Callable[[Call], Array]:
    def lower(call: Call) -> Array:
        data, group = call.input(0), call.input(1)
        count = int(group[-1]) + 1
        reduction = "add" if how == "mean" else how
        found = _group(data, group, count, reduction, _START[reduction](data.dtype.name))
        members = np.bincount(group, minlength=count).reshape(-1, *(1,) * (data.ndim - 1))
        if how == "mean":
            return np.asarray(found / np.maximum(members, 1))
        return found if how in ("add", "mul") else np.where(members == 0, data.dtype.type(0), found)

    return lower


def _np_histogram(call: Call) -> Array:
    data, bins = call.input(0).reshape(-1), integer(call.get("bins"), "bins")
    low, high = float(call.get("min", 0.0)), float(call.get("max", 0.0))
    if low == high:
        low, high = float(data.min()), float(data.max())
        low, high = (low - 1.0, high + 1.0) if low == high else (low, high)
    inside = data[(data >= low) & (data <= high)].astype(np.float64)
    place = np.minimum((inside - low) * bins / (high - low), bins - 1).astype(np.int64)
    found = np.bincount(place, minlength=bins)
    return found.astype(np.int32 if data.dtype == np.int32 else np.float64)


def _np_reverse_sequence(call: Call) -> Array:
    data = call.input(0)
    time, batch = axis_of(call, "seq_dim", data.ndim), axis_of(call, "batch_dim", data.ndim, 0)
    found = np.moveaxis(np.array(data), (batch, time), (0, 1)).copy()
    for row, length in zip(found, call.input(1), strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(found, (0, 1), (batch, time))


_GROUPED = {"Sum": "add", "Prod": "mul", "Min": "min", "Max": "max"}
_SEGMENTS = {**_GROUPED, "Mean": "mean"}

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **{f"UnsortedSegment{name}": _grouped(how) for name, how in _GROUPED.items()},
    **{f"Segment{name}": _segments(how) for name, how in _SEGMENTS.items()},
    "Histogram": _histogram,
    "InnerUnique": _unique_sorted,
    "ListDiff": _difference,
    "MaskedScatter": _masked_scatter,
    "MaskedSelect": _masked_select,
    "NonZero": lambda call, b: b.transpose(_found(call, b), (1, 0)),
    "NonZeroExt": _non_zero_each,
    "ReverseSequence": _reverse_sequence,
    "Unique": _unique,
    "Unique2": _unique_sorted,
    "UniqueConsecutive": _runs,
    "UniqueWithPad": _unique_padded,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **{f"UnsortedSegment{name}": _np_grouped(how) for name, how in _GROUPED.items()},
    **{f"Segment{name}": _np_segments(how) for name, how in _SEGMENTS.items()},
    "Histogram": _np_histogram,
    "InnerUnique": _np_unique_sorted,
    "ListDiff": _np_difference,
    "MaskedScatter": _np_masked_scatter,
    "MaskedSelect": _np_masked_select,
    "NonZero": lambda call: np.argwhere(call.input(0)),
    "NonZeroExt": lambda call: tuple(np.nonzero(call.input(0))),
    "ReverseSequence": _np_reverse_sequence,
    "Unique": _np_unique,
    "Unique2": _np_unique_sorted,
    "UniqueConsecutive": _np_runs,
    "UniqueWithPad": _np_unique_padded,
}
