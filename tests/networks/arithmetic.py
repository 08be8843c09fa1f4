"""Arithmetic, comparisons and products of mindspore.ops."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import ops

from tests.networks.catalogue import f32, flags, i32, i64
from tests.networks.cells import function

PAIR = (f32(2, 3, 4), f32(3, 1))
ANY = f32(2, 3, 4)
POSITIVE = f32(2, 3, 4, low=0.1, high=4.0)
UNIT = f32(2, 3, 4, low=-0.9, high=0.9)


@function(f32(3, 4), f32(4, 5))
def matmul(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


@function(f32("n", 4), f32(4, 5))
def matmul_free(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


@function(f32(2, 3, 4), f32(4, 5))
def matmul_broadcast(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


@function(f32(3, 4), f32(4))
def matmul_vector(a: Any, b: Any) -> Any:
    return ops.matmul(a, b), ops.mv(a, b)


@function(f32(2, 3, 4), f32(2, 4, 5))
def bmm(a: Any, b: Any) -> Any:
    return ops.bmm(a, b)


@function(f32("n", 3, "length"), f32("n", "length", 5))
def bmm_free(a: Any, b: Any) -> Any:
    return ops.BatchMatMul()(a, b)


@function(f32(4, 3), f32(5, 4))
def matmul_transposed(a: Any, b: Any) -> Any:
    return ops.MatMul(transpose_a=True, transpose_b=True)(a, b)


@function(f32(2, 2, 3, 4), f32(2, 2, 5, 4))
def batch_matmul_transposed(a: Any, b: Any) -> Any:
    return ops.BatchMatMul(transpose_b=True)(a, b)


@function(f32(5), f32(3, 4), f32(4, 5))
def addmm(bias: Any, a: Any, b: Any) -> Any:
    return ops.addmm(bias, a, b, beta=0.5, alpha=2.0)


@function(f32(2, 3, 5), f32(2, 3, 4), f32(2, 4, 5))
def baddbmm(bias: Any, a: Any, b: Any) -> Any:
    return ops.baddbmm(bias, a, b, beta=0.5)


@function(f32(4), f32(5))
def outer(a: Any, b: Any) -> Any:
    return ops.outer(a, b)


@function(f32(3, 4), f32(3, 4), f32(5, 4))
def linear(a: Any, b: Any, weight: Any) -> Any:
    return ops.dense(a, weight) + ops.dense(b, weight)


@function(*PAIR)
def arithmetic(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b, a / (b * b + 1.0)


@function(f32("n", 3), f32("n", 1))
def arithmetic_free(a: Any, b: Any) -> Any:
    return ops.add(a, b) * ops.sub(a, b), ops.div(a, ops.abs(b) + 1)


@function(ANY)
def arithmetic_numbers(a: Any) -> Any:
    return 2 * a + 1, 1.5 - a, 3.0 / (a * a + 1), a / 4, -a


@function(i32(3, 4), i32(3, 4, low=1, high=7))
def integers(a: Any, b: Any) -> Any:
    return a + b, a - 2 * b, a * b, a // b, a % b, -a


@function(i64(3, 4), i64(4, low=1, high=7))
def integers_wide(a: Any, b: Any) -> Any:
    return ops.floor_div(a, b), ops.floor_mod(a, b), a * b + 5, ops.abs(a)


@function(i32(3, 4), i32(3, 4, low=1, high=7))
def integer_true_division(a: Any, b: Any) -> Any:
    return a / b, ops.true_divide(a, b)


@function(i32(3, 4), f32(3, 4))
def mixed_types(a: Any, b: Any) -> Any:
    return a * b, a + 0.5, b > a


@function(f32(3, 4), f32(3, 4, low=0.5, high=2.0))
def remainders(a: Any, b: Any) -> Any:
    return ops.floor_mod(a, b), ops.fmod(a, b), ops.floor_div(a, b)


@function(*PAIR)
def comparisons(a: Any, b: Any) -> Any:
    return a > b, a >= b, a < b, a <= b, a == b, a != b


@function(i32(3, 4, low=0, high=3), i32(3, 4, low=0, high=3))
def comparisons_of_integers(a: Any, b: Any) -> Any:
    return ops.equal(a, b), ops.not_equal(a, b), ops.greater(a, b), ops.less_equal(a, 1)


@function(flags(3, 4), flags(4))
def logical(a: Any, b: Any) -> Any:
    return ops.logical_and(a, b), ops.logical_or(a, b), ops.logical_not(a), ops.logical_xor(a, b)


@function(i32(3, 4, low=0, high=100), i32(4, low=0, high=100))
def bitwise(a: Any, b: Any) -> Any:
    return ops.bitwise_and(a, b), ops.bitwise_or(a, b), ops.bitwise_xor(a, b)


@function(flags(3, 4), f32(3, 4), f32(4))
def where(condition: Any, a: Any, b: Any) -> Any:
    return ops.where(condition, a, b), ops.select(condition, a, 1.0 - a)


@function(ANY)
def where_compared(a: Any) -> Any:
    return ops.where(a > 0, a, 0.1 * a)


@function(ANY, flags(2, 3, 4))
def masked_fill(a: Any, mask: Any) -> Any:
    return a.masked_fill(mask, -1e9), ops.masked_fill(a, mask, 0.0)


@function(*PAIR)
def extremes(a: Any, b: Any) -> Any:
    return ops.maximum(a, b), ops.minimum(a, b)


@function(ANY)
def clamp(a: Any) -> Any:
    return ops.clamp(a, -0.5, 1.0), ops.clamp(a, min=0.0), ops.clip_by_value(a, -1.0, 0.5)


@function(POSITIVE)
def powers(a: Any) -> Any:
    return ops.pow(a, 2.5), a**2, ops.sqrt(a), ops.rsqrt(a), ops.square(a), ops.reciprocal(a)


@function(f32(2, 3, low=0.2, high=2.0), f32(2, 3))
def power_of_tensors(a: Any, b: Any) -> Any:
    return ops.pow(a, b), 2.0**b


@function(POSITIVE)
def logarithms(a: Any) -> Any:
    return ops.exp(a), ops.log(a), ops.log1p(a), ops.expm1(a), ops.log2(a), ops.log10(a)


@function(UNIT)
def trigonometry(a: Any) -> Any:
    return ops.sin(a), ops.cos(a), ops.tan(a), ops.asin(a), ops.acos(a), ops.atan(a)


@function(UNIT)
def hyperbolic(a: Any) -> Any:
    return ops.sinh(a), ops.cosh(a), ops.tanh(a), ops.asinh(a), ops.atanh(a), ops.acosh(a * a + 1.1)


@function(f32(3, 4), f32(3, 4))
def arc_tangent(a: Any, b: Any) -> Any:
    return ops.atan2(a, b)


@function(ANY)
def error_function(a: Any) -> Any:
    return ops.erf(a), ops.erfc(a)


@function(f32(2, 3, 4, low=-3.0, high=3.0))
def rounding(a: Any) -> Any:
    return ops.floor(a), ops.ceil(a), ops.round(a), ops.trunc(a), ops.sign(a), ops.abs(a)


@function(ANY)
def float_tests(a: Any) -> Any:
    big = ops.exp(a * 80)
    return ops.isfinite(big), ops.isinf(big), ops.isnan(big - big)


@function(ANY)
def casts(a: Any) -> Any:
    return ops.cast(a, ms.float16), a.astype(ms.int32), a.to(ms.float64), a.bool(), a.int(), a.half()


@function(i32(3, 4))
def casts_of_integers(a: Any) -> Any:
    return a.float(), a.astype(ms.int64), ops.cast(a, ms.bool_), a.astype(ms.uint8)
