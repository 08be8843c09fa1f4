"""Normalisation: a tensor shifted and scaled by its own statistics, or by stored ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mswb.convert.graph import Builder, Value, broadcast
from mswb.convert.onnx.model import dtype_name
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.windows import LARGEST


def arithmetic(b: Builder, primitive: str, first: Value, second: Value) -> Value:
    """An operator of two inputs that broadcast."""
    return b.op(primitive, first, second, shape=broadcast(first.shape, second.shape))


def mean(b: Builder, x: Value, axes: Sequence[int]) -> Value:
    """The mean over axes, which stay with size 1; MindSpore takes no axes for all."""
    if not axes:
        return x
    shape = None if x.shape is None else tuple(1 if at in axes else one for at, one in enumerate(x.shape))
    return b.op("ReduceMean", x, tuple(axes), True, shape=shape)


def centred(b: Builder, x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
    """What is left without the mean, the mean, and the variance."""
    middle = mean(b, x, axes)
    rest = arithmetic(b, "Sub", x, middle)
    return rest, middle, mean(b, arithmetic(b, "Mul", rest, rest), axes)


def deviation(b: Builder, variance: Value, epsilon: float) -> Value:
    """The square root of a variance that is kept from 0."""
    more = arithmetic(b, "Add", variance, b.scalar(epsilon, variance.dtype))
    return b.op("Sqrt", more, shape=more.shape)


def _wide(dtype: str) -> str:
    """The type to compute in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _along_channels(b: Builder, x: Value, rank: int) -> Value:
    """One number a channel, so that it broadcasts against (N, C, ...)."""
    return b.reshape(x, (-1, *[1] * (rank - 2)))


def _epsilon(node: OnnxNode) -> float:
    return float(node.get("epsilon", 1e-5))


# -- with stored statistics


def _batch_normalization(node: OnnxNode, b: Builder) -> Sequence[Value]:
    given, rank = node.input(0), node.rank()
    if not node.get("spatial", 1):
        raise Refused("spatial is 0: statistics of each element", attribute="spatial")
    training = bool(node.get("training_mode", 0)) or (node.version < 14 and len(node.outputs) > 1)
    parameters = [node.input(at) for at in range(1, 5)]
    if training:
        return _training(node, b, parameters)
    narrow = {one.dtype for one in (given, *parameters)} == {"float32"}
    if rank == 4 and narrow:
        results = [(given.dtype, given.shape)]
        arguments = (False, _epsilon(node), 0.1, 0)
        return b.ops("BatchNorm", given, *parameters, *arguments, results=results)[:1]
    scale, bias, middle, variance = (_widened(b, one, given.dtype, max(rank, 2)) for one in parameters)
    x = b.cast(given, _wide(given.dtype))
    return [b.cast(_applied(b, x, scale, bias, middle, deviation(b, variance, _epsilon(node))), given.dtype)]


def _widened(b: Builder, one: Value, dtype: str, rank: int) -> Value:
    return _along_channels(b, b.cast(one, _wide(dtype)), rank)


def _applied(b: Builder, x: Value, scale: Value, bias: Value, middle: Value, spread: Value) -> Value:
    normal = arithmetic(b, "Div", arithmetic(b, "Sub", x, middle), spread)
    return arithmetic(b, "Add", arithmetic(b, "Mul", normal, scale), bias)


def _training(node: OnnxNode, b: Builder, parameters: Sequence[Value]) -> Sequence[Value]:
    """By the batch's own statistics; the stored ones move towards them by 1 - momentum."""
    given, rank, momentum = node.input(0), node.rank(), float(node.get("momentum", 0.9))
    if len(node.outputs) > 3:
        raise Refused("saved_mean and saved_var, which only training needs, are results")
    dtype = _wide(given.dtype)
    x = b.cast(given, dtype)
    scale, bias = (_widened(b, one, given.dtype, rank) for one in parameters[:2])
    _, middle, variance = centred(b, x, [at for at in range(rank) if at != 1])
    result = _applied(b, x, scale, bias, middle, deviation(b, variance, _epsilon(node)))
    moved = []
    for old, new in zip(parameters[2:], (middle, variance), strict=True):
        kept = arithmetic(b, "Mul", b.cast(old, dtype), b.scalar(momentum, dtype))
        added = arithmetic(b, "Mul", b.reshape(new, (-1,)), b.scalar(1 - momentum, dtype))
        moved.append(b.cast(arithmetic(b, "Add", kept, added), old.dtype))
    return [b.cast(result, given.dtype), *moved]


# -- with statistics of the tensor itself


def _instance_normalization(node: OnnxNode, b: Builder) -> Value:
    given, rank = node.input(0), node.rank()
    x = b.cast(given, _wide(given.dtype))
    rest, _, variance = centred(b, x, range(2, rank))
    normal = arithmetic(b, "Div", rest, deviation(b, variance, _epsilon(node)))
    scale, bias = (_widened(b, node.input(at), given.dtype, rank) for at in (1, 2))
    return b.cast(arithmetic(b, "Add", arithmetic(b, "Mul", normal, scale), bias), given.dtype)


def _group_normalization(node: OnnxNode, b: Builder) -> Value:
    """Scale and bias are one number a group before opset 21, and one a channel since."""
    given, rank, groups = node.input(0), node.rank(), int(node.get("num_groups", 1))
    stash = int(node.get("stash_type", 1))
    x = b.cast(given, _wide(given.dtype) if stash == 1 else dtype_name(stash))
    whole = [sizes.size(b, x, at) for at in range(rank)]
    grouped = sizes.reshape(b, x, [whole[0], groups, -1])
    rest, _, variance = centred(b, grouped, [2])
    normal = arithmetic(b, "Div", rest, deviation(b, variance, _epsilon(node)))
    scale, bias = (b.cast(node.input(at), x.dtype) for at in (1, 2))
    if node.version < 21:
        scale, bias = (b.reshape(one, (-1, 1)) for one in (scale, bias))
        scaled = arithmetic(b, "Add", arithmetic(b, "Mul", normal, scale), bias)
        return b.cast(sizes.reshape(b, scaled, whole), given.dtype)
    normal = sizes.reshape(b, normal, whole)
    scale, bias = (_along_channels(b, one, rank) for one in (scale, bias))
    return b.cast(arithmetic(b, "Add", arithmetic(b, "Mul", normal, scale), bias), given.dtype)


def _layer_normalization(node: OnnxNode, b: Builder) -> Sequence[Value]:
    """The statistics are computed in the type of stash_type; the affine part in the input's own."""
    given, axis = node.input(0), node.axis(-1)
    if _is_own(node, given, axis):
        results = [(given.dtype, given.shape)]
        arguments = (node.input(1), node.input(2), axis, axis, _epsilon(node))
        return b.ops("LayerNorm", given, *arguments, results=results)
    x = b.cast(given, _stash(node, given))
    rest, middle, variance = centred(b, x, range(axis, node.rank()))
    spread = deviation(b, variance, _epsilon(node))
    normal = b.cast(arithmetic(b, "Div", rest, spread), given.dtype)
    result = arithmetic(b, "Mul", normal, node.input(1))
    if node.has(2):
        result = arithmetic(b, "Add", result, node.input(2))
    wanted = [result]
    if len(node.outputs) > 1:
        wanted.append(middle)
    if len(node.outputs) > 2:
        wanted.append(arithmetic(b, "Div", b.scalar(1, spread.dtype), spread))
    return wanted


def _is_own(node: OnnxNode, given: Value, axis: int) -> bool:
    """Whether MindSpore's LayerNorm says the same: float32, one result, parameters of just the normalised shape."""
    if len(node.outputs) > 1 or not node.has(2) or given.shape is None or None in given.shape[axis:]:
        return False
    parameters = (node.input(1), node.input(2))
    same = all(one.shape == given.shape[axis:] and one.dtype == "float32" for one in parameters)
    return same and given.dtype == "float32" and axis > 0


def _stash(node: OnnxNode, given: Value) -> str:
    wanted = dtype_name(int(node.get("stash_type", 1)))
    return given.dtype if wanted == "float32" and given.dtype == "float64" else wanted


def _rms_normalization(node: OnnxNode, b: Builder) -> Value:
    given, axis = node.input(0), node.axis(-1)
    x = b.cast(given, _stash(node, given))
    square = mean(b, arithmetic(b, "Mul", x, x), range(axis, node.rank()))
    normal = b.cast(arithmetic(b, "Div", x, deviation(b, square, _epsilon(node))), given.dtype)
    return arithmetic(b, "Mul", normal, node.input(1))


def _lrn(node: OnnxNode, b: Builder) -> Value:
    """x / (bias + alpha / size * sum of the squares of size channels around)^beta."""
    given, count = node.input(0), int(node.get("size", 1))
    if not 1 <= count <= LARGEST:
        raise Refused(f"size {count} is no number of channels that is believed", attribute="size")
    x = b.cast(given, _wide(given.dtype))
    square = arithmetic(b, "Mul", x, x)
    before = (count - 1) // 2
    whole = sizes.pad(b, square, [(before, count - 1 - before), *[(0, 0)] * (node.rank() - 2)], 0)
    total = sizes.cut(b, whole, 1, 0, count - 1)
    for at in range(1, count):
        total = arithmetic(b, "Add", total, sizes.cut(b, whole, 1, at, count - 1 - at))
    scaled = arithmetic(b, "Mul", total, b.scalar(float(node.get("alpha", 1e-4)) / count, x.dtype))
    base = arithmetic(b, "Add", scaled, b.scalar(float(node.get("bias", 1.0)), x.dtype))
    power = arithmetic(b, "Pow", base, b.scalar(float(node.get("beta", 0.75)), x.dtype))
    return b.cast(arithmetic(b, "Div", x, power), given.dtype)


def _mean_variance_normalization(node: OnnxNode, b: Builder) -> Value:
    """(x - mean) / (deviation + 1e-9), as ONNX's body has it."""
    given, rank = node.input(0), node.rank()
    x = b.cast(given, _wide(given.dtype))
    axes = [int(axis) % rank for axis in node.get("axes", [0, 2, 3])]
    rest, _, variance = centred(b, x, axes)
    spread = b.op("Sqrt", variance, shape=variance.shape)
    return b.cast(arithmetic(b, "Div", rest, arithmetic(b, "Add", spread, b.scalar(1e-9, x.dtype))), given.dtype)


TO_MINDIR: Mapping[str, Lower] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "RMSNormalization": _rms_normalization,
}
