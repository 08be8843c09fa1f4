"""Indexing and the methods of tensors, in the spellings that people use."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import ops

from tests.networks.catalogue import f32, i32, i64
from tests.networks.cells import function

BLOCK = f32(3, 4, 5)
FREE = f32("n", "length", 5)


@function(BLOCK)
def slices(x: Any) -> Any:
    return x[0], x[1:], x[:, 1:3], x[..., -1], x[-2:, ::2, 1:-1]


@function(BLOCK)
def slices_backwards(x: Any) -> Any:
    return x[::-1], x[:, ::-2], x[..., 3:0:-1]


@function(BLOCK)
def slices_new_axis(x: Any) -> Any:
    return x[None], x[:, None, 1], x[..., None], x[0, ..., None, 2]


@function(FREE)
def slices_free(x: Any) -> Any:
    return x[0], x[:, 0], x[:, -1], x[..., 1:4], x[:, 1:]


@function(BLOCK)
def advanced(x: Any) -> Any:
    return x[[0, 2]], x[:, [1, 3, 0]], x[ms.Tensor([0, 2, 1]), ms.Tensor([1, 0, 3])]


@function(BLOCK, i32(2, 2, low=0, high=3))
def advanced_tensor(x: Any, index: Any) -> Any:
    return x[index], x[:, index]


@function(FREE, i64("other", low=0, high=3))
def advanced_free(x: Any, index: Any) -> Any:
    return x[:, index], x[:, 1:, index], x[..., index], x[:, index % 2, index], x[:, 1][:, index]


@function(BLOCK)
def assigned(x: Any) -> Any:
    y = x * 1
    y[0] = 0.0
    y[:, 1:3] = y[:, 1:3] * 2
    return y


@function(FREE, i64("other", low=0, high=3))
def assigned_free(x: Any, index: Any) -> Any:
    y = x * 1
    y[0] = 0.0
    y[:, 1:3] = 0.5
    y[1:] = 2.0
    z = x * 1
    z[:, index] = 1.0
    z[..., 1] = z[..., 2] * 2
    return y, z


@function(BLOCK, f32(3, 4, 5, low=0.5))
def augmented(x: Any, other: Any) -> Any:
    y = x * 2
    before = y + 1
    y += other
    y -= 1.5
    y *= other
    y /= 3
    z = ops.relu(x)
    z[:, 1] += 0.5
    return y, before, z, x // other


@function(FREE, f32(5))
def augmented_free(x: Any, other: Any) -> Any:
    y = ops.tanh(x)
    y += x
    y *= other
    return y


@function(BLOCK)
def methods(x: Any) -> Any:
    return x.abs(), x.exp().log(), x.transpose(2, 0, 1), x.expand_dims(0), x.flatten(), x.ravel()


@function(BLOCK)
def methods_of_numbers(x: Any) -> Any:
    return x.add(1.0), x.sub(x), x.mul(2.0), x.div(3.0), x.pow(2), x.clamp(-1.0, 1.0), x.neg()


@function(BLOCK)
def methods_of_order(x: Any) -> Any:
    return x.topk(2)[0], x.sort(1)[0], x.argmin(1), x.max(axis=2), x.cumsum(0)


@function(BLOCK)
def methods_of_shapes(x: Any) -> Any:
    return x.view(12, 5), x.permute(2, 1, 0), x.broadcast_to((2, 3, 4, 5)), x.tile((1, 2, 1)), x.split(2, 1)[1]


@function(BLOCK, f32(5, 3))
def methods_of_products(x: Any, y: Any) -> Any:
    return x.matmul(y), x @ y


@function(BLOCK)
def chained_comparisons(x: Any) -> Any:
    return ops.logical_and(x > -1, x < 1), (x > 0).float().sum(), (x > 0).astype(ms.int32).sum(1)


@function(f32("n", 6))
def shape_arithmetic(x: Any) -> Any:
    n = x.shape[0]
    return x.reshape(n * 2, 3), x.reshape(n, 2, 3).transpose(0, 2, 1), ops.ones((n, 2), ms.float32)


@function(f32("n", 4, "h", "w"))
def shape_of_image(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h * w).transpose(0, 2, 1), x.mean((2, 3)), ops.max(x.reshape(n, -1), 1)[0]


@function(i64(2, 5, low=0, high=9))
def integer_methods(x: Any) -> Any:
    return x.sum(), x.max(), x.float().mean(1), x.eq(3), x * 3 - 1


@function(f32(4, 6))
def nested_result(x: Any) -> Any:
    a, b = ops.split(x, 3, axis=1)
    return a, (b, (a + b, a - b))


@function(f32(2, 3), f32(3, 2))
def several_inputs(x: Any, y: Any) -> Any:
    return x @ y, y @ x


@function(f32(2, 3), f32(2, 3))
def unused_input(x: Any, y: Any) -> Any:
    return x * 2


@function(f32(2, 3))
def same_result_twice(x: Any) -> Any:
    y = ops.relu(x)
    return y, y, x
