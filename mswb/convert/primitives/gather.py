"""What reads a tensor at given places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.indices import axis_of, integer, moved, places, rank, sizes, together
from mswb.convert.primitives.kernels import where
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

# -- ONNX


def _gather(call: Call, b: OnnxBuilder) -> Value:
    data, index = tensor(call, 0), places(b, tensor(call, 1))
    batch = integer(call.get("batch_dims", 0), "batch_dims")
    if batch < 0:
        batch += rank(index)
    axis = integer(call.get("axis"), "axis")
    if batch == 0:
        return b.op("Gather", data, index, axis=axis)
    dimensions = rank(data)
    axis = axis_of(call, "axis", dimensions)
    if not batch <= axis:
        raise Refused(f"batch_dims {batch} passes axis {axis}", attribute="batch_dims")
    found = b.op("GatherND", moved(b, data, axis, batch), b.unsqueeze(b.cast(index, "int64"), [-1]), batch_dims=batch)
    own = rank(index) - batch  # [batch, index, before the axis, behind it] becomes [batch, before, index, behind]
    before = range(batch + own, own + axis)
    order = [*range(batch), *before, *range(batch, batch + own), *range(own + axis, dimensions - 1 + own)]
    return found if order == sorted(order) else b.transpose(found, order)


def _select(call: Call, b: OnnxBuilder) -> Value:
    """Whole rows of one dimension; an index without dimensions counts as one with a single number."""
    data, index = tensor(call, 0), places(b, _named(call, "index"))
    axis = integer(call.get("dim"), "dim")
    return b.op("Gather", data, b.reshape(index, (-1,)) if index.rank != 1 else index, axis=axis)


def _named(call: Call, name: str) -> Value:
    found = call.get(name)
    if not isinstance(found, Value):
        raise Refused(f"{name} is no tensor")
    return found


def _elements(call: Call, b: OnnxBuilder) -> Value:
    return b.op(
        "GatherElements", tensor(call, 0), places(b, _named(call, "index")), axis=integer(call.get("dim"), "dim")
    )


def _points(call: Call, b: OnnxBuilder) -> Value:
    return b.op("GatherND", tensor(call, 0), b.cast(tensor(call, 1), "int64"))


def _take(call: Call, b: OnnxBuilder) -> Value:
    flat = b.reshape(tensor(call, 0), (-1,))
    return b.op("Gather", flat, places(b, tensor(call, 1)), axis=0)


def _advanced(call: Call, b: OnnxBuilder) -> Value:
    given = call.input(1)
    if not isinstance(given, tuple) or not all(isinstance(one, Value) and one.dtype != "bool" for one in given):
        raise Refused("only tensors of integers from the first dimension on are indices in ONNX")
    return b.op("GatherND", tensor(call, 0), together(b, given))


def _lookup(call: Call, b: OnnxBuilder) -> Value:
    """Rows of a table that begins at an offset; what lies outside is zero."""
    table, index = tensor(call, 0), b.cast(tensor(call, 1), "int64")
    offset = call.input(2)
    begin = b.cast(offset, "int64") if isinstance(offset, Value) else b.scalar(integer(offset, "offset"), "int64")
    at = b.op("Sub", index, begin)
    count = b.squeeze(sizes(b, table, 0, 1), [0])
    inside = b.op("And", b.op("GreaterOrEqual", at, b.scalar(0, "int64")), b.op("Less", at, count))
    rows = b.op("Gather", table, b.op("Where", inside, at, b.scalar(0, "int64")), axis=0)
    flags = b.unsqueeze(inside, range(-(rank(table) - 1), 0))
    return where(b, flags, rows, 0)


def _embedding(call: Call, b: OnnxBuilder) -> Value:
    if call.get("max_norm", None) is not None:
        raise Refused("max_norm changes the weights, which a model in ONNX can't", attribute="max_norm")
    return b.op("Gather", _named(call, "weight"), places(b, tensor(call, 0)), axis=0)


# -- numpy


def _np_gather(call: Call) -> Array:
    data, index = call.input(0), call.input(1)
    batch = integer(call.get("batch_dims", 0), "batch_dims")
    axis = axis_of(call, "axis", data.ndim)
    batch += index.ndim if batch < 0 else 0
    if batch == 0:
        return np.asarray(np.take(data, index, axis))
    rest = data.shape[:batch]
    found = [np.take(data[at], index[at], axis - batch) for at in np.ndindex(rest)]
    whole = np.stack(found) if found else np.empty((0,), data.dtype)
    return whole.reshape(*rest, *data.shape[batch:axis], *index.shape[batch:], *data.shape[axis + 1 :])


def _np_select(call: Call) -> Array:
    return np.asarray(np.take(call.input(0), call.get("index").reshape(-1), integer(call.get("dim"), "dim")))


def elements(data: Array, index: Array, axis: int) -> tuple[Any, ...]:
    """The places in all dimensions that an index along one of them means."""
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return tuple(grid)


def _np_elements(call: Call) -> Array:
    data, index = call.input(0), call.get("index")
    return np.asarray(data[elements(data, index, axis_of(call, "dim", data.ndim))])


def _np_points(call: Call) -> Array:
    return np.asarray(call.input(0)[tuple(np.moveaxis(call.input(1), -1, 0))])


def _np_lookup(call: Call) -> Array:
    table, at = call.input(0), call.input(1).astype(np.int64) - integer(call.input(2), "offset")
    inside = (at >= 0) & (at < len(table))
    rows = table[np.where(inside, at, 0)]
    return np.where(inside.reshape(*inside.shape, *(1,) * (table.ndim - 1)), rows, rows.dtype.type(0))


def _np_embedding(call: Call) -> Array:
    if call.get("max_norm", None) is not None:
        raise Refused("max_norm changes the weights", attribute="max_norm")
    return np.asarray(call.get("weight")[call.input(0)])


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "Embedding": _embedding,
    "EmbeddingLookup": _lookup,
    "Gather": _gather,
    "GatherD": _elements,
    "GatherNd": _points,
    "GatherNdExt": _points,
    "Index": _advanced,
    "IndexSelect": _select,
    "InnerIndex": _advanced,
    "Take": _take,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "Embedding": _np_embedding,
    "EmbeddingLookup": _np_lookup,
    "Gather": _np_gather,
    "GatherD": _np_elements,
    "GatherNd": _np_points,
    "GatherNdExt": _np_points,
    "Index": lambda call: np.asarray(call.input(0)[call.input(1)]),
    "IndexSelect": _np_select,
    "InnerIndex": lambda call: np.asarray(call.input(0)[call.input(1)]),
    "Take": lambda call: np.take(call.input(0), call.input(1)),
}
