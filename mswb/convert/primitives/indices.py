"""What the entries that read or write at given places ask of their arguments, and how places are written in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value, broadcast
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.program import Call


def integer(given: Any, what: str) -> int:
    """An argument that is one integer: a number, or a tensor that is constant.

    Raises:
        Refused: it is only known when the model runs, or is something else.
    """
    content = given.array if isinstance(given, Value) else given
    if isinstance(content, np.ndarray) and content.size == 1 and content.dtype.kind in "iu":
        return int(content.reshape(()))
    if isinstance(content, (int, np.integer)) and not isinstance(content, bool):
        return int(content)
    raise Refused(f"{what} is only known when the model runs" if isinstance(given, Value) else f"{what} is no integer")


def rank(value: Value | Array, what: str = "its input") -> int:
    """The number of dimensions.

    Raises:
        Refused: it is only known when the model runs.
    """
    if isinstance(value, np.ndarray):
        return value.ndim
    if value.rank is None:
        raise Refused(f"the rank of {what} is only known when the model runs")
    return value.rank


def axis_of(call: Call, name: str, dimensions: int, default: int | None = None) -> int:
    """An axis argument, counted from the front.

    Raises:
        Refused: there is no such dimension.
    """
    return counted(integer(call.get(name) if default is None else call.get(name, default), name), dimensions)


def counted(axis: int, dimensions: int) -> int:
    """An axis, counted from the front.

    Raises:
        Refused: there is no such dimension.
    """
    if not -dimensions <= axis < max(dimensions, 1):
        raise Refused(f"dimension {axis} is outside of {dimensions}")
    return axis % dimensions if dimensions else 0


def places(b: OnnxBuilder, value: Value) -> Value:
    """Indices in a data type that ONNX takes."""
    return value if value.dtype in ("int32", "int64") else b.cast(value, "int64")


def sizes(b: OnnxBuilder, value: Value, start: int = 0, end: int | None = None) -> Value:
    """The sizes of some dimensions as an int64 tensor."""
    return b.op("Shape", value, start=start or None, end=end)


def like(b: OnnxBuilder, value: Value, other: Value) -> Value:
    """A value broadcast together with another one."""
    if value.fixed is not None and value.fixed == other.fixed:
        return value
    return b.op("Expand", value, b.shape_of(other), shape=broadcast(value.shape, other.shape))


def part(b: OnnxBuilder, value: Value, start: int, end: int, axis: int = 0) -> Value:
    """A slice of one dimension."""
    return b.op("Slice", value, b.ints([start]), b.ints([end]), b.ints([axis]))


def filled(b: OnnxBuilder, shape: Value, number: float, dtype: str) -> Value:
    """A tensor of these sizes with one number in it."""
    count = None if shape.shape is None else shape.shape[0]
    return b.op("Expand", b.scalar(number, dtype), shape, shape=None if count is None else (None,) * count)


def moved(b: OnnxBuilder, value: Value, source: int, target: int) -> Value:
    """A value whose dimension ``source`` is at ``target``, the others in their order."""
    if source == target:
        return value
    order = [one for one in range(rank(value)) if one != source]
    order.insert(target, source)
    return b.transpose(value, order)


def joined(b: OnnxBuilder, parts: Sequence[Value], axis: int = 0) -> Value:
    """Values one after the other; a single one is itself."""
    return parts[0] if len(parts) == 1 else b.op("Concat", *parts, axis=axis)


def together(b: OnnxBuilder, given: Sequence[Value]) -> Value:
    """Indices of several dimensions, broadcast to each other, as the last dimension of one tensor."""
    wide = [b.cast(one, "int64") for one in given]
    if len({one.shape for one in wide}) > 1 or any(one.fixed is None for one in wide):
        nothing = wide[0]
        for one in wide[1:]:
            nothing = b.op("Add", nothing, one)
        nothing = b.op("Mul", nothing, b.scalar(0, "int64"))
        wide = [b.op("Add", one, nothing) for one in wide]
    return joined(b, [b.unsqueeze(one, [-1]) for one in wide], -1)
