"""Functions that few networks use, and spellings that few people do."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ops

from tests.networks.catalogue import f32, flags, i32, i64
from tests.networks.cells import function

ANY = f32(2, 3, 4)
TABLE = f32(4, 6)
IMAGE = f32(2, 3, 6, 8)


@function(TABLE)
def differences(a: Any) -> Any:
    return ops.diff(a, axis=1), ops.diff(a)


@function(TABLE)
def stacks(a: Any) -> Any:
    return ops.hstack((a, a)), ops.vstack((a, a)), ops.dstack((a, a)), ops.column_stack((a, a))


@function(TABLE)
def split_sections(a: Any) -> Any:
    return ops.hsplit(a, 2), ops.vsplit(a, 2), ops.tensor_split(a, 3, axis=1)


@function(ANY)
def moved_axes(a: Any) -> Any:
    return ops.swapaxes(a, 0, 2), ops.moveaxis(a, 0, -1), ops.rot90(a, 1, (1, 2)), ops.t(a[0])


@function(f32(3, 4), f32(2, 2))
def kronecker(a: Any, b: Any) -> Any:
    return ops.kron(a, b)


@function(f32(2, 3, 4), f32(4, 3, 5))
def tensor_dot(a: Any, b: Any) -> Any:
    return ops.tensor_dot(a, b, ((1, 2), (1, 0)))


@function(f32(3, 4), f32(5, 4))
def inner_products(a: Any, b: Any) -> Any:
    return ops.inner(a, b)


@function(f32(2, 3, 4), f32(2, 4, 5))
def batch_dot(a: Any, b: Any) -> Any:
    return ops.batch_dot(a, b)


@function(ANY)
def not_a_number(a: Any) -> Any:
    bad = a / ops.relu(a)
    return ops.nan_to_num(bad, 0.5, 9.0, -9.0), ops.isnan(bad)


@function(TABLE, TABLE)
def near(a: Any, b: Any) -> Any:
    return ops.isclose(a, a + 1e-9), ops.approximate_equal(a, b, 0.5)


@function(TABLE)
def counts(a: Any) -> Any:
    return ops.count_nonzero(ops.relu(a)), (a > 0).sum(1)


@function(i32(9, low=0, high=5))
def bins(a: Any) -> Any:
    return ops.bincount(a, minlength=6)


@function(f32(6), f32(2, 3))
def search_sorted(a: Any, b: Any) -> Any:
    return ops.searchsorted(a.cumsum(0) * 0 + ops.arange(6).astype(ms.float32), b)


@function(TABLE)
def nonzero_places(a: Any) -> Any:
    return ops.nonzero(a > 0.3)


@function(TABLE, flags(4, 6))
def masked_select(a: Any, mask: Any) -> Any:
    return ops.masked_select(a, mask)


@function(i32(8, low=0, high=4))
def unique_values(a: Any) -> Any:
    return ops.unique(a)


@function(TABLE)
def cumulative_extremes(a: Any) -> Any:
    return ops.cummax(a, 1), ops.cummin(a, 0)


@function(TABLE)
def medians(a: Any) -> Any:
    return ops.median(a, 1)


@function(f32(2, 3, low=0.2, high=3.0))
def special_functions(a: Any) -> Any:
    return ops.lgamma(a), ops.digamma(a), ops.erfinv(a / 4), ops.bessel_i0(a)


@function(ANY)
def angles(a: Any) -> Any:
    return ops.deg2rad(a), ops.rad2deg(a), ops.sinc(a)


@function(ANY)
def powers_of_two(a: Any) -> Any:
    return ops.ldexp(a, ops.ones_like(a)), ops.copysign(a, -a)


@function(f32(6, 4), i32(6, low=0, high=3))
def segments(a: Any, ids: Any) -> Any:
    return ops.unsorted_segment_sum(a, ids, 3)


@function(f32(6, 4), i32(6, low=0, high=3))
def segments_largest(a: Any, ids: Any) -> Any:
    return ops.unsorted_segment_max(a, ids, 3), ops.unsorted_segment_min(a, ids, 3)


@function(i32(3, low=1, high=6))
def length_mask(lengths: Any) -> Any:
    return ops.sequence_mask(lengths, 6)


@function(f32(3, 5, 4), i32(3, low=1, high=6))
def masked_mean(a: Any, lengths: Any) -> Any:
    mask = (ops.arange(5).expand_dims(0) < lengths.expand_dims(1)).astype(ms.float32).expand_dims(-1)
    return (a * mask).sum(1) / lengths.astype(ms.float32).expand_dims(1)


@function(ANY)
def filled_index(a: Any) -> Any:
    return ops.index_fill(a, 1, ms.Tensor([0, 2], ms.int32), 1.5)


@function(f32(3, 4), i64(3, 2, low=0, high=4), f32(3, 2))
def scattered(a: Any, index: Any, source: Any) -> Any:
    return ops.scatter(a, 1, index, source)


@function(f32(6, 3), i32(4, 1, low=0, high=6), f32(4, 3))
def scattered_products(a: Any, index: Any, updates: Any) -> Any:
    return ops.tensor_scatter_sub(a, index, updates), ops.tensor_scatter_mul(a, index, updates)


@function(f32(6, 3), i32(4, 1, low=0, high=6), f32(4, 3, low=0.5, high=2.0))
def scattered_quotients(a: Any, index: Any, updates: Any) -> Any:
    return ops.tensor_scatter_min(a, index, updates), ops.tensor_scatter_div(a, index, updates)


@function(TABLE)
def strided(a: Any) -> Any:
    return ops.strided_slice(a, (0, 1), (4, 6), (2, 2)), ops.slice(a, (1, 2), (2, 3))


@function(f32("n", 6))
def strided_free(a: Any) -> Any:
    return ops.strided_slice(a, (0, 1), (a.shape[0], 5), (1, 2)), a[-1], a[: a.shape[0] // 2 + 1]


@function(f32(2, 12, 9))
def folded(a: Any) -> Any:
    return ops.fold(a, ms.Tensor([6, 6], ms.int32), [2, 2], 1, 0, 2)


@function(IMAGE, f32(3, 4, low=0.0, high=1.0))
def cropped(a: Any, boxes: Any) -> Any:
    return ops.crop_and_resize(a.transpose(0, 2, 3, 1), boxes, ms.Tensor([0, 1, 0], ms.int32), (3, 4))


@function(f32(4, 4, low=0.0, high=1.0), f32(3, 4, low=0.0, high=1.0))
def overlaps(a: Any, b: Any) -> Any:
    return ops.iou(ops.cat((a[:, :2], a[:, :2] + a[:, 2:]), 1), ops.cat((b[:, :2], b[:, :2] + b[:, 2:]), 1))


@function(f32(2, 2, 3))
def affine_places(theta: Any) -> Any:
    return ops.affine_grid(theta, (2, 3, 4, 5), align_corners=True)


@function(IMAGE, f32(2, 4, 5, 2, low=-1.2, high=1.2))
def grid_sample_nearest(a: Any, grid: Any) -> Any:
    return ops.grid_sample(a, grid, mode="nearest", padding_mode="border", align_corners=False)


@function(f32(2, 3, 9), f32(4, 3, 3))
def conv1d_function(a: Any, weight: Any) -> Any:
    return ops.conv1d(a, weight, stride=2, pad_mode="same")


@function(f32(1, 2, 5, 6, 7), f32(3, 2, 2, 2, 2), f32(3))
def conv3d_function(a: Any, weight: Any, bias: Any) -> Any:
    return ops.conv3d(a, weight, bias, pad_mode="valid")


@function(IMAGE)
def pools_of_more(a: Any) -> Any:
    return ops.adaptive_max_pool2d(a, (2, 3)), ops.avg_pool2d(a, 3, 2, 1, True, False), ops.lp_pool2d(ops.abs(a), 2, 2)


@function(f32(2, 3, 12))
def pools_of_lines(a: Any) -> Any:
    return ops.avg_pool1d(a, 3, 2), ops.adaptive_avg_pool1d(a, 4), ops.adaptive_max_pool1d(a, 3)


@function(IMAGE)
def normalized(a: Any) -> Any:
    return ops.lrn(a, 1), a / ops.norm(a, dim=(2, 3), keepdim=True)


@function(f32(4, 4))
def matrix_functions(a: Any) -> Any:
    return ops.trace(a), ops.diag(a[0]), ops.tril(a, -1), ops.triu(a, 2)


@function(f32(3, 3))
def inverse(a: Any) -> Any:
    return ops.inverse(a + 4 * ops.eye(3))


@function(f32(3, 3))
def determinant(a: Any) -> Any:
    return ops.det(a + 3 * ops.eye(3))


@function(i32(3, 4, low=1, high=20), i32(3, 4, low=1, high=20))
def number_theory(a: Any, b: Any) -> Any:
    return ops.gcd(a, b), ops.lcm(a, b)


@function(i32(3, 4, low=0, high=100))
def shifted_bits(a: Any) -> Any:
    return ops.bitwise_left_shift(a, 2), ops.bitwise_right_shift(a, 1), a & 7, a | 8, a ^ 3


@function(f32(2, 3), f32(3, 4), f32(4, 2))
def chained_products(a: Any, b: Any, c: Any) -> Any:
    return ops.matmul(ops.matmul(a, b), c), (a @ b @ c).sum()


@function(f32(2, 3), f32(2, 3))
def numbers_and_scalars(a: Any, b: Any) -> Any:
    return ops.maximum(a, 0.5), ops.minimum(b, a.mean()), ops.where(a > b, 1.0, b), ops.pow(2.0, a), a // 1.0


@function(f32(3, 4))
def reductions_of_flags(a: Any) -> Any:
    return (a > 0).all(), (a > 5).any(1), ops.all(a > -9)


@function(f32(2, 3, 4, 5))
def variances(a: Any) -> Any:
    return ops.var_mean(a, 1), ops.std_mean(a, (2, 3), keepdims=True), ops.var(a, ddof=1)


@function(f32(1, 1, 4, 4))
def constant_tensors(a: Any) -> Any:
    kernel = ms.Tensor(np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32).reshape(1, 1, 3, 3) / 16)
    return ops.conv2d(a, kernel, pad_mode="same")


@function(f32(2, 5), f32(2, 5))
def selected_rows(a: Any, b: Any) -> Any:
    return ops.stack((a, b))[ops.argmax(a.sum(1))], ops.cat((a, b))[1::2], ops.zeros((2, 5), ms.float32).copy() + b


@function(f32("n", "length", 4))
def padded_free(a: Any) -> Any:
    return ops.pad(a, (0, 0, 1, 1)), ops.cat((a, ops.zeros_like(a[:, :1])), 1), a.flip((1,))


@function(f32("n", 3, "h", "w"))
def pooled_free(a: Any) -> Any:
    return ops.adaptive_avg_pool2d(a, 1).squeeze(-1).squeeze(-1), ops.amax(a, (2, 3)), ops.relu(a).sum((2, 3))


@function(f32("n", "length", 6))
def attention_free(a: Any) -> Any:
    scores = ops.bmm(a, a.swapaxes(1, 2)) / 6**0.5
    mask = ops.triu(ops.ones((a.shape[1], a.shape[1]), ms.float32), 1) * -1e4
    return ops.bmm(ops.softmax(scores + mask, -1), a)


@function(f32("n", "length", 6))
def heads_free(a: Any) -> Any:
    n, length, _ = a.shape
    heads = a.reshape(n, length, 2, 3).transpose(0, 2, 1, 3)
    return ops.matmul(heads, heads.swapaxes(-1, -2)), heads.transpose(0, 2, 1, 3).reshape(n, length, -1)
