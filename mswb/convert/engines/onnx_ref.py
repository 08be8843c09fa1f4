"""ONNX's own reference evaluator: slow and exact; for single operators that onnxruntime lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import ModelProto

from mswb.convert.graph import Array

TITLE = "ONNX reference evaluator"


def run(model: ModelProto, given: Mapping[str, Array]) -> list[Any]:
    """The outputs of a model. Whatever the evaluator raises says that it can't."""
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    found = ReferenceEvaluator(model).run(None, dict(given))
    return [np.asarray(one) if np.isscalar(one) else one for one in found]
