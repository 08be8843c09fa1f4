"""Operators of ONNX in data types that onnxruntime runs on the CPU: others go by way of a wider one, exactly.

The table says for which data types onnxruntime 1.32 has a kernel, as seen by loading every operator with every data
type; half precision is run by it through casts of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.program import Call

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
HALVES = ("float16", "bfloat16")
SINGLE = ("float16", "float32")
FLOATS = (*SINGLE, "float64")
NUMBERS = (*INTEGERS, *FLOATS)

_WIDER: Mapping[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32", "float32"),
    "int8": ("int16", "int32", "int64", "float32"), "uint8": ("int16", "int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"), "uint16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"), "uint32": ("int64", "float64"), "bfloat16": ("float32",),
}  # fmt: skip
"""Data types that hold every number of this one, the nearest first."""
_WRAPS = frozenset({"Add", "Sub", "Mul", "Neg", "Where", "ReduceSum", "ReduceProd", "CumSum"})
"""What answers the same for a uint64 that is read as an int64."""
_TRUTHS = frozenset({"Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"})
"""What answers with a bool."""
_SINGLES = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Mish", "PRelu", "Selu", "Sinh", "Softplus", "Softsign", "Tan", "ThresholdedRelu",
    "AveragePool", "Conv", "ConvTranspose", "Det", "GlobalAveragePool", "InstanceNormalization", "LRN", "LpPool",
)  # fmt: skip
_DOUBLES = (
    "Ceil", "Cos", "Exp", "Floor", "IsInf", "IsNaN", "Log", "LogSoftmax", "Reciprocal", "Round", "Sigmoid", "Sin",
    "Softmax", "Sqrt", "Tanh", "BatchNormalization", "Gemm", "GroupNormalization", "LayerNormalization",
)  # fmt: skip
_COMMON = tuple(one for one in NUMBERS if one not in ("int16", "uint16"))
_SUMS = ("int32", "int64", *FLOATS)
KERNELS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_SINGLES, SINGLE),
    **dict.fromkeys(_DOUBLES, FLOATS),
    **dict.fromkeys(["Abs", "Add", "Sub", "Mul", "Div", "Mod", "Greater", "Less", "Sign"], NUMBERS),
    **dict.fromkeys(["GreaterOrEqual", "LessOrEqual"], NUMBERS),
    **dict.fromkeys(["Clip", "Max", "Min"], _COMMON),
    **dict.fromkeys(["CumSum", "ReduceMean", "ReduceProd", "ReduceSum"], _SUMS),
    **dict.fromkeys(["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"], _SUMS),
    **dict.fromkeys(["ReduceMax", "ReduceMin"], ("bool", "int8", "uint8", *_SUMS)),
    **dict.fromkeys(["ArgMax", "ArgMin"], ("int8", "uint8", *_SUMS)),
    "Equal": ("bool", *NUMBERS),
    "Expand": ("bool", *NUMBERS),
    "MatMul": ("int32", "int64", "uint32", "uint64", *FLOATS),
    "Neg": (*SIGNED, *FLOATS),
    "MaxPool": ("int8", "uint8", *FLOATS),
    "NonZero": ("bool", "int32", "int64", "uint8", *SINGLE),
    "Pad": ("bool", "bfloat16", *_COMMON),
    "Pow": ("int32", "int64", *FLOATS),
    "Relu": ("int8", "int32", *FLOATS),
    "Tile": ("bool", *NUMBERS),
    "TopK": ("int8", "int16", "uint8", *_SUMS),
    "Trilu": ("bool", *_SUMS),
    "Where": ("int8", "int32", "int64", "uint8", "uint32", *FLOATS),
}
"""The data types that each operator has a kernel for; one that is not listed is taken to have all."""


def working(op: str, dtype: str) -> str:
    """The data type in which onnxruntime runs an operator on numbers of this one.

    Raises:
        Refused: there is none that holds them all.
    """
    held = KERNELS.get(op)
    if held is None or dtype in held:
        return dtype
    wider = next((one for one in _WIDER.get(dtype, ()) if one in held), None)
    if wider is None and dtype == "uint64" and op in _WRAPS:
        wider = "int64"
    if wider is None:
        raise Refused(f"onnxruntime's {op} has no kernel for {dtype or 'an unknown data type'}")
    return wider


def run(b: OnnxBuilder, op: str, *inputs: Value | float, **attributes: Any) -> Value:
    """An operator on inputs of one data type, plain numbers among them, exact whatever that type."""
    own = next(one.dtype for one in inputs if isinstance(one, Value))
    used = working(op, own)
    given = [b.cast(one, used) if isinstance(one, Value) else b.scalar(one, used) for one in inputs]
    found = b.op(op, *given, **attributes)
    return found if op in _TRUTHS else b.cast(found, own)


def where(b: OnnxBuilder, condition: Value, first: Value | float, second: Value | float) -> Value:
    """``first`` where the condition holds, else ``second``; at least one is a value."""
    own = next(one.dtype for one in (first, second) if isinstance(one, Value))
    used = working("Where", own)
    given = [b.cast(one, used) if isinstance(one, Value) else b.scalar(one, used) for one in (first, second)]
    return b.cast(b.op("Where", condition, *given), own)


def single(b: OnnxBuilder, value: Value) -> Value:
    """A float in at least single precision: half is widened, so that no step of a formula rounds to it."""
    return b.cast(value, "float32") if value.dtype in HALVES else value


Formula = Callable[[OnnxBuilder, Value, Call], Value]


def formula(make: Formula) -> Callable[[Call, OnnxBuilder], Value]:
    """An entry of one tensor as arithmetic on it; half precision is left at the end alone."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        given = call.input(0)
        if not isinstance(given, Value):
            raise Refused("its input 0 is no tensor")
        if given.dtype in INTEGERS or given.dtype == "bool":
            raise Refused(f"of {given.dtype} MindSpore rounds it in the middle")
        return b.cast(make(b, single(b, given), call), given.dtype)

    return lower
