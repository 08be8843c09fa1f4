"""What a whole model needs to become ONNX: ranks of inputs and results, and checks that only raise errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from mswb.convert import to_onnx
from mswb.convert.graph import Builder, Value
from mswb.convert.mindir.schema import REF, Model
from mswb.convert.mindir.writer import write
from tests.unit.convert.primitive_models import run_onnx, same


def _model(b: Builder, outputs: list[Value], folder: Path, *functions: Any) -> str:
    graph = b.finish(outputs)
    path = folder / "model.mindir"
    model = Model(
        ir_version="0.1.0",
        producer_name="MindSpore",
        graph=graph,
        functions=functions,
        primitives=tuple(b.shared.primitives.values()),
    )
    write(model, str(path))
    return str(path)


def test_an_input_of_unknown_rank_is_asked_for(tmp_path: Path) -> None:
    b = Builder("graph")
    path = _model(b, [b.op("ReLU", b.input("x", "float32", None))], tmp_path)
    refused = to_onnx.convert(path)
    assert refused.proto is None
    assert "--input_shape" in refused.findings[0].values["nearest"]
    given = to_onnx.convert(path, to_onnx.Options(shapes={"x": (None, 3)}))
    assert given.proto is not None
    onnx.checker.check_model(given.proto, full_check=True)


def test_a_result_has_the_rank_that_the_file_says(tmp_path: Path) -> None:
    b = Builder("graph")
    x, index = b.input("x", "float32", (3, 4)), b.input("index", "int64", (None, None))
    path = _model(b, [b.op("GatherNd", x, index, dtype="float32", shape=(None, 4))], tmp_path)
    done = to_onnx.convert(path)
    assert done.proto is not None
    onnx.checker.check_model(done.proto, full_check=True)
    assert len(done.proto.graph.output[0].type.tensor_type.shape.dim) == 2


def test_a_result_of_unknown_rank_is_refused(tmp_path: Path) -> None:
    b = Builder("graph")
    x, index = b.input("x", "float32", (3, 4)), b.input("index", "int64", (None, None))
    done = to_onnx.convert(_model(b, [b.op("GatherNd", x, index, dtype="float32")], tmp_path))
    assert done.proto is None
    assert "how many dimensions a result has" in done.findings[0].values["reason"]


def test_a_branch_that_raises_is_a_check(tmp_path: Path) -> None:
    """MindSpore leaves the checks of Python's indexing in a graph: what goes on is the other branch."""
    b = Builder("graph")
    x = b.input("x", "float32", (3,))
    bad = b.op("Greater", b.op("ReduceSum", x, (), False, False, dtype="float32", shape=()), 100.0, dtype="bool")
    wrong, right = Builder("wrong", b.shared), Builder("right", b.shared)
    value = wrong.input("wrong.x", "float32", (3,))
    functions = [
        wrong.finish([wrong.op("raise", "IndexError", "out of bounds", None, value, dtype="float32", attributes={})]),
        right.finish([right.op("Neg", right.input("right.x", "float32", (3,)))]),
    ]
    ways = [b.op("Partial", Value(one), x, dtype="function") for one in ("wrong", "right")]
    choice = b.op("Switch", bad, *ways, dtype="function")
    result = b.call(f"{REF}{choice.name}", "call", [], "float32", (3,))
    path = _model(b, [result], tmp_path, *functions)
    given = np.array([1, -2, 3], np.float32)
    same(run_onnx(path, [given]), [-given], 1e-6, "onnx")
