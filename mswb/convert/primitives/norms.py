"""Norms of vectors along some axes, by the formulas of MindSpore's documentation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.extents import dtype_of
from mswb.convert.primitives.kernels import HALVES, run, single
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.reduction import Axes, axes_of, given_axes, kept, reduced
from mswb.convert.program import Call

# -- ONNX


def norm(b: OnnxBuilder, x: Value, order: float, axes: Axes | None, keep: bool) -> Value:
    """The norm of vectors: the ``order``-th root of the sum of powers of what is absolute."""
    if order == 2:
        return reduced(b, "ReduceL2", x, axes, keep)
    absolute = b.op("Abs", x)
    if order == 1:
        return reduced(b, "ReduceSum", absolute, axes, keep)
    if math.isinf(order):
        return reduced(b, "ReduceMax" if order > 0 else "ReduceMin", absolute, axes, keep)
    if order == 0:
        return reduced(b, "ReduceSum", b.cast(b.cast(x, "bool"), x.dtype), axes, keep)
    return run(b, "Pow", reduced(b, "ReduceSum", run(b, "Pow", absolute, order), axes, keep), 1 / order)


def _order(call: Call) -> float:
    return float(number(call, "ord", number(call, "p", 2)))


def _norm(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    wanted = dtype_of(call, x.dtype)
    exact = (
        b.cast(x, wanted) if wanted == "float64" else b.cast(single(b, x), "float32" if wanted in HALVES else wanted)
    )
    found = norm(b, exact, _order(call), given_axes(call), kept(call))
    least = float(call.get("epsilon", 0.0))
    return b.cast(run(b, "Max", found, least) if least and call.op == "LpNormV2" else found, wanted)


# -- numbers


def norm_of(x: Array, order: float, axes: Axes | None, keep: bool) -> Array:
    """The norm of vectors in numpy."""
    absolute = np.abs(x)
    if math.isinf(order):
        return np.asarray((np.max if order > 0 else np.min)(absolute, axis=axes, keepdims=keep))
    if order == 0:
        return np.asarray(np.sum(x != 0, axis=axes, keepdims=keep)).astype(np.float64)
    top = np.max(absolute, axis=axes, keepdims=True, initial=0.0)
    safe = np.where((top > 0) & np.isfinite(top), top, 1.0)
    whole = np.sum((absolute / safe) ** order, axis=axes, keepdims=True) ** (1 / order) * safe
    return np.asarray(whole if keep else np.sum(whole, axis=axes))


def _norm_of(call: Call) -> Array:
    x = call.input(0).astype(np.float64)
    found = norm_of(x, _order(call), axes_of(x, given_axes(call)), kept(call))
    return np.maximum(found, float(call.get("epsilon", 0.0))) if call.op == "LpNormV2" else found


_NAMES = ("EuclideanNorm", "LinalgVectorNorm", "LpNorm", "LpNormV2", "Norm")

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = dict.fromkeys(_NAMES, _norm)
EVALUATE: Mapping[str, Callable[[Call], Any]] = dict.fromkeys(_NAMES, _norm_of)
