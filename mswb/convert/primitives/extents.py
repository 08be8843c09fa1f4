"""Sizes and places: each a number where it is known while converting, else an int64 tensor of the graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import TYPE_IDS, Array, Shape, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import KERNELS, working
from mswb.convert.program import Call, numpy_dtype

Size = int | Value
"""One size; a tensor of it has one element."""


class Parts(tuple[Value, ...]):
    """The elements of a vector, which remember it."""

    whole: Value


class Sizes(tuple[Any, ...]):
    """The sizes of a tensor: none is below zero, whatever the run brings."""


def rank_of(x: Value) -> int:
    """The number of dimensions.

    Raises:
        Refused: it is only known when the model runs.
    """
    if x.shape is None:
        raise Refused("the rank of an input is only known when the model runs")
    return len(x.shape)


def axis_in(axis: Any, rank: int) -> int:
    """An axis, counted from the front.

    Raises:
        Refused: there is no such axis, or it is only known when the model runs.
    """
    known = numbers(axis)
    if known is None or len(known) != 1:
        raise Refused("an axis is only known when the model runs")
    if not -rank <= known[0] < max(rank, 1):
        raise Refused(f"axis {known[0]} is outside of {rank} dimensions")
    return known[0] % rank if rank else 0


def axes_in(given: Any, rank: int) -> list[int]:
    """Axes, counted from the front; all of them when none is given."""
    if given is None:
        return list(range(rank))
    known = fixed(given, "its axes")
    return [axis_in(one, rank) for one in known] if known else list(range(rank))


def numbers(given: Any) -> tuple[int, ...] | None:
    """Integers that are known: of a number, a tuple, an array or a constant; None where one is not known."""
    if isinstance(given, Value):
        given = given.array
    if isinstance(given, (tuple, list)):
        found = [numbers(one) for one in given]
        return None if any(one is None for one in found) else tuple(at for one in found if one for at in one)
    if isinstance(given, (bool, int, np.integer)):
        return (int(given),)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iub":
        return tuple(int(one) for one in given.reshape(-1))
    return None


def fixed(given: Any, what: str) -> tuple[int, ...]:
    """Integers that have to be known.

    Raises:
        Refused: they are only known when the model runs.
    """
    found = numbers(given)
    if found is None:
        raise Refused(f"{what} is only known when the model runs")
    return found


def integers(given: Any) -> tuple[int, ...]:
    """The integers of a number, a tuple or an array of an evaluation."""
    return fixed(given, "an argument")


def size(b: OnnxBuilder, x: Value, axis: int) -> Size:
    """The size of one dimension."""
    known = None if x.shape is None else x.shape[axis]
    if known is not None:
        return known
    at = axis + rank_of(x) if axis < 0 else axis
    return b.op("Shape", x, start=at, end=at + 1)


def sizes(b: OnnxBuilder, x: Value) -> list[Size]:
    """The sizes of all dimensions."""
    return [size(b, x, axis) for axis in range(rank_of(x))]


def vector(b: OnnxBuilder, given: Any) -> Value:
    """A number, a tuple of numbers and tensors, or a tensor as a one-dimensional int64 tensor."""
    known = numbers(given)
    if known is not None:
        return b.ints(known)
    if isinstance(given, Parts):
        return given.whole
    if isinstance(given, Value):
        wide = b.cast(given, "int64")
        return wide if given.rank == 1 else b.reshape(wide, (-1,))
    if not isinstance(given, (tuple, list)):
        raise Refused(f"{type(given).__name__} stands where integers belong")
    return b.op("Concat", *(vector(b, one) for one in given), axis=0)


def parts(b: OnnxBuilder, given: Any) -> list[Size]:
    """The same one by one.

    Raises:
        Refused: how many there are is only known when the model runs.
    """
    known = numbers(given)
    if known is not None:
        return list(known)
    if isinstance(given, (tuple, list)) and not isinstance(given, Parts):
        return [part for one in given for part in parts(b, one)]
    whole = vector(b, given)
    count = None if whole.shape is None else whole.shape[0]
    if count is None:
        raise Refused("how many sizes there are is only known when the model runs")
    return [b.op("Slice", whole, b.ints([at]), b.ints([at + 1])) for at in range(count)]


_CALC: Mapping[str, Callable[..., int]] = {
    "Add": operator.add,
    "Div": lambda one, other: -(-one // other) if one < 0 else one // other,
    "Max": max,
    "Min": min,
    "Mod": operator.mod,
    "Mul": operator.mul,
    "Sub": operator.sub,
}
"""ONNX's arithmetic on integers."""


def calc(b: OnnxBuilder, op: str, *given: Size) -> Size:
    """Arithmetic of ONNX on sizes: a number when all of them are."""
    known = [one for one in given if isinstance(one, int)]
    if len(known) == len(given):
        return _CALC[op](*known)
    return b.op(op, *(vector(b, one) for one in given))


def product(b: OnnxBuilder, given: Iterable[Size]) -> Size:
    """The product of sizes."""
    found: Size = 1
    for one in given:
        found = one if found == 1 else found if one == 1 else calc(b, "Mul", found, one)
    return found


def as_number(b: OnnxBuilder, given: Size) -> Size:
    """A size as a tensor without dimensions, where it is not a number."""
    return given if isinstance(given, int) else b.reshape(given, ())


def shape_of(given: Iterable[Size]) -> Shape:
    """Sizes as far as they are known."""
    return tuple(one if isinstance(one, int) and one >= 0 else None for one in given)


def open_shape(whole: Value) -> Shape | None:
    """The shape that a tensor of sizes tells of: at least how many there are."""
    count = None if whole.shape is None else whole.shape[0]
    return None if count is None else (None,) * count


def reshape(b: OnnxBuilder, x: Value, wanted: Sequence[Size]) -> Value:
    """The value with these sizes; one may be -1."""
    known = numbers(tuple(wanted))
    if known is not None:
        return b.reshape(x, known)
    open_ones = [at for at, one in enumerate(wanted) if not isinstance(one, int)]
    if len(open_ones) == 1 and all(isinstance(one, Value) or one > 0 for one in wanted):
        return b.reshape(x, [-1 if isinstance(one, Value) else one for one in wanted])
    return b.op("Reshape", x, vector(b, tuple(wanted)), allowzero=1, shape=shape_of(wanted))


def slices(b: OnnxBuilder, x: Value, axes: Sequence[int], starts: Sequence[Size], ends: Sequence[Size],
           steps: Sequence[Size] | None = None) -> Value:  # fmt: skip
    """Part of a value along some axes; 2**63 - 1 is the end."""
    if not axes:
        return x
    step = None if steps is None or numbers(tuple(steps)) == (1,) * len(axes) else vector(b, tuple(steps))
    return b.op("Slice", x, vector(b, tuple(starts)), vector(b, tuple(ends)), b.ints(axes), step)


END = (1 << 63) - 1
"""Where a slice goes on to the end."""


def carried(b: OnnxBuilder, op: str, x: Value, *others: Value | None, **attributes: Any) -> Value:
    """An operator that moves elements, by way of a data type that onnxruntime has a kernel for."""
    wraps = x.dtype == "uint64" and x.dtype not in KERNELS.get(op, ("uint64",))
    used = "int64" if wraps else working(op, x.dtype)  # what only moves comes back as the number it was
    return b.cast(b.op(op, b.cast(x, used), *others, **attributes), x.dtype)


def expand(b: OnnxBuilder, x: Value, wanted: Sequence[Size] | Value) -> Value:
    """The value repeated along dimensions of size 1 until it has these sizes."""
    shape = open_shape(wanted) if isinstance(wanted, Value) else shape_of(wanted)
    given = vector(b, wanted if isinstance(wanted, Value) else tuple(wanted))
    return carried(b, "Expand", x, given, shape=shape)


def counted(b: OnnxBuilder, count: Size) -> Value:
    """0, 1, 2 … of int64."""
    if isinstance(count, int):
        return b.constant(np.arange(count, dtype=np.int64))
    return b.op("Range", b.scalar(0, "int64"), b.reshape(count, ()), b.scalar(1, "int64"))


def along(b: OnnxBuilder, vector_: Value, axis: int, rank: int) -> Value:
    """A vector that stands along one axis."""
    return b.reshape(vector_, [-1 if at == axis else 1 for at in range(rank)])


_DTYPES = {number: name for name, number in TYPE_IDS.items()}


def dtype_of(call: Call, default: str, name: str = "dtype") -> str:
    """The data type that a call asks for by its number or its name.

    Raises:
        Refused: a tensor can't have it.
    """
    given = call.get(name, None)
    return default if given is None else type_name(given)


def type_name(given: Any) -> str:
    """A data type's name, of its number or its name.

    Raises:
        Refused: a tensor can't have it.
    """
    found = given if isinstance(given, str) and given in TYPE_IDS else _DTYPES.get(given)
    if found is None:
        raise Refused(f"{given} is no data type of tensors")
    return found


def converted(array: Array, dtype: str) -> Array:
    """An array in a data type as an evaluation holds it: fractions in double precision."""
    kind = numpy_dtype(dtype)
    is_fraction = kind.kind == "f" or dtype == "bfloat16"
    return array.astype(np.float64 if is_fraction else kind)
