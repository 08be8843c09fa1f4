"""Products of matrices: MatMul, Gemm, Einsum, and the determinant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mswb.convert.graph import Builder, Shape, Value, broadcast
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_SIGNED: Mapping[str, str] = {"uint32": "int64", "uint64": "int64"}
"""What has no kernel and the type in which the same products, cut to its bits, come out."""


def matmul(b: Builder, x: Value, y: Value) -> Value:
    """The product as numpy's matmul has it, of any ranks."""
    if x.dtype in _SIGNED:
        signed = (b.cast(one, _SIGNED[x.dtype]) for one in (x, y))
        return b.cast(matmul(b, *signed), x.dtype)
    if x.rank == 2 and y.rank == 2:
        assert x.shape is not None and y.shape is not None
        return b.op("MatMul", x, y, False, False, shape=(x.shape[0], y.shape[1]))
    return b.op("MatMulExt", x, y, shape=_product_shape(x.shape, y.shape))


def _product_shape(x: Shape | None, y: Shape | None) -> Shape | None:
    if not x or not y:
        return None
    rows = x[-2:-1]
    columns = y[-1:] if len(y) > 1 else ()
    batch = broadcast(x[:-2], y[:-2]) or ()
    return (*batch, *rows, *columns)


def _matmul(node: OnnxNode, b: Builder) -> Value:
    return matmul(b, node.input(0), node.input(1))


def _gemm(node: OnnxNode, b: Builder) -> Value:
    """alpha * A' * B' + beta * C."""
    own = node.input(0).dtype
    first, second = (b.cast(node.input(at), _SIGNED.get(own, own)) for at in (0, 1))
    turned = [bool(node.get(name, 0)) for name in ("transA", "transB")]
    rows, columns = (
        None if one.shape is None else one.shape[at ^ turn]
        for one, at, turn in ((first, 0, turned[0]), (second, 1, turned[1]))
    )
    product = b.op("MatMul", first, second, *turned, shape=(rows, columns))
    product = _scaled(b, product, float(node.get("alpha", 1.0)))
    if node.has(2):
        more = _scaled(b, b.cast(node.input(2), product.dtype), float(node.get("beta", 1.0)))
        product = b.op("Add", product, more, shape=product.shape)
    return b.cast(product, own)


def _scaled(b: Builder, x: Value, by: float) -> Value:
    if by == 1:
        return x
    if np.dtype(x.dtype).kind != "f" and by != int(by):
        raise Refused(f"integers can not be scaled by {by:g} exactly", attribute="alpha")
    return b.op("Mul", x, b.scalar(by, x.dtype), shape=x.shape)


def _det(node: OnnxNode, b: Builder) -> Value:
    x = node.input(0)
    return b.op("MatrixDeterminant", x, shape=None if x.shape is None else x.shape[:-2])


TO_MINDIR: Mapping[str, Lower] = {"Det": _det, "Gemm": _gemm, "MatMul": _matmul}
