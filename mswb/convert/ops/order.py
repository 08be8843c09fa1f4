"""Elements by their order: the largest ones, the different ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mswb.convert import integers as ints
from mswb.convert.graph import TYPE_IDS, Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_STAND_IN: Mapping[str, str] = {"bool": "int8", "uint16": "int32", "uint32": "int64", "uint64": "int64"}
"""Data types that have no kernel here, and ones whose numbers have the same order."""
_LOWEST = np.array(np.iinfo(np.int64).min)


def _key(b: Builder, value: Value) -> Value:
    """What sorts like the value: NaN like infinity, a uint64 moved down by half of its range."""
    if value.dtype in ("float16", "float32", "float64"):
        same = b.op("Equal", value, value, dtype="bool", shape=value.shape)
        return ints.select(b, same, value, np.array(np.inf, value.dtype))
    wide = b.cast(value, _STAND_IN.get(value.dtype, value.dtype))
    return b.op("Add", wide, _LOWEST, shape=wide.shape) if value.dtype == "uint64" else wide


def _sorted(b: Builder, keys: Value, descending: bool) -> Value:
    """Where each element of the last axis in order comes from; equal ones stay in the order that they have."""
    attributes = {"axis": -1, "descending": descending}
    _, places = b.ops("Sort", keys, results=[(keys.dtype, keys.shape), ("int32", keys.shape)], attributes=attributes)
    return b.cast(places, "int64")


def _top_k(node: OnnxNode, b: Builder) -> list[Value | None]:
    value, axis, rank = node.input(0), node.axis(-1), node.rank()
    count = ints.given(node, b, "k", 1)
    if count is None:
        raise Refused("k is missing")
    number, size = ints.content(count), (value.shape or (None,))[axis]
    if number is not None and size is not None and number.item() > size:
        raise Refused(f"k is {number.item()} of {size} elements")
    last = [*(at for at in range(rank) if at != axis), axis]
    back = [last.index(at) for at in range(rank)]
    rows = b.transpose(value, last)
    order = _sorted(b, _key(b, rows), bool(node.get("largest", 1)))
    places = ints.take(b, order, rank - 1, ints.arange(b, ints.item(b, count, 0)))
    found = b.op("GatherD", rows, rank - 1, places, shape=places.shape)
    return [b.transpose(found, back), b.transpose(places, back)]


def _unique(node: OnnxNode, b: Builder) -> list[Value | None]:
    value = node.input(0)
    if "axis" not in node.attributes:
        source, axis = b.reshape(value, (-1,)), 0
        keys = _key(b, source)
    else:
        source, axis = value, node.axis()
        keys = _ranks(b, value, axis)
    different, inverse = b.ops("Unique", keys, results=[(keys.dtype, (None,)), ("", (None,))], attributes={})
    inverse = b.op("Cast", inverse, TYPE_IDS["int64"], dtype="int64", shape=(None,))
    count, numbers = b.shape_of(different), ints.arange(b, ints.dim(b, source, axis))
    column = b.op("ExpandDims", inverse, 1, shape=(None, 1))
    far = ints.filled(b, count, np.iinfo(np.int64).max, "int64")
    first = b.op("TensorScatterMin", far, column, numbers, shape=(None,), attributes={})
    ones = ints.filled(b, ints.all_dims(b, keys), 1, "int64")
    counts = b.op("TensorScatterAdd", ints.filled(b, count, 0, "int64"), column, ones, shape=(None,))
    if node.get("sorted", 1):
        order = _sorted(b, different, False)
        home = b.op("ExpandDims", order, 1, shape=(None, 1))
        places = ints.arange(b, ints.dim(b, different, 0))
        moved = b.op("TensorScatterUpdate", order, home, places, shape=(None,), attributes={})
        first, counts = (ints.take(b, one, 0, order) for one in (first, counts))
        inverse = ints.take(b, moved, 0, inverse)
    return [ints.take(b, source, axis, first), first, inverse, counts]


def _ranks(b: Builder, value: Value, axis: int) -> Value:
    """For each slice along an axis, how many others are less: by the first element that differs."""
    rank = value.rank or 1
    rows = b.transpose(value, [axis, *(at for at in range(rank) if at != axis)])
    count = ints.dim(b, value, axis)
    flat = _key(b, ints.reshape(b, rows, [count, -1]))
    one, other = (b.op("ExpandDims", flat, at, shape=(None, None, None)) for at in (1, 0))
    differs = b.cast(b.op("NotEqual", one, other, dtype="bool", shape=(None, None, None)), "int32")
    where = b.op("Argmax", differs, 2, 35, dtype="int64", shape=(None, None))
    ours = b.op("GatherD", flat, 1, where, shape=(None, None))
    less = b.op("Less", ours, b.transpose(ours, (1, 0)), dtype="bool", shape=(None, None))
    return b.op("ReduceSum", b.cast(less, "int64"), (0,), False, False, shape=(None,))


TO_MINDIR: Mapping[str, Lower] = {"TopK": _top_k, "Unique": _unique}
