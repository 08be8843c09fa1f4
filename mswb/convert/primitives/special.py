"""The error function and its kin, the logarithm of the gamma function and its derivative, the logit.

ONNX has the error function alone; the others are composed, the gamma functions in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.activation import np_erf
from mswb.convert.primitives.kernels import formula, run, where
from mswb.convert.primitives.operands import number
from mswb.convert.primitives.transcendental import erf, named, of_one
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]
_MIDDLE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
    0.000100950558, -0.000200214257,
)  # fmt: skip
"""Giles, Approximating the erfinv function (2010), for single precision: by w = -log((1 - x)(1 + x))."""
_SHIFT = 10
"""How far the gamma functions are moved to where their series at infinity hold in double precision."""
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""B(2k) / (2k (2k - 1))"""
_SLOPES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
"""B(2k) / 2k"""

_ANGLES = 2 * math.pi * np.arange(256) / 256
_TURN = np.cos(_ANGLES)
"""Enough points for a mean that is exact in double precision up to _FAR, beyond which the series is."""
_FAR = 600.0
_BESSEL: Mapping[str, tuple[int, bool]] = {
    "BesselI0": (0, False), "BesselI0e": (0, True), "BesselI1": (1, False), "BesselI1e": (1, True),
}  # fmt: skip


# -- ONNX


def _erfc(b: OnnxBuilder, x: Value) -> Value:
    """One less the error function, in double precision, since little is left of it."""
    wide = b.cast(x, "float64")
    return b.cast(run(b, "Sub", b.scalar(1, "float64"), erf(b, wide)), x.dtype)


def _polynomial(b: OnnxBuilder, x: Value, factors: Sequence[float]) -> Value:
    found = b.scalar(factors[-1], x.dtype)
    for one in factors[-2::-1]:
        found = run(b, "Add", b.op("Mul", found, x), one)
    return found


def _erf_inverse(b: OnnxBuilder, x: Value) -> Value:
    """Giles's approximation; in double precision two of Newton's steps from there."""
    one = b.scalar(1, x.dtype)
    w = b.op("Neg", b.op("Log", b.op("Mul", b.op("Sub", one, x), b.op("Add", one, x))))
    middle = _polynomial(b, run(b, "Sub", w, 2.5), _MIDDLE)
    tail = _polynomial(b, run(b, "Sub", b.op("Sqrt", w), 3), _TAIL)
    found = b.op("Mul", where(b, run(b, "Less", w, 5), middle, tail), x)
    for _ in range(2 if x.dtype == "float64" else 0):
        slope = run(b, "Mul", b.op("Exp", b.op("Mul", found, found)), math.sqrt(math.pi) / 2)
        found = b.op("Add", found, b.op("Mul", slope, b.op("Sub", x, erf(b, found))))
    edge = run(b, "Equal", b.op("Abs", x), 1)
    return where(b, edge, run(b, "Mul", x, np.inf), found)


def _logit(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """log(x / (1 - x)), with x no nearer to 0 and 1 than eps, where that is not negative."""
    eps = call.get("eps", None)
    if eps is not None and number(call, "eps") >= 0:
        x = run(b, "Clip", x, number(call, "eps"), 1 - number(call, "eps"))
    return b.op("Log", b.op("Div", x, b.op("Sub", b.scalar(1, x.dtype), x)))


def _moved(b: OnnxBuilder, x: Value, op: str) -> Value:
    """The sum of op(x), op(x + 1) … below the shift."""
    steps = b.constant(np.arange(_SHIFT, dtype=np.float64))
    each = b.op(op, b.op("Add", b.op("Unsqueeze", x, b.ints([-1])), steps))
    return b.op("ReduceSum", each, b.ints([-1]), keepdims=0)


def _reflected(b: OnnxBuilder, x: Value) -> tuple[Value, Value, Value]:
    """Whether x is below 1/2, |x - 1/2| + 1/2, which is 1 - x there, and π times the rest of x to a whole number."""
    low = run(b, "Less", x, 0.5)
    upper = where(b, low, run(b, "Sub", b.scalar(1, x.dtype), x), x)
    return low, upper, run(b, "Mul", b.op("Sub", x, b.op("Round", x)), math.pi)


def _log_gamma(b: OnnxBuilder, given: Value) -> Value:
    """Stirling's series, shifted; log(π / |sin(πx)|) - log Γ(1 - x) on the left."""
    x = b.cast(given, "float64")
    low, upper, angle = _reflected(b, x)
    far = run(b, "Add", upper, _SHIFT)
    inverse = b.op("Reciprocal", far)
    series = b.op("Mul", inverse, _polynomial(b, b.op("Mul", inverse, inverse), _STIRLING))
    main = b.op("Mul", run(b, "Sub", far, 0.5), b.op("Log", far))
    stirling = b.op("Add", run(b, "Add", b.op("Sub", main, far), math.log(2 * math.pi) / 2), series)
    right = b.op("Sub", stirling, _moved(b, upper, "Log"))
    sine = b.op("Log", run(b, "Div", b.scalar(math.pi, "float64"), b.op("Abs", b.op("Sin", angle))))
    found = where(b, low, b.op("Sub", sine, right), right)
    return b.cast(where(b, b.op("IsInf", x), np.inf, found), given.dtype)


def _digamma(b: OnnxBuilder, given: Value) -> Value:
    """log(x) - 1 / 2x - Σ B(2k) / 2k x^2k, shifted; ψ(1 - x) - π / tan(πx) on the left."""
    x = b.cast(given, "float64")
    low, upper, angle = _reflected(b, x)
    far = run(b, "Add", upper, _SHIFT)
    inverse = b.op("Reciprocal", far)
    square = b.op("Mul", inverse, inverse)
    series = b.op("Add", run(b, "Mul", inverse, 0.5), b.op("Mul", square, _polynomial(b, square, _SLOPES)))
    right = b.op("Sub", b.op("Sub", b.op("Log", far), series), _moved(b, upper, "Reciprocal"))
    turn = run(b, "Div", b.scalar(math.pi, "float64"), b.op("Div", b.op("Sin", angle), b.op("Cos", angle)))
    left = b.op("Sub", right, turn)
    pole = b.op("And", run(b, "Less", x, 0), b.op("Equal", x, b.op("Round", x)))
    found = where(b, pole, np.nan, where(b, low, left, right))
    found = where(b, run(b, "Equal", x, 0), b.op("Neg", b.op("Reciprocal", x)), found)
    return b.cast(where(b, b.op("IsInf", x), where(b, low, np.nan, x), found), given.dtype)


def _bessel(order: int, scaled: bool) -> Callable[[OnnxBuilder, Value], Value]:
    """The mean of cos(n t) e^(x cos t) over a full turn, scaled by e^-|x|; far out the series of Hankel."""

    def make(b: OnnxBuilder, given: Value) -> Value:
        x = b.cast(given, "float64")
        size = b.op("Abs", x)
        column = b.op("Unsqueeze", x, b.ints([-1]))
        turned = b.op("Sub", b.op("Mul", column, b.constant(_TURN)), b.op("Unsqueeze", size, b.ints([-1])))
        weighted = b.op("Mul", b.op("Exp", turned), b.constant(np.cos(order * _ANGLES)))
        near = b.op("ReduceMean", weighted, b.ints([-1]), keepdims=0)
        series = _polynomial(b, b.op("Reciprocal", size), hankel(order))
        far = b.op("Div", series, b.op("Sqrt", run(b, "Mul", size, 2 * math.pi)))
        far = b.op("Mul", far, b.op("Sign", x)) if order else far
        found = where(b, run(b, "Greater", size, _FAR), far, near)
        return b.cast(found if scaled else b.op("Mul", found, b.op("Exp", size)), given.dtype)

    return make


def hankel(order: int) -> list[float]:
    """The factors of 1 / x^k in the series of I at infinity."""
    factors = [1.0]
    for at in range(1, 9):
        factors.append(-factors[-1] * (4 * order * order - (2 * at - 1) ** 2) / (8 * at))
    return factors


# -- numpy


def _np_bessel(order: int, scaled: bool) -> Evaluate:
    def evaluate(x: Array) -> Array:
        size = np.abs(x)
        near = np.zeros_like(x)
        for cosine, angle in zip(_TURN, _ANGLES, strict=True):
            near += math.cos(order * angle) * np.exp(x * cosine - size) / _TURN.size
        far = _horner(1 / size, hankel(order)) / np.sqrt(2 * math.pi * size) * (np.sign(x) if order else 1)
        found = np.where(size > _FAR, far, near)
        return np.asarray(found if scaled else found * np.exp(size))

    return _of(evaluate)


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    made = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(made(x), dtype=np.float64)


def _of(function: Callable[[Array], Any]) -> Evaluate:
    return lambda call: np.asarray(function(np.asarray(call.input(0)).astype(np.float64)))


def _horner(x: Array, factors: Sequence[float]) -> Array:
    found = np.full_like(x, factors[-1])
    for one in factors[-2::-1]:
        found = found * x + one
    return found


def np_erf_inverse(x: Array) -> Array:
    """Giles's approximation and two of Newton's steps, by what is missing to 1 in the tails."""
    w = -np.log((1 - x) * (1 + x))
    middle = _horner(w - 2.5, _MIDDLE)
    tail = _horner(np.sqrt(w) - 3, _TAIL)
    found = np.abs(np.where(w < 5, middle, tail) * x)
    missing = 1 - np.abs(x)
    for _ in range(2):
        wrong = _each(math.erfc)(found) - missing
        found = found + wrong * math.sqrt(math.pi) / 2 * np.exp(found * found)
    found = np.where(missing == 0, np.inf, np.where(missing < 0, np.nan, found))
    return np.asarray(np.copysign(found, x))


def _np_log_gamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return x if math.isnan(x) else math.lgamma(x)


def _np_digamma(x: float) -> float:
    if x == 0 or math.isinf(x):
        return -math.copysign(math.inf, x) if x == 0 else x if x > 0 else math.nan
    if math.isnan(x) or (x < 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        return _np_digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    below = 0.0
    while x < _SHIFT:
        below, x = below + 1 / x, x + 1
    square = 1 / (x * x)
    return math.log(x) - 0.5 / x - square * sum(one * square**at for at, one in enumerate(_SLOPES)) - below


def _np_logit(call: Call) -> Array:
    x = np.asarray(call.input(0)).astype(np.float64)
    eps = call.get("eps", None)
    if eps is not None and number(call, "eps") >= 0:
        x = np.clip(x, number(call, "eps"), 1 - number(call, "eps"))
    return np.asarray(np.log(x / (1 - x)))


TO_ONNX: Mapping[str, Lower] = {
    **{name: of_one(_bessel(*form)) for name, form in _BESSEL.items()},
    "Digamma": of_one(_digamma),
    "Erf": named("Erf", erf),
    "Erfc": of_one(_erfc),
    "Erfinv": of_one(_erf_inverse),
    "Lgamma": of_one(_log_gamma),
    "Logit": formula(_logit),
}
EVALUATE: Mapping[str, Evaluate] = {
    **{name: _np_bessel(*form) for name, form in _BESSEL.items()},
    "Digamma": _of(_each(_np_digamma)),
    "Erf": _of(np_erf),
    "Erfc": _of(_each(math.erfc)),
    "Erfinv": _of(np_erf_inverse),
    "Lgamma": _of(_each(_np_log_gamma)),
    "Logit": _np_logit,
}
