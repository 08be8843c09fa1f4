"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import rank_of
from mswb.convert.primitives.kernels import run
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call


def turned(b: OnnxBuilder, value: Value, flag: Any) -> Value:
    """The matrices transposed, if the flag says so."""
    if not isinstance(flag, (bool, int)):
        raise Refused("whether it is transposed is only known when the model runs")
    if not flag:
        return value
    rank = rank_of(value)
    return b.transpose(value, [*range(rank - 2), rank - 1, rank - 2])


def product(b: OnnxBuilder, left: Value, right: Value) -> Value:
    """The product of ONNX, in a data type that onnxruntime has a kernel for."""
    return run(b, "MatMul", left, right)


def _flags(call: Call) -> tuple[Any, Any]:
    return (
        call.get("transpose_a", call.get("transpose_x1", False)),
        call.get("transpose_b", call.get("transpose_x2", False)),
    )


def _mat_mul(call: Call, b: OnnxBuilder) -> Value:
    first, second = _flags(call)
    found = product(b, turned(b, tensor(call), first), turned(b, tensor(call, 1), second))
    bias = call.get("bias", None)
    return found if bias is None else run(b, "Add", found, bias)


def _dense(call: Call, b: OnnxBuilder) -> Value:
    """The input times the transposed weight; a weight of one dimension is one output."""
    x, w = tensor(call), tensor(call, 1)
    found = product(b, x, turned(b, w, rank_of(w) > 1))
    bias = call.get("bias", None)
    return found if bias is None else run(b, "Add", found, bias)


def _scaled(b: OnnxBuilder, value: Value, by: float) -> Value:
    if by == 1:
        return value
    return run(b, "Mul", value, by if value.dtype.startswith(("float", "bf")) else int(by))


def _added(call: Call, b: OnnxBuilder) -> Value:
    """beta times the input plus alpha times the product; Addbmm sums the products of the batch."""
    found = product(b, tensor(call, 1), tensor(call, 2))
    if call.op == "Addbmm":
        found = b.op("ReduceSum", found, b.ints([0]), keepdims=0)
    beta, alpha = number(call, "beta", 1), number(call, "alpha", 1)
    found = _scaled(b, found, alpha)
    return found if beta == 0 else run(b, "Add", _scaled(b, tensor(call), beta), found)


def _outer(call: Call, b: OnnxBuilder) -> Value:
    return run(b, "Mul", b.unsqueeze(tensor(call), [-1]), b.unsqueeze(tensor(call, 1), [-2]))


def _einsum(call: Call, b: OnnxBuilder) -> Value:
    """ONNX takes the same equation; a product of one data type, which has no dots, is left to it."""
    equation, operands = call.get("equation", None), call.inputs[-1]
    parts = operands if isinstance(operands, tuple) else tuple(one for one in call.inputs if isinstance(one, Value))
    if not isinstance(equation, str) or not all(isinstance(one, Value) for one in parts):
        raise Refused("the equation or the operands are only known when the model runs")
    return run(b, "Einsum", *parts, equation=equation.replace(" ", ""))


# -- numbers


def _product_of(call: Call) -> Array:
    one, other = call.input(0), call.input(1)
    first, second = _flags(call)
    one = np.swapaxes(one, -1, -2) if first else one
    found: Array = np.matmul(one, np.swapaxes(other, -1, -2) if second else other)
    bias = call.get("bias", None)
    return found if bias is None else np.asarray(found + bias)


def _dense_of(call: Call) -> Array:
    x, w, bias = call.input(0), call.input(1), call.get("bias", None)
    found = np.asarray(np.matmul(x, np.swapaxes(w, -1, -2) if w.ndim > 1 else w))
    return found if bias is None else np.asarray(found + bias)


def _added_of(call: Call) -> Array:
    found = np.matmul(call.input(1), call.input(2))
    found = np.sum(found, 0, dtype=found.dtype) if call.op == "Addbmm" else found
    beta, alpha = number(call, "beta", 1), number(call, "alpha", 1)
    kind = found.dtype.type
    base = call.input(0) * kind(beta) if beta != 0 else np.zeros((), found.dtype)
    return np.asarray(base + found * kind(alpha)).astype(found.dtype)


def _einsum_of(call: Call) -> Array:
    operands = call.inputs[-1]
    parts = operands if isinstance(operands, tuple) else [one for one in call.inputs if isinstance(one, np.ndarray)]
    return np.asarray(np.einsum(call.get("equation"), *parts))


_PRODUCTS = (
    "BatchMatMul", "BatchMatMulExt", "BatchMatMulV2", "Dot", "MatMul", "MatMulExt", "MatMulV2", "Mm", "Mv",
)  # fmt: skip
_SUMS = ("Addbmm", "Addmm", "Addmv", "Baddbmm")

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **dict.fromkeys(_PRODUCTS, _mat_mul),
    **dict.fromkeys(_SUMS, _added),
    "Dense": _dense,
    "Einsum": _einsum,
    "EinsumExt": _einsum,
    "FusedMatMulBiasAdd": _mat_mul,
    "Ger": _outer,
    "Outer": _outer,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **dict.fromkeys(_PRODUCTS, _product_of),
    **dict.fromkeys(_SUMS, _added_of),
    "Dense": _dense_of,
    "Einsum": _einsum_of,
    "EinsumExt": _einsum_of,
    "FusedMatMulBiasAdd": _product_of,
    "Ger": lambda call: np.multiply.outer(call.input(0), call.input(1)),
    "Outer": lambda call: np.multiply.outer(call.input(0), call.input(1)),
}
