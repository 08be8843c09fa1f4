"""Arithmetic in data types whose kernels answer right: what a kernel lacks runs in a wider type and is cast back.

The tables say what MindSpore 2.10 answers right on the CPU, as seen by running every primitive with every data type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mswb.convert.graph import Builder, Value, broadcast
from mswb.convert.onnx.node import Refused

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("float16", "float32", "float64")
NUMBERS = (*INTEGERS, *FLOATS)
EVERY = ("bool", *NUMBERS)

_WIDER: Mapping[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32", "float32"),
    "int8": ("int16", "int32", "int64"), "uint8": ("int16", "int32", "int64"),
    "int16": ("int32", "int64"), "uint16": ("int32", "int64"),
    "int32": ("int64",), "uint32": ("int64",), "float16": ("float32", "float64"), "float32": ("float64",),
    "bfloat16": ("float32",),
}  # fmt: skip
"""Data types that hold every number of this one, the nearest first."""
_WRAPS = frozenset({"Add", "Sub", "Mul", "Neg", "Equal", "NotEqual", "Select", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
"""What answers the same for a uint64 that is read as an int64."""
_TRUTHS = frozenset(
    {
        "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "IsFinite", "IsNan",
        "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor",
    }
)  # fmt: skip
"""What answers with a bool."""
RIGHT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(["ACos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan"], FLOATS),
    **dict.fromkeys(["Ceil", "Div", "Erf", "Exp", "Expm1", "Floor", "Log1p", "Reciprocal", "Rint"], FLOATS),
    **dict.fromkeys(["Sigmoid", "Sqrt"], FLOATS),
    "Abs": (*SIGNED, "uint8", *FLOATS),
    "Add": NUMBERS,
    "FloorMod": ("int8", "int16", "int32", "uint8"),
    "Invert": INTEGERS,
    "LeftShift": INTEGERS,
    "Log": ("float16", "float64"),
    "Maximum": ("bool", *SIGNED, "uint8", "uint32", "uint64", *FLOATS),
    "Minimum": NUMBERS,
    "Neg": NUMBERS,
    "Pow": ("int64", "uint64", *FLOATS),
    "RealDiv": INTEGERS,
    "RightShift": INTEGERS,
    "ReduceMax": NUMBERS,
    "ReduceMin": NUMBERS,
    "ReduceSum": ("int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS),
    "Select": NUMBERS,
    "Sign": ("int32", "int64", *FLOATS),
    "Sub": (*SIGNED, "uint8", "uint16", *FLOATS),
    "Tanh": ("float16", "float64"),
    "TruncateMod": ("int8", "int32", "uint8", *FLOATS),
}
"""The data types that each primitive answers right; one that is not listed is taken to have all. Logarithms in
float32 are some units off in the last place, which a Floor behind them makes a whole one."""


def working(primitive: str, dtype: str) -> str:
    """The data type in which a primitive answers right for numbers of this one.

    Raises:
        Refused: there is none.
    """
    right = RIGHT.get(primitive)
    if right is None or dtype in right:
        return dtype
    wider = next((one for one in _WIDER.get(dtype, ()) if one in right), None)
    if wider is None and dtype == "uint64" and primitive in _WRAPS and "int64" in right:
        wider = "int64"
    if wider is None:
        raise Refused(f"MindSpore's {primitive} has no kernel that is right for {dtype or 'this data type'}")
    return wider


def call(b: Builder, primitive: str, *inputs: Value | float) -> Value:
    """An element-wise primitive of inputs of one data type, numbers among them, exact whatever that type."""
    own = next(one.dtype for one in inputs if isinstance(one, Value))
    used = working(primitive, own)
    given = [b.cast(one, used) if isinstance(one, Value) else b.scalar(one, used) for one in inputs]
    result = "bool" if primitive in _TRUTHS else used
    made = b.op(primitive, *given, dtype=result, shape=broadcast(*(one.shape for one in given)))
    return made if primitive in _TRUTHS else b.cast(made, own)


def select(b: Builder, condition: Value, first: Value | float, second: Value | float) -> Value:
    """``first`` where the condition holds, else ``second``; at least one is a value."""
    own = next(one.dtype for one in (first, second) if isinstance(one, Value))
    used = working("Select", own)
    given = [b.cast(one, used) if isinstance(one, Value) else b.scalar(one, used) for one in (first, second)]
    shape = broadcast(condition.shape, *(one.shape for one in given))
    return b.cast(b.op("Select", condition, *given, dtype=used, shape=shape), own)


def maximum(b: Builder, first: Value | float, second: Value | float) -> Value:
    """The larger of two, NaN where either is."""
    return _extreme(b, "Maximum", first, second)


def minimum(b: Builder, first: Value | float, second: Value | float) -> Value:
    """The smaller of two, NaN where either is."""
    return _extreme(b, "Minimum", first, second)


def _extreme(b: Builder, primitive: str, first: Value | float, second: Value | float) -> Value:
    """MindSpore's kernel answers with its second input where one is NaN; so what can't be NaN goes first."""
    if _sure(second):
        first, second = second, first
    shape = broadcast(*(one.shape if isinstance(one, Value) else () for one in (first, second)))
    if primitive == "Minimum" and (shape is None or None in shape or 0 in shape):
        found = select(b, call(b, "Less", first, second), first, second)  # Minimum takes nothing without elements
    else:
        found = call(b, primitive, first, second)
    if _sure(first) or not isinstance(first, Value) or first.dtype not in FLOATS:
        return found
    return select(b, call(b, "IsNan", first), first, found)


def _sure(one: Value | float) -> bool:
    """Whether this can't be NaN."""
    if not isinstance(one, Value):
        return one == one
    return one.array is not None and not bool(np.isnan(one.array).any())


def as_float(b: Builder, value: Value) -> Value:
    """A float in at least single precision: half is widened, so that no step of a formula rounds to it."""
    return b.cast(value, "float32") if value.dtype in ("float16", "bfloat16") else value


def bounds(dtype: str) -> tuple[float, float]:
    """The lowest and the highest number of a data type; of a float the infinities."""
    if dtype == "bool":
        return 0, 1
    if np.dtype(dtype).kind == "f":
        return -np.inf, np.inf
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def axis_shape(rank: int, axis: int) -> Sequence[int]:
    """The shape that lays a vector along one axis of a tensor."""
    return [-1 if at == axis else 1 for at in range(rank)]
