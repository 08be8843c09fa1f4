"""What a model file holds, MindIR or ONNX, told by its content and without its weights."""

from __future__ import annotations

from mswb.convert import wire
from mswb.convert.facts import ModelFacts
from mswb.convert.mindir import inspect as mindir
from mswb.convert.mindir.reader import refuse_others
from mswb.convert.onnx import reader as onnx_reader


def inspect(path: str) -> ModelFacts:
    """The facts of a model.

    Raises:
        MswbError: ``path-missing``, ``path-unreadable``, ``not-a-model``, ``truncated``, ``encrypted``.
    """
    with wire.open_source(path) as source:
        kind = refuse_others(source, "")
        return (onnx_reader.inspect if kind == "onnx" else mindir.inspect)(source)
