"""Softmax and its logarithm, along one axis or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.extents import carried, converted, dtype_of, fixed
from mswb.convert.primitives.kernels import single
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.reduction import log_sum_exp, reduced
from mswb.convert.program import Call


def _axes(call: Call, rank: int | None) -> tuple[int, ...]:
    """The axes; where none is given, the first of 0, 1 or 3 dimensions and else the second."""
    given = call.get("axis", call.get("dim", None))
    return (int(rank not in (0, 1, 3)),) if given is None else fixed(given, "the axis")


def log_softmax(b: OnnxBuilder, x: Value, axis: int) -> Value:
    """The logarithm of the softmax along one axis."""
    return carried(b, "LogSoftmax", x, axis=axis)


def _lower(op: str) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        x = b.cast(x, dtype_of(call, x.dtype))
        axes = _axes(call, x.rank)
        if len(axes) == 1:
            return carried(b, op, x, axis=axes[0])
        wide = single(b, x)
        logarithm = b.op("Sub", wide, reduced(b, "ReduceLogSumExp", wide, axes, True))
        return b.cast(logarithm if op == "LogSoftmax" else b.op("Exp", logarithm), x.dtype)

    return lower


def log_softmax_of(x: Array, axes: tuple[int, ...]) -> Array:
    """The logarithm of the softmax in numpy."""
    return np.asarray(x - log_sum_exp(x, axes, True))


def _logarithm_of(call: Call) -> Array:
    x = call.input(0)
    return log_softmax_of(converted(x, dtype_of(call, "float64")), _axes(call, x.ndim))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "LogSoftmax": _lower("LogSoftmax"),
    "LogSoftmaxExt": _lower("LogSoftmax"),
    "Softmax": _lower("Softmax"),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "LogSoftmax": _logarithm_of,
    "LogSoftmaxExt": _logarithm_of,
    "Softmax": lambda call: np.exp(_logarithm_of(call)),
}
