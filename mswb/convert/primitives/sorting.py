"""What puts numbers in order, or looks them up in an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import TYPE_IDS, Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.indices import axis_of, integer, places, rank, sizes
from mswb.convert.primitives.kernels import run, working
from mswb.convert.primitives.operands import common_dtype, tensor
from mswb.convert.program import Call, numpy_dtype

_DTYPES = {number: name for name, number in TYPE_IDS.items()}


def _flag(call: Call, name: str, default: bool) -> bool:
    found = call.get(name, default)
    if not isinstance(found, (bool, int)):
        raise Refused(f"{name} is only known when the model runs", attribute=name)
    return bool(found)


# -- ONNX


def ordered(b: OnnxBuilder, value: Value, count: Value, axis: int, largest: bool) -> tuple[Value, Value]:
    """So many of the largest or smallest along a dimension, in order; of equal ones the first comes first."""
    used = working("TopK", value.dtype)
    values, index = b.ops("TopK", b.cast(value, used), count, count=2, axis=axis, largest=int(largest), sorted=1)
    return b.cast(values, value.dtype), index


def _whole(axis: str, index: str) -> Callable[[Call, OnnxBuilder], tuple[Value, Value]]:
    """Everything along a dimension; ``index`` is the data type of the second result."""

    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
        data = tensor(call, 0)
        dimensions = rank(data)
        given = b.reshape(data, (1,)) if not dimensions else data
        at = axis_of(call, axis, dimensions, -1)
        values, order = ordered(b, given, sizes(b, given, at, at + 1), at, _flag(call, "descending", False))
        back = (values, order) if dimensions else (b.reshape(values, ()), b.reshape(order, ()))
        return back[0], b.cast(back[1], index)

    return lower


def _count(call: Call, b: OnnxBuilder) -> Value:
    given = call.get("k") if call.op != "TopK" else call.input(1)
    return b.reshape(b.cast(given, "int64"), (1,)) if isinstance(given, Value) else b.ints([integer(given, "k")])


def _top_k(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    values, index = ordered(b, tensor(call, 0), _count(call, b), -1, True)
    return values, b.cast(index, "int32")


def _top_k_ext(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    data = tensor(call, 0)
    axis = axis_of(call, "dim", rank(data), -1)
    return ordered(b, data, _count(call, b), axis, _flag(call, "largest", True))


def _kth(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    data = tensor(call, 0)
    axis = axis_of(call, "dim", rank(data), -1)
    k = integer(call.get("k"), "k")
    found = ordered(b, data, b.ints([k]), axis, False)
    last = [b.op("Gather", one, b.ints([k - 1]), axis=axis) for one in found]
    if not _flag(call, "keepdim", False):
        last = [b.squeeze(one, [axis]) for one in last]
    return last[0], last[1]


def _positions(b: OnnxBuilder, sequence: Value, values: Value, right: bool, dtype: str) -> Value:
    """How many numbers of the sequence are not behind each value: all are compared."""
    kind = common_dtype([sequence, values])
    last = rank(sequence) - 1
    row = b.unsqueeze(b.cast(sequence, kind), [last] if last else range(rank(values)))
    each = b.unsqueeze(b.cast(values, kind), [-1])
    behind = run(b, "Greater" if right else "GreaterOrEqual", row, each)
    return b.cast(b.op("ReduceSum", b.cast(b.op("Not", behind), "int64"), b.ints([-1]), keepdims=0), dtype)


def _search(call: Call, b: OnnxBuilder) -> Value:
    sequence, values, sorter = tensor(call, 0), call.get("values"), call.get("sorter", None)
    if not isinstance(values, Value):
        raise Refused("its values are no tensor")
    if isinstance(sorter, Value):
        sequence = b.op("GatherElements", sequence, places(b, sorter), axis=-1)
    dtype = _DTYPES[integer(call.get("dtype", 35), "dtype")]
    return _positions(b, sequence, values, _flag(call, "right", False), dtype)


def _bound(right: bool) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        return _positions(b, tensor(call, 0), tensor(call, 1), right, str(call.get("out_type", "int32")))

    return lower


def _bucket(call: Call, b: OnnxBuilder) -> Value:
    data = tensor(call, 0)
    kind = "float64" if data.dtype in ("int64", "float64") else "float32"
    ends = b.constant(np.array(call.get("boundaries"), numpy_dtype(kind)))
    return _positions(b, ends, b.cast(data, kind), True, "int32")


def _nth(call: Call, b: OnnxBuilder) -> Value:
    """The number that is this far from the smallest, or from the largest, of each row."""
    data, largest = tensor(call, 0), _flag(call, "reverse", False)
    given = call.input(1)
    before = b.reshape(b.cast(given, "int64"), (1,)) if isinstance(given, Value) else b.ints([integer(given, "n")])
    values, _ = ordered(b, data, b.op("Add", before, b.ints([1])), -1, largest)
    return b.squeeze(b.op("Gather", values, before, axis=-1), [-1])


def _in_top_k(call: Call, b: OnnxBuilder) -> Value:
    """Whether fewer than k numbers of a row, all of them finite, are greater than the one that a label names."""
    scores, labels = tensor(call, 0), b.unsqueeze(tensor(call, 1), [1])
    width = sizes(b, scores, 1, 2)
    at = b.cast(labels, "int64")
    known = b.op("And", b.op("GreaterOrEqual", at, b.scalar(0, "int64")), b.op("Less", at, width))
    own = b.op("GatherElements", scores, b.op("Where", known, at, b.scalar(0, "int64")), axis=1)
    above = b.op("ReduceSum", b.cast(run(b, "Greater", scores, own), "int64"), b.ints([1]), keepdims=1)
    enough = b.op("Less", above, b.scalar(integer(call.get("k"), "k"), "int64"))
    finite = run(b, "Equal", run(b, "Sub", scores, scores), 0.0)
    usual = b.op("ReduceMin", b.cast(finite, "int32"), b.ints([1]), keepdims=1)
    return b.squeeze(b.op("And", b.op("And", enough, known), b.cast(usual, "bool")), [1])


# -- numpy


def order_of(data: Array, axis: int, largest: bool = False) -> Array:
    """The places of all numbers along a dimension in order; of equal ones the first comes first."""
    if not largest:
        return np.argsort(data, axis=axis, kind="stable")
    turned = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return np.asarray(data.shape[axis] - 1 - np.flip(turned, axis))


def _np_first(data: Array, count: int | None, axis: int, largest: bool, index: Any) -> tuple[Array, Array]:
    order = order_of(data, axis, largest)
    order = order if count is None else np.take(order, np.arange(count), axis)
    return np.take_along_axis(data, order, axis), order.astype(index)


def _np_whole(axis: str, index: Any) -> Callable[[Call], tuple[Array, Array]]:
    def lower(call: Call) -> tuple[Array, Array]:
        data = call.input(0)
        at, largest = axis_of(call, axis, data.ndim, -1), bool(call.get("descending", False))
        values, order = _np_first(data.reshape(data.shape or (1,)), None, at, largest, index)
        return values.reshape(data.shape), order.reshape(data.shape)

    return lower


def _np_top_k(call: Call) -> tuple[Array, Array]:
    return _np_first(call.input(0), integer(call.input(1), "k"), -1, True, np.int32)


def _np_top_k_ext(call: Call) -> tuple[Array, Array]:
    axis = axis_of(call, "dim", call.input(0).ndim, -1)
    return _np_first(call.input(0), integer(call.get("k"), "k"), axis, bool(call.get("largest", True)), np.int64)


def _np_kth(call: Call) -> tuple[Array, Array]:
    axis = axis_of(call, "dim", call.input(0).ndim, -1)
    k = integer(call.get("k"), "k")
    found = _np_first(call.input(0), k, axis, False, np.int64)
    at = [k - 1] if call.get("keepdim", False) else k - 1
    return np.take(found[0], at, axis), np.take(found[1], at, axis)


def _np_positions(sequence: Array, values: Array, right: bool, dtype: str) -> Array:
    side: Any = "right" if right else "left"
    if sequence.ndim == 1:
        found = np.searchsorted(sequence, values, side)
    else:
        rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
        found = np.array([np.searchsorted(row, each, side) for row, each in rows]).reshape(values.shape)
    return np.asarray(found).astype(dtype)


def _np_search(call: Call) -> Array:
    sequence, sorter = call.input(0), call.get("sorter", None)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    dtype = _DTYPES[integer(call.get("dtype", 35), "dtype")]
    return _np_positions(sequence, call.get("values"), bool(call.get("right", False)), dtype)


def _np_bound(right: bool) -> Callable[[Call], Array]:
    return lambda call: _np_positions(call.input(0), call.input(1), right, str(call.get("out_type", "int32")))


def _np_bucket(call: Call) -> Array:
    return _np_positions(np.array(call.get("boundaries")), call.input(0), True, "int32")


def _np_nth(call: Call) -> Array:
    n = integer(call.input(1), "n")
    return np.asarray(np.sort(call.input(0), -1)[..., -1 - n if call.get("reverse", False) else n])


def _np_in_top_k(call: Call) -> Array:
    scores, labels = call.input(0), call.input(1)
    known = (labels >= 0) & (labels < scores.shape[1])
    own = scores[np.arange(len(labels)), np.where(known, labels, 0)]
    above = (scores > own[:, None]).sum(1)
    return np.asarray((above < integer(call.get("k"), "k")) & known & np.isfinite(scores).all(1))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "ArgSort": lambda call, b: _whole("dim", "int64")(call, b)[1],
    "Bucketize": _bucket,
    "InTopK": _in_top_k,
    "Kthvalue": _kth,
    "LowerBound": _bound(False),
    "NthElement": _nth,
    "SearchSorted": _search,
    "Sort": _whole("axis", "int32"),
    "SortExt": _whole("dim", "int64"),
    "TopK": _top_k,
    "TopkExt": _top_k_ext,
    "UpperBound": _bound(True),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "ArgSort": lambda call: _np_whole("dim", np.int64)(call)[1],
    "Bucketize": _np_bucket,
    "InTopK": _np_in_top_k,
    "Kthvalue": _np_kth,
    "LowerBound": _np_bound(False),
    "NthElement": _np_nth,
    "SearchSorted": _np_search,
    "Sort": _np_whole("axis", np.int32),
    "SortExt": _np_whole("dim", np.int64),
    "TopK": _np_top_k,
    "TopkExt": _np_top_k_ext,
    "UpperBound": _np_bound(True),
}
