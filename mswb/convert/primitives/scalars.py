"""Arithmetic of plain numbers: by Python where both are known, else on tensors without dimensions.

Integers are int64 there and fractions float32, as MindSpore has them in a graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import division
from mswb.convert.primitives.casting import as_number, cast_to, dtype_of
from mswb.convert.primitives.comparison import truth
from mswb.convert.primitives.kernels import run
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]
Two = Callable[[OnnxBuilder, Value, Value], Value]


def _lifted(b: OnnxBuilder, given: list[Any]) -> list[Value]:
    """Numbers and tensors of one element as tensors without dimensions, of one data type."""
    if not all(isinstance(one, (Value, bool, int, float)) for one in given):
        raise Refused("it is given what is no number")
    kinds = {_kind(one) for one in given}
    dtype = next(one for one in ("float64", "float32", "int64", "bool") if one in kinds)
    found = [cast_to(b, one, dtype) for one in given]
    return [one if one.shape == () else b.reshape(one, ()) for one in found]


def _kind(one: Any) -> str:
    if isinstance(one, Value):
        return one.dtype if one.dtype in ("bool", "float64") else "float32" if "float" in one.dtype else "int64"
    return "bool" if isinstance(one, bool) else "int64" if isinstance(one, int) else "float32"


def _number(b: OnnxBuilder, given: Any) -> Any:
    return as_number(b, given) if isinstance(given, Value) and given.array is not None else given


def _entry(function: Callable[..., Any], make: Callable[..., Value], count: int) -> Lower:
    """An entry of so many numbers."""

    def lower(call: Call, b: OnnxBuilder) -> Any:
        given = [_number(b, call.input(at)) for at in range(count)]
        if not any(isinstance(one, Value) for one in given):
            return function(*given)
        return make(b, *_lifted(b, given))

    return lower


def _evaluated(function: Callable[..., Any], count: int) -> Evaluate:
    return lambda call: function(*(_plain(call.input(at)) for at in range(count)))


def _plain(given: Any) -> Any:
    return given.reshape(-1)[0].item() if isinstance(given, np.ndarray) and given.size == 1 else given


def _op(op: str) -> Callable[..., Value]:
    return lambda b, *given: run(b, op, *given)


def _not_equal(b: OnnxBuilder, x: Value, y: Value) -> Value:
    return b.op("Not", run(b, "Equal", x, y))


def _of_fraction(op: str) -> Callable[..., Value]:
    return lambda b, x: b.op(op, b.cast(x, "float32") if x.dtype != "float64" else x)


def _cut(b: OnnxBuilder, x: Value) -> Value:
    return x if x.dtype in ("bool", "int64") else b.cast(x, "int64")


def _floor(b: OnnxBuilder, x: Value) -> Value:
    return x if x.dtype in ("bool", "int64") else b.cast(b.op("Floor", x), "int64")


def _both(op: str) -> Callable[..., Value]:
    return lambda b, x, y: b.op(op, truth(b, x), truth(b, y))


_TWO: Mapping[str, tuple[Callable[..., Any], Callable[..., Value]]] = {
    "ScalarAdd": (operator.add, _op("Add")),
    "ScalarBitwiseAnd": (operator.and_, _op("BitwiseAnd")),
    "ScalarBitwiseOr": (operator.or_, _op("BitwiseOr")),
    "ScalarDiv": (operator.truediv, division.divide),
    "ScalarEq": (operator.eq, _op("Equal")),
    "ScalarFloorDiv": (operator.floordiv, division.floor_divide),
    "ScalarGe": (operator.ge, _op("GreaterOrEqual")),
    "ScalarGt": (operator.gt, _op("Greater")),
    "ScalarLe": (operator.le, _op("LessOrEqual")),
    "ScalarLt": (operator.lt, _op("Less")),
    "ScalarMax": (max, _op("Max")),
    "ScalarMin": (min, _op("Min")),
    "ScalarMod": (operator.mod, division.floor_modulo),
    "ScalarMul": (operator.mul, _op("Mul")),
    "ScalarNe": (operator.ne, _not_equal),
    "ScalarPow": (operator.pow, _op("Pow")),
    "ScalarSub": (operator.sub, _op("Sub")),
    "BoolAnd": (lambda x, y: bool(x and y), _both("And")),
    "BoolEq": (lambda x, y: bool(x) == bool(y), _both("Equal")),
    "BoolOr": (lambda x, y: bool(x or y), _both("Or")),
}
_ONE: Mapping[str, tuple[Callable[..., Any], Callable[..., Value]]] = {
    "BoolNot": (operator.not_, lambda b, x: b.op("Not", truth(b, x))),
    "ScalarBool": (bool, truth),
    "ScalarCos": (math.cos, _of_fraction("Cos")),
    "ScalarExp": (math.exp, _of_fraction("Exp")),
    "ScalarFloor": (math.floor, _floor),
    "ScalarLog": (math.log, _of_fraction("Log")),
    "ScalarSin": (math.sin, _of_fraction("Sin")),
    "ScalarTan": (math.tan, _of_fraction("Tan")),
    "ScalarTrunc": (math.trunc, _cut),
    "ScalarUadd": (operator.pos, lambda b, x: x),
    "ScalarUsub": (operator.neg, _op("Neg")),
}
_OLD: Mapping[str, str] = {
    "bit_and": "ScalarBitwiseAnd", "bit_or": "ScalarBitwiseOr", "bool_and": "BoolAnd", "bool_eq": "BoolEq",
    "bool_not": "BoolNot", "bool_or": "BoolOr", "scalar_add": "ScalarAdd", "scalar_div": "ScalarDiv",
    "scalar_eq": "ScalarEq", "scalar_gt": "ScalarGt", "scalar_lt": "ScalarLt", "scalar_mul": "ScalarMul",
    "scalar_sub": "ScalarSub",
}  # fmt: skip
"""Names of older files."""
_NAMED = {**_TWO, **_ONE, **{old: {**_TWO, **_ONE}[new] for old, new in _OLD.items()}}
_SINGLE = {*_ONE, "bool_not"}


def _python_type(dtype: str) -> Callable[[Any], Any]:
    return bool if dtype == "bool" else float if "float" in dtype else int


def _scalar_cast(call: Call, b: OnnxBuilder) -> Any:
    given, dtype = _number(b, call.input(0)), dtype_of(call, 1, "dtype")
    return cast_to(b, given, dtype) if isinstance(given, Value) else _python_type(dtype)(given)


def _np_scalar_cast(call: Call) -> Any:
    return _python_type(dtype_of(call, 1, "dtype"))(_plain(call.input(0)))


TO_ONNX: Mapping[str, Lower] = {
    **{name: _entry(function, make, 1 if name in _SINGLE else 2) for name, (function, make) in _NAMED.items()},
    "ScalarCast": _scalar_cast,
}
EVALUATE: Mapping[str, Evaluate] = {
    **{name: _evaluated(function, 1 if name in _SINGLE else 2) for name, (function, _) in _NAMED.items()},
    "ScalarCast": _np_scalar_cast,
}
