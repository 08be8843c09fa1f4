"""Element by element: arithmetic, comparison, logic, rounding, casts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mswb.convert.graph import TYPE_IDS, Builder, Shape, Value
from mswb.convert.onnx_node import Lower, OnnxNode, Refused


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape of an element-wise result; None where a rank is not known."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    padded = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(_size(sizes) for sizes in zip(*padded, strict=True))


def _size(sizes: tuple[int | None, ...]) -> int | None:
    fixed = {size for size in sizes if size is not None and size != 1}
    if len(fixed) == 1:
        return fixed.pop()
    return None if None in sizes else 1


def unary(primitive: str) -> Lower:
    """An operator of one input and no arguments."""
    return lambda node, b: b.op(primitive, node.input(0), shape=node.input(0).shape)


def binary(primitive: str, dtype: str | None = None) -> Lower:
    """An operator of two inputs that broadcast."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        first, second = node.input(0), node.input(1)
        return b.op(primitive, first, second, dtype=dtype, shape=broadcast(first.shape, second.shape))

    return lower


def fold(primitive: str) -> Lower:
    """An operator of any number of inputs, taken two by two."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        result = node.input(0)
        for at in range(1, len(node.inputs)):
            result = b.op(primitive, result, node.input(at), shape=broadcast(result.shape, node.input(at).shape))
        return result

    return lower


def _div(node: OnnxNode, b: Builder) -> Value:
    """ONNX's division of integers cuts towards zero; MindSpore's Div would give float32."""
    first, second = node.input(0), node.input(1)
    shape = broadcast(first.shape, second.shape)
    if np.dtype(first.dtype).kind == "f":
        return b.op("Div", first, second, shape=shape)
    return b.op("TruncateDiv", first, second, shape=shape, attributes={})


def _cast(node: OnnxNode, b: Builder) -> Value:
    from mswb.convert.onnx_model import dtype_name

    wanted = dtype_name(int(node.get("to", 1)))
    if wanted not in TYPE_IDS or node.input(0).dtype not in TYPE_IDS:
        raise Refused(f"MindSpore has no data type {wanted or node.get('to')}", attribute="to")
    return b.cast(node.input(0), wanted)


TO_MINDIR: Mapping[str, Lower] = {
    "Abs": unary("Abs"),
    "Add": binary("Add"),
    "Cast": _cast,
    "Div": _div,
    "Exp": unary("Exp"),
    "Mul": binary("Mul"),
    "Relu": unary("ReLU"),
    "Sqrt": unary("Sqrt"),
    "Sub": binary("Sub"),
    "Sum": fold("Add"),
}
