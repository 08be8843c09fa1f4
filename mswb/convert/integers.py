"""Integers of a model while it is converted: shapes, axes, index vectors. Each is an array where it is known, and a
value of the graph where only the run tells; what is known stays known through all arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Builder, Shape, Value, broadcast
from mswb.convert.onnx.node import OnnxNode, Refused

Ints = Array | Value
"""int64, without dimensions or with one."""
LONGEST_RANGE = 1 << 31
"""Elements that a range may have."""

_NUMPY: Mapping[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Maximum": np.maximum, "Minimum": np.minimum,
    "Less": np.less, "Equal": np.equal, "LogicalAnd": np.logical_and, "Select": np.where,
    "FloorDiv": np.floor_divide, "FloorMod": np.mod,
}  # fmt: skip
_BOOLEAN = frozenset({"Less", "Equal", "LogicalAnd"})


def content(ints: Ints) -> Array | None:
    """The numbers, where they are known."""
    return ints.array if isinstance(ints, Value) else ints


def shape_of(ints: Ints | int) -> Shape | None:
    """The shape of integers."""
    return ints.shape if isinstance(ints, Value) else np.shape(ints)


def calc(b: Builder, primitive: str, *given: Ints | int) -> Ints:
    """Arithmetic, element by element: done now if all is known, else by the graph."""
    arrays = [content(one) if isinstance(one, Value) else np.asarray(one) for one in given]
    dtype = "bool" if primitive in _BOOLEAN else "int64"
    if all(array is not None for array in arrays):
        return np.asarray(_NUMPY[primitive](*arrays), dtype)
    inputs = [one if isinstance(one, Value) else np.asarray(one, _kind(one)) for one in given]
    return b.op(primitive, *inputs, dtype=dtype, shape=broadcast(*(shape_of(one) for one in given)))


def _kind(one: Array | int) -> str:
    return "bool" if np.asarray(one).dtype.kind == "b" else "int64"


def all_dims(b: Builder, value: Value) -> Ints:
    """The shape of a value."""
    return np.array(value.fixed, np.int64) if value.fixed is not None else b.shape_of(value)


def dim(b: Builder, value: Value, axis: int) -> Ints:
    """One size of a value."""
    size = value.shape[axis] if value.shape is not None else None
    return np.array(size, np.int64) if size is not None else item(b, b.shape_of(value), axis)


def each_dim(b: Builder, value: Value) -> list[Ints]:
    """The sizes of a value whose rank is known, one by one."""
    return [dim(b, value, axis) for axis in range(value.rank or 0)]


def item(b: Builder, vector: Ints, at: int) -> Ints:
    """One element of a vector, without dimensions."""
    known = content(vector)
    if known is not None:
        return np.array(known[at], np.int64)
    return b.op("Gather", vector, np.array(at, np.int64), 0, 0, dtype="int64", shape=())


def pick(b: Builder, vector: Ints, at: Ints) -> Ints:
    """The elements of a vector at several places."""
    known, places = content(vector), content(at)
    if known is not None and places is not None:
        return np.asarray(known[places], np.int64)
    return b.op("Gather", vector, at, 0, 0, dtype="int64", shape=shape_of(at))


def product(b: Builder, parts: Sequence[Ints | int]) -> Ints:
    """The product of sizes; 1 of none."""
    result: Ints = np.array(1, np.int64)
    for part in parts:
        result = calc(b, "Mul", result, part)
    return result


def _ints(one: Ints | int) -> Ints:
    return one if isinstance(one, Value) else np.asarray(one, np.int64)


def vector(b: Builder, parts: Sequence[Ints | int]) -> Ints:
    """Numbers and vectors behind one another."""
    ready = [np.asarray(one, np.int64).reshape(-1) if not isinstance(one, Value) else _flat(b, one) for one in parts]
    known = [one for one in ready if not isinstance(one, Value)]
    if len(known) == len(ready):
        return np.asarray(np.concatenate([np.zeros(0, np.int64), *known]))
    kept = [one for one in ready if isinstance(one, Value) or one.size]
    sizes = [shape_of(one) for one in kept]
    length = None if any(not size or size[0] is None for size in sizes) else sum(size[0] or 0 for size in sizes if size)
    if len(kept) == 1 and isinstance(kept[0], Value):
        return kept[0]
    return b.op("Concat", b.tuple(kept), 0, dtype="int64", shape=(length,))


def _flat(b: Builder, one: Value) -> Ints:
    if one.array is not None:
        return np.asarray(one.array.reshape(-1), np.int64)
    return one if one.rank == 1 else b.reshape(one, (1,))


def arange(b: Builder, until: Ints | int) -> Ints:
    """0, 1, ... before ``until``."""
    until = _ints(until)
    known = content(until)
    if known is not None:
        return np.arange(int(known), dtype=np.int64)
    scalar = b.op("TensorToScalar", as_value(b, until), dtype="int", attributes={})
    return b.op("Range", 0, scalar, 1, LONGEST_RANGE, dtype="int64", shape=(None,))


def given(node: OnnxNode, b: Builder, name: str, at: int) -> Ints | None:
    """Integers that are an attribute in old opsets and an input in new ones; None if left out."""
    if name in node.attributes:
        numbers = node.attributes[name]
        return np.array(numbers if isinstance(numbers, (list, tuple)) else [numbers], np.int64)
    value = node.optional(at)
    if value is None:
        return None
    if value.array is not None:
        return value.array.reshape(-1).astype(np.int64)
    wide = b.cast(value, "int64")
    return wide if value.rank == 1 else b.reshape(wide, (-1,))


def length(ints: Ints, what: str) -> int:
    """How many numbers a vector has.

    Raises:
        Refused: only the run tells.
    """
    shape = shape_of(ints)
    if not shape or shape[0] is None:
        freeze = ints.name if isinstance(ints, Value) else ""
        raise Refused(f"how many {what} there are is only known when the model runs", nearest="--freeze", freeze=freeze)
    return shape[0]


def count(b: Builder, vector: Ints) -> Ints:
    """How many numbers a vector has."""
    return dim(b, vector, 0) if isinstance(vector, Value) else np.array(vector.size, np.int64)


def spread(b: Builder, defaults: Ints, places: Ints, numbers: Ints) -> Ints:
    """A vector with the numbers at these places, and the defaults elsewhere."""
    known = [content(one) for one in (defaults, places, numbers)]
    if all(one is not None for one in known):
        result = np.array(known[0], np.int64)
        result[known[1]] = known[2]
        return result
    column = b.op("ExpandDims", as_value(b, places), 1, dtype="int64")
    return b.op(
        "TensorScatterUpdate", defaults, column, numbers, dtype="int64", shape=shape_of(defaults), attributes={}
    )


def from_front(b: Builder, axes: Ints, rank: int) -> Ints:
    """Axes, counted from the front."""
    known = content(axes)
    if known is not None and not ((known >= -rank) & (known < rank)).all():
        raise Refused(f"axes {known.tolist()} are outside of {rank} dimensions", attribute="axes")
    return calc(b, "FloorMod", axes, rank) if rank else axes


# -- what moves elements


def reshape(b: Builder, value: Value, sizes: Sequence[Ints | int]) -> Value:
    """The value with these dimensions, known or not; one may be -1."""
    found = [content(_ints(one)) for one in sizes]
    numbers = [None if one is None else int(one) for one in found]
    if numbers.count(None) == 1 and not {0, -1} & set(numbers):
        return b.reshape(value, [-1 if number is None else number for number in numbers])
    if None not in numbers:
        return b.reshape(value, [number for number in numbers if number is not None])
    shape = tuple(None if number == -1 else number for number in numbers)
    return b.op("Reshape", value, b.as_tuple(as_value(b, vector(b, sizes))), shape=shape)


def take(b: Builder, value: Value, axis: int, places: Ints) -> Value:
    """The slices of a value along an axis at these places, in their order."""
    taken = shape_of(places)
    shape = None
    if value.shape is not None and taken is not None:
        shape = (*value.shape[:axis], *taken, *value.shape[axis + 1 :])
    return b.op("Gather", value, places, axis, 0, shape=shape)


def along(b: Builder, ints: Ints, axis: int, rank: int) -> Ints:
    """A vector as a value of this rank that lies along an axis."""
    known = content(ints)
    sizes = [1] * axis + [-1] + [1] * (rank - axis - 1)
    return known.reshape(sizes) if known is not None else b.reshape(as_value(b, ints), sizes)


def filled(b: Builder, sizes: Ints, number: Any, dtype: str) -> Value:
    """A value of this shape that holds one number everywhere."""
    known, length_ = content(sizes), shape_of(sizes)
    shape: Shape | None = None
    if known is not None:
        shape = tuple(int(size) for size in known)
    elif length_ is not None and length_[0] is not None:
        shape = (None,) * length_[0]
    scalar = number if isinstance(number, Value) else np.array(number, dtype)
    return b.op("FillV2", as_value(b, sizes), scalar, dtype=dtype, shape=shape, attributes={})


def expand(b: Builder, value: Value, sizes: Ints) -> Value:
    """The value and this shape, each broadcast to the other."""
    ones = filled(b, sizes, True, "bool")
    zero = np.zeros((), value.dtype)
    return b.op("Select", ones, value, zero, dtype=value.dtype, shape=broadcast(ones.shape, value.shape))


def select(b: Builder, condition: Ints, one: Value | Array, other: Value | Array) -> Value:
    """One where the condition holds, else the other."""
    shapes = [part.shape for part in (condition, one, other)]
    return b.op("Select", condition, one, other, dtype=one.dtype if isinstance(one, Value) else one.dtype.name,
                shape=broadcast(*shapes))  # fmt: skip


def total(b: Builder, ints: Ints, axis: int) -> Ints:
    """The sum along an axis."""
    known = content(ints)
    if known is not None:
        return np.asarray(known.sum(axis), np.int64)
    shape = shape_of(ints)
    left = None if shape is None else shape[:axis] + shape[axis + 1 :]
    return b.op("ReduceSum", ints, (axis,), False, False, dtype="int64", shape=left)


def as_value(b: Builder, ints: Ints) -> Value:
    """Integers as a value of the graph."""
    return ints if isinstance(ints, Value) else b.constant(ints)
