"""Activations. Formulas are ONNX's own, in at least single precision, written so that no step overflows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.exact import as_float, call, maximum, minimum, select
from mswb.convert.ops.reduction import extreme_index

Formula = Callable[[Builder, Value, OnnxNode], Value]


def formula(make: Formula) -> Lower:
    """An operator of one input as arithmetic on it; half precision is left at the end alone."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        given = node.input(0)
        return b.cast(make(b, as_float(b, given), node), given.dtype)

    return lower


def sigmoid(b: Builder, x: Value) -> Value:
    """The logistic function."""
    return call(b, "Sigmoid", x)


def softplus(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|))."""
    tail = call(b, "Log1p", call(b, "Exp", call(b, "Neg", call(b, "Abs", x))))
    return call(b, "Add", maximum(b, x, 0), tail)


def _relu(node: OnnxNode, b: Builder) -> Value:
    return maximum(b, node.input(0), 0)


def _leaky(b: Builder, x: Value, node: OnnxNode) -> Value:
    return select(b, call(b, "Less", x, 0), call(b, "Mul", x, float(node.get("alpha", 0.01))), x)


def _prelu(node: OnnxNode, b: Builder) -> Value:
    x, slope = node.input(0), node.input(1)
    return select(b, call(b, "Less", x, 0), call(b, "Mul", x, slope), x)


def _elu(b: Builder, x: Value, node: OnnxNode) -> Value:
    return _exponential(b, x, float(node.get("alpha", 1.0)))


def _exponential(b: Builder, x: Value, alpha: float) -> Value:
    """x above zero, alpha * (exp(x) - 1) below."""
    return select(b, call(b, "Greater", x, 0), x, call(b, "Mul", call(b, "Expm1", x), alpha))


def _selu(b: Builder, x: Value, node: OnnxNode) -> Value:
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    return call(b, "Mul", _exponential(b, x, float(alpha)), float(gamma))


def _celu(b: Builder, x: Value, node: OnnxNode) -> Value:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))"""
    alpha = float(node.get("alpha", 1.0))
    below = call(b, "Mul", call(b, "Expm1", call(b, "Div", x, alpha)), alpha)
    return call(b, "Add", maximum(b, x, 0), minimum(b, below, 0))


def _thresholded(b: Builder, x: Value, node: OnnxNode) -> Value:
    return select(b, call(b, "Greater", x, float(node.get("alpha", 1.0))), x, 0)


def _softsign(b: Builder, x: Value, node: OnnxNode) -> Value:
    return call(b, "Div", x, call(b, "Add", call(b, "Abs", x), 1))


def _hard(b: Builder, x: Value, alpha: float, beta: float) -> Value:
    """max(0, min(1, alpha * x + beta))"""
    line = call(b, "Add", call(b, "Mul", x, alpha), beta)
    return maximum(b, minimum(b, line, 1), 0)


def _hard_sigmoid(b: Builder, x: Value, node: OnnxNode) -> Value:
    return _hard(b, x, float(node.get("alpha", 0.2)), float(node.get("beta", 0.5)))


def _hard_swish(b: Builder, x: Value, node: OnnxNode) -> Value:
    return call(b, "Mul", x, _hard(b, x, 1 / 6, 0.5))


def _mish(b: Builder, x: Value, node: OnnxNode) -> Value:
    return call(b, "Mul", x, call(b, "Tanh", softplus(b, x)))


def _swish(b: Builder, x: Value, node: OnnxNode) -> Value:
    alpha = float(node.get("alpha", 1.0))
    return call(b, "Mul", x, sigmoid(b, x if alpha == 1 else call(b, "Mul", x, alpha)))


def _gelu(b: Builder, x: Value, node: OnnxNode) -> Value:
    """x / 2 * (1 + erf(x / sqrt(2))), or its tanh form."""
    if node.get("approximate", "none") == "tanh":
        cube = call(b, "Mul", call(b, "Mul", x, call(b, "Mul", x, x)), 0.044715)
        inner = call(b, "Tanh", call(b, "Mul", call(b, "Add", x, cube), math.sqrt(2 / math.pi)))
    else:
        inner = call(b, "Erf", call(b, "Mul", x, math.sqrt(0.5)))
    return call(b, "Mul", call(b, "Mul", x, 0.5), call(b, "Add", inner, 1))


def _shrink(node: OnnxNode, b: Builder) -> Value:
    """x + bias below -lambd, x - bias above lambd, else zero; of integers in double precision, cut."""
    given, bias, limit = node.input(0), float(node.get("bias", 0.0)), float(node.get("lambd", 0.5))
    integer = np.dtype(given.dtype).kind in "iu"
    x = b.cast(given, "float64") if integer else as_float(b, given)
    above = select(b, call(b, "Greater", x, limit), call(b, "Sub", x, bias), 0)
    return b.cast(select(b, call(b, "Less", x, -limit), call(b, "Add", x, bias), above), given.dtype)


def _axes(node: OnnxNode) -> tuple[int, ...]:
    """What a softmax is taken over: one axis, or before opset 13 all from it on."""
    if node.version >= 13:
        return (node.axis(-1),)
    return tuple(range(node.axis(1) if node.rank() > 1 else 0, node.rank()))


def softmax(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    """exp(x - m) / sum(exp(x - m)) with m the maximum along the axes.

    MindSpore's own lets a row that is -inf throughout spoil the rows behind it.
    """
    raised = call(b, "Exp", _below_maximum(b, x, axes))
    return call(b, "Div", raised, b.op("ReduceSum", raised, axes, True, False, shape=_kept(x, axes)))


def _softmax(node: OnnxNode, b: Builder) -> Value:
    given = node.input(0)
    return b.cast(softmax(b, as_float(b, given), _axes(node)), given.dtype)


def _log_softmax(node: OnnxNode, b: Builder) -> Value:
    given, axes = node.input(0), _axes(node)
    below = _below_maximum(b, as_float(b, given), axes)
    total = b.op("ReduceSum", call(b, "Exp", below), axes, True, False, shape=_kept(below, axes))
    return b.cast(call(b, "Sub", below, call(b, "Log", total)), given.dtype)


def _below_maximum(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    return call(b, "Sub", x, b.op("ReduceMax", x, axes, True, shape=_kept(x, axes)))


def _kept(x: Value, axes: tuple[int, ...]) -> tuple[int | None, ...]:
    return tuple(1 if at in axes else size for at, size in enumerate(x.shape or ()))


def _hardmax(node: OnnxNode, b: Builder) -> Value:
    """One at the first maximum, else zero."""
    given, axes = node.input(0), _axes(node)
    if not axes:
        return b.op("OnesLike", given, shape=given.shape)
    rows, axis = given, axes[0]
    if len(axes) > 1:
        every = [sizes.size(b, given, at) for at in range(node.rank())]
        rows, axis = sizes.reshape(b, given, [sizes.product(b, every[:axis]), sizes.product(b, every[axis:])]), 1
    top = extreme_index(b, rows, axis, "ReduceMax", last=False)
    first = b.cast(call(b, "Equal", sizes.positions(b, rows, axis), top), given.dtype)
    return first if rows is given else replace(b.reshape(first, b.shape_of(given)), shape=given.shape)


def _dropout(node: OnnxNode, b: Builder) -> Sequence[Value]:
    """What inference makes of it: nothing, and a mask that keeps all."""
    given = node.input(0)
    training = bool(node.content(2, "training_mode").any()) if node.has(2) else False
    if training and (not node.has(1) or bool(node.content(1, "ratio").any())):
        raise Refused(
            "with training_mode it drops at random", nearest="export the model for inference", attribute="training_mode"
        )
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [given]
    ones = b.op("OnesLike", given, shape=given.shape)
    return [given, ones if node.version < 10 else b.cast(ones, "bool")]


TO_MINDIR: Mapping[str, Lower] = {
    "Celu": formula(_celu),
    "Dropout": _dropout,
    "Elu": formula(_elu),
    "Gelu": formula(_gelu),
    "HardSigmoid": formula(_hard_sigmoid),
    "HardSwish": formula(_hard_swish),
    "Hardmax": _hardmax,
    "LeakyRelu": formula(_leaky),
    "LogSoftmax": _log_softmax,
    "Mish": formula(_mish),
    "PRelu": _prelu,
    "Relu": _relu,
    "Selu": formula(_selu),
    "Shrink": _shrink,
    "Sigmoid": formula(lambda b, x, node: sigmoid(b, x)),
    "Softmax": _softmax,
    "Softplus": formula(lambda b, x, node: softplus(b, x)),
    "Softsign": formula(_softsign),
    "Swish": formula(_swish),
    "ThresholdedRelu": formula(_thresholded),
}
