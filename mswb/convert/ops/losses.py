"""Losses: the negative logarithm of the likelihood of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.normalization import arithmetic


def _likelihood(node: OnnxNode, b: Builder) -> Value:
    return b.cast(_loss(node, b, _wide(b, node.input(0))), node.input(0).dtype)


def _cross_entropy(node: OnnxNode, b: Builder) -> Sequence[Value]:
    given = node.input(0)
    x = _wide(b, given)
    rank = node.rank()
    if rank <= 2:
        logarithm = b.op("LogSoftmax", x, 1, shape=x.shape)
    else:
        order = (0, *range(2, rank), 1)
        turned = b.transpose(x, order)
        soft = b.op("LogSoftmax", turned, -1, shape=turned.shape)
        logarithm = b.transpose(soft, (0, rank - 1, *range(1, rank - 1)))
    return [b.cast(_loss(node, b, logarithm), given.dtype), b.cast(logarithm, given.dtype)]


def _wide(b: Builder, x: Value) -> Value:
    return b.cast(x, "float32" if x.dtype == "float16" else x.dtype)


def _loss(node: OnnxNode, b: Builder, x: Value) -> Value:
    """-weight[label] * x[label] of each place, reduced; a label that is ignored counts nothing."""
    labels, reduction = node.input(1), str(node.get("reduction", "mean"))
    ignored = node.get("ignore_index")
    counted, shape = None, labels.shape
    if ignored is not None:
        counted = b.op("NotEqual", labels, b.scalar(int(ignored), labels.dtype), dtype="bool", shape=shape)
        labels = b.op("Select", counted, labels, b.scalar(0, labels.dtype), dtype=labels.dtype, shape=shape)
    picked = sizes.squeeze(b, b.op("GatherD", x, 1, sizes.expand(b, labels, 1), shape=_one(x)), 1)
    loss = b.op("Neg", picked, shape=shape)
    weight = None
    if node.has(2):
        weight = b.op("Gather", b.cast(node.input(2), x.dtype), labels, 0, 0, shape=shape)
        if counted is not None:
            weight = b.op("Select", counted, weight, b.scalar(0, x.dtype), dtype=x.dtype, shape=shape)
    elif counted is not None:
        weight = b.cast(counted, x.dtype)
    if weight is not None:
        loss = arithmetic(b, "Mul", loss, weight)
    if counted is not None:
        loss = b.op("Select", counted, loss, b.scalar(0, x.dtype), dtype=x.dtype, shape=shape)
    return _reduced(b, loss, weight, reduction)


def _one(x: Value) -> tuple[int | None, ...] | None:
    return None if x.shape is None else (x.shape[0], 1, *x.shape[2:])


def _reduced(b: Builder, loss: Value, weight: Value | None, reduction: str) -> Value:
    if loss.rank is None:
        raise Refused("the rank of the labels is only known when the model runs")
    axes = tuple(range(loss.rank))
    if reduction == "none":
        return loss
    if reduction == "mean" and weight is None:
        return b.op("ReduceMean", loss, axes, False, shape=())
    total = b.op("ReduceSum", loss, axes, False, False, shape=())
    if reduction == "sum" or weight is None:
        return total
    return b.op("Div", total, b.op("ReduceSum", weight, axes, False, False, shape=()), shape=())


TO_MINDIR: Mapping[str, Lower] = {
    "NegativeLogLikelihoodLoss": _likelihood,
    "SoftmaxCrossEntropyLoss": _cross_entropy,
}
