"""Activations. Formulas are those of MindSpore's documentation, in at least single precision; no step overflows.

Operators of ONNX are used where they say the same and onnxruntime runs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import KERNELS, SINGLE, formula, run, single, where
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.transcendental import erf, expm1, log1p
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_TANH_IN = math.sqrt(2 / math.pi)
_CUBE = 0.044715
"""Of the tanh form of GELU (Hendrycks and Gimpel)."""


# -- ONNX


def _direct(op: str, composed: Callable[[OnnxBuilder, Value, Call], Value], **arguments: Any) -> Lower:
    """An operator of ONNX, with arguments by their names there; composed in double precision."""
    by_formula = formula(composed)

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        if x.dtype not in SINGLE:
            return by_formula(call, b)
        given = {name: float(one(call)) if callable(one) else one for name, one in arguments.items()}
        return run(b, op, x, **given)

    return lower


def _relu(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.dtype == "bool" or x.dtype.startswith("u"):
        return x
    return run(b, "Relu", x) if x.dtype in KERNELS["Relu"] else run(b, "Max", x, 0)


def clip(b: OnnxBuilder, x: Value, low: float, high: float) -> Value:
    """No less and no more than these."""
    return run(b, "Clip", x, low, high)


def sigmoid(b: OnnxBuilder, x: Value) -> Value:
    """The logistic function."""
    return run(b, "Sigmoid", x)


def _softplus(b: OnnxBuilder, x: Value) -> Value:
    """log(1 + e^x) as max(x, 0) + log1p(e^-|x|)."""
    return b.op("Add", run(b, "Max", x, 0), log1p(b, b.op("Exp", b.op("Neg", b.op("Abs", x)))))


def softplus(b: OnnxBuilder, x: Value) -> Value:
    """log(1 + e^x)"""
    return b.op("Softplus", x) if x.dtype == "float32" else _softplus(b, x)


def _below(b: OnnxBuilder, x: Value, below: Value) -> Value:
    """x above zero, else another."""
    return where(b, run(b, "Greater", x, 0), x, below)


def _elu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return _below(b, x, run(b, "Mul", expm1(b, x), number(call, "alpha", 1.0)))


def _celu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """max(0, x) + min(0, alpha (e^(x / alpha) - 1))"""
    alpha = number(call, "alpha", 1.0)
    below = run(b, "Mul", expm1(b, run(b, "Div", x, alpha)), alpha)
    return b.op("Add", run(b, "Max", x, 0), run(b, "Min", below, 0))


def _selu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return run(b, "Mul", _below(b, x, run(b, "Mul", expm1(b, x), SELU_ALPHA)), SELU_SCALE)


def _silu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Mul", x, sigmoid(b, x))


def _mish(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Mul", x, b.op("Tanh", softplus(b, x)))


def _softsign(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Div", x, run(b, "Add", b.op("Abs", x), 1))


def _log_sigmoid(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Neg", softplus(b, b.op("Neg", x)))


def _with_buffer(entry: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that gives, where a device wants it, a second result, which only the gradient reads."""

    def both(call: Call, *builder: OnnxBuilder) -> Any:
        found = entry(call, *builder)
        several = isinstance(call.result, tuple) and isinstance(call.result[0], tuple)
        return (found, None) if several else found

    return both


def _hard(b: OnnxBuilder, x: Value) -> Value:
    """min(max(x + 3, 0), 6) / 6"""
    return run(b, "Div", clip(b, run(b, "Add", x, 3), 0, 6), 6)


def _hard_swish(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return where(b, run(b, "Less", x, -3), 0, b.op("Mul", x, _hard(b, x)))


def _tanh_gelu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³)))"""
    cube = run(b, "Mul", b.op("Mul", b.op("Mul", x, x), x), _CUBE)
    inner = b.op("Tanh", run(b, "Mul", b.op("Add", x, cube), _TANH_IN))
    return b.op("Mul", run(b, "Mul", x, 0.5), run(b, "Add", inner, 1))


def _erf_gelu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """x / 2 (1 + erf(x / sqrt(2)))"""
    inner = erf(b, run(b, "Mul", x, math.sqrt(0.5)))
    return b.op("Mul", run(b, "Mul", x, 0.5), run(b, "Add", inner, 1))


def is_tanh(call: Call) -> bool:
    """Whether a GELU is the tanh form: a word, or 1."""
    return call.get("approximate", "none") in (1, "tanh")


def _gelu_ext(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return _tanh_gelu(b, x, call) if is_tanh(call) else _erf_gelu(b, x, call)


def _fast_gelu(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """x e^(0.851 (x - |x|)) / (1 + e^(-1.702 |x|))"""
    size = b.op("Abs", x)
    raised = b.op("Exp", run(b, "Mul", b.op("Sub", x, size), 0.851))
    below = run(b, "Add", b.op("Exp", run(b, "Mul", size, -1.702)), 1)
    return b.op("Div", b.op("Mul", x, raised), below)


def _soft_shrink(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """x - lambd above lambd, x + lambd below -lambd, else zero."""
    limit = number(call, "lambd", 0.5)
    under = where(b, run(b, "Less", x, -limit), run(b, "Add", x, limit), 0)
    return where(b, run(b, "Greater", x, limit), run(b, "Sub", x, limit), under)


def _hard_shrink(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """Zero from -lambd to lambd."""
    limit = number(call, "lambd", 0.5)
    inside = b.op("And", run(b, "GreaterOrEqual", x, -limit), run(b, "LessOrEqual", x, limit))
    return where(b, inside, 0, x)


def _softplus_ext(b: OnnxBuilder, x: Value, call: Call) -> Value:
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    beta, threshold = number(call, "beta", 1), number(call, "threshold", 20)
    scaled = run(b, "Mul", x, beta)
    return where(b, run(b, "Greater", scaled, threshold), x, run(b, "Div", softplus(b, scaled), beta))


def _leaky(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return _below(b, x, run(b, "Mul", x, number(call, "negative_slope", 0.01)))


def _threshold(call: Call, b: OnnxBuilder) -> Value:
    """x above the threshold, else the value."""
    x = tensor(call)
    threshold, value = number(call, "threshold"), number(call, "value")
    return where(b, run(b, "Greater", x, threshold), x, value)


def _hard_tanh(call: Call, b: OnnxBuilder) -> Value:
    return clip(b, tensor(call), number(call, "min_val", -1), number(call, "max_val", 1))


def _prelu(call: Call, b: OnnxBuilder) -> Value:
    """The weight is one number, or one a channel."""
    x, weight = tensor(call, 0), tensor(call, 1)
    count = weight.shape[0] if weight.shape else 1 if weight.shape == () else None
    if count != 1 and x.rank is None:
        raise Refused("the rank of its input is only known when the model runs")
    slope = b.reshape(weight, [-1] + [1] * max((x.rank or 0) - 2, 0) if count != 1 else [1] * (x.rank or 0))
    if x.dtype in SINGLE and x.rank is not None:
        return b.op("PRelu", x, slope)
    return where(b, run(b, "Less", x, 0), run(b, "Mul", x, slope), x)


def _halves(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    x = tensor(call)
    axis = call.integers(_axis_name(call), -1)[0]
    one, other = b.ops("Split", single(b, x), count=2, axis=axis, num_outputs=2)
    return one, other


def _axis_name(call: Call) -> str:
    return "axis" if call.op == "GLU" else "dim"


def _glu(call: Call, b: OnnxBuilder) -> Value:
    """The first half times the logistic function of the second."""
    one, other = _halves(call, b)
    return b.cast(b.op("Mul", one, sigmoid(b, other)), tensor(call).dtype)


def _swiglu(call: Call, b: OnnxBuilder) -> Value:
    """The first half times its logistic function, times the second."""
    one, other = _halves(call, b)
    return b.cast(b.op("Mul", b.op("Mul", one, sigmoid(b, one)), other), tensor(call).dtype)


# -- numpy


def _of_any(function: Callable[[Array, Call], Any]) -> Evaluate:
    return lambda call: np.asarray(function(np.asarray(call.input(0)), call))


def _of(function: Callable[[Array, Call], Any]) -> Evaluate:
    def evaluate(x: Array, call: Call) -> Any:
        if x.dtype.kind != "f":
            raise Refused(f"of {x.dtype.name} MindSpore rounds it in the middle")
        return function(x, call)

    return _of_any(evaluate)


def np_sigmoid(x: Array) -> Array:
    """The logistic function without overflow."""
    small = np.exp(-np.abs(x.astype(np.float64)))
    return np.asarray(np.where(x >= 0, 1 / (1 + small), small / (1 + small)) + 0 * np.where(np.isnan(x), x, 0))


def np_softplus(x: Array) -> Array:
    """log(1 + e^x)"""
    return np.asarray(np.logaddexp(x, 0.0))


def np_erf(x: Array) -> Array:
    """The error function, element by element, as C has it."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=np.float64)


def _np_hard(x: Array) -> Array:
    return np.asarray(np.clip(x + 3, 0, 6) / 6)


def _np_exponential(x: Array, alpha: float) -> Array:
    return np.asarray(np.where(x > 0, x, alpha * np.expm1(x)))


def _np_celu(x: Array, call: Call) -> Array:
    alpha = number(call, "alpha", 1.0)
    return np.asarray(np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0))


def _np_tanh_gelu(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(_TANH_IN * (x + _CUBE * x * x * x))))


def _np_gelu_ext(x: Array, call: Call) -> Array:
    return _np_tanh_gelu(x) if is_tanh(call) else np.asarray(x / 2 * (1 + np_erf(x * math.sqrt(0.5))))


def _np_fast_gelu(x: Array, call: Call) -> Array:
    size = np.abs(x)
    return np.asarray(x * np.exp(0.851 * (x - size)) / (1 + np.exp(-1.702 * size)))


def _np_soft_shrink(x: Array, call: Call) -> Array:
    limit = number(call, "lambd", 0.5)
    return np.asarray(np.where(x > limit, x - limit, np.where(x < -limit, x + limit, 0)).astype(x.dtype))


def _np_hard_shrink(x: Array, call: Call) -> Array:
    limit = number(call, "lambd", 0.5)
    return np.asarray(np.where((x >= -limit) & (x <= limit), 0, x).astype(x.dtype))


def _np_softplus_ext(x: Array, call: Call) -> Array:
    beta, threshold = number(call, "beta", 1), number(call, "threshold", 20)
    return np.asarray(np.where(x * beta > threshold, x, np_softplus(x * beta) / beta))


def _np_leaky(x: Array, call: Call) -> Array:
    return np.asarray(np.where(x > 0, x, x * number(call, "negative_slope", 0.01)))


def _np_threshold(x: Array, call: Call) -> Array:
    return np.asarray(np.where(x > number(call, "threshold"), x, number(call, "value")).astype(x.dtype))


def _np_clip(x: Array, low: float, high: float) -> Array:
    return np.asarray(np.minimum(np.maximum(x, np.asarray(low, x.dtype)), np.asarray(high, x.dtype)))


def _np_prelu(call: Call) -> Array:
    x, weight = call.input(0), np.asarray(call.input(1)).reshape(-1)
    slope = weight.reshape([-1] + [1] * max(x.ndim - 2, 0)) if weight.size != 1 else weight.reshape([1] * x.ndim)
    return np.asarray(np.where(x < 0, x * slope, x))


def _np_halves(call: Call) -> tuple[Array, Array]:
    one, other = np.split(call.input(0), 2, call.integers(_axis_name(call), -1)[0])
    return one, other


def _np_glu(call: Call) -> Array:
    one, other = _np_halves(call)
    return np.asarray(one * np_sigmoid(other))


def _np_swiglu(call: Call) -> Array:
    one, other = _np_halves(call)
    return np.asarray(one * np_sigmoid(one) * other)


def _alpha(call: Call) -> float:
    return float(number(call, "alpha", 1.0))


_ELU = (_direct("Elu", _elu, alpha=_alpha), _of(lambda x, call: _np_exponential(x, _alpha(call))))
_SELU = (
    _direct("Selu", _selu, alpha=SELU_ALPHA, gamma=SELU_SCALE),
    _of(lambda x, call: SELU_SCALE * _np_exponential(x, SELU_ALPHA)),
)
_GELU = (_direct("Gelu", _tanh_gelu, approximate="tanh"), _of(lambda x, call: _np_tanh_gelu(x)))
_RELU = (_relu, _of_any(lambda x, call: np.maximum(x, np.zeros((), x.dtype))))
_MISH = (formula(_mish), _of(lambda x, call: x * np.tanh(np_softplus(x))))
_BOTH: Mapping[str, tuple[Lower, Evaluate]] = {
    "CeLU": (formula(_celu), _of(_np_celu)),
    "Elu": _ELU,
    "EluExt": _ELU,
    **dict.fromkeys(["FastGeLU", "FastGelu"], (formula(_fast_gelu), _of(_np_fast_gelu))),
    "GLU": (_glu, _np_glu),
    "GeLU": _GELU,
    "Gelu": _GELU,
    "GeluExt": (formula(_gelu_ext), _of(_np_gelu_ext)),
    "HShrink": (formula(_hard_shrink), _of(_np_hard_shrink)),
    "HSigmoid": (formula(lambda b, x, call: _hard(b, x)), _of(lambda x, call: _np_hard(x))),
    "HSwish": (formula(_hard_swish), _of(lambda x, call: np.where(x < -3, 0, x * _np_hard(x)))),
    "Hardtanh": (_hard_tanh, _of_any(lambda x, c: _np_clip(x, number(c, "min_val", -1), number(c, "max_val", 1)))),
    "LeakyReLUExt": (formula(_leaky), _of(_np_leaky)),
    "LogSigmoid": (_with_buffer(formula(_log_sigmoid)), _with_buffer(_of(lambda x, call: -np_softplus(-x)))),
    "Mish": _MISH,
    "MishExt": _MISH,
    "NpuGelu": (formula(_gelu_ext), _of(_np_gelu_ext)),
    "PReLU": (_prelu, _np_prelu),
    "ReLU": _RELU,
    "ReLUV3": _RELU,
    "ReLU6": (lambda call, b: clip(b, tensor(call), 0, 6), _of_any(lambda x, call: _np_clip(x, 0, 6))),
    "SeLU": _SELU,
    "SeLUExt": _SELU,
    "SiLU": (formula(_silu), _of(lambda x, call: x * np_sigmoid(x))),
    "Sigmoid": (lambda call, b: sigmoid(b, tensor(call)), _of(lambda x, call: np_sigmoid(x))),
    "SoftShrink": (formula(_soft_shrink), _of(_np_soft_shrink)),
    "Softplus": (formula(lambda b, x, call: softplus(b, x)), _of(lambda x, call: np_softplus(x))),
    "SoftplusExt": (formula(_softplus_ext), _of(_np_softplus_ext)),
    "Softsign": (_direct("Softsign", _softsign), _of(lambda x, call: x / (1 + np.abs(x)))),
    "Swiglu": (_swiglu, _np_swiglu),
    "Threshold": (_threshold, _of_any(_np_threshold)),
}
TO_ONNX: Mapping[str, Lower] = {name: lower for name, (lower, _) in _BOTH.items()}
EVALUATE: Mapping[str, Evaluate] = {name: evaluate for name, (_, evaluate) in _BOTH.items()}
