"""Arithmetic that numpy does while a model is converted where everything is known, and the model itself where not.

A :class:`Num` is used like an array; what is computed with it becomes a constant when all of it is known, else
operators of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from mswb.convert.graph import Array, Builder, Shape, Value, broadcast

Number = Union["Num", int, float]
LONGEST = 1 << 30
"""The most elements that a sequence made in the graph may have."""

_TWO: Mapping[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "FloorDiv": np.floor_divide,
    "FloorMod": np.mod, "Minimum": np.minimum, "Maximum": np.maximum, "Less": np.less, "LessEqual": np.less_equal,
    "Greater": np.greater, "GreaterEqual": np.greater_equal, "Equal": np.equal, "NotEqual": np.not_equal,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or,
}  # fmt: skip


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), x.dtype)


_ONE: Mapping[str, Callable[..., Any]] = {
    "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Rint": np.rint, "Cos": np.cos, "Sin": np.sin, "Exp": np.exp,
    "Log": np.log, "LogicalNot": np.logical_not, "Tanh": np.tanh, "Sigmoid": _sigmoid,
}  # fmt: skip
_TRUTH = frozenset(
    ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalNot"]
)
_ATTRIBUTED = frozenset(["Rint"])


@dataclass(frozen=True, eq=False)
class Num:
    """A tensor: its content, or the value in the graph that will have it."""

    b: Builder
    content: Array | Value

    @property
    def array(self) -> Array | None:
        """The content, where it is known."""
        return None if isinstance(self.content, Value) else self.content

    @property
    def dtype(self) -> str:
        """The name of the data type."""
        return self.content.dtype if isinstance(self.content, Value) else self.content.dtype.name

    @property
    def shape(self) -> Shape | None:
        """The sizes, as far as they are known."""
        return self.content.shape

    @property
    def value(self) -> Value:
        """As a value of the graph."""
        return self.content if isinstance(self.content, Value) else self.b.constant(self.content)

    # -- element by element

    def one(self, primitive: str) -> Num:
        """An operator of one operand, by the name that MindSpore has for it."""
        if not isinstance(self.content, Value):
            return Num(self.b, np.asarray(_ONE[primitive](self.content)))
        made = self.b.op(
            primitive,
            self.content,
            dtype="bool" if primitive in _TRUTH else None,
            shape=self.shape,
            attributes={} if primitive in _ATTRIBUTED else None,
        )
        return Num(self.b, made)

    def two(self, primitive: str, other: Number, turned: bool = False) -> Num:
        """An operator of two operands that broadcast."""
        theirs = other if isinstance(other, Num) else Num(self.b, np.array(other, self.dtype))
        first, second = (theirs, self) if turned else (self, theirs)
        if first.array is not None and second.array is not None:
            return Num(self.b, np.asarray(_TWO[primitive](first.array, second.array)))
        dtype = "bool" if primitive in _TRUTH else first.dtype
        shape = broadcast(first.shape, second.shape)
        return Num(self.b, self.b.op(primitive, first.value, second.value, dtype=dtype, shape=shape))

    def __add__(self, other: Number) -> Num:
        return self.two("Add", other)

    def __radd__(self, other: Number) -> Num:
        return self.two("Add", other, True)

    def __sub__(self, other: Number) -> Num:
        return self.two("Sub", other)

    def __rsub__(self, other: Number) -> Num:
        return self.two("Sub", other, True)

    def __mul__(self, other: Number) -> Num:
        return self.two("Mul", other)

    def __rmul__(self, other: Number) -> Num:
        return self.two("Mul", other, True)

    def __truediv__(self, other: Number) -> Num:
        return self.two("Div", other)

    def __rtruediv__(self, other: Number) -> Num:
        return self.two("Div", other, True)

    def __floordiv__(self, other: Number) -> Num:
        return self.two("FloorDiv", other)

    def __mod__(self, other: Number) -> Num:
        return self.two("FloorMod", other)

    def __lt__(self, other: Number) -> Num:
        return self.two("Less", other)

    def __le__(self, other: Number) -> Num:
        return self.two("LessEqual", other)

    def __gt__(self, other: Number) -> Num:
        return self.two("Greater", other)

    def __ge__(self, other: Number) -> Num:
        return self.two("GreaterEqual", other)

    def __and__(self, other: Num) -> Num:
        return self.two("LogicalAnd", other)

    def __or__(self, other: Num) -> Num:
        return self.two("LogicalOr", other)

    def __invert__(self) -> Num:
        return self.one("LogicalNot")

    def equal(self, other: Number) -> Num:
        """Where both are the same."""
        return self.two("Equal", other)

    def floor(self) -> Num:
        """Rounded down."""
        return self.one("Floor")

    def ceil(self) -> Num:
        """Rounded up."""
        return self.one("Ceil")

    def least(self, other: Number) -> Num:
        """The smaller one of each two."""
        return self.two("Minimum", other)

    def most(self, other: Number) -> Num:
        """The larger one of each two."""
        return self.two("Maximum", other)

    def clip(self, low: Number, high: Number) -> Num:
        """No less and no more than these."""
        return self.most(low).least(high)

    def cast(self, dtype: str) -> Num:
        """In another data type."""
        if isinstance(self.content, Value):
            return Num(self.b, self.b.cast(self.content, dtype))
        return Num(self.b, self.content.astype(dtype))

    # -- whole tensors

    def reshape(self, *sizes: int | Num) -> Num:
        """With other dimensions, one of which may be -1."""
        fixed = [_fixed(one) for one in sizes]
        if not isinstance(self.content, Value):
            known = [one for one in fixed if one is not None]
            if len(known) == len(fixed):
                return Num(self.b, self.content.reshape(known))
        shape = tuple(None if one is None or one < 0 else one for one in fixed)
        open_sizes = [one for one in fixed if one is None]
        if len(open_sizes) == 1 and -1 not in fixed:
            fixed = [-1 if one is None else one for one in fixed]
        wanted = tuple(one for one in fixed if one is not None)
        if len(wanted) == len(fixed):
            return Num(self.b, self.b.op("Reshape", self.value, wanted, dtype=self.dtype, shape=shape))
        vector = stack([one if isinstance(one, Num) else num(self.b, np.array(one, np.int64)) for one in sizes])
        return Num(
            self.b, self.b.op("Reshape", self.value, self.b.as_tuple(vector.value), dtype=self.dtype, shape=shape)
        )

    def expand(self, axis: int) -> Num:
        """With one more dimension."""
        if not isinstance(self.content, Value):
            return Num(self.b, np.expand_dims(self.content, axis))
        shape = self.shape
        if shape is not None:
            place = axis % (len(shape) + 1)
            shape = (*shape[:place], 1, *shape[place:])
        return Num(self.b, self.b.op("ExpandDims", self.content, axis, shape=shape))

    def at(self, index: int) -> Num:
        """One element of a vector, without dimensions."""
        return self.take(Num(self.b, np.array(index, np.int64)), 0)

    def take(self, index: Num, axis: int) -> Num:
        """The entries along an axis that an index names."""
        if self.array is not None and index.array is not None:
            return Num(self.b, np.asarray(np.take(self.array, index.array, axis)))
        shape = None
        if self.shape is not None and index.shape is not None:
            shape = (*self.shape[:axis], *index.shape, *self.shape[axis + 1 :])
        return Num(self.b, self.b.op("Gather", self.value, index.value, axis, 0, dtype=self.dtype, shape=shape))

    def sum(self, axis: int, keep: bool = False) -> Num:
        """The sum along an axis."""
        if self.array is not None:
            return Num(self.b, np.asarray(self.array.sum(axis, keepdims=keep, dtype=self.array.dtype)))
        shape = _reduced(self.shape, axis, keep)
        return Num(self.b, self.b.op("ReduceSum", self.value, (axis,), keep, False, dtype=self.dtype, shape=shape))

    def transpose(self, *order: int) -> Num:
        """With the dimensions in another order."""
        if isinstance(self.content, Value):
            return Num(self.b, self.b.transpose(self.content, order))
        return Num(self.b, self.content.transpose(order))

    def matmul(self, other: Num) -> Num:
        """The matrix product over the last two dimensions."""
        if self.array is not None and other.array is not None:
            return Num(self.b, np.asarray(self.array @ other.array))
        shape = None
        if self.shape is not None and other.shape is not None:
            shape = (*(broadcast(self.shape[:-2], other.shape[:-2]) or ()), self.shape[-2], other.shape[-1])
        return Num(self.b, self.b.op("MatMulExt", self.value, other.value, dtype=self.dtype, shape=shape))

    def largest(self, axis: int, keep: bool = False) -> Num:
        """The maximum along an axis."""
        if self.array is not None:
            return Num(self.b, np.asarray(self.array.max(axis, keepdims=keep)))
        shape = _reduced(self.shape, axis, keep)
        return Num(self.b, self.b.op("ReduceMax", self.value, (axis,), keep, dtype=self.dtype, shape=shape))


def _reduced(shape: Shape | None, axis: int, keep: bool) -> Shape | None:
    return None if shape is None else (*shape[:axis], *((1,) if keep else ()), *shape[axis + 1 :])


def _fixed(one: int | Num) -> int | None:
    if not isinstance(one, Num):
        return one
    return None if one.array is None else int(one.array)


def num(b: Builder, content: Value | Array | float) -> Num:
    """A value, an array or a number to compute with."""
    if isinstance(content, Value):
        return Num(b, content if content.array is None else content.array)
    return Num(b, np.asarray(content))


def where(condition: Num, yes: Num, no: Num) -> Num:
    """From one of two, element by element."""
    if condition.array is not None and yes.array is not None and no.array is not None:
        return Num(yes.b, np.where(condition.array, yes.array, no.array).astype(yes.dtype))
    shape = broadcast(condition.shape, yes.shape, no.shape)
    made = yes.b.op("Select", condition.value, yes.value, no.value, dtype=yes.dtype, shape=shape)
    return Num(yes.b, made)


def arange(length: Num) -> Num:
    """0, 1, 2 … as int64."""
    if length.array is not None:
        return Num(length.b, np.arange(int(length.array), dtype=np.int64))
    b = length.b
    end = b.op("TensorToScalar", length.value, dtype="int", attributes={})
    return Num(b, b.op("Range", 0, end, 1, LONGEST, dtype="int64", shape=(None,)))


def size(b: Builder, value: Value, axis: int) -> Num:
    """The size of a dimension, int64 without dimensions."""
    if value.shape is not None and value.shape[axis] is not None:
        return Num(b, np.array(value.shape[axis], np.int64))
    return Num(b, b.shape_of(value)).at(axis)


def stack(parts: Sequence[Num]) -> Num:
    """Numbers without dimensions as one vector."""
    return concat([part.reshape(1) for part in parts], 0)


def concat(parts: Sequence[Num], axis: int) -> Num:
    """Tensors one behind the other."""
    arrays = [part.array for part in parts if part.array is not None]
    if len(arrays) == len(parts):
        return Num(parts[0].b, np.concatenate(arrays, axis))
    b, first = parts[0].b, parts[0].shape
    shape = None
    if first is not None:
        lengths = [None if part.shape is None else part.shape[axis] for part in parts]
        known = [one for one in lengths if one is not None]
        place = axis % len(first)
        shape = (*first[:place], sum(known) if len(known) == len(lengths) else None, *first[place + 1 :])
    rows = b.tuple([part.value for part in parts])
    return Num(b, b.op("Concat", rows, axis, dtype=parts[0].dtype, shape=shape))
