"""Functions of mindspore.ops that move, choose, sort and sum."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import ops

from tests.networks.catalogue import f32, flags, i32, i64
from tests.networks.cells import function

ANY = f32(2, 3, 4)
POSITIVE = f32(2, 3, 4, low=0.1, high=4.0)
FREE = f32("n", "length", 4)


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
