"""Quantisation: floats as scaled integers, and products of these, exact in 32 bits.

Rounding is to the nearest, halves to even, before the zero point is added, as ONNX's QuantizeLinear has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mswb.convert import ops
from mswb.convert.graph import TYPE_IDS, Builder, Value
from mswb.convert.onnx.model import dtype_name
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.exact import as_float, axis_shape, bounds, call, select
from mswb.convert.ops.reduction import Axes, reduced

_LEVELS = ("int8", "uint8", "int16", "uint16")
_EXACT = 1 << 24
"""Up to here a float32 holds every integer."""


def _along(node: OnnxNode, b: Builder, scale: Value) -> Value:
    """A scale or zero point laid along the tensor: one number, one for each place of an axis, or one a block."""
    if scale.rank is None:
        raise Refused("the rank of a scale is only known when the model runs")
    block = int(node.get("block_size", 0))
    if scale.rank == 0 or scale.fixed == (1,):
        return b.reshape(scale, [])
    axis, rank = node.axis(1), node.rank()
    if scale.rank == 1 and not block:
        return b.reshape(scale, axis_shape(rank, axis))
    if not block:
        raise Refused(f"a scale of {scale.rank} dimensions needs a block_size", attribute="block_size")
    places = b.reshape(sizes.positions(b, node.input(0), axis), [-1])
    blocks = call(b, "RealDiv", places, block)
    x = node.input(0)
    shape = (
        None
        if scale.shape is None or x.shape is None
        else (*scale.shape[:axis], x.shape[axis], *scale.shape[axis + 1 :])
    )
    return b.op("Gather", scale, blocks, axis, 0, shape=shape)


def _levels(b: Builder, scaled: Value, zero: Value | None, dtype: str) -> Value:
    """Rounded, shifted by the zero point and cut to what the integer type holds."""
    if dtype not in _LEVELS:
        raise Refused(f"MindSpore has no data type {dtype or 'of this name'} to quantise to")
    low, high = bounds(dtype)
    rounded = call(b, "Rint", scaled)
    if zero is not None:
        rounded = call(b, "Add", rounded, b.cast(b.cast(zero, "int32"), rounded.dtype))
    cut = call(b, "Minimum", call(b, "Maximum", rounded, low), high)
    return b.cast(b.cast(cut, "int32"), dtype)


def _quantize(node: OnnxNode, b: Builder) -> Value:
    x, scale = node.input(0), node.input(1)
    zero = node.optional(2)
    dtype = zero.dtype if zero is not None else dtype_name(int(node.get("output_dtype", 0) or 2))
    precision = dtype_name(int(node.get("precision", 0))) or scale.dtype
    divided = call(b, "Div", b.cast(x, precision), b.cast(_along(node, b, scale), precision))
    shifted = None if zero is None else _along(node, b, zero)
    return _levels(b, as_float(b, divided), shifted, dtype)


def _dequantize(node: OnnxNode, b: Builder) -> Value:
    x, scale = node.input(0), node.input(1)
    if x.dtype not in (*_LEVELS, "int32"):
        raise Refused(f"MindSpore has no quantised data type {x.dtype or 'of this name'}")
    level = b.cast(x, "int32")
    if node.has(2):
        level = call(b, "Sub", level, b.cast(_along(node, b, node.input(2)), "int32"))
    wanted = dtype_name(int(node.get("output_dtype", 0))) or scale.dtype
    if wanted not in TYPE_IDS:
        raise Refused(f"MindSpore has no data type {wanted}", attribute="output_dtype")
    return b.cast(call(b, "Mul", b.cast(level, "float32"), b.cast(_along(node, b, scale), "float32")), wanted)


def _dynamic(node: OnnxNode, b: Builder) -> Sequence[Value]:
    """To uint8 by the tensor's own range, widened to hold zero."""
    x = node.input(0)
    every = Axes(tuple(range(node.rank())), False)
    high = call(b, "Maximum", reduced(b, "ReduceMax", x, every), 0)
    low = call(b, "Minimum", reduced(b, "ReduceMin", x, every), 0)
    span = call(b, "Sub", high, low)
    scale = call(b, "Div", select(b, call(b, "Equal", span, 0), 1, span), 255)
    zero = call(b, "Rint", call(b, "Minimum", call(b, "Maximum", call(b, "Div", call(b, "Neg", low), scale), 0), 255))
    zero_point = b.cast(b.cast(zero, "int32"), "uint8")
    return [_levels(b, call(b, "Div", x, scale), zero_point, "uint8"), scale, zero_point]


def _centred(b: Builder, x: Value, zero: Value | None) -> Value:
    level = b.cast(x, "int32")
    return level if zero is None else call(b, "Sub", level, b.cast(zero, "int32"))


def _other(op: str, node: OnnxNode, b: Builder, inputs: Sequence[Value]) -> Value:
    """What another operator's entry makes of these inputs with this node's attributes."""
    made = ops.table()[op](replace(node, op=op, inputs=tuple(inputs)), b)
    assert isinstance(made, Value)
    return made


def _rows(b: Builder, zero: Value | None) -> Value | None:
    """The zero point of a left factor: one a row stands along the last axis but one."""
    if zero is None or zero.rank != 1 or zero.fixed == (1,):
        return zero
    return b.reshape(zero, [-1, 1])


def _product(node: OnnxNode, b: Builder, first: Value, second: Value) -> Value:
    """A product of matrices of integers, in double precision: exact below 2**53, then 32 bits."""
    made = _other("MatMul", node, b, [b.cast(first, "float64"), b.cast(second, "float64")])
    return b.cast(made, "int32")


def _matmul_integer(node: OnnxNode, b: Builder) -> Value:
    first = _centred(b, node.input(0), _rows(b, node.optional(2)))
    return _product(node, b, first, _centred(b, node.input(1), node.optional(3)))


def _qlinear_matmul(node: OnnxNode, b: Builder) -> Value:
    a, a_scale, a_zero, other, b_scale, b_zero, y_scale, y_zero = map(node.input, range(8))
    first, second = _centred(b, a, _rows(b, a_zero)), _centred(b, other, b_zero)
    row_scale = _rows(b, a_scale)
    assert row_scale is not None
    factor = call(b, "Div", call(b, "Mul", as_float(b, row_scale), as_float(b, b_scale)), as_float(b, y_scale))
    scaled = call(b, "Mul", b.cast(_product(node, b, first, second), factor.dtype), factor)
    return _levels(b, scaled, y_zero, y_zero.dtype)


def _convolved(node: OnnxNode, b: Builder, x: Value, kernel: Value) -> Value:
    """A convolution of integers in single precision: in parts that are small enough to be exact.

    The levels are 9 bits wide. With more than 2**24 / 2**16 products in a sum each factor is cut in a high part, a
    multiple of 16, and a low one; sums of products of parts are then exact up to 2**16 products.
    """
    count = int(np.prod(kernel.fixed[1:])) if kernel.fixed is not None else None
    if count is None:
        raise Refused(
            "the size of the kernel is only known when the model runs", nearest="--freeze", freeze=kernel.name
        )
    if count * 255 * 255 < _EXACT:
        made = _other("Conv", node, b, [b.cast(x, "float32"), b.cast(kernel, "float32")])
        return b.cast(made, "int32")
    if count > 1 << 16:
        raise Refused(f"a sum of {count} products is not exact in MindSpore's convolution")
    total: Value | None = None
    for left, left_scale in _parts(b, x):
        for right, right_scale in _parts(b, kernel):
            made = b.cast(_other("Conv", node, b, [left, right]), "int32")
            scaled = call(b, "Mul", made, left_scale * right_scale) if left_scale * right_scale > 1 else made
            total = scaled if total is None else call(b, "Add", total, scaled)
    assert total is not None
    return total


def _parts(b: Builder, level: Value) -> list[tuple[Value, int]]:
    """An integer as 16 times one part and another; both floats between -16 and 16."""
    high = call(b, "RealDiv", level, 16)
    low = call(b, "Sub", level, call(b, "Mul", high, 16))
    return [(b.cast(high, "float32"), 16), (b.cast(low, "float32"), 1)]


def _channels(b: Builder, value: Value, rank: int, axis: int) -> Value:
    """A number, or one for each channel, laid along an axis."""
    if value.rank == 0 or value.fixed == (1,):
        return b.reshape(value, [])
    return b.reshape(value, axis_shape(rank, axis))


def _kernel(node: OnnxNode, b: Builder, at: int, zero_at: int) -> Value:
    zero = node.optional(zero_at)
    return _centred(b, node.input(at), None if zero is None else _channels(b, zero, node.rank(at), 0))


def _conv_integer(node: OnnxNode, b: Builder) -> Value:
    zero = node.optional(2)
    x = _centred(b, node.input(0), None if zero is None else b.reshape(zero, []))
    return _convolved(node, b, x, _kernel(node, b, 1, 3))


def _qlinear_conv(node: OnnxNode, b: Builder) -> Value:
    x, x_scale, x_zero, _, w_scale, _, y_scale, y_zero = map(node.input, range(8))
    rank = node.rank()
    total = _convolved(node, b, _centred(b, x, b.reshape(x_zero, [])), _kernel(node, b, 3, 5))
    if node.has(8):
        total = call(b, "Add", total, _channels(b, node.input(8), rank, 1))
    scales = call(b, "Mul", b.reshape(x_scale, []), _channels(b, w_scale, rank, 1))
    factor = call(b, "Div", scales, b.reshape(y_scale, []))
    scaled = call(b, "Mul", b.cast(total, "float32"), factor)
    return _levels(b, scaled, b.reshape(y_zero, []), y_zero.dtype)


TO_MINDIR: Mapping[str, Lower] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
