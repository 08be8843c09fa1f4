"""What a node of constants gives: computed while converting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from mswb.convert.graph import NUMBERS, Array

FOLD_BYTES = 1 << 20
"""Results up to this size are computed while converting, when all they depend on is constant."""


def evaluate(proto: NodeProto, arrays: Sequence[Array | None], version: int) -> list[Array] | None:
    """The results of one node by ONNX's reference evaluator; None where it can't, or where they are long."""
    from onnx.reference import ReferenceEvaluator

    if sum(array.nbytes for array in arrays if array is not None) > FOLD_BYTES:
        return None
    given = {name: array for name, array in zip(proto.input, arrays, strict=True) if array is not None}
    opsets = [onnx.helper.make_opsetid(proto.domain, version)]
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in proto.output if name]
    model = onnx.helper.make_model(onnx.helper.make_graph([proto], "fold", inputs, outputs), opset_imports=opsets)
    try:
        if _is_long(model, given):
            return None
        found = ReferenceEvaluator(model).run(None, given)
    except Exception:  # what the reference can't do is left to the entry of the operator
        return None
    if not all(isinstance(one, np.ndarray) or np.isscalar(one) for one in found):
        return None
    named = dict(zip((name for name in proto.output if name), found, strict=True))
    result = [np.asarray(named[name]) if name else np.zeros(0) for name in proto.output]
    fits = all(one.nbytes <= FOLD_BYTES and one.dtype.name in NUMBERS for one in result)
    return result if fits else None


def _is_long(model: ModelProto, given: Mapping[str, Array]) -> bool:
    """Whether a result would be too long, by its shape alone; a few numbers can ask for any memory."""
    asked = ModelProto()
    asked.CopyFrom(model)
    asked.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in given.items())
    for value in onnx.shape_inference.infer_shapes(asked).graph.output:
        sizes = [one.dim_value for one in value.type.tensor_type.shape.dim]
        if math.prod(sizes) > FOLD_BYTES:
            return True
    return False
