"""ONNX's own shape inference, kept from what a damaged model would have it write out."""

from __future__ import annotations

import onnx
from onnx import ModelProto, TensorProto

LONGEST, LONGEST_OF_ALL = 1 << 16, 1 << 20
"""Elements of a list of whole numbers, and of anything with one dimension, that are believed: data propagation holds
every one of them, as a message of its own."""
_WHOLE = (TensorProto.INT32, TensorProto.INT64)


def infer(proto: ModelProto) -> ModelProto:
    """The model with the data types and shapes that ONNX infers, sizes that are computed from sizes included.

    Raises:
        Exception: of onnx's own, where the model does not fit its operators.
    """
    known = onnx.shape_inference.infer_shapes(proto, strict_mode=False)
    graph = known.graph
    if any(map(_is_long, (*graph.value_info, *graph.output))):
        return known
    return onnx.shape_inference.infer_shapes(known, strict_mode=False, data_prop=True)


def _is_long(value: onnx.ValueInfoProto) -> bool:
    """Whether a value is a list too long to be sizes."""
    tensor = value.type.tensor_type
    sizes = [one.dim_value for one in tensor.shape.dim]
    return len(sizes) == 1 and sizes[0] > (LONGEST if tensor.elem_type in _WHOLE else LONGEST_OF_ALL)
