"""Arithmetic of two tensors, or of a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Value
from mswb.convert.onnx_graph import OnnxBuilder
from mswb.convert.primitives.operands import arrays, tensors
from mswb.convert.program import Call


def _two(op: str) -> Callable[[Call, OnnxBuilder], Value]:
    """An operator that ONNX has under a name of its own."""
    return lambda call, b: b.op(op, *tensors(call, b))


def _numpy(function: Any) -> Callable[[Call], Any]:
    return lambda call: function(*arrays(call))


_NAMES = {"Add": "Add", "Mul": "Mul", "Muls": "Mul", "Sub": "Sub"}

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {name: _two(op) for name, op in _NAMES.items()}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "Add": _numpy(np.add),
    "Mul": _numpy(np.multiply),
    "Muls": _numpy(np.multiply),
    "Sub": _numpy(np.subtract),
}
