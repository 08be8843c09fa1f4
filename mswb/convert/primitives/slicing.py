"""Parts of a tensor: slices with a step, single places, pieces of an axis; and elements in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
_START = -(1 << 63)
"""Where a slice backwards goes on to the first element."""
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


# -- slices with a step


def _kinds(call: Call, count: int) -> Iterator[tuple[str, bool, bool]]:
    """What each entry of begin, end and strides stands for, and whether its begin and its end are left out.

    As in TensorFlow's StridedSlice: an ellipsis goes before a new axis, that before a single place.
    """
    masks = [int(number(call, name, 0)) for name in _MASKS]
    for place in range(count):
        begin, end, ellipsis, new, one = (bool(mask >> place & 1) for mask in masks)
        yield "ellipsis" if ellipsis else "new" if new else "one" if one else "slice", begin, end


@dataclass(slots=True)
class _Spec:
    """A slice by axes of the input, then what becomes of the dimensions."""

    axes: list[int] = field(default_factory=list)
    starts: list[at.Size] = field(default_factory=list)
    ends: list[at.Size] = field(default_factory=list)
    steps: list[at.Size] = field(default_factory=list)
    places: dict[int, at.Size] = field(default_factory=dict)
    new: list[int] = field(default_factory=list)


def _spec(call: Call, b: OnnxBuilder, x: Value) -> _Spec:
    rank = at.rank_of(x)
    given = [at.parts(b, call.get(name)) for name in ("begin", "end", "strides")]
    count = len(given[0])
    kinds = list(_kinds(call, count))
    names = [kind for kind, _, _ in kinds]
    covered = rank - sum(kind in ("one", "slice") for kind in names)
    spec, axis, result = _Spec(), 0, 0
    for (kind, no_begin, no_end), begin, end, step in zip(kinds, *given, strict=True):
        if kind == "ellipsis":
            axis, result = axis + covered, result + covered
        elif kind == "new":
            spec.new.append(result)
            result += 1
        elif kind == "one":
            spec.places[axis] = 0 if no_begin else begin
            axis += 1
        else:
            first, last = None if no_begin else begin, None if no_end else end
            back = isinstance(step, int) and step < 0
            if back and first is not None and not (isinstance(first, int) and first >= -1):
                first, last = _held(b, x, axis, first, last)
            _slice(spec, axis, first, last, step)
            axis, result = axis + 1, result + 1
    if axis > rank:
        raise Refused(f"{axis} axes of {rank} are cut")
    return spec


def _held(b: OnnxBuilder, x: Value, axis: int, begin: at.Size, end: at.Size | None) -> tuple[at.Size, at.Size | None]:
    """Backwards from before the first element is nothing at all, which ONNX sees otherwise."""
    size = at.size(b, x, axis)
    if isinstance(begin, int) and isinstance(size, int):
        return (0, 0) if begin < -size else (begin, end)
    nothing = b.op("Less", b.op("Add", at.vector(b, begin), at.vector(b, size)), b.ints([0]))
    rest = at.vector(b, _START if end is None else end)
    none = b.ints([0])
    return b.op("Where", nothing, none, at.vector(b, begin)), b.op("Where", nothing, none, rest)


def _slice(spec: _Spec, axis: int, begin: at.Size | None, end: at.Size | None, step: at.Size) -> None:
    if isinstance(step, Value) and (begin is None or end is None):
        raise Refused("the direction of a slice is only known when the model runs")
    forward = isinstance(step, int) and step > 0
    if forward and begin in (0, None) and end is None and step == 1:
        return
    spec.axes.append(axis)
    spec.starts.append((0 if forward else at.END) if begin is None else begin)
    spec.ends.append((at.END if forward else _START) if end is None else end)
    spec.steps.append(step)


def _strided(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    spec = _spec(call, b, x)
    x = at.slices(b, x, spec.axes, spec.starts, spec.ends, spec.steps)
    for axis in sorted(spec.places, reverse=True):
        x = _place(b, x, axis, spec.places[axis])
    return b.unsqueeze(x, spec.new)


def _strided_now(call: Call) -> Array:
    begin, end, strides = (at.integers(call.get(name)) for name in ("begin", "end", "strides"))
    entries: list[Any] = []
    for (kind, no_begin, no_end), first, last, step in zip(_kinds(call, len(begin)), begin, end, strides, strict=True):
        cut = slice(None if no_begin else first, None if no_end else last, step)
        entries.append({"ellipsis": Ellipsis, "new": None, "one": 0 if no_begin else first}.get(kind, cut))
    found: Array = call.input(0)[tuple(entries)]
    return found


def _place(b: OnnxBuilder, x: Value, axis: int, place: at.Size) -> Value:
    """One element of an axis, which goes away."""
    where = b.scalar(place, "int64") if isinstance(place, int) else b.reshape(place, ())
    return b.op("Gather", x, where, axis=axis)


def _slice_to(call: Call, b: OnnxBuilder) -> Value:
    """By where it begins and how much it takes; -1 is all that is left."""
    x = tensor(call)
    begin, much = at.parts(b, call.get("begin")), at.parts(b, call.get("size"))
    ends: list[at.Size] = []
    for first, count in zip(begin, much, strict=True):
        if isinstance(count, Value):
            ended = at.calc(b, "Add", first, count)
            rest = b.op("Equal", count, b.ints([-1]))
            ends.append(b.op("Where", rest, b.ints([at.END]), at.vector(b, ended)))
        else:
            ends.append(at.END if count == -1 else at.calc(b, "Add", first, count))
    return at.slices(b, x, range(len(begin)), begin, ends)


def _slice_to_now(call: Call) -> Array:
    begin, much = at.integers(call.get("begin")), at.integers(call.get("size"))
    cuts = [slice(first, None if count == -1 else first + count) for first, count in zip(begin, much, strict=True)]
    found: Array = call.input(0)[tuple(cuts)]
    return found


# -- one axis


def _span(call: Call) -> tuple[Any, Any, Any]:
    if "Narrow" in call.op:
        return call.get("start"), call.get("length"), 1
    return call.get("start", 0), call.get("end", None), call.get("step", 1)


def _cut(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    axis = at.axis_in(call.get("dim"), at.rank_of(x))
    start, end, step = _span(call)
    first = 0 if start is None else at.parts(b, start)[0]
    if "Narrow" in call.op:
        if isinstance(first, int) and first < 0:
            first = at.calc(b, "Add", at.size(b, x, axis), first)
        last = at.calc(b, "Add", first, at.parts(b, end)[0])
    else:
        last = at.END if end is None else at.parts(b, end)[0]
    return at.slices(b, x, [axis], [first], [last], at.parts(b, step))


def _cut_now(call: Call) -> Array:
    x: Array = call.input(0)
    axis = at.axis_in(call.get("dim"), x.ndim)
    start, end, step = (None if one is None else at.integers(one)[0] for one in _span(call))
    if "Narrow" in call.op and start is not None and end is not None:
        start = start + x.shape[axis] if start < 0 else start
        end = start + end
    found: Array = x[(slice(None),) * axis + (slice(start, end, step),)]
    return found


def _select(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return _place(b, x, at.axis_in(call.get("dim"), at.rank_of(x)), at.parts(b, call.get("index"))[0])


def _select_now(call: Call) -> Array:
    x: Array = call.input(0)
    found: Array = np.take(x, at.integers(call.get("index"))[0], at.axis_in(call.get("dim"), x.ndim))
    return found


# -- pieces


def _equal(call: Call, length: int | None) -> list[int] | int:
    """As many pieces of one size, or how many where the size is open."""
    count = int(number(call, "output_num"))
    if length is None:
        return count
    if count < 1 or length % count:
        raise Refused(f"{length} elements are no {count} equal pieces")
    return [length // count] * count


def _given(call: Call, length: int | None) -> list[int]:
    return list(at.fixed(call.get("split_size"), "split_size"))


def _given_before(call: Call, length: int | None) -> list[int]:
    return list(at.fixed(call.get("size_splits"), "size_splits"))


def _of_size(call: Call, length: int | None) -> list[int]:
    return _pieces(length, int(number(call, "split_size")))


def _chunks(call: Call, length: int | None) -> list[int]:
    each = None if length is None else -(-length // int(number(call, "chunks")))
    return _pieces(length, 1 if each == 0 else each)


def _pieces(length: int | None, each: int | None) -> list[int]:
    if length is None or each is None:
        raise Refused("how many pieces there are is only known when the model runs")
    if each < 1:
        raise Refused(f"pieces of {each} elements")
    return [min(each, length - start) for start in range(0, length, each)] or [0]


Pieces = Callable[[Call, "int | None"], "list[int] | int"]


def _axis_name(call: Call) -> Any:
    return call.get({"Split": "axis", "SplitV": "split_dim"}.get(call.op, "dim"))


def _split(pieces: Pieces) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
        x = tensor(call)
        axis = at.axis_in(_axis_name(call), at.rank_of(x))
        found = pieces(call, None if x.shape is None else x.shape[axis])
        if isinstance(found, int):
            return b.ops("Split", x, count=found, axis=axis, num_outputs=found)
        return b.ops("Split", x, b.ints(found), count=len(found), axis=axis) if len(found) > 1 else (x,)

    def now(call: Call) -> tuple[Array, ...]:
        x: Array = call.input(0)
        axis = at.axis_in(_axis_name(call), x.ndim)
        found = pieces(call, x.shape[axis])
        assert isinstance(found, list)
        return tuple(np.split(x, np.cumsum(found[:-1]), axis))

    return lower, now


def _unstack(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    x = tensor(call)
    axis = at.axis_in(_unstacked(call), at.rank_of(x))
    count = None if x.shape is None else x.shape[axis]
    count = call.attributes.get("num") if count is None else count
    if not isinstance(count, int):
        raise Refused("how many results there are is only known when the model runs")
    return tuple(_place(b, x, axis, place) for place in range(count))


def _unstacked(call: Call) -> Any:
    return call.get("axis", 0) if call.op == "Unstack" else call.get("dim", 0)


def _unstack_now(call: Call) -> tuple[Array, ...]:
    x: Array = call.input(0)
    return tuple(np.moveaxis(x, at.axis_in(_unstacked(call), x.ndim), 0))


# -- another order


def _reverse(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return backwards(b, x, at.axes_in(call.get("axis"), at.rank_of(x)) if call.get("axis") != () else [])


def backwards(b: OnnxBuilder, x: Value, axes: Sequence[int]) -> Value:
    """The value from the last element to the first, along these axes."""
    many = len(axes)
    return at.slices(b, x, axes, [-1] * many, [_START] * many, [-1] * many)


def _reverse_now(call: Call) -> Array:
    x: Array = call.input(0)
    return np.flip(x, tuple(at.axis_in(axis, x.ndim) for axis in at.integers(call.get("axis"))))


def _roll(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    shifts, dims = at.fixed(call.get("shifts"), "shifts"), _rolled(call)
    if not dims:
        flat = _turned(b, b.reshape(x, (-1,)), 0, shifts[0])
        return at.reshape(b, flat, at.sizes(b, x))
    for shift, axis in zip(shifts, dims, strict=True):
        x = _turned(b, x, at.axis_in(axis, at.rank_of(x)), shift)
    return x


def _rolled(call: Call) -> tuple[int, ...]:
    dims = call.get("dims", call.attributes.get("axis", None))
    return () if dims is None else at.fixed(dims, "dims")


def _turned(b: OnnxBuilder, x: Value, axis: int, shift: int) -> Value:
    """The last elements come first."""
    size = at.size(b, x, axis)
    if size == 0:
        return x
    cut = at.calc(b, "Sub", size, at.calc(b, "Mod", shift, size))
    ends = at.slices(b, x, [axis], [cut], [at.END]), at.slices(b, x, [axis], [0], [cut])
    return b.op("Concat", *ends, axis=axis)


def _roll_now(call: Call) -> Array:
    dims = _rolled(call)
    shifts = at.integers(call.get("shifts"))
    return np.roll(call.input(0), shifts, dims) if dims else np.roll(call.input(0), shifts[0])


_SPLIT_GIVEN, _SPLIT_SIZE, _CHUNK = _split(_given), _split(_of_size), _split(_chunks)
_CUT, _UNSTACK = (_cut, _cut_now), (_unstack, _unstack_now)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "Chunk": _CHUNK,
    "ChunkView": _CHUNK,
    "Narrow": _CUT,
    "NarrowView": _CUT,
    "ReverseV2": (_reverse, _reverse_now),
    "Roll": (_roll, _roll_now),
    "SelectExtView": (_select, _select_now),
    "Slice": (_slice_to, _slice_to_now),
    "SliceExt": _CUT,
    "SliceExtView": _CUT,
    "Split": _split(_equal),
    "SplitTensor": _SPLIT_SIZE,
    "SplitTensorView": _SPLIT_SIZE,
    "SplitV": _split(_given_before),
    "SplitWithSize": _SPLIT_GIVEN,
    "SplitWithSizeView": _SPLIT_GIVEN,
    "StridedSlice": (_strided, _strided_now),
    "Unstack": _UNSTACK,
    "UnstackExtView": _UNSTACK,
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
