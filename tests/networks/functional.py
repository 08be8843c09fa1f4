"""Layers as functions, and mindspore.mint."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import mint, ops

from tests.networks.catalogue import f16, f32, i32
from tests.networks.cells import function

ANY = f32(2, 3, 4)
FREE = f32("n", "length", 4)


@function(ANY)
def l2_normalize(a: Any) -> Any:
    return ops.L2Normalize(axis=1)(a)


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
