"""Losses. Formulas are those of MindSpore's documentation, in at least single precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import rank_of
from mswb.convert.primitives.kernels import run, single, where
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.reduction import counted, reduced
from mswb.convert.primitives.softmax import log_softmax, log_softmax_of
from mswb.convert.primitives.transcendental import log1p
from mswb.convert.program import Call

_REDUCTIONS = {0: "sum", 1: "mean", 2: "none"}
_NEAR_ZERO = 1e-12
"""What BinaryCrossEntropy adds before it takes a logarithm."""


def _reduction(call: Call, default: str = "mean") -> str:
    given = call.get("reduction", default)
    found = _REDUCTIONS.get(given, "") if isinstance(given, int) else str(given).lower()
    if found not in ("sum", "mean", "none", "batchmean"):
        raise Refused(f"{given} is no reduction", attribute="reduction")
    return found


# -- ONNX


def _summed(b: OnnxBuilder, losses: Value, reduction: str, dtype: str) -> Value:
    """The losses, their sum or their mean."""
    if reduction == "none":
        return b.cast(losses, dtype)
    if reduction == "batchmean":
        total = reduced(b, "ReduceSum", losses, None, False)
        size = b.cast(b.op("Gather", b.shape_of(losses), b.scalar(0, "int64")), losses.dtype)
        return b.cast(b.op("Div", total, size), dtype)
    return b.cast(reduced(b, "ReduceMean" if reduction == "mean" else "ReduceSum", losses, None, False), dtype)


Pairwise = Callable[[OnnxBuilder, Value, Value, Call], Value]


def _pairwise(loss: Pairwise, default: str = "mean") -> Callable[[Call, OnnxBuilder], Value]:
    """A loss of each prediction and its target, weighted where weights are given."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, target = (single(b, tensor(call, at)) for at in (0, 1))
        found = loss(b, x, b.cast(target, x.dtype), call)
        weight = call.get("weight", None)
        if weight is not None:
            found = b.op("Mul", found, b.cast(weight, found.dtype))
        return _summed(b, found, _reduction(call, default), tensor(call).dtype)

    return lower


def _binary(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """-(y log x + (1 - y) log(1 - x))"""
    yes = b.op("Log", run(b, "Add", x, _NEAR_ZERO))
    no = b.op("Log", run(b, "Add", _less_from_one(b, x), _NEAR_ZERO))
    return b.op("Neg", b.op("Add", b.op("Mul", y, yes), b.op("Mul", _less_from_one(b, y), no)))


def _less_from_one(b: OnnxBuilder, x: Value) -> Value:
    return b.op("Sub", b.scalar(1, x.dtype), x)


def _binary_logits(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """(1 - y) x + (1 + (p - 1) y) (log(1 + e^-|x|) + max(-x, 0))"""
    tail = b.op("Add", log1p(b, b.op("Exp", b.op("Neg", b.op("Abs", x)))), run(b, "Max", b.op("Neg", x), 0.0))
    positive = call.get("posWeight", None)
    if positive is not None:
        more = run(b, "Add", b.cast(positive, x.dtype), -1.0)
        tail = b.op("Mul", tail, run(b, "Add", b.op("Mul", more, y), 1.0))
    return b.op("Add", b.op("Mul", _less_from_one(b, y), x), tail)


def _squared(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    difference = b.op("Sub", x, y)
    return b.op("Mul", difference, difference)


def _absolute(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    return b.op("Abs", b.op("Sub", x, y))


def _smooth(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """d^2 / (2 beta) below beta, else d - beta / 2"""
    beta, difference = float(number(call, "beta", 1.0)), _absolute(b, x, y, call)
    if beta == 0:
        return difference
    square = run(b, "Mul", b.op("Mul", difference, difference), 0.5 / beta)
    return where(b, run(b, "Less", difference, beta), square, run(b, "Add", difference, -beta / 2))


def _divergence(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """y (log y - x), and 0 where y is 0 or less"""
    if call.get("log_target", False):
        return b.op("Mul", b.op("Exp", y), b.op("Sub", y, x))
    positive = run(b, "Greater", y, 0.0)
    safe = where(b, positive, y, 1.0)
    return where(b, positive, b.op("Mul", y, b.op("Sub", b.op("Log", safe), x)), 0.0)


def _sigmoid_entropy(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """max(x, 0) - x y + log(1 + e^-|x|)"""
    tail = log1p(b, b.op("Exp", b.op("Neg", b.op("Abs", x))))
    return b.op("Add", b.op("Sub", run(b, "Max", x, 0.0), b.op("Mul", x, y)), tail)


def _soft_margin(b: OnnxBuilder, x: Value, y: Value, call: Call) -> Value:
    """log(1 + e^(-x y)) as max(-x y, 0) + log(1 + e^-|x y|)"""
    product = b.op("Mul", x, y)
    tail = log1p(b, b.op("Exp", b.op("Neg", b.op("Abs", product))))
    return b.op("Add", run(b, "Max", b.op("Neg", product), 0.0), tail)


def _half_of_squares(call: Call, b: OnnxBuilder) -> Value:
    x = single(b, tensor(call))
    return b.cast(run(b, "Mul", reduced(b, "ReduceSumSquare", x, None, False), 0.5), tensor(call).dtype)


def _sums_of_squares(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    return tuple(reduced(b, "ReduceSumSquare", tensor(call, at), None, False) for at in (0, 1))


def _picked(b: OnnxBuilder, x: Value, labels: Value) -> Value:
    """The element of each label, along the second dimension."""
    return b.squeeze(b.op("GatherElements", x, b.unsqueeze(labels, [1]), axis=1), [1])


def _likelihood(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    """The negative log likelihood of the labels, and the weight of all labels that count."""
    x, labels = single(b, tensor(call)), b.cast(tensor(call, 1), "int64")
    if rank_of(x) < 2:
        raise Refused("its logits have one dimension")
    ignored = b.op("Equal", labels, b.scalar(int(number(call, "ignore_index", -100)), "int64"))
    safe = where(b, ignored, 0, labels)
    each = b.op("Gather", b.cast(tensor(call, 2), x.dtype), safe, axis=0)
    each = where(b, ignored, 0.0, each)
    losses = where(b, ignored, 0.0, b.op("Neg", b.op("Mul", each, _picked(b, x, safe))))
    whole, total, dtype = reduced(b, "ReduceSum", each, None, False), losses, tensor(call).dtype
    reduction = _reduction(call)
    if reduction != "none":
        total = reduced(b, "ReduceSum", losses, None, False)
        total = b.op("Div", total, whole) if reduction == "mean" else total
    return b.cast(total, dtype), b.cast(whole, dtype)


def _cross_entropy(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    """The loss of each row, and the gradient of its logits."""
    x, labels = single(b, tensor(call)), single(b, tensor(call, 1))
    logarithm = log_softmax(b, x, -1)
    loss = b.op("Neg", reduced(b, "ReduceSum", b.op("Mul", labels, logarithm), (-1,), False))
    gradient = b.op("Sub", b.op("Exp", logarithm), labels)
    return b.cast(loss, tensor(call).dtype), b.cast(gradient, tensor(call).dtype)


def _sparse_cross_entropy(call: Call, b: OnnxBuilder) -> Value:
    x, labels = single(b, tensor(call)), b.cast(tensor(call, 1), "int64")
    if call.get("is_grad", False):
        raise Refused("it gives the gradient", attribute="is_grad")
    loss = b.op("Neg", reduced(b, "ReduceMean", _picked(b, log_softmax(b, x, -1), labels), None, False))
    return b.cast(loss, tensor(call).dtype)


def _multi_margin(call: Call, b: OnnxBuilder) -> Value:
    """The mean of max(0, margin - x[label] + x[i])^p over the classes, i other than the label."""
    x, labels = single(b, tensor(call)), b.cast(tensor(call, 1), "int64")
    power, margin = int(call.get("p", 1)), float(call.get("margin", 1.0))
    own = b.op("GatherElements", x, b.unsqueeze(labels, [1]), axis=1)
    over = run(b, "Max", run(b, "Add", b.op("Sub", x, own), margin), 0.0)
    over = b.op("Mul", over, over) if power == 2 else over
    if len(call.inputs) > 2 and call.input(2) is not None:
        over = b.op("Mul", over, b.unsqueeze(b.op("Gather", b.cast(call.input(2), x.dtype), labels, axis=0), [1]))
    classes = b.cast(b.op("Gather", b.shape_of(x), b.scalar(1, "int64")), "int64")
    places = b.op("Range", b.scalar(0, "int64"), classes, b.scalar(1, "int64"))
    over = where(b, b.op("Equal", places, b.unsqueeze(labels, [1])), 0.0, over)
    losses = b.op("Div", reduced(b, "ReduceSum", over, (1,), False), counted(b, x, (1,), x.dtype))
    return _summed(b, losses, _reduction(call), tensor(call).dtype)


# -- numbers


def _summed_of(losses: Array, reduction: str) -> Array:
    if reduction == "none":
        return losses
    if reduction == "batchmean":
        return np.asarray(np.sum(losses) / len(losses))
    return np.asarray(np.mean(losses) if reduction == "mean" else np.sum(losses))


def _pairwise_of(loss: Callable[[Array, Array, Call], Array], default: str = "mean") -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        found, weight = loss(call.input(0), call.input(1), call), call.get("weight", None)
        return _summed_of(found if weight is None else found * weight, _reduction(call, default))

    return evaluate


def _binary_of(x: Array, y: Array, call: Call) -> Array:
    return np.asarray(-(y * np.log(x + _NEAR_ZERO) + (1 - y) * np.log(1 - x + _NEAR_ZERO)))


def _binary_logits_of(x: Array, y: Array, call: Call) -> Array:
    positive = call.get("posWeight", None)
    factor = 1.0 if positive is None else 1 + (positive - 1) * y
    return np.asarray((1 - y) * x + factor * np.logaddexp(0.0, -x))


def _smooth_of(x: Array, y: Array, call: Call) -> Array:
    beta, difference = float(call.get("beta", 1.0)), np.abs(x - y)
    return np.where(difference < beta, difference**2 * (0.5 / beta if beta else 0.0), difference - beta / 2)


def _divergence_of(x: Array, y: Array, call: Call) -> Array:
    if call.get("log_target", False):
        return np.asarray(np.exp(y) * (y - x))
    return np.where(y > 0, y * (np.log(np.where(y > 0, y, 1.0)) - x), 0.0)


def _picked_of(x: Array, labels: Array) -> Array:
    return np.take_along_axis(x, np.expand_dims(labels.astype(np.int64), 1), 1).squeeze(1)


def _likelihood_of(call: Call) -> Any:
    x, labels, weight = call.inputs[:3]
    ignored = labels == int(call.get("ignore_index", -100))
    safe = np.where(ignored, 0, labels)
    each = np.where(ignored, 0.0, weight[safe])
    losses, whole, reduction = np.where(ignored, 0.0, -each * _picked_of(x, safe)), np.sum(each), _reduction(call)
    if reduction == "none":
        return losses, whole
    return np.sum(losses) / (whole if reduction == "mean" else 1.0), whole


def _cross_entropy_of(call: Call) -> Any:
    x, labels = call.input(0), call.input(1)
    logarithm = log_softmax_of(x, (x.ndim - 1,))
    return -np.sum(labels * logarithm, axis=-1), np.exp(logarithm) - labels


def _sparse_cross_entropy_of(call: Call) -> Array:
    x, labels = call.input(0), call.input(1).astype(np.int64)
    logarithm = log_softmax_of(x, (x.ndim - 1,))
    if call.get("is_grad", False):
        return np.asarray((np.exp(logarithm) - np.eye(x.shape[-1])[labels]) / len(x) * float(call.get("sens", 1.0)))
    return np.asarray(-np.mean(_picked_of(logarithm, labels)))


def _multi_margin_of(call: Call) -> Array:
    x, labels = call.input(0), call.input(1)
    over = np.maximum(float(call.get("margin", 1.0)) - _picked_of(x, labels)[:, None] + x, 0.0) ** call.get("p", 1)
    over = over * call.input(2)[labels][:, None] if len(call.inputs) > 2 and call.input(2) is not None else over
    over = np.where(np.arange(x.shape[1]) == labels[:, None], 0.0, over)
    return _summed_of(np.sum(over, axis=1) / x.shape[1], _reduction(call))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "BCEWithLogitsLoss": _pairwise(_binary_logits),
    "BinaryCrossEntropy": _pairwise(_binary),
    "KLDiv": _pairwise(_divergence),
    "KLDivLoss": _pairwise(_divergence),
    "L1LossExt": _pairwise(_absolute),
    "L2Loss": _half_of_squares,
    "MSELossExt": _pairwise(_squared),
    "MultiMarginLoss": _multi_margin,
    "NLLLoss": _likelihood,
    "NLLLoss2d": _likelihood,
    "SigmoidCrossEntropyWithLogits": _pairwise(_sigmoid_entropy, "none"),
    "SmoothL1Loss": _pairwise(_smooth, "none"),
    "SoftMarginLoss": _pairwise(_soft_margin),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "SquareSumAll": _sums_of_squares,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "BCEWithLogitsLoss": _pairwise_of(_binary_logits_of),
    "BinaryCrossEntropy": _pairwise_of(_binary_of),
    "KLDiv": _pairwise_of(_divergence_of),
    "KLDivLoss": _pairwise_of(_divergence_of),
    "L1LossExt": _pairwise_of(lambda x, y, call: np.abs(x - y)),
    "L2Loss": lambda call: np.sum(np.square(call.input(0))) / 2,
    "MSELossExt": _pairwise_of(lambda x, y, call: np.square(x - y)),
    "MultiMarginLoss": _multi_margin_of,
    "NLLLoss": _likelihood_of,
    "NLLLoss2d": _likelihood_of,
    "SigmoidCrossEntropyWithLogits": _pairwise_of(lambda x, y, call: np.logaddexp(0.0, x) - x * y, "none"),
    "SmoothL1Loss": _pairwise_of(_smooth_of, "none"),
    "SoftMarginLoss": _pairwise_of(lambda x, y, call: np.logaddexp(0.0, -x * y)),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy_of,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy_of,
    "SquareSumAll": lambda call: tuple(np.sum(np.square(call.input(at))) for at in (0, 1)),
}
