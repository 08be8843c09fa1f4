"""An ONNX model in another precision on its way to MindIR: its weights stay in files, the halved ones in a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import ModelProto

from mswb.convert.onnx.model import OnnxModel, Weight, changed
from mswb.convert.onnx.weights import Stored, placeholder, without
from mswb.convert.precision import modes as precision
from mswb.convert.wire import Span
from mswb.findings import Finding


def in_precision(model: OnnxModel, mode: str, path: str) -> tuple[OnnxModel, Sequence[Finding]]:
    """The model in a precision, and what is told of it.

    Args:
        path: a new file for the weights whose data type changes.
    """
    stored = {name: Stored(weight.read(), weight.dtype) for name, weight in model.weights.items()}
    found = precision.apply(_with_placeholders(model.proto, stored), mode, stored, model.path)
    weights = dict[str, Weight]()
    with open(path, "wb") as file:
        for name, one in found.weights.items():
            own, start = model.weights[name], file.tell()
            if one.dtype == own.dtype:
                weights[name] = own
                continue
            for piece in one.pieces():
                file.write(piece)
            weights[name] = Weight(name, one.dtype, own.dims, path, Span(start, file.tell()))
    return changed(model, without(found.proto, weights.keys()), weights), found.findings


def _with_placeholders(proto: ModelProto, stored: Mapping[str, Stored]) -> ModelProto:
    """The model with its large weights as constants without content, no longer as inputs."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    kept = [value for value in graph.input if value.name not in stored]
    del graph.input[:]
    graph.input.extend(kept)
    graph.initializer.extend(placeholder(name, one) for name, one in stored.items())
    return copy
