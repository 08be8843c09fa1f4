"""ONNX models for tests: written as text, and ways to break them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper, parser


def model_of(body: str, *, opset: int = 17, ir: int = 9) -> ModelProto:
    """A model from onnx's text form of a graph."""
    return parser.parse_model(f'<ir_version: {ir}, opset_import: ["": {opset}]>\n{body}')


def saved(model: ModelProto, folder: Path, name: str = "net.onnx", **options: Any) -> Path:
    path = folder / name
    onnx.save(model, str(path), **options)
    return path


SMALL = "g (float[n,3] x) => (float[n,3] y) { a = Neg(x) y = Add(a, x) }"


def small() -> ModelProto:
    return model_of(SMALL)


def weighted(rows: int = 64, cols: int = 64) -> ModelProto:
    """Adds a weight that is large enough to stay in its file."""
    weight = numpy_helper.from_array(np.arange(rows * cols, dtype=np.float32).reshape(rows, cols), "w")
    value = helper.make_tensor_value_info("x", 1, ["n", cols])
    result = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [value], [result], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def outside(folder: Path) -> Path:
    """The same with its weight in data.bin."""
    path = folder / "net.onnx"
    onnx.save(weighted(), str(path), save_as_external_data=True, location="data.bin", size_threshold=0)
    return path


def placed(folder: Path, location: str, **entries: str) -> Path:
    """The same, saying that its weight lies somewhere else; nothing is written there."""
    model = weighted()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path
