"""MindIR to ONNX and ONNX to half precision, verified operator by operator on real MindSpore."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from mswb.cli.app import run
from mswb.convert import conversion, onnx_conversion
from mswb.convert.verify.result import Options, Verification
from mswb.convert.verify.written import verify_made, verify_pair, verify_written
from tests.unit.convert.models import REAL

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]
WITH = Options(python=sys.executable)


def written(name: str, folder: Path, mode: str = "FP32") -> Verification:
    """The verification of a real file's conversion, either way round."""
    source, target = str(REAL / f"{name}.mindir"), str(folder / f"{name}.onnx")
    done = onnx_conversion.perform(onnx_conversion.Request(source, target, mode))
    assert done.ok, done.findings
    return verify_written(target, source, WITH)


@pytest.mark.parametrize(("name", "mode"), [("conv", "MIXED"), ("half", "FP32"), ("half", "FP16"), ("while", "FP32")])
def test_a_file_of_mindspore_as_onnx(name: str, mode: str, tmp_path: Path) -> None:
    found = written(name, tmp_path, mode)
    assert found.verdict == "passed", found.findings
    assert "MindSpore 2" in found.engines["reference"] and "onnxruntime" in found.engines["target"]
    assert found.outputs and all(one.comparison.elements for one in found.outputs)
    measured = [one for one in found.operators if one.local is not None and one.accumulated is not None]
    assert len(measured) >= (0 if name == "while" else 2)


def network(folder: Path) -> Path:
    noise = np.random.default_rng(5)
    weights = {
        "w": noise.standard_normal((64, 96)) / 8,
        "b": noise.standard_normal(96),
        "v": noise.standard_normal((96, 40)),
    }
    nodes = [
        helper.make_node("MatMul", ["input", "w"], ["a"], "first"),
        helper.make_node("Add", ["a", "b"], ["c"], "bias"),
        helper.make_node("Relu", ["c"], ["d"], "relu"),
        helper.make_node("MatMul", ["d", "v"], ["e"], "second"),
        helper.make_node("Softmax", ["e"], ["output"], "soft", axis=-1),
    ]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    edges = (helper.make_tensor_value_info(name, 1, ["n", size]) for name, size in (("input", 64), ("output", 40)))
    graph = helper.make_graph(nodes, "g", [next(edges)], [next(edges)], tensors)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    return path


def test_onnx_in_mixed_precision_and_back(tmp_path: Path) -> None:
    source, target = str(network(tmp_path)), str(tmp_path / "model.mindir")
    done = conversion.perform(conversion.Request(source, target, mode="MIXED"))
    assert done.ok
    found = verify_made(done.reference, target, WITH)
    assert found.verdict == "passed", found.findings
    assert [one.node for one in found.operators] == ["first", "bias", "relu", "second", "soft"]
    errors = {one.node: one.local.max_abs_error for one in found.operators if one.local is not None}
    assert (errors["soft"] or 0) < 1e-6 < (errors["first"] or 0)
    back = str(tmp_path / "back.onnx")
    again = onnx_conversion.perform(onnx_conversion.Request(target, back, "MIXED"))
    assert again.ok and verify_pair(back, target, WITH).verdict == "passed"


def test_the_commands_of_articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MSWB_PYTHON", sys.executable)
    network(tmp_path)
    for line, told in {
        "msconvert --input_file model.onnx --output_file model.mindir --input_format NCHW --output_format MINDIR":
            "wrote model.mindir",
        "msconvert --input_file model.mindir --output_file model_fp16.onnx --to_onnx --precision_mode MIXED "
        '--input_shape "input:[1,64]"': "wrote model_fp16.onnx",
        "msconvert --verify --input_file model.mindir -v": "[VERIFY] Op: MatMul, input_shape: [",
        "msconvert --verify --input_file model_fp16.onnx --reference model.mindir": "MindSpore 2",
    }.items():  # fmt: skip
        assert run(shlex.split(line)) == 0, line
        assert told in capsys.readouterr().out, line
