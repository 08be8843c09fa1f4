"""Comparison, truth values, and choice by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.kernels import FLOATS, HALVES, run, single, where
from mswb.convert.primitives.operands import arrays, common_dtype, number, tensor, tensors
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]
_FRACTIONS = (*FLOATS, *HALVES)


# -- ONNX


def _compared(op: str) -> Lower:
    return lambda call, b: run(b, op, *tensors(call, b))


def _not_equal(call: Call, b: OnnxBuilder) -> Value:
    return b.op("Not", run(b, "Equal", *tensors(call, b)))


def truth(b: OnnxBuilder, given: Any) -> Value:
    """A tensor or a number as a truth: whether it is not zero."""
    if not isinstance(given, Value):
        return b.scalar(bool(given), "bool")
    return given if given.dtype == "bool" else b.op("Not", run(b, "Equal", given, 0))


def _logical(op: str) -> Lower:
    return lambda call, b: b.op(op, truth(b, call.input(0)), truth(b, call.input(1)))


def _not(call: Call, b: OnnxBuilder) -> Value:
    return b.op("Not", truth(b, call.input(0)))


def _constant_truth(b: OnnxBuilder, like: Value, answer: bool) -> Value:
    """A truth in the shape of a tensor whose data type leaves no other."""
    same = run(b, "Equal", like, like)
    return same if answer else b.op("Not", same)


def _of_fractions(make: Callable[[OnnxBuilder, Value], Value], otherwise: bool) -> Lower:
    """What only fractions can be."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        return make(b, x) if x.dtype in _FRACTIONS else _constant_truth(b, x, otherwise)

    return lower


def _is_nan(b: OnnxBuilder, x: Value) -> Value:
    return run(b, "IsNaN", x)


def _is_inf(b: OnnxBuilder, x: Value) -> Value:
    return run(b, "IsInf", single(b, x))


def _is_negative_inf(b: OnnxBuilder, x: Value) -> Value:
    return run(b, "IsInf", single(b, x), detect_positive=0)


def _is_finite(b: OnnxBuilder, x: Value) -> Value:
    return b.op("Not", b.op("Or", _is_nan(b, x), _is_inf(b, x)))


def _is_close(call: Call, b: OnnxBuilder) -> Value:
    """|x - y| <= atol + rtol |y|; infinities are close to themselves only, NaN to NaN where it is asked for."""
    x, y = tensors(call, b)
    kind = x.dtype if x.dtype == "float64" else "float32"
    one, other = b.cast(x, kind), b.cast(y, kind)
    rtol, atol = number(call, "rtol", 1e-5), number(call, "atol", 1e-8)
    allowed = run(b, "Add", run(b, "Mul", b.op("Abs", other), rtol), atol)
    near = b.op("LessOrEqual", b.op("Abs", b.op("Sub", one, other)), allowed)
    finite = b.op("Not", b.op("Or", b.op("IsInf", one), b.op("IsInf", other)))
    found = b.op("Or", b.op("And", near, finite), b.op("Equal", one, other))
    if call.get("equal_nan", False):
        found = b.op("Or", found, b.op("And", b.op("IsNaN", one), b.op("IsNaN", other)))
    return found


def _approximate(call: Call, b: OnnxBuilder) -> Value:
    """|x - y| < tolerance"""
    x, y = tensors(call, b)
    return run(b, "Less", run(b, "Abs", run(b, "Sub", x, y)), number(call, "tolerance", 1e-5))


def _select(call: Call, b: OnnxBuilder) -> Value:
    condition = truth(b, call.input(0))
    given = [call.input(1), call.input(2)]
    dtype = common_dtype(given)
    yes, no = (b.cast(one, dtype) if isinstance(one, Value) else b.scalar(one, dtype) for one in given)
    return where(b, condition, yes, no)


def _masked_fill(call: Call, b: OnnxBuilder) -> Value:
    x, value = tensor(call, 0), call.get("value")
    filling = b.cast(value, x.dtype) if isinstance(value, Value) else b.scalar(value, x.dtype)
    return where(b, truth(b, call.get("mask")), filling, x)


# -- numpy


def _numpy(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(*arrays(call)))


def _np_logical(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(call.input(0), call.input(1)))


def _np_one(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(np.asarray(call.input(0))))


def _np_is_close(call: Call) -> Array:
    x, y = (one.astype(np.float64) for one in arrays(call))
    rtol, atol = number(call, "rtol", 1e-5), number(call, "atol", 1e-8)
    return np.asarray(np.isclose(x, y, rtol, atol, bool(call.get("equal_nan", False))))


def _np_approximate(call: Call) -> Array:
    x, y = arrays(call)
    return np.asarray(np.abs(x - y) < number(call, "tolerance", 1e-5))


def _np_select(call: Call) -> Array:
    yes, no = arrays(Call(call.op, call.name, call.inputs[1:], call.attributes))
    return np.where(np.asarray(call.input(0)).astype(bool), yes, no)


def _np_masked_fill(call: Call) -> Array:
    x = call.input(0)
    return np.where(np.asarray(call.get("mask")).astype(bool), np.asarray(call.get("value")).astype(x.dtype), x)


_EQUAL = (_compared("Equal"), _numpy(np.equal))
_GREATER_EQUAL = (_compared("GreaterOrEqual"), _numpy(np.greater_equal))
_LESS = (_compared("Less"), _numpy(np.less))
_SELECT = (_select, _np_select)
_MASKED = (_masked_fill, _np_masked_fill)
_AND = (_logical("And"), _np_logical(np.logical_and))
_OR = (_logical("Or"), _np_logical(np.logical_or))
_BOTH: Mapping[str, tuple[Lower, Evaluate]] = {
    "ApproximateEqual": (_approximate, _np_approximate),
    "EqScalar": _EQUAL,
    "Equal": _EQUAL,
    "EqualExt": _EQUAL,
    "Greater": (_compared("Greater"), _numpy(np.greater)),
    "GreaterEqual": _GREATER_EQUAL,
    "GreaterEqualScalar": _GREATER_EQUAL,
    "IsClose": (_is_close, _np_is_close),
    "IsFinite": (_of_fractions(_is_finite, True), _np_one(np.isfinite)),
    "IsInf": (_of_fractions(_is_inf, False), _np_one(np.isinf)),
    "IsNan": (_of_fractions(_is_nan, False), _np_one(np.isnan)),
    "IsNegInf": (_of_fractions(_is_negative_inf, False), _np_one(np.isneginf)),
    "Less": _LESS,
    "LessEqual": (_compared("LessOrEqual"), _numpy(np.less_equal)),
    "LessScalar": _LESS,
    "LogicalAnd": _AND,
    "LogicalNot": (_not, _np_one(np.logical_not)),
    "LogicalOr": _OR,
    "LogicalXor": (_logical("Xor"), _np_logical(np.logical_xor)),
    "MaskedFill": _MASKED,
    "MaskedFillScalar": _MASKED,
    "NotEqual": (_not_equal, _numpy(np.not_equal)),
    "Select": _SELECT,
    "SelectV2": _SELECT,
}
TO_ONNX: Mapping[str, Lower] = {name: lower for name, (lower, _) in _BOTH.items()}
EVALUATE: Mapping[str, Evaluate] = {name: evaluate for name, (_, evaluate) in _BOTH.items()}
