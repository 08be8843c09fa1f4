"""Quotients and remainders: cut towards zero, rounded down, or exact; of integers and of fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.kernels import FLOATS, HALVES, INTEGERS, UNSIGNED, run, single, where
from mswb.convert.primitives.operands import arrays, tensors
from mswb.convert.primitives.transcendental import floating
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Two = Callable[[OnnxBuilder, Value, Value], Value]
_TRUNC, _FLOOR = 1, 2
"""Rounding modes of DivMod; any other divides exactly."""


def _pair(make: Two) -> Lower:
    return lambda call, b: make(b, *tensors(call, b))


def divide(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """The quotient; of integers as float32."""
    return run(b, "Div", floating(b, x), floating(b, y))


def cut(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """The quotient without its fraction."""
    if x.dtype in (*INTEGERS, "bool"):
        return run(b, "Div", x, y)
    wide = run(b, "Div", single(b, x), single(b, y))
    return b.cast(b.op("Mul", b.op("Sign", wide), b.op("Floor", b.op("Abs", wide))), x.dtype)


def floor_divide(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """The quotient rounded down; ONNX's own is cut towards zero for integers."""
    if x.dtype in (*FLOATS, *HALVES):
        return b.cast(b.op("Floor", run(b, "Div", single(b, x), single(b, y))), x.dtype)
    quotient = run(b, "Div", x, y)
    if x.dtype in (*UNSIGNED, "bool"):
        return quotient
    rest = run(b, "Sub", x, run(b, "Mul", quotient, y))
    below = b.op("Xor", run(b, "Less", rest, 0), run(b, "Less", y, 0))
    short = b.op("And", b.op("Not", run(b, "Equal", rest, 0)), below)
    return run(b, "Sub", quotient, b.cast(short, x.dtype))


def floor_modulo(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """The remainder that has the divisor's sign."""
    if x.dtype in (*INTEGERS, "bool"):
        return run(b, "Mod", x, y)
    rest = cut_modulo(b, single(b, x), single(b, y))
    other_side = b.op("Less", b.op("Mul", b.op("Sign", rest), b.op("Sign", single(b, y))), b.scalar(0, rest.dtype))
    return b.cast(where(b, other_side, b.op("Add", rest, single(b, y)), rest), x.dtype)


def cut_modulo(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """The remainder that has the dividend's sign, as C has it."""
    return run(b, "Mod", x, y, fmod=1)


def _no_nan(op: str) -> Two:
    """Zero where the second is zero."""

    def make(b: OnnxBuilder, x: Value, y: Value) -> Value:
        return where(b, run(b, "Equal", y, 0), 0, run(b, op, x, y))

    return make


def _none_of_nothing(make: Two) -> Two:
    """Zero where the first is zero; half precision is left at the end alone."""

    def lower(b: OnnxBuilder, x: Value, y: Value) -> Value:
        one, other = single(b, floating(b, x)), single(b, floating(b, y))
        return b.cast(where(b, run(b, "Equal", one, 0), 0, make(b, one, other)), floating(b, x).dtype)

    return lower


def _x_log_y(b: OnnxBuilder, x: Value, y: Value) -> Value:
    return b.op("Mul", x, b.op("Log", y))


def _x_div_y(b: OnnxBuilder, x: Value, y: Value) -> Value:
    return b.op("Div", x, y)


def _by_mode(call: Call, b: OnnxBuilder) -> Value:
    made = {_TRUNC: cut, "trunc": cut, _FLOOR: floor_divide, "floor": floor_divide}
    return made.get(call.get("rounding_mode", None), divide)(b, *tensors(call, b))


# -- in numpy


def _numpy(function: Callable[[Array, Array], Any]) -> Callable[[Call], Array]:
    return lambda call: np.asarray(function(*arrays(call)))


def np_divide(x: Array, y: Array) -> Array:
    """The quotient; of integers in double precision."""
    return np.asarray(np.true_divide(x, y), dtype=np.float64)


def np_cut(x: Array, y: Array) -> Array:
    """The quotient without its fraction."""
    if x.dtype.kind == "f":
        return np.asarray(np.trunc(x / y))
    quotient = np.floor_divide(x, y)
    rest: Array = x - quotient * y
    return np.asarray((quotient + ((rest != 0) & ((x < 0) != (y < 0)))).astype(x.dtype))


def np_floor_divide(x: Array, y: Array) -> Array:
    """The quotient rounded down."""
    return np.asarray(np.floor(x / y) if x.dtype.kind == "f" else np.floor_divide(x, y))


def np_x_log_y(x: Array, y: Array) -> Array:
    """x log(y), zero where x is."""
    return np.asarray(np.where(x == 0, 0, x * np.log(y.astype(np.float64))))


def np_x_div_y(x: Array, y: Array) -> Array:
    """x / y, zero where x is."""
    return np.asarray(np.where(x == 0, 0, x / y).astype(x.dtype))


def _np_by_mode(call: Call) -> Array:
    made = {_TRUNC: np_cut, "trunc": np_cut, _FLOOR: np_floor_divide, "floor": np_floor_divide}
    return made.get(call.get("rounding_mode", None), np_divide)(*arrays(call))


_FLOOR_DIVIDE = (floor_divide, np_floor_divide)
_FLOOR_MODULO = (floor_modulo, np.mod)
_CUT_MODULO = (cut_modulo, np.fmod)
_CUT = (cut, np_cut)
_X_LOG_Y = (_none_of_nothing(_x_log_y), np_x_log_y)
_BOTH: Mapping[str, tuple[Two, Callable[[Array, Array], Any]]] = {
    "Div": (divide, np_divide),
    "DivNoNan": (_no_nan("Div"), lambda x, y: np.where(y == 0, 0, np_divide(x, y)).astype(x.dtype)),
    "Divs": (divide, np_divide),
    "FloorDiv": _FLOOR_DIVIDE,
    "FloorDivScalar": _FLOOR_DIVIDE,
    "FloorMod": _FLOOR_MODULO,
    "FmodScalar": _CUT_MODULO,
    "FmodTensor": _CUT_MODULO,
    "Mod": _CUT_MODULO,
    "MulNoNan": (_no_nan("Mul"), lambda x, y: np.where(y == 0, 0, x * y).astype(x.dtype)),
    "RealDiv": (lambda b, x, y: run(b, "Div", x, y), lambda x, y: x / y if x.dtype.kind == "f" else np_cut(x, y)),
    "RemainderScalarTensor": _FLOOR_MODULO,
    "RemainderTensorScalar": _FLOOR_MODULO,
    "RemainderTensorTensor": _FLOOR_MODULO,
    "TruncateDiv": _CUT,
    "TruncateMod": _CUT_MODULO,
    "XLogYScalarOther": _X_LOG_Y,
    "XLogYScalarSelf": _X_LOG_Y,
    "Xdivy": (_none_of_nothing(_x_div_y), np_x_div_y),
    "Xlogy": _X_LOG_Y,
}
TO_ONNX: Mapping[str, Lower] = {
    **{name: _pair(make) for name, (make, _) in _BOTH.items()},
    "DivMod": _by_mode,
    "DivMods": _by_mode,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **{name: _numpy(function) for name, (_, function) in _BOTH.items()},
    "DivMod": _np_by_mode,
    "DivMods": _np_by_mode,
}
