"""Networks that real MindSpore exports to MindIR, as ONNX: onnxruntime gives MindSpore's own outputs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from mswb.convert import to_onnx
from mswb.convert.mindir.lint import lint
from tests.benchmarks.networks import ours
from tests.networks.exported import differs, export, trials

pytestmark = [
    pytest.mark.mindspore,
    pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"),
]
NAMES = (
    *("dense-3d-free", "conv2d-pad", "conv2d-same-free", "conv2d-transpose-same", "conv1d-pad", "conv3d-pad"),
    *("batch-norm-1d", "layer-norm-two-axes", "group-norm", "max-pool-2d-ceil", "avg-pool-2d-inner"),
    *("adaptive-avg-2d", "gelu-tanh", "mish", "hswish", "embedding-free", "pad-symmetric", "pixel-shuffle"),
    *("upsample-bilinear", "lstm-bidirectional", "gru", "matmul-broadcast", "integers", "remainders", "casts"),
    *("comparisons", "gather-nd", "tensor-scatter-add", "split", "reshapes-free", "means-free", "cumulative"),
    *("topk", "argmax-with-value", "slices", "slices-free", "advanced", "shape-arithmetic", "mint-arithmetic"),
    *("if-nested", "while-nested", "while-with-two-breaks", "WhileWithWeights", "IfWithWeights"),
    *("LeNet", "ResNet", "GPT", "HalfNet"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported networks."""
    place = tmp_path_factory.mktemp("networks")
    assert [one for one in export(place, NAMES) if one.state != "done"] == []
    return place


@pytest.mark.parametrize("name", NAMES)
def test_network(folder: Path, name: str) -> None:
    outcome = ours(folder, name)
    assert (outcome.state, outcome.detail) == ("right", "")


@pytest.mark.parametrize("name", NAMES)
def test_what_mindspore_writes_has_no_defect(folder: Path, name: str) -> None:
    assert lint(str(folder / f"{name}.mindir")).findings == ()


def test_other_weights_are_seen(folder: Path, tmp_path: Path) -> None:
    model = to_onnx.convert(str(folder / "dense-3d-free.mindir")).proto
    weight = next(one for one in model.graph.initializer if len(one.dims) == 2)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.001), weight.name))
    onnx.save(model, str(tmp_path / "other.onnx"))
    assert "trial 0, output 0" in differs(str(tmp_path / "other.onnx"), trials(folder, "dense-3d-free"))
