"""Runs ONNX models of tests in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnxruntime
from onnx import ModelProto

from mswb.convert.graph import Array


def outputs_of(model: ModelProto | str, feed: Mapping[str, Array]) -> list[Any]:
    """The outputs of a model, or of a file, without optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    source = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feed)))
