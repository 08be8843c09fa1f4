"""What ``x[:, i]`` becomes where sizes are open: MindSpore leaves the steps of Python's indexing in the graph.

Each index turns into a tensor of places, and a call tells to which sizes they are all broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.extents import Size, Sizes
from mswb.convert.primitives.indices import integer
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.scatter import put
from mswb.convert.program import Call

_ELLIPSIS, _SLICE, _TENSOR = 9, 15, 17
"""How MindSpore numbers the kinds of indices; 0 is none."""
_MOST = 8
"""Indices that a call has place for."""
_LOWEST = -(1 << 63)
_NUMBERS = ("int_index", "tensor_index", "tensor_index_sequence_index")
"""Kinds of indices whose negative numbers count from the end."""
_Join = Callable[[Size, Size], Size]


def _kinds(call: Call) -> list[int]:
    return [one for one in call.integers("tuple_index_types") if one]


def _axis(call: Call) -> int:
    if integer(call.get("expand_dims_mask", 0), "expand_dims_mask"):
        raise Refused("new dimensions (None) among indices whose sizes are open are not known")
    return integer(call.get("tuple_index_axis"), "tuple_index_axis")


def _dimension(call: Call, rank: int) -> int:
    """Which dimension of the tensor an index is for: those behind an ellipsis count from the end.

    What the ellipsis itself stands for is counted from its place.
    """
    kinds, axis = _kinds(call), _axis(call)
    if call.get("origin_index_type", "") == "ellipsis_index":
        return kinds.index(_ELLIPSIS) + axis
    if _ELLIPSIS not in kinds or axis < kinds.index(_ELLIPSIS):
        return axis
    return axis + rank - len(kinds)


def _ends(call: Call) -> tuple[int, int, int]:
    """A slice with numbers for what is left out."""
    given = [integer(call.input(place), "an end of a slice") for place in (1, 2, 3)]
    missing = call.integers("init_by_none", (0, 0, 0))
    step = 1 if missing[2] else given[2]
    start = (0 if step > 0 else at.END) if missing[0] else given[0]
    stop = (at.END if step > 0 else _LOWEST) if missing[1] else given[1]
    return start, stop, step


class Unknown:
    """A number that only the run tells and that nothing has asked for so far."""

    def __eq__(self, other: object) -> bool:
        raise Refused("where a slice ends is only known when the model runs", nearest="--input_shape")

    __hash__ = None  # type: ignore[assignment]


# -- what all of them are broadcast to


def _broadcast(shapes: Sequence[Sequence[Size]], join: _Join) -> list[Size]:
    rank = max((len(one) for one in shapes), default=0)
    padded = [(*(1,) * (rank - len(one)), *one) for one in shapes]
    found: list[Size] = [1] * rank
    for one in padded:
        found = [join(first, second) for first, second in zip(found, one, strict=True)]
    return found


def _information(call: Call, rank: int, shapes: Callable[[Any], Sequence[Size]], join: _Join) -> tuple[Any, ...]:
    """Where the tensors' dimensions come, their common sizes, these among slices, all sizes, and those of each slice.

    As MindSpore's kernel: tensors that lie together stay in their place, else their dimensions come first. Where items
    are set, it is asked twice, and the place is told the second time.
    """
    purpose = call.get("tuple_index_info_type", "")
    if integer(call.get("expand_dims_cnt", 0), "expand_dims_cnt"):
        raise Refused("new dimensions (None) among indices whose sizes are open are not known")
    kinds = _kinds(call)
    plain = [one for one in kinds if one != _ELLIPSIS]
    count = rank if _ELLIPSIS in kinds else len(kinds)
    place = kinds.index(_ELLIPSIS) if _ELLIPSIS in kinds else len(plain)
    whole = [*plain[:place], *[_SLICE] * (count - len(plain)), *plain[place:]]
    given = [shapes(one) for one in call.inputs[2 : 2 + count]]
    behind = given[len(plain) :]  # what the ellipsis stands for is given at the end
    ordered = [*given[:place], *behind, *given[place : len(plain)]]
    common = _broadcast([one for one, kind in zip(ordered, whole, strict=True) if kind == _TENSOR], join)
    if purpose == "setitem_by_tuple_with_tensor" and len(common) < 2:
        common = [1, *common]
    numbered = [number for number, kind in enumerate(whole) if kind == _TENSOR]
    together = not numbered or numbered == list(range(numbered[0], numbered[-1] + 1))
    first = numbered[0] if numbered and together else 0
    if purpose == "pre_setitem_by_tuple":
        return first, Sizes(common), *(None,) * (_MOST + 2)
    lengths = [one[0] for one, kind in zip(ordered, whole, strict=True) if kind != _TENSOR]
    first = min(integer(call.input(1), "a place") if purpose else first, len(lengths))

    def among(own: Sequence[Size], others: Sequence[Size]) -> Sizes:
        return Sizes((*others[:first], *own, *others[first:]))

    ones: list[Size] = [1] * len(lengths)
    slices = [among([1] * len(common), [*ones[:one], lengths[one], *ones[one + 1 :]]) for one in range(len(lengths))]
    before = sum(1 for kind in plain[:place] if kind != _TENSOR)
    own = slices[before : before + len(behind)]
    slices = [*slices[:before], *slices[before + len(behind) :], *own]
    unused = [Sizes((1,) * (len(common) + len(lengths)))] * (_MOST - len(slices))
    return first, Sizes(common), among(common, ones), among(common, lengths), *slices, *unused


# -- ONNX


def _indices(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    """The places of a slice, the sizes of what lies there, its ends and step, and whether it is empty."""
    data = tensor(call)
    axis = _dimension(call, at.rank_of(data))
    count = at.size(b, data, axis)
    start, stop, step = _ends(call)
    kept = at.slices(b, at.counted(b, count), [0], [start], [stop], [step])
    sizes = Sizes((at.size(b, kept, 0), *at.sizes(b, data)[1:])) if axis == 0 else Unknown()
    ends = [at.as_number(b, one) if isinstance(one, (int, Value)) else one for one in _real_ends(call, b, count)]
    return b.unsqueeze(kept, [1]), sizes, *ends, step, int(kept.shape == (0,))


def _real_ends(call: Call, b: OnnxBuilder, count: Size) -> tuple[Any, Any]:
    """Where a slice begins and ends, both within the dimension."""
    start, stop, step = _ends(call)
    if isinstance(count, int):
        return slice(start, None if stop == _LOWEST else stop, step).indices(count)[:2]
    if step < 0:
        return Unknown(), Unknown()

    def within(end: int) -> Size:
        if end >= at.END:
            return count
        return at.calc(b, "Min", end, count) if end >= 0 else at.calc(b, "Max", at.calc(b, "Add", end, count), 0)

    return within(start), within(stop)


def _normal(call: Call, b: OnnxBuilder) -> Value:
    data = tensor(call)
    count = at.size(b, data, _dimension(call, at.rank_of(data)))
    kind = call.get("origin_index_type", "")
    if kind == "ellipsis_index":
        return at.counted(b, count)
    if kind not in _NUMBERS:
        raise Refused(f"an index of the kind {kind} is not known where sizes are open")
    given = call.input(1)
    if isinstance(given, tuple):
        index = at.vector(b, given)
    else:
        index = b.cast(given, "int64") if isinstance(given, Value) else b.scalar(integer(given, "an index"), "int64")
    size = b.scalar(count, "int64") if isinstance(count, int) else b.reshape(count, ())
    return b.op("Where", b.op("Less", index, b.scalar(0, "int64")), b.op("Add", index, size), index)


def _joined(b: OnnxBuilder) -> _Join:
    """One size of two that are broadcast together."""

    def join(one: Size, other: Size) -> Size:
        if isinstance(one, int) and isinstance(other, int):
            return other if one == 1 else one
        if isinstance(one, int) or isinstance(other, int):
            known, open_one = (one, other) if isinstance(one, int) else (other, one)
            return open_one if known == 1 else known
        return one if one == other else b.op("Where", b.op("Equal", one, b.ints([1])), other, one)

    return join


def _info(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    def shape(one: Any) -> Sequence[Size]:
        return at.sizes(b, one) if isinstance(one, Value) else ()

    return _information(call, at.rank_of(tensor(call)), shape, _joined(b))


def _remaining(call: Call, shape: Sequence[Size]) -> tuple[Any, ...]:
    """Whether nothing is set (0) or not (-1), the sizes of what is set, and where the tensors' dimensions come.

    A slice that only the run finds empty sets nothing either: there are no places then.
    """
    if call.get("has_true", False) or integer(call.get("expand_dims_cnt", 0), "expand_dims_cnt"):
        raise Refused("new dimensions (None, True) among indices whose sizes are open are not known")
    if integer(call.input(2), "whether a slice is empty") > 0:
        return 0, Sizes(shape), 0
    return 1 if call.get("empty_indices_out", False) else -1, Sizes(shape), max(integer(call.input(4), "a place"), 0)


def _remain(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    value = call.input(1)
    return _remaining(call, at.sizes(b, value) if isinstance(value, Value) else ())


def _copy(call: Call, b: OnnxBuilder) -> Value:
    """Values into slices of the first dimensions: written where rows lie when these dimensions are one."""
    data, new = tensor(call), tensor(call, 1)
    begin, end, step = (at.parts(b, call.input(place)) for place in (2, 3, 4))
    sizes = at.sizes(b, data)
    lead, rest = sizes[: len(begin)], sizes[len(begin) :]
    every = at.reshape(b, at.counted(b, at.product(b, lead)), lead)
    places = at.slices(b, every, list(range(len(begin))), begin, end, step)
    rows = at.reshape(b, data, [at.product(b, lead), *rest])
    wanted = [*at.sizes(b, places), *rest]
    found = put(b, rows, b.unsqueeze(places, [-1]), at.expand(b, b.cast(new, data.dtype), wanted))
    return at.reshape(b, found, sizes)


def _equal(call: Call, b: OnnxBuilder) -> Any:
    one, other = call.input(0), call.input(1)
    if len(one) != len(other):
        return False
    known = at.numbers(one), at.numbers(other)
    if None not in known:
        return known[0] == known[1]
    flags = [b.op("Equal", at.vector(b, first), at.vector(b, second)) for first, second in zip(one, other, strict=True)]
    found = flags[0]
    for flag in flags[1:]:
        found = b.op("And", found, flag)
    return b.reshape(found, ())


# -- numpy


def _np_indices(call: Call) -> tuple[Any, ...]:
    data = call.input(0)
    start, stop, step = _ends(call)
    ends = slice(None if start == at.END else start, None if stop in (at.END, _LOWEST) else stop, step)
    axis = _dimension(call, data.ndim)
    count = data.shape[axis]
    kept = np.arange(count)[ends]
    return kept[:, None], None if axis else (kept.size, *data.shape[1:]), *ends.indices(count), int(not kept.size)


def _np_normal(call: Call) -> Array:
    data = call.input(0)
    count = data.shape[_dimension(call, data.ndim)]
    kind = call.get("origin_index_type", "")
    if kind == "ellipsis_index":
        return np.arange(count)
    if kind not in _NUMBERS:
        raise Refused(f"an index of the kind {kind} is not known where sizes are open")
    index = np.asarray(call.input(1)).astype(np.int64)
    return np.where(index < 0, index + count, index)


def _np_copy(call: Call) -> Array:
    found = np.array(call.input(0))
    ends = zip(*(at.integers(call.input(place)) for place in (2, 3, 4)), strict=True)
    found[tuple(slice(*one) for one in ends)] = call.input(1)
    return found


def _np_remain(call: Call) -> tuple[Any, ...]:
    nothing, shape, first = _remaining(call, np.shape(call.input(1)))
    return nothing, tuple(shape), first


def _np_info(call: Call) -> tuple[Any, ...]:
    def join(one: Size, other: Size) -> Size:
        return other if one == 1 else one

    found = _information(call, call.input(0).ndim, lambda one: getattr(one, "shape", ()), join)
    return tuple(tuple(one) if isinstance(one, Sizes) else one for one in found)


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "GetTupleIndexInfo": _info,
    "NormalizeTupleIndex": _normal,
    "RemoveExpandedDims": _remain,
    "SliceToIndices": _indices,
    "TensorCopySlices": _copy,
    "tuple_equal": _equal,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "GetTupleIndexInfo": _np_info,
    "NormalizeTupleIndex": _np_normal,
    "RemoveExpandedDims": _np_remain,
    "SliceToIndices": _np_indices,
    "TensorCopySlices": _np_copy,
    "tuple_equal": lambda call: tuple(call.input(0)) == tuple(call.input(1)),
}
