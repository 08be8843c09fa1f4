"""Normalization over batches, layers, groups, instances, neighbours; by the formulas of MindSpore's documentation.

What an operator gives besides (means, variances) is given where MindSpore gives it; what it leaves undefined is None,
so that whatever reads it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import axis_in, carried, fixed, numbers, rank_of
from mswb.convert.primitives.kernels import HALVES, run, single
from mswb.convert.primitives.norms import norm, norm_of
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.reduction import given_axes, reduced, spread, variance
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
_TINY = 1e-7
"""What Renorm adds to a norm that it divides by."""


def argument(call: Call, at: int, name: str, default: Any) -> Any:
    """An argument of an operator that takes it as an input or as an attribute."""
    return call.inputs[at] if at < len(call.inputs) and call.inputs[at] is not None else call.get(name, default)


def inverse_root(b: OnnxBuilder, squares: Value, epsilon: float) -> Value:
    """One over the root of a variance."""
    return b.op("Reciprocal", b.op("Sqrt", run(b, "Add", squares, epsilon)))


# -- batches


def _channels(b: OnnxBuilder, value: Value, rank: int) -> Value:
    return b.reshape(value, (-1, *(1,) * (rank - 2)))


def _batch_norm(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    x = tensor(call)
    parameters = [tensor(call, at) for at in range(1, 5)]
    epsilon = float(argument(call, 6, "epsilon", 1e-5))
    if str(argument(call, 8, "format", "NCHW")).upper() not in ("NCHW", "0", "NCDHW"):
        raise Refused("its data format is not NCHW", attribute="format")
    if not argument(call, 5, "is_training", False):
        return _by_statistics(b, x, parameters, epsilon), None, None, None, None
    axes = tuple(at for at in range(rank_of(x)) if at != 1)
    squares, mean = variance(b, single(b, x), axes, 0, False)
    scale, bias = parameters[:2]
    return _by_statistics(b, x, [scale, bias, mean, squares], epsilon), None, None, mean, squares


def _by_statistics(b: OnnxBuilder, x: Value, parameters: Sequence[Value], epsilon: float) -> Value:
    """Batch normalization of ONNX; all in one data type that onnxruntime has a kernel for."""
    used = "float32" if x.dtype in HALVES else x.dtype
    given = [b.cast(one, used) for one in parameters]
    return b.cast(b.op("BatchNormalization", b.cast(x, used), *given, epsilon=epsilon), x.dtype)


def _batch_norm_ext(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    x = tensor(call)
    if call.get("training", False):
        raise Refused("it trains: its statistics are those of the batch", attribute="training")
    channels = None if x.shape is None else x.shape[1]
    if channels is None:
        raise Refused("the number of channels is only known when the model runs")
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    given = [call.input(1) or b.constant(ones), call.input(2) or b.constant(zeros), tensor(call, 3), tensor(call, 4)]
    return _by_statistics(b, x, given, float(call.get("epsilon", 1e-5))), None, None


# -- layers


def _layer(b: OnnxBuilder, x: Value, axis: int, scale: Value | None, bias: Value | None, epsilon: float) -> Value:
    """Layer normalization of ONNX where the parameters have the sizes of what is normalized, else composed."""
    whole = x.shape is not None and scale is not None and scale.fixed == x.shape[axis:]
    used = "float32" if x.dtype in HALVES else x.dtype
    given = [None if one is None else b.cast(one, used) for one in (x, scale, bias)]
    if whole and (bias is None or bias.shape == (None if scale is None else scale.shape)):
        found = b.op("LayerNormalization", *given, axis=axis, epsilon=epsilon)
        return b.cast(found, x.dtype)
    wide = b.cast(x, used)
    squares, mean = variance(b, wide, tuple(range(axis, rank_of(x))), 0, True)
    found = b.op("Mul", b.op("Sub", wide, mean), inverse_root(b, squares, epsilon))
    found = found if given[1] is None else b.op("Mul", found, given[1])
    return b.cast(found if given[2] is None else b.op("Add", found, given[2]), x.dtype)


def _layer_norm(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    x = tensor(call)
    axis = axis_in(call.get("begin_norm_axis", 1), rank_of(x))
    epsilon = float(number(call, "epsilon", 1e-7))
    wide = single(b, x)
    squares, mean = variance(b, wide, tuple(range(axis, rank_of(x))), 0, True)
    third = inverse_root(b, squares, epsilon) if call.op == "LayerNormV3" else squares
    found = _layer(b, x, axis, tensor(call, 1), tensor(call, 2), epsilon)
    return found, b.cast(mean, "float32"), b.cast(third, "float32")


def _layer_norm_ext(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    x = tensor(call)
    axis = rank_of(x) - len(fixed(call.input(1), "the normalized shape"))
    epsilon = float(number(call, "eps", 1e-5))
    squares, mean = variance(b, single(b, x), tuple(range(axis, rank_of(x))), 0, True)
    return (
        _layer(b, x, axis, call.get("weight", None), call.get("bias", None), epsilon),
        mean,
        inverse_root(b, squares, epsilon),
    )


def _added_layer_norm(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    total, epsilon = run(b, "Add", tensor(call), tensor(call, 1)), float(number(call, "epsilon", 1e-5))
    axis = rank_of(total) - rank_of(tensor(call, 2))
    squares, mean = variance(b, single(b, total), tuple(range(axis, rank_of(total))), 0, True)
    found = _layer(b, total, axis, tensor(call, 2), tensor(call, 3), epsilon)
    return found, mean, inverse_root(b, squares, epsilon), total


def _rms(b: OnnxBuilder, x: Value, scale: Value, epsilon: float) -> tuple[Value, Value]:
    wide = single(b, x)
    axes = tuple(range(rank_of(x) - rank_of(scale), rank_of(x)))
    mean = reduced(b, "ReduceMean", b.op("Mul", wide, wide), axes, True)
    factor = inverse_root(b, mean, epsilon)
    found = b.op("Mul", b.op("Mul", wide, factor), b.cast(scale, wide.dtype))
    return b.cast(found, x.dtype), factor


def _rms_norm(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    return _rms(b, tensor(call), tensor(call, 1), float(number(call, "epsilon", 1e-6)))


def _added_rms_norm(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    total = run(b, "Add", tensor(call), tensor(call, 1))
    return *_rms(b, total, tensor(call, 2), float(number(call, "epsilon", 1e-6))), total


# -- groups and instances


def _group_norm(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    x, groups, epsilon = tensor(call), int(number(call, "num_groups")), float(number(call, "eps", 1e-5))
    wide = single(b, x)
    rows = b.op("Reshape", wide, b.ints([0, groups, -1]))
    squares, mean = variance(b, rows, (2,), 0, True)
    factor = inverse_root(b, squares, epsilon)
    even = b.op("Mul", b.op("Sub", rows, mean), factor)
    found = b.op("Reshape", even, b.shape_of(x), shape=x.shape)
    for op, name in (("Mul", "weight"), ("Add", "bias")):
        one = call.get(name, None)
        if one is not None:
            found = b.op(op, found, _channels(b, b.cast(one, wide.dtype), rank_of(x)))
    return b.cast(found, x.dtype), *(b.cast(b.squeeze(one, [2]), x.dtype) for one in (mean, factor))


def _instance_norm(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    x, epsilon = tensor(call), float(call.get("epsilon", 1e-5))
    used = "float32" if x.dtype in HALVES else x.dtype
    given = [b.cast(one, used) for one in (x, tensor(call, 1), tensor(call, 2))]
    return b.cast(b.op("InstanceNormalization", *given, epsilon=epsilon), x.dtype), None, None


# -- norms and neighbours


def _l2_normalize(call: Call, b: OnnxBuilder) -> Value:
    """x over the root of the sum of squares, which is epsilon at least."""
    x = single(b, tensor(call))
    squares = reduced(b, "ReduceSumSquare", x, given_axes(call) or (0,), True)
    least = run(b, "Max", squares, float(call.get("epsilon", 1e-4)))
    return b.cast(b.op("Div", x, b.op("Sqrt", least)), tensor(call).dtype)


def _neighbours(call: Call, b: OnnxBuilder) -> Value:
    """MindSpore's alpha is for each neighbour, that of ONNX for all together."""
    width = 2 * int(call.get("depth_radius", 5)) + 1
    alpha, beta = float(call.get("alpha", 1.0)) * width, float(call.get("beta", 0.5))
    return carried(b, "LRN", tensor(call), size=width, bias=float(call.get("bias", 1.0)), alpha=alpha, beta=beta)


def _others(axis: int, rank: int) -> tuple[int, ...]:
    return tuple(at for at in range(rank) if at != axis % rank)


def _renorm(call: Call, b: OnnxBuilder) -> Value:
    """Parts along one axis whose norm is above a limit are scaled down to it."""
    x, limit = single(b, tensor(call)), float(call.get("maxnorm"))
    size = norm(b, x, float(call.get("p")), _others(int(call.get("dim")), rank_of(x)), True)
    scale = run(b, "Div", b.scalar(limit, x.dtype), run(b, "Add", size, _TINY))
    factor = b.op("Where", run(b, "Greater", size, limit), scale, b.scalar(1, x.dtype))
    return b.cast(b.op("Mul", x, factor), tensor(call).dtype)


def _clip_by_norm(call: Call, b: OnnxBuilder) -> Value:
    x = single(b, tensor(call))
    limit = b.cast(tensor(call, 1), x.dtype)
    size = norm(b, x, 2, numbers(call.get("axis", None)) or None, True)
    return b.cast(b.op("Div", b.op("Mul", x, limit), run(b, "Max", size, limit)), tensor(call).dtype)


# -- numbers


def _standard(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    squares, mean = spread(x, axes, 0, True)
    return (x - mean) / np.sqrt(squares + epsilon), mean, squares


def _batch_norm_of(call: Call) -> Any:
    x, scale, bias, mean, squares = call.inputs[:5]
    epsilon, sizes = float(argument(call, 6, "epsilon", 1e-5)), (-1, *(1,) * (call.input(0).ndim - 2))
    if call.op == "BatchNormExt":
        epsilon = float(call.get("epsilon", 1e-5))
        scale, bias = np.ones(1) if scale is None else scale, np.zeros(1) if bias is None else bias
    elif argument(call, 5, "is_training", False):
        squares, mean = spread(x, _others(1, x.ndim), 0, False)
    scale, bias, mean, squares = (one.reshape(sizes) for one in (scale, bias, mean, squares))
    found = (x - mean) / np.sqrt(squares + epsilon) * scale + bias
    flat = mean.reshape(-1), squares.reshape(-1)
    return (found, *flat) if call.op == "BatchNormExt" else (found, *(np.full_like(one, np.nan) for one in flat), *flat)


def _affine(x: Array, scale: Array | None, bias: Array | None) -> Array:
    x = x if scale is None else x * scale
    return x if bias is None else x + bias


def _layer_norm_of(call: Call) -> Any:
    x, epsilon = call.input(0), float(call.get("epsilon", 1e-7))
    axes = tuple(range(int(call.get("begin_norm_axis", 1)) % x.ndim, x.ndim))
    even, mean, squares = _standard(x, axes, epsilon)
    third = 1 / np.sqrt(squares + epsilon) if call.op == "LayerNormV3" else squares
    return _affine(even, call.input(1), call.input(2)), mean, third


def _layer_norm_ext_of(call: Call) -> Any:
    x, epsilon = call.input(0), float(call.get("eps", 1e-5))
    axes = tuple(range(x.ndim - len(fixed(call.input(1), "the normalized shape")), x.ndim))
    even, mean, squares = _standard(x, axes, epsilon)
    return _affine(even, call.get("weight", None), call.get("bias", None)), mean, 1 / np.sqrt(squares + epsilon)


def _added_layer_norm_of(call: Call) -> Any:
    total, scale, epsilon = call.input(0) + call.input(1), call.input(2), float(call.get("epsilon", 1e-5))
    even, mean, squares = _standard(total, tuple(range(total.ndim - scale.ndim, total.ndim)), epsilon)
    return _affine(even, scale, call.input(3)), mean, 1 / np.sqrt(squares + epsilon), total


def _rms_of(call: Call) -> Any:
    added = call.op == "AddRmsNorm"
    x, scale = (call.input(0) + call.input(1), call.input(2)) if added else (call.input(0), call.input(1))
    axes = tuple(range(x.ndim - scale.ndim, x.ndim))
    factor = 1 / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + float(call.get("epsilon", 1e-6)))
    return (x * factor * scale, factor, x) if added else (x * factor * scale, factor)


def _group_norm_of(call: Call) -> Any:
    x, groups, epsilon = call.input(0), int(call.get("num_groups")), float(call.get("eps", 1e-5))
    even, mean, squares = _standard(x.reshape(len(x), groups, -1), (2,), epsilon)
    shape = (-1, *(1,) * (x.ndim - 2))
    pair = [None if (one := call.get(name, None)) is None else one.reshape(shape) for name in ("weight", "bias")]
    return _affine(even.reshape(x.shape), *pair), mean[..., 0], 1 / np.sqrt(squares[..., 0] + epsilon)


def _instance_norm_of(call: Call) -> Any:
    x, shape = call.input(0), (-1, *(1,) * (call.input(0).ndim - 2))
    even, mean, squares = _standard(x, tuple(range(2, x.ndim)), float(call.get("epsilon", 1e-5)))
    return _affine(even, call.input(1).reshape(shape), call.input(2).reshape(shape)), mean.reshape(-1), squares


def _l2_normalize_of(call: Call) -> Array:
    x = call.input(0)
    squares = np.sum(np.square(x), axis=given_axes(call) or (0,), keepdims=True)
    return np.asarray(x / np.sqrt(np.maximum(squares, float(call.get("epsilon", 1e-4)))))


def _neighbours_of(call: Call) -> Array:
    x, radius = call.input(0), int(call.get("depth_radius", 5))
    padded = np.pad(np.square(x), ((0, 0), (radius, radius), *((0, 0),) * (x.ndim - 2)))
    total = sum(padded[:, at : at + x.shape[1]] for at in range(2 * radius + 1))
    scale = float(call.get("bias", 1.0)) + float(call.get("alpha", 1.0)) * total
    return np.asarray(x / scale ** float(call.get("beta", 0.5)))


def _renorm_of(call: Call) -> Array:
    x, limit = call.input(0), float(call.get("maxnorm"))
    size = norm_of(x, float(call.get("p")), _others(int(call.get("dim")), x.ndim), True)
    return np.asarray(x * np.where(size > limit, limit / (size + _TINY), 1.0))


def _clip_by_norm_of(call: Call) -> Array:
    x, limit = call.input(0), call.input(1)
    return np.asarray(x * limit / np.maximum(norm_of(x, 2, numbers(call.get("axis", None)) or None, True), limit))


TO_ONNX: Mapping[str, Lower] = {
    "AddLayerNormV2": _added_layer_norm,
    "AddRmsNorm": _added_rms_norm,
    "BatchNorm": _batch_norm,
    "BatchNormExt": _batch_norm_ext,
    "ClipByNorm": _clip_by_norm,
    "GroupNorm": _group_norm,
    "InstanceNorm": _instance_norm,
    "L2Normalize": _l2_normalize,
    "LRN": _neighbours,
    "LayerNorm": _layer_norm,
    "LayerNormExt": _layer_norm_ext,
    "LayerNormV3": _layer_norm,
    "Renorm": _renorm,
    "RmsNorm": _rms_norm,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "AddLayerNormV2": _added_layer_norm_of,
    "AddRmsNorm": _rms_of,
    "BatchNorm": _batch_norm_of,
    "BatchNormExt": _batch_norm_of,
    "ClipByNorm": _clip_by_norm_of,
    "GroupNorm": _group_norm_of,
    "InstanceNorm": _instance_norm_of,
    "L2Normalize": _l2_normalize_of,
    "LRN": _neighbours_of,
    "LayerNorm": _layer_norm_of,
    "LayerNormExt": _layer_norm_ext_of,
    "LayerNormV3": _layer_norm_of,
    "Renorm": _renorm_of,
    "RmsNorm": _rms_of,
}
