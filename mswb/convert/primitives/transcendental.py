"""Exponentials, logarithms, trigonometric and hyperbolic functions, powers of e and 2, and their inverses.

What ONNX lacks is composed so that no step cancels; double precision, for which onnxruntime has few kernels, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.kernels import formula, run, where
from mswb.convert.primitives.operands import arrays, tensor, tensors
from mswb.convert.program import Call

Made = Callable[[OnnxBuilder, Value], Value]
_LN2, _LN10 = math.log(2), math.log(10)


def floating(b: OnnxBuilder, value: Value) -> Value:
    """What functions of fractions make of integers: float32."""
    return value if value.dtype in ("float16", "bfloat16", "float32", "float64") else b.cast(value, "float32")


def of_one(make: Made) -> Callable[[Call, OnnxBuilder], Value]:
    """An entry of one tensor of fractions, integers taken as float32; half precision is left at the end alone."""
    lower = formula(lambda b, x, call: make(b, x))
    return lambda call, b: lower(Call(call.op, call.name, (floating(b, tensor(call)),), call.attributes), b)


def named(op: str, double: Made | None = None) -> Callable[[Call, OnnxBuilder], Value]:
    """An operator that ONNX has; in double precision by another way, where onnxruntime has no kernel."""
    composed = of_one(double) if double is not None else None

    def lower(call: Call, b: OnnxBuilder) -> Value:
        if composed is not None and tensor(call).dtype == "float64":
            return composed(call, b)
        return run(b, op, floating(b, tensor(call)))

    return lower


# -- compositions


def tan(b: OnnxBuilder, x: Value) -> Value:
    """sin(x) / cos(x)"""
    return b.op("Div", b.op("Sin", x), b.op("Cos", x))


def cosh(b: OnnxBuilder, x: Value) -> Value:
    """e^(|x| - ln 2) + e^(-|x| - ln 2), which overflows no sooner than the result."""
    size = b.op("Abs", x)
    ln2 = b.scalar(_LN2, x.dtype)
    return b.op("Add", b.op("Exp", b.op("Sub", size, ln2)), b.op("Exp", b.op("Sub", b.op("Neg", size), ln2)))


def sinh(b: OnnxBuilder, x: Value) -> Value:
    """tanh(x) * cosh(x)"""
    return b.op("Mul", b.op("Tanh", x), cosh(b, x))


def expm1(b: OnnxBuilder, x: Value) -> Value:
    """tanh(x / 2) * (e^x + 1)"""
    raised = run(b, "Add", b.op("Exp", x), 1)
    return b.op("Mul", b.op("Tanh", run(b, "Mul", x, 0.5)), raised)


def log1p(b: OnnxBuilder, x: Value) -> Value:
    """log(u) * x / (u - 1) with u = 1 + x, which makes up for what 1 + x loses (Kahan)."""
    whole = run(b, "Add", x, 1)
    kept = run(b, "Sub", whole, 1)
    log = b.op("Log", whole)
    mended = where(b, run(b, "Equal", kept, x), log, b.op("Mul", log, b.op("Div", x, kept)))
    return where(b, run(b, "Equal", kept, 0), x, mended)


def atan(b: OnnxBuilder, x: Value) -> Value:
    """Single precision's answer y, and what is missing: tan(d) = (x cos y - sin y) / (cos y + x sin y)."""
    near = b.cast(b.op("Atan", b.cast(x, "float32")), x.dtype)
    sine, cosine = b.op("Sin", near), b.op("Cos", near)
    missing = b.op(
        "Div",
        b.op("Sub", b.op("Mul", x, cosine), sine),
        b.op("Add", cosine, b.op("Mul", x, sine)),
    )
    right_angle = run(b, "Mul", b.op("Sign", x), math.pi / 2)
    return where(b, b.op("IsInf", x), right_angle, b.op("Add", near, missing))


def asin(b: OnnxBuilder, x: Value) -> Value:
    """atan(x / sqrt((1 - x)(1 + x)))"""
    one = b.scalar(1, x.dtype)
    return atan(b, b.op("Div", x, b.op("Sqrt", b.op("Mul", b.op("Sub", one, x), b.op("Add", one, x)))))


def acos(b: OnnxBuilder, x: Value) -> Value:
    """A right angle less asin(x)"""
    return b.op("Sub", b.scalar(math.pi / 2, x.dtype), asin(b, x))


def atanh(b: OnnxBuilder, x: Value) -> Value:
    """log1p(2x / (1 - x)) / 2"""
    twice = b.op("Div", b.op("Add", x, x), b.op("Sub", b.scalar(1, x.dtype), x))
    return run(b, "Mul", log1p(b, twice), 0.5)


def asinh(b: OnnxBuilder, x: Value) -> Value:
    """sign(x) log1p(|x| + x² / (1 + sqrt(1 + x²))); of a size whose square is lost, log(|x|) + log(2)."""
    size = b.op("Abs", x)
    square = b.op("Mul", x, x)
    root = b.op("Sqrt", run(b, "Add", square, 1))
    near = log1p(b, b.op("Add", size, b.op("Div", square, run(b, "Add", root, 1))))
    far = run(b, "Add", b.op("Log", size), _LN2)
    return b.op("Mul", b.op("Sign", x), where(b, run(b, "Greater", size, 1e18), far, near))


def acosh(b: OnnxBuilder, x: Value) -> Value:
    """log(x + sqrt(x - 1) sqrt(x + 1)); of a size whose square is lost, log(x) + log(2)."""
    root = b.op("Mul", b.op("Sqrt", run(b, "Sub", x, 1)), b.op("Sqrt", run(b, "Add", x, 1)))
    far = run(b, "Add", b.op("Log", x), _LN2)
    return where(b, run(b, "Greater", x, 1e18), far, b.op("Log", b.op("Add", x, root)))


def _exp2(b: OnnxBuilder, x: Value) -> Value:
    """Pow is exact at whole numbers."""
    return b.op("Pow", b.scalar(2, x.dtype), x)


def _log_by(number: float) -> Made:
    return lambda b, x: run(b, "Div", b.op("Log", x), number)


def _sinc(b: OnnxBuilder, x: Value) -> Value:
    """sin(πx) / πx, and 1 at zero."""
    turned = run(b, "Mul", x, math.pi)
    return where(b, run(b, "Equal", x, 0), 1.0, b.op("Div", b.op("Sin", turned), turned))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)  # type: ignore[no-untyped-call]
"""Of the quadrature by Gauss, exact in double precision for the error function up to 6, where it is 1."""


def erf(b: OnnxBuilder, x: Value) -> Value:
    """The error function; in double precision 2x / sqrt(π) times the integral of e^-(xs)² over s from 0 to 1."""
    if x.dtype != "float64":
        return run(b, "Erf", x)
    steps = b.op("Mul", b.op("Unsqueeze", x, b.ints([-1])), b.constant((_NODES + 1) / 2))
    mean = b.op("MatMul", b.op("Exp", b.op("Neg", b.op("Mul", steps, steps))), b.constant(_WEIGHTS / 2))
    near = b.op("Mul", run(b, "Mul", x, 2 / math.sqrt(math.pi)), mean)
    return where(b, run(b, "Greater", b.op("Abs", x), 6), b.op("Sign", x), near)


def atan2(b: OnnxBuilder, y: Value, x: Value) -> Value:
    """The angle of (x, y): atan(y / x), by quadrants; at the origin by the signs of the zeros."""
    two = (y, x)
    flat = run(b, "Div", y, x)
    inside = atan(b, flat) if y.dtype == "float64" else b.op("Atan", flat)
    same = b.op("And", *(run(b, "Equal", b.op("Abs", one), np.inf) for one in two))
    inside = where(b, same, _signed(b, x, _signed(b, y, math.pi / 4)), inside)
    inside = where(b, b.op("And", *(run(b, "Equal", one, 0) for one in two)), _signed_zero(b, y), inside)
    left = b.op("Add", inside, _signed(b, y, math.pi))
    return where(b, _negative(b, x), left, inside)


def _negative(b: OnnxBuilder, x: Value) -> Value:
    """Whether the sign bit is set, which -0 has."""
    return b.op("Or", run(b, "Less", x, 0), run(b, "Less", b.op("Div", b.scalar(1, x.dtype), x), 0))


def _signed(b: OnnxBuilder, sign: Value, size: Value | float) -> Value:
    """A number with the sign of another."""
    given = size if isinstance(size, Value) else b.scalar(size, sign.dtype)
    return where(b, _negative(b, sign), b.op("Neg", given), given)


def _signed_zero(b: OnnxBuilder, sign: Value) -> Value:
    return _signed(b, sign, 0.0)


def _atan2(call: Call, b: OnnxBuilder) -> Value:
    pair = [floating(b, one) for one in tensors(call, b)]
    wide = [b.cast(one, "float32") if one.dtype in ("float16", "bfloat16") else one for one in pair]
    return b.cast(atan2(b, *wide), pair[0].dtype)


def log_sum(b: OnnxBuilder, first: Value, second: Value, base: float = math.e) -> Value:
    """log(base^a + base^b) as the larger one and log1p of what the other adds."""
    scale = math.log(base)
    larger, gap = b.op("Max", first, second), b.op("Abs", b.op("Sub", first, second))
    added = log1p(b, b.op("Exp", b.op("Neg", gap if base == math.e else run(b, "Mul", gap, scale))))
    found = b.op("Add", larger, added if base == math.e else run(b, "Div", added, scale))
    return where(b, run(b, "Equal", first, second), run(b, "Add", first, math.log(2) / scale), found)


def _log_add(base: float) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        pair = [floating(b, one) for one in tensors(call, b)]
        wide = [b.cast(one, "float32") if one.dtype in ("float16", "bfloat16") else one for one in pair]
        return b.cast(log_sum(b, wide[0], wide[1], base), pair[0].dtype)

    return lower


def _hypot(call: Call, b: OnnxBuilder) -> Value:
    """sqrt(x² + y²), scaled by the larger one."""
    pair = [floating(b, one) for one in tensors(call, b)]
    wide = [b.op("Abs", b.cast(one, "float32") if one.dtype in ("float16", "bfloat16") else one) for one in pair]
    larger, smaller = b.op("Max", *wide), b.op("Min", *wide)
    part = b.op("Div", smaller, larger)
    length = b.op("Mul", larger, b.op("Sqrt", run(b, "Add", b.op("Mul", part, part), 1)))
    length = where(b, run(b, "Equal", larger, 0), larger, length)
    endless = b.op("Or", *(b.op("IsInf", one) for one in wide))
    return b.cast(where(b, endless, np.inf, length), pair[0].dtype)


# -- in numpy


def _double(function: Callable[..., Any]) -> Callable[[Call], Array]:
    return lambda call: np.asarray(function(np.asarray(call.input(0)).astype(np.float64)))


def _doubles(function: Callable[..., Any]) -> Callable[[Call], Array]:
    return lambda call: np.asarray(function(*(one.astype(np.float64) for one in arrays(call))))


_SHARED: Mapping[str, tuple[str, Made | None, Callable[..., Any]]] = {
    "ACos": ("Acos", acos, np.arccos),
    "Acosh": ("Acosh", acosh, np.arccosh),
    "Asin": ("Asin", asin, np.arcsin),
    "Asinh": ("Asinh", asinh, np.arcsinh),
    "Atan": ("Atan", atan, np.arctan),
    "Atanh": ("Atanh", atanh, np.arctanh),
    "Cos": ("Cos", None, np.cos),
    "Cosh": ("Cosh", cosh, np.cosh),
    "Exp": ("Exp", None, np.exp),
    "Log": ("Log", None, np.log),
    "Sin": ("Sin", None, np.sin),
    "Sinh": ("Sinh", sinh, np.sinh),
    "Tan": ("Tan", tan, np.tan),
    "Tanh": ("Tanh", None, np.tanh),
}
"""By primitive: ONNX's operator, the way in double precision, numpy's function."""
_COMPOSED: Mapping[str, tuple[Made, Callable[..., Any]]] = {
    "Exp2": (_exp2, np.exp2),
    "Expm1": (expm1, np.expm1),
    "Log10": (_log_by(_LN10), np.log10),
    "Log1p": (log1p, np.log1p),
    "Log2": (_log_by(_LN2), np.log2),
    "Sinc": (_sinc, np.sinc),
}
_TWINS: Mapping[str, str] = {
    "AcosExt": "ACos", "AcoshExt": "Acosh", "AsinExt": "Asin", "AsinhExt": "Asinh", "AtanExt": "Atan",
}  # fmt: skip
"""Names that mint and methods of tensors use."""

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **{name: named(op, double) for name, (op, double, _) in _SHARED.items()},
    **{name: named(*_SHARED[same][:2]) for name, same in _TWINS.items()},
    **{name: of_one(make) for name, (make, _) in _COMPOSED.items()},
    "Atan2": _atan2,
    "Atan2Ext": _atan2,
    "Hypot": _hypot,
    "LogAddExp": _log_add(math.e),
    "LogAddExp2": _log_add(2.0),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **{name: _double(function) for name, (_, _, function) in _SHARED.items()},
    **{name: _double(_SHARED[same][2]) for name, same in _TWINS.items()},
    **{name: _double(function) for name, (_, function) in _COMPOSED.items()},
    "Atan2": _doubles(np.arctan2),
    "Atan2Ext": _doubles(np.arctan2),
    "Hypot": _doubles(np.hypot),
    "LogAddExp": _doubles(np.logaddexp),
    "LogAddExp2": _doubles(np.logaddexp2),
}
