"""Functions of mindspore.ops and mindspore.mint."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import mint, ops

from tests.networks.catalogue import f16, f32, flags, i32, i64
from tests.networks.cells import function

PAIR = (f32(2, 3, 4), f32(3, 1))
ANY = f32(2, 3, 4)
POSITIVE = f32(2, 3, 4, low=0.1, high=4.0)
UNIT = f32(2, 3, 4, low=-0.9, high=0.9)
FREE = f32("n", "length", 4)


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


@function(f32(5, 4), i32(2, 3, low=0, high=5))
def gather(a: Any, index: Any) -> Any:
    return ops.gather(a, index, 0), ops.gather(a, index % 4, 1)


@function(f32("n", 5, 4), i32(3, low=0, high=5))
def gather_free(a: Any, index: Any) -> Any:
    return ops.gather(a, index, 1)


@function(f32(3, 4), i64(3, 2, low=0, high=4))
def gather_elements(a: Any, index: Any) -> Any:
    return ops.gather_elements(a, 1, index)


@function(f32(3, 4, 5), i32(2, 2, low=0, high=3))
def gather_nd(a: Any, index: Any) -> Any:
    return ops.gather_nd(a, index)


@function(f32(3, 4), i64(2, low=0, high=4))
def index_select(a: Any, index: Any) -> Any:
    return ops.index_select(a, 1, index)


@function(i32(4, 1, low=0, high=6), f32(4, 3))
def scatter_nd(index: Any, updates: Any) -> Any:
    return ops.scatter_nd(index, updates, (6, 3))


@function(f32(6, 3), f32(3, 3))
def tensor_scatter_update(a: Any, updates: Any) -> Any:
    return ops.tensor_scatter_elements(a, ms.Tensor([[0, 3, 5], [1, 0, 2], [2, 4, 1]]), updates, axis=0)


@function(f32(6, 3), i32(4, 1, low=0, high=6), f32(4, 3))
def tensor_scatter_add(a: Any, index: Any, updates: Any) -> Any:
    return ops.tensor_scatter_add(a, index, updates)


@function(f32(6, 3), i32(4, 1, low=0, high=6), f32(4, 3))
def tensor_scatter_max(a: Any, index: Any, updates: Any) -> Any:
    return ops.tensor_scatter_max(a, index, updates)


@function(ANY)
def scatter_constant(a: Any) -> Any:
    return ops.tensor_scatter_update(a, ms.Tensor([[0, 1], [1, 2]]), a[:, 0, :] * 2)


@function(ANY, f32(2, 2, 4), f32(2, 1, 4))
def concat(a: Any, b: Any, c: Any) -> Any:
    return ops.cat((a, b, c), axis=1), ops.concat([a, a], -1)


@function(f32("n", 3), f32("n", 2))
def concat_free(a: Any, b: Any) -> Any:
    return ops.cat((a, b), 1)


@function(ANY, ANY)
def stack(a: Any, b: Any) -> Any:
    return ops.stack((a, b), 0), ops.stack([a, b, a], -1)


@function(f32(2, 6, 5))
def split(a: Any) -> Any:
    first, second = ops.split(a, 3, axis=1)
    left, right = ops.split(a, [2, 3], axis=2)
    return first - second, left, right


@function(f32(2, 7))
def chunk(a: Any) -> Any:
    return ops.chunk(a, 3, axis=1)


@function(ANY)
def unbind(a: Any) -> Any:
    first, second, third = ops.unbind(a, 1)
    return first + second * third, ops.unstack(a, 0)


@function(ANY)
def reshapes(a: Any) -> Any:
    return ops.reshape(a, (6, 4)), a.view(2, -1), ops.flatten(a), a.reshape(-1), ops.squeeze(a[:1], 0)


@function(FREE)
def reshapes_free(a: Any) -> Any:
    return a.reshape(-1, 4), a.reshape(a.shape[0], -1), ops.expand_dims(a, 1), a.view(a.shape[0], a.shape[1], 2, 2)


@function(ANY)
def transposes(a: Any) -> Any:
    return ops.transpose(a, (2, 0, 1)), ops.permute(a, (1, 2, 0)), a.swapaxes(0, 1), ops.movedim(a, 0, 2), a[0].T


@function(f32(3, 1, 4))
def repeats(a: Any) -> Any:
    return ops.tile(a, (1, 2, 2)), ops.broadcast_to(a, (2, 3, 5, 4)), ops.repeat_interleave(a, 2, 0)


@function(f32("n", 1))
def broadcast_free(a: Any) -> Any:
    return ops.broadcast_to(a, (-1, 4)), ops.tile(a, (2, 3))


@function(ANY)
def dimensions(a: Any) -> Any:
    return ops.expand_dims(a, -1), ops.unsqueeze(a, 0), a.squeeze(), a.unsqueeze(1).squeeze(1)


@function(ANY)
def flips(a: Any) -> Any:
    return ops.flip(a, (0, 2)), ops.flip(a, (1,)), ops.reverse(a, [0])


@function(ANY)
def sums(a: Any) -> Any:
    return a.sum(), a.sum(axis=1), ops.sum(a, (0, 2), keepdim=True), a.sum(-1, keepdims=True)


@function(ANY)
def means(a: Any) -> Any:
    return a.mean(), a.mean(1), ops.mean(a, (0, 2), True)


@function(FREE)
def means_free(a: Any) -> Any:
    return ops.mean(a, 1), a.sum(1), ops.ReduceMax()(a, 2)


@function(ANY)
def largest(a: Any) -> Any:
    return ops.amax(a, 1), ops.amin(a, (0, 2), keepdims=True), a.max(), a.min(), a.max(axis=-1)


@function(POSITIVE)
def products(a: Any) -> Any:
    return ops.prod(a, 1), a.prod(), ops.ReduceProd(keep_dims=True)(a, 2)


@function(flags(3, 4))
def all_and_any(a: Any) -> Any:
    return ops.all(a, 1), ops.any(a, 0), a.all(), a.any()


@function(ANY)
def norms(a: Any) -> Any:
    return ops.norm(a), ops.norm(a, dim=1), ops.norm(a, ord=1, dim=2, keepdim=True)


@function(ANY)
def l2_normalize(a: Any) -> Any:
    return ops.L2Normalize(axis=1)(a)


@function(ANY)
def spread(a: Any) -> Any:
    return ops.std(a, 1), ops.var(a, 2, keepdims=True), a.std(), a.var(axis=1)


@function(ANY)
def log_sum_exp(a: Any) -> Any:
    return ops.logsumexp(a, 1), ops.logsumexp(a, (0, 2), True)


@function(ANY)
def cumulative(a: Any) -> Any:
    return ops.cumsum(a, 1), a.cumsum(-1), ops.CumSum(exclusive=True, reverse=True)(a, 2)


@function(f32(2, 4, low=0.5, high=1.5))
def cumulative_product(a: Any) -> Any:
    return ops.cumprod(a, 1)


@function(f32(3, 9))
def topk(a: Any) -> Any:
    values, index = ops.topk(a, 4)
    return values, index


@function(f32(3, 9))
def topk_smallest(a: Any) -> Any:
    values, _ = ops.topk(a, 3, largest=False)
    return values


@function(f32(3, 9))
def sort(a: Any) -> Any:
    values, index = ops.sort(a, axis=1)
    return values, index, ops.sort(a, axis=0, descending=True)[0]


@function(f32(3, 9))
def argsort(a: Any) -> Any:
    return ops.argsort(a, axis=1)


@function(ANY)
def argmax(a: Any) -> Any:
    return ops.argmax(a, dim=1), a.reshape(-1).argmax(0), ops.argmin(a, axis=2), a.argmax(-1)


@function(ANY)
def argmax_with_value(a: Any) -> Any:
    index, value = ops.ArgMaxWithValue(axis=1)(a)
    small, low = ops.min(a, axis=2, keepdims=True)
    return index, value, small, low


@function(i32(3, 4, low=0, high=6))
def one_hot_of_numbers(a: Any) -> Any:
    return ops.one_hot(a, 6, ms.Tensor(1.0), ms.Tensor(0.0))


@function(f32(2, 5, 6))
def triangles(a: Any) -> Any:
    return ops.tril(a), ops.triu(a, 1)


@function(f32(2, 3, 4, 5))
def pads(a: Any) -> Any:
    return ops.pad(a, (1, 2, 0, 1)), ops.pad(a, [2, 0], mode="constant", value=-1.0)


@function(f32(2, 3, 4, 5))
def pads_reflect(a: Any) -> Any:
    return ops.pad(a, (1, 2, 0, 1), mode="reflect"), ops.pad(a, (1, 2, 2, 1), mode="replicate")


@function(f32(2, 3, 4, 5))
def interpolate_nearest(a: Any) -> Any:
    return ops.interpolate(a, size=(8, 10), mode="nearest")


@function(f32(2, 3, 4, 5))
def interpolate_bilinear(a: Any) -> Any:
    return ops.interpolate(a, size=(7, 9), mode="bilinear"), ops.interpolate(
        a, size=(7, 9), mode="bilinear", align_corners=True
    )


@function(f32(2, 3, 8, 9))
def interpolate_down(a: Any) -> Any:
    return ops.interpolate(a, size=(4, 5), mode="bilinear")


@function(f32(2, 3, 4, 5), f32(2, 6, 7, 2, low=-1.1, high=1.1))
def grid_sample(a: Any, grid: Any) -> Any:
    return ops.grid_sample(a, grid, mode="bilinear", padding_mode="zeros", align_corners=True)


@function(ANY)
def softmaxes(a: Any) -> Any:
    return ops.softmax(a), ops.softmax(a, axis=1), ops.log_softmax(a, axis=-1)


@function(FREE)
def softmax_free(a: Any) -> Any:
    return ops.softmax(a, axis=-1)


@function(ANY)
def activations(a: Any) -> Any:
    return ops.relu(a), ops.gelu(a, approximate="none"), ops.gelu(a, approximate="tanh"), ops.silu(a), ops.hardswish(a)


@function(ANY)
def activations_more(a: Any) -> Any:
    return ops.elu(a, 1.0), ops.leaky_relu(a, 0.2), ops.selu(a), ops.mish(a), ops.softsign(a), ops.relu6(a)


@function(ANY)
def activations_shrunk(a: Any) -> Any:
    return ops.hardshrink(a), ops.softshrink(a, 0.3), ops.hardsigmoid(a), ops.hardtanh(a), ops.celu(a, 0.7)


@function(ANY)
def softplus(a: Any) -> Any:
    return ops.softplus(a)


@function(f32(3), f32(4))
def meshgrid(a: Any, b: Any) -> Any:
    return ops.meshgrid(a, b, indexing="ij")


@function(f32(2, 6))
def ranges(a: Any) -> Any:
    return a + ops.arange(6), ops.arange(1, 13, 2) * a, ops.linspace(0.0, 1.0, 6) + a


@function(f32("n", "length"))
def ranges_free(a: Any) -> Any:
    return a + ops.arange(a.shape[1])


@function(f32(2, 3))
def filled(a: Any) -> Any:
    return ops.zeros_like(a) + ops.ones((2, 3)), ops.full((2, 3), 4.0) * a, ops.ones_like(a), ops.eye(3) + a[:1]


@function(f32("n", 3))
def filled_free(a: Any) -> Any:
    return ops.ones_like(a) - a, ops.zeros_like(a), ops.full_like(a, 2.0)


@function(f32(2, 8, 4, 6))
def depth_and_space(a: Any) -> Any:
    return ops.DepthToSpace(2)(a), ops.SpaceToDepth(2)(a)


@function(f32(3, 4), f32(5, 4))
def distances(a: Any, b: Any) -> Any:
    return ops.cdist(a, b)


@function(f32(3, 5))
def diagonals(a: Any) -> Any:
    return ops.diagonal(a[:, :3]), ops.diag(a[0])


@function(f32(2, 3, 4))
def cross_products(a: Any) -> Any:
    return ops.cosine_similarity(a, a[:, ::-1] + 1, dim=2), ops.xlogy(ops.abs(a), ops.abs(a) + 1)


@function(f32(3, 5), i32(3, low=0, high=5))
def losses(a: Any, labels: Any) -> Any:
    return ops.cross_entropy(a, labels), ops.mse_loss(a, a * 2), ops.l1_loss(a, a * 2), ops.smooth_l1_loss(a, 2 * a)


@function(f32(3, 5), f32(3, 5, low=0.0, high=1.0))
def binary_losses(a: Any, labels: Any) -> Any:
    weight = ops.ones_like(a)
    return ops.binary_cross_entropy_with_logits(a, labels, weight, weight), ops.kl_div(a, labels)


@function(f16(2, 3, 4), f16(3, 1))
def half_arithmetic(a: Any, b: Any) -> Any:
    return ops.tanh(a * b + a), ops.softmax(a, -1), ops.exp(b), ops.mean(a, 1), a.max()


@function(f32(2, 3, 4))
def half_inside(a: Any) -> Any:
    return ops.matmul(a.astype(ms.float16), ops.ones((4, 2), ms.float16))


@function(f32(2, 3), f32(3))
def accumulated(a: Any, b: Any) -> Any:
    return (
        ops.addn([a, a * 2, b + a]),
        ops.addcmul(a, a, b, 0.5),
        ops.addcdiv(a, a, b * b + 1, 2.0),
        ops.lerp(a, a * 2, 0.3),
    )


@function(f32(2, 3), f32(2, 3))
def log_add_exp(a: Any, b: Any) -> Any:
    return ops.logaddexp(a, b), ops.heaviside(a, b), ops.hypot(a, b)


@function(f32(2, 3, 4, 5))
def reverse_sequence(a: Any) -> Any:
    return ops.ReverseSequence(seq_dim=2, batch_dim=0)(a, ms.Tensor([3, 2], ms.int32))


@function(f32(3, 4))
def mint_arithmetic(a: Any) -> Any:
    return mint.add(a, a, alpha=2), mint.sub(a, 1.0), mint.mul(a, a), mint.div(a, 2.0), mint.neg(a)


@function(f32(3, 4), f32(4, 5))
def mint_matmul(a: Any, b: Any) -> Any:
    return mint.matmul(a, b)


@function(f32(2, 3, 4), f32(2, 4, 5))
def mint_bmm(a: Any, b: Any) -> Any:
    return mint.bmm(a, b)


@function(f32(3, 4))
def mint_reductions(a: Any) -> Any:
    return mint.sum(a, dim=1), mint.mean(a, dim=0, keepdim=True), mint.max(a), mint.min(a)


@function(f32(3, 4), f32(3, 4))
def mint_cat(a: Any, b: Any) -> Any:
    return mint.cat((a, b), dim=1), mint.concat((a, b))


@function(f32(3, 4))
def mint_shapes(a: Any) -> Any:
    return (
        mint.reshape(a, (4, 3)),
        mint.permute(a, (1, 0)),
        mint.unsqueeze(a, 1),
        mint.flatten(a),
        mint.broadcast_to(a, (2, 3, 4)),
    )


@function(f32(3, 4))
def mint_activations(a: Any) -> Any:
    return mint.nn.functional.relu(a), mint.nn.functional.sigmoid(a), mint.nn.functional.silu(a), mint.tanh(a)


@function(f32(3, 4))
def mint_softmax(a: Any) -> Any:
    return mint.nn.functional.softmax(a, dim=-1)


@function(f32(2, 4, 6), f32(4), f32(4))
def mint_group_norm(a: Any, weight: Any, bias: Any) -> Any:
    return mint.nn.functional.group_norm(a, 2, weight, bias)


@function(f32(3, 4), f32(5, 4), f32(5))
def mint_linear(a: Any, weight: Any, bias: Any) -> Any:
    return mint.nn.functional.linear(a, weight, bias)


@function(f32(3, 4))
def mint_where(a: Any) -> Any:
    return mint.where(a > 0, a, a * 0.5), mint.clamp(a, -1.0, 1.0)


@function(f32(3, 4), f32(3, 4))
def mint_comparisons(a: Any, b: Any) -> Any:
    return mint.eq(a, b), mint.gt(a, b), mint.logical_and(a > 0, b > 0), mint.maximum(a, b)


@function(f32(2, 3, 8, 8), f32(4, 3, 3, 3))
def conv2d_function(a: Any, weight: Any) -> Any:
    return ops.conv2d(a, weight, stride=2, pad_mode="pad", padding=1)


@function(f32(2, 3, 8, 8))
def pools_function(a: Any) -> Any:
    return ops.avg_pool2d(a, 2, 2), ops.max_pool2d(a, 3, 2, 1), ops.adaptive_avg_pool2d(a, 2)


@function(f32(2, 4, 6), f32(4), f32(4))
def group_norm_function(a: Any, weight: Any, bias: Any) -> Any:
    return ops.group_norm(a, 2, weight, bias)


@function(f32(2, 4, 6, 5), f32(4), f32(4), f32(4), f32(4, low=0.5, high=2.0))
def batch_norm_function(a: Any, weight: Any, bias: Any, mean: Any, variance: Any) -> Any:
    return ops.batch_norm(a, mean, variance, weight, bias)


@function(f32(2, 4, 6, 5))
def embedding_of_positions(a: Any) -> Any:
    table = ms.Tensor(np.arange(30, dtype=np.float32).reshape(6, 5))
    return a + table


@function(f32(2, 2, 5, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 4))
def attention(query: Any, key: Any, value: Any) -> Any:
    scores = ops.matmul(query, key.swapaxes(-1, -2)) / 2.0
    mask = ops.tril(ops.ones((5, 5)))
    scores = ops.masked_fill(scores, mask == 0, -1e9)
    return ops.matmul(ops.softmax(scores, axis=-1), value)


@function(f32(2, 4, 6, 5), f32(4), f32(4))
def instance_norm_by_hand(a: Any, weight: Any, bias: Any) -> Any:
    mean = a.mean((2, 3), keep_dims=True)
    variance = ops.square(a - mean).mean((2, 3), keep_dims=True)
    return (a - mean) * ops.rsqrt(variance + 1e-5) * weight.view(1, 4, 1, 1) + bias.view(1, 4, 1, 1)


@function(f32(2, 5, 8), f32(8))
def rms_norm_by_hand(a: Any, weight: Any) -> Any:
    return a * ops.rsqrt(ops.mean(a * a, -1, True) + 1e-6) * weight


@function(f32(2, 5, 8))
def rotary_by_hand(a: Any) -> Any:
    angles = ops.arange(5).astype(ms.float32).expand_dims(1) / ms.Tensor([1.0, 10.0, 100.0, 1000.0])
    left, right = ops.chunk(a, 2, axis=-1)
    sine, cosine = ops.sin(angles), ops.cos(angles)
    return ops.cat((left * cosine - right * sine, right * cosine + left * sine), -1)


@function(f32(2, 3, 6, 6))
def windows_unfolded(a: Any) -> Any:
    return ops.unfold(a, 2, stride=2)


@function(f32(3, 5))
def rolled_by_hand(a: Any) -> Any:
    return ops.cat((a[:, -2:], a[:, :-2]), 1)
