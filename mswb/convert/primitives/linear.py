"""Products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx_graph import OnnxBuilder
from mswb.convert.onnx_node import Refused
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call


def _turned(value: Value, turned: Any, b: OnnxBuilder) -> Value:
    if not isinstance(turned, bool):
        raise Refused("whether it is transposed is only known when the model runs")
    if not turned:
        return value
    if value.rank is None:
        raise Refused("the rank of a transposed operand is only known when the model runs")
    return b.transpose(value, [*range(value.rank - 2), value.rank - 1, value.rank - 2])


def _mat_mul(call: Call, b: OnnxBuilder) -> Value:
    left = _turned(tensor(call, 0), call.get("transpose_a", False), b)
    return b.op("MatMul", left, _turned(tensor(call, 1), call.get("transpose_b", False), b))


def _product(call: Call) -> Array:
    one, other = call.input(0), call.input(1)
    one = np.swapaxes(one, -1, -2) if call.get("transpose_a", False) else one
    found: Array = np.matmul(one, np.swapaxes(other, -1, -2) if call.get("transpose_b", False) else other)
    return found


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "BatchMatMul": _mat_mul,
    "MatMul": _mat_mul,
    "MatMulExt": _mat_mul,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "BatchMatMul": _product,
    "MatMul": _product,
    "MatMulExt": _product,
}
