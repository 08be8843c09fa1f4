"""Sums, products, powers, extremes and rounding, element by element; with a number in place of a tensor, too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import FLOATS, INTEGERS, UNSIGNED, formula, run, single, where
from mswb.convert.primitives.operands import arrays, number, tensor, tensors
from mswb.convert.primitives.transcendental import named, of_one
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]


def _two(op: str) -> Lower:
    """An operator that ONNX has under a name of its own; truths are counted as 0 and 1, as MindSpore does."""
    return lambda call, b: run(b, op, *tensors(call, b))


def _numpy(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(*arrays(call)))


def _of(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(np.asarray(call.input(0))))


def _of_fractions(function: Any) -> Evaluate:
    """Integers stay what they are."""
    return _of(lambda x: function(x) if x.dtype.kind == "f" else x)


# -- sums and products


def _times(b: OnnxBuilder, value: Value, factor: Any) -> Value:
    """A tensor times a number or another tensor."""
    if isinstance(factor, Value):
        return run(b, "Mul", value, b.cast(factor, value.dtype))
    return value if factor == 1 else run(b, "Mul", value, factor)


def _scaled(op: str, op_of_truths: str = "") -> Lower:
    """The first, and alpha times the second, which may be a number."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        first, second = tensors(call, b)
        alpha = call.get("alpha", 1)
        if first.dtype == "bool":
            if not op_of_truths or not alpha:
                raise Refused("it is arithmetic of truths")
            return b.op(op_of_truths, first, second)
        return run(b, op, first, _times(b, second, alpha))

    return lower


def _scaled_numpy(function: Any) -> Evaluate:
    def evaluate(call: Call) -> Array:
        first, second = arrays(call)
        alpha = call.get("alpha", 1)
        if first.dtype == bool:
            if function is not np.add:
                raise Refused("it is arithmetic of truths")
            return np.asarray(np.logical_or(first, np.logical_and(second, alpha)))
        return np.asarray(function(first, second * np.asarray(alpha).astype(second.dtype)))

    return evaluate


def _parts(call: Call) -> Sequence[Any]:
    given = call.input(0)
    return given if isinstance(given, tuple) else call.inputs


def _sum_of_all(call: Call, b: OnnxBuilder) -> Value:
    parts = _parts(call)
    if not all(isinstance(one, Value) for one in parts):
        raise Refused("it adds what is no tensor")
    total: Value = functools.reduce(lambda one, other: run(b, "Add", one, other), parts)
    return total


def _all_added(call: Call) -> Array:
    return np.asarray(functools.reduce(np.add, _parts(call)))


def _cast_all(call: Call, b: OnnxBuilder, count: int) -> list[Value]:
    """The first inputs, fractions in at least single precision."""
    return [single(b, one) for one in tensors(call, b, count)]


def _lerp(call: Call, b: OnnxBuilder) -> Value:
    """start + weight * (end - start)"""
    start, end, weight = _cast_all(call, b, 3)
    moved = b.op("Mul", weight, b.op("Sub", end, start))
    return b.cast(b.op("Add", start, moved), tensor(call).dtype)


def _lerp_numpy(call: Call) -> Array:
    start, end, weight = arrays(call, 3)
    return np.asarray(start + weight * (end - start))


def _add_of(op: str) -> Lower:
    """input + value * (tensor1 op tensor2)"""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        first, one, other = _cast_all(call, b, 3)
        value = call.get("value", 1)
        part = run(b, op, one, other)
        return b.cast(run(b, "Add", first, _times(b, part, value)), tensor(call).dtype)

    return lower


def _add_of_numpy(function: Any) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        first, one, other = arrays(call, 3)
        factor = np.asarray(call.get("value", 1)).astype(first.dtype)
        return np.asarray(first + (factor * function(one, other)).astype(first.dtype))

    return evaluate


def _bias(call: Call, b: OnnxBuilder) -> Value:
    x, bias = tensor(call, 0), tensor(call, 1)
    if x.rank is None:
        raise Refused("the rank of what a bias is added to is only known when the model runs")
    shape = _along(call, x.rank)
    return run(b, "Add", x, bias if len(shape) == bias.rank == 1 else b.reshape(bias, shape))


def _bias_numpy(call: Call) -> Array:
    x, bias = call.input(0), call.input(1)
    return np.asarray(x + bias.reshape(_along(call, x.ndim)))


def _along(call: Call, rank: int) -> list[int]:
    """The shape that lays a bias along the channels; data_format is a word, or 0 and 1 for NCHW and NHWC."""
    last = call.get("data_format", call.attributes.get("format", "NCHW")) in (1, "NHWC")
    return [-1] if last or rank <= 2 else [-1] + [1] * (rank - 2)


def _square(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return run(b, "Mul", x, x)


def _squared_difference(call: Call, b: OnnxBuilder) -> Value:
    gap = run(b, "Sub", *tensors(call, b))
    return run(b, "Mul", gap, gap)


def _gap_squared(call: Call) -> Array:
    one, other = arrays(call)
    return np.asarray((one - other) * (one - other))


# -- one tensor


def _unary(op: str) -> Lower:
    return lambda call, b: run(b, op, tensor(call))


def _neg(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return run(b, "Sub", b.scalar(0, x.dtype), x) if x.dtype in UNSIGNED else run(b, "Neg", x)


def _unless(dtypes: Sequence[str], lower: Lower) -> Lower:
    """The entry, but the input itself where it has one of these data types."""
    return lambda call, b: tensor(call) if tensor(call).dtype in dtypes else lower(call, b)


def _round(call: Call, b: OnnxBuilder) -> Value:
    """Half to even, to this many decimals."""
    x, decimals = tensor(call), number(call, "decimals", 0)
    if x.dtype in INTEGERS:
        if decimals >= 0:
            return x
        raise Refused("integers are rounded to tens")
    if not decimals:
        return run(b, "Round", x)
    wide, scale = single(b, x), 10.0 ** abs(decimals)
    up, down = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return b.cast(run(b, down, b.op("Round", run(b, up, wide, scale)), scale), x.dtype)


def _rounded(call: Call) -> Array:
    x, decimals = call.input(0), number(call, "decimals", 0)
    return np.asarray(np.round(x, decimals))


def _trunc(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Mul", b.op("Sign", x), b.op("Floor", b.op("Abs", x)))


def _frac(b: OnnxBuilder, x: Value, call: Call) -> Value:
    return b.op("Sub", x, _trunc(b, x, call))


def _rsqrt(b: OnnxBuilder, x: Value) -> Value:
    return b.op("Reciprocal", b.op("Sqrt", x))


# -- powers


def _pow(call: Call, b: OnnxBuilder) -> Value:
    """A power; of integers by way of doubles, as MindSpore does."""
    base, exponent = tensors(call, b)
    return run(b, "Pow", base, exponent)


def _power(call: Call) -> Array:
    """Of integers the power, cut; where it does not fit what a processor makes of such a double: the lowest integer."""
    base, exponent = arrays(call)
    if base.dtype.kind == "f":
        return np.asarray(np.power(base, exponent))
    wide = np.iinfo(np.int32 if base.dtype.itemsize < 4 or base.dtype == np.int32 else np.int64)
    double = np.power(base.astype(np.float64), exponent.astype(np.float64))
    fits = np.abs(double) < -float(wide.min)
    whole = np.power(base, np.where(exponent < 0, 0, exponent).astype(base.dtype))
    cut = np.where(exponent < 0, np.trunc(np.where(fits, double, 0)).astype(base.dtype), whole)
    lowest = np.array(0 if base.dtype.kind == "u" else wide.min).astype(base.dtype)
    return np.asarray(np.where(fits, cut, lowest))


# -- extremes and limits


def _fmax(op: str) -> Lower:
    """The larger or smaller one; NaN where both are."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        one, other = tensors(call, b)
        if one.dtype in INTEGERS:
            return run(b, op, one, other)
        mended = where(b, run(b, "IsNaN", other), one, run(b, op, one, other))
        return where(b, run(b, "IsNaN", one), other, mended)

    return lower


def _limit(b: OnnxBuilder, op: str, value: Value, limit: Any) -> Value:
    if limit is None:
        return value
    return run(b, op, value, b.cast(limit, value.dtype) if isinstance(limit, Value) else limit)


def _clamp(call: Call, b: OnnxBuilder) -> Value:
    """Where the lower limit is above the upper one, the upper wins; fractions as limits make integers float32."""
    limits = [call.get(name, None) for name in ("min", "max")]
    x = tensor(call)
    if any(isinstance(one, float) for one in limits) and x.dtype in INTEGERS:
        x = b.cast(x, "float32")
    low, high = limits
    if all(isinstance(one, (int, float)) for one in limits) and low <= high:
        return run(b, "Clip", x, low, high)
    return _limit(b, "Min", _limit(b, "Max", x, low), high)


def _clamped(call: Call) -> Array:
    found = call.input(0)
    limits = [call.get(name, None) for name in ("min", "max")]
    if found.dtype.kind in "iu" and any(isinstance(one, float) for one in limits):
        found = found.astype(np.float64)
    low, high = (None if one is None else np.asarray(one).astype(found.dtype) for one in limits)
    found = found if low is None else np.maximum(found, low)
    return np.asarray(found if high is None else np.minimum(found, high))


def _heaviside(call: Call, b: OnnxBuilder) -> Value:
    """0 below zero, 1 above, and the second at zero."""
    x, values = tensors(call, b)
    step = b.cast(run(b, "Greater", x, 0), x.dtype)
    return where(b, run(b, "Equal", x, 0), values, step)


def _step(call: Call) -> Array:
    x, values = arrays(call)
    return np.where(x == 0, values, (x > 0).astype(x.dtype))


def _nan_to_num(call: Call, b: OnnxBuilder) -> Value:
    """NaN and the infinities as numbers; by default zero and the largest that the data type holds."""
    x = tensor(call)
    if x.dtype in (*INTEGERS, "bool"):
        return x
    largest = largest_of(x.dtype)
    made = where(b, run(b, "IsNaN", x), _or(call, "nan", 0.0), x)
    positive, negative = (
        b.op("IsInf", single(b, x), detect_negative=0), b.op("IsInf", single(b, x), detect_positive=0)
    )  # fmt: skip
    made = where(b, positive, _or(call, "posinf", largest), made)
    return where(b, negative, _or(call, "neginf", -largest), made)


def _or(call: Call, name: str, default: float) -> float:
    found = call.get(name, None)
    return default if found is None else float(found)


def largest_of(dtype: str) -> float:
    """The largest number of a data type of fractions."""
    return float(np.finfo(dtype).max) if dtype != "bfloat16" else 255 * 2.0**120


def _no_nan(call: Call) -> Array:
    x = call.input(0)
    noted = call.result[0] if isinstance(call.result, tuple) and call.result else ""
    largest = largest_of(noted if noted in FLOATS else "float32")
    if x.dtype.kind != "f":
        return np.asarray(x)
    return np.asarray(
        np.nan_to_num(
            x, nan=_or(call, "nan", 0.0), posinf=_or(call, "posinf", largest), neginf=_or(call, "neginf", -largest)
        )
    )


_ADD, _SUB, _MUL = (_two("Add"), _numpy(np.add)), (_two("Sub"), _numpy(np.subtract)), (_two("Mul"), _numpy(np.multiply))
_SUM_OF_ALL = (_sum_of_all, _all_added)
_ADD_SCALED = (_scaled("Add", "Or"), _scaled_numpy(np.add))
_SUB_SCALED = (_scaled("Sub"), _scaled_numpy(np.subtract))
_ADD_PRODUCT = (_add_of("Mul"), _add_of_numpy(np.multiply))
_ADD_QUOTIENT = (_add_of("Div"), _add_of_numpy(np.true_divide))
_POW = (_pow, _power)
_CLAMP = (_clamp, _clamped)
_LERP = (_lerp, _lerp_numpy)
_NEAREST = (_round, _rounded)
_INVERSE = (named("Reciprocal"), _of(lambda x: 1 / x.astype(np.float64)))
_BOTH: Mapping[str, tuple[Lower, Evaluate]] = {
    **dict.fromkeys(["AccumulateNV2", "AddN"], _SUM_OF_ALL),
    **dict.fromkeys(["Add", "TensorAdd"], _ADD),
    **dict.fromkeys(["AddExt", "AddScalar"], _ADD_SCALED),
    **dict.fromkeys(["Addcdiv", "AddcdivExt"], _ADD_QUOTIENT),
    **dict.fromkeys(["Addcmul", "AddcmulExt"], _ADD_PRODUCT),
    **dict.fromkeys(["ClampScalar", "ClampTensor"], _CLAMP),
    **dict.fromkeys(["Lerp", "LerpScalar"], _LERP),
    **dict.fromkeys(["Mul", "Muls"], _MUL),
    **dict.fromkeys(["Pow", "PowScalarTensor", "PowTensorScalar"], _POW),
    **dict.fromkeys(["SubExt", "SubScalar"], _SUB_SCALED),
    "Abs": (_unless(("bool", *UNSIGNED), _unary("Abs")), _of(np.abs)),
    "BiasAdd": (_bias, _bias_numpy),
    "Ceil": (_unless(INTEGERS, _unary("Ceil")), _of_fractions(np.ceil)),
    "Floor": (_unless(INTEGERS, _unary("Floor")), _of_fractions(np.floor)),
    "Fmax": (_fmax("Max"), _numpy(np.fmax)),
    "Fmin": (_fmax("Min"), _numpy(np.fmin)),
    "Frac": (formula(_frac), _of(lambda x: x - np.trunc(x))),
    "Heaviside": (_heaviside, _step),
    "Inv": (formula(lambda b, x, call: b.op("Reciprocal", x)), _INVERSE[1]),
    "Maximum": (_two("Max"), _numpy(np.maximum)),
    "Minimum": (_two("Min"), _numpy(np.minimum)),
    "NanToNum": (_nan_to_num, _no_nan),
    "Neg": (_neg, _of(np.negative)),
    "Reciprocal": _INVERSE,
    "Rint": (_unless(INTEGERS, _unary("Round")), _of_fractions(np.rint)),
    "Round": _NEAREST,
    "Rsqrt": (of_one(_rsqrt), _of(lambda x: 1 / np.sqrt(x.astype(np.float64)))),
    "Sign": (_unary("Sign"), _of(np.sign)),
    "Sqrt": (named("Sqrt"), _of(lambda x: np.sqrt(x.astype(np.float64)))),
    "Square": (_square, _of(np.square)),
    "SquaredDifference": (_squared_difference, _gap_squared),
    "Sub": _SUB,
    "Trunc": (_unless(("bool", *INTEGERS), formula(_trunc)), _of_fractions(np.trunc)),
}
TO_ONNX: Mapping[str, Lower] = {name: lower for name, (lower, _) in _BOTH.items()}
EVALUATE: Mapping[str, Evaluate] = {name: evaluate for name, (_, evaluate) in _BOTH.items()}
