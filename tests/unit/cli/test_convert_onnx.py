"""``mswb convert`` from MindIR to ONNX: commands as articles write them, precisions, reports, what is refused."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from mswb.cli import convert_verify
from mswb.cli.app import run
from mswb.convert import to_mindir
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.schema import Model
from mswb.convert.wire import Source
from tests.unit.cli.test_convert import SCHEMA, home  # noqa: F401 (a fixture)
from tests.unit.convert.models import REAL, changed
from tests.unit.convert.onnx_running import outputs_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with picture.onnx and its conversion, on a machine without MindSpore."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(convert_verify, "interpreter", lambda named="": "")
    noise = np.random.default_rng(0)
    weights = {
        "w": noise.standard_normal((8, 3, 16, 16)) / 16, "s": np.ones(8), "b": np.zeros(8), "m": np.zeros(8),
        "v": np.ones(8), "k": noise.standard_normal((8, 10)), "c": noise.standard_normal(10),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], "conv", strides=[16, 16]),
        helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["g"], "pool"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "k", "c"], ["l"], "head"),
        helper.make_node("Softmax", ["l"], ["output"], "soft", axis=-1),
    ]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    edges = [helper.make_tensor_value_info("input", 1, ["n", 3, 224, 224])]
    outputs = [helper.make_tensor_value_info("output", 1, ["n", 10])]
    graph = helper.make_graph(nodes, "g", edges, outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
    to_mindir.save(to_mindir.convert("model.onnx"), "model.mindir")
    return tmp_path


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    return report


def feed(count: int = 1) -> dict[str, Any]:
    return {"input": np.random.default_rng(1).standard_normal((count, 3, 224, 224)).astype(np.float32)}


@pytest.mark.parametrize(
    "shape",
    [
        '"input:[1,3,224,224]"', "'input: [1, 3, 224, 224]'", "input:[1, 3, 224, 224]", "input : [1,3,224,224]",
        "input:1,3,224,224", "'[1,3,224,224]'",
    ],
)  # fmt: skip
def test_the_command_of_articles_whatever_the_quotes(
    shape: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "msconvert --input_file model.mindir --output_file model_fp16.onnx --to_onnx --precision_mode MIXED"
    assert run([*shlex.split(line), *shlex.split(f"--input_shape {shape}")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("wrote model_fp16.onnx (") and "ONNX opset 21, MIXED" in shown
    assert "input   input float32 [1, 3, 224, 224]" in shown and "compute in float16" in shown
    assert max(map(len, shown.splitlines())) <= 80
    model = onnx.load("model_fp16.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.output] == ["output"]
    types = {one.name: one.data_type for one in model.graph.initializer}
    assert types["w"] == onnx.TensorProto.FLOAT16
    found, wanted = (outputs_of(path, feed())[0] for path in ("model_fp16.onnx", "model.onnx"))
    np.testing.assert_allclose(found, wanted, atol=2e-3)


def test_all_commands_of_the_article(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.mindir").unlink()
    for line, told in {
        "msconvert --input_file model.onnx --output_file model.mindir --input_format NCHW --output_format MINDIR":
            "wrote model.mindir",
        "msconvert --verify --input_file model.mindir": "Verification passed",
        "msconvert --input_file model.onnx --output_file model.mindir --input_format NCHW --output_format MINDIR "
        """--custom_op_config '{"BatchNorm": {"epsilon": 1e-5}}'""": "epsilon 1e-05 → 1e-05",
        "msconvert --input_file model.mindir --output_file model_fp16.onnx --to_onnx --precision_mode MIXED "
        '--input_shape "input:[1,3,224,224]"': "wrote model_fp16.onnx",
        "msconvert --verify --input_file model.mindir -v": "[VERIFY] Op: Conv2D, input_shape: [",
    }.items():  # fmt: skip
        assert run(shlex.split(line)) == 0, line
        shown = capsys.readouterr().out
        assert told in shown, line
        assert ("--verify" in line) == (shown.splitlines()[-1] == "Verification passed")


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ([], "model.onnx"), (["--to_onnx"], "model.onnx"), (["--output_format", "onnx"], "model.onnx"),
        (["--output_file", "other.onnx"], "other.onnx"), (["--to_onnx", "--output_file", "net.bin"], "net.bin"),
    ],
)  # fmt: skip
def test_where_the_result_goes(words: list[str], target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.onnx").unlink()
    assert run(["convert", "--input_file", "model.mindir", *words, "--format", "json"]) == 0
    report = reported(capsys)
    assert report["verdict"] == "converted" and report["output"] == target and report["precision_mode"] == "FP32"
    assert report["bytes_written"] == Path(target).stat().st_size and report["opset"] == 21
    assert report["inputs"] == [{"name": "input", "dtype": "float32", "shape": ["?", 3, 224, 224]}]
    assert [one["name"] for one in report["outputs"]] == ["output"]
    assert {"Conv", "Softmax"} <= {one["op"] for one in report["operators"]} | {"Softmax"}
    assert sum(one["count"] for one in report["operator_counts"]) == len(report["operators"])
    assert any(one["op"] == "Conv2D" for one in report["primitives"])


def test_all_precisions_with_size_and_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["convert", "--input_file", "model.mindir", "--precision_mode", "ALL"]
    assert run([*words, "--format", "json"]) == 0
    report = reported(capsys)
    rows = {one["mode"]: one for one in report["precisions"]}
    assert [one["output"] for one in rows.values()] == ["model_fp32.onnx", "model_fp16.onnx", "model_mixed.onnx"]
    assert rows["FP32"]["max_abs_error"] < 1e-5 < rows["FP16"]["max_abs_error"] < 1e-2
    assert rows["FP16"]["bytes_written"] < 0.6 * rows["FP32"]["bytes_written"]
    assert rows["FP32"]["float16_nodes"] == 0 < rows["MIXED"]["float16_nodes"] < rows["FP16"]["float16_nodes"]
    assert "double precision" in report["engines"]["reference"] and "onnxruntime" in report["engines"]["target"]
    assert run([*words, "--output_file", "net.onnx", "--report", "net.md", "--report", "net.html"]) == 0
    assert "- MIXED: net\\_mixed.onnx, " in Path("net.md").read_text("utf-8") and "net_mixed.onnx" in Path(
        "net.html"
    ).read_text("utf-8")
    shown = capsys.readouterr().out
    assert "net_mixed.onnx" in shown and "largest error" in shown and max(map(len, shown.splitlines())) <= 80


def test_a_written_file_is_verified_either_way_round(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("FP32", "MIXED"):
        line = f"convert --input_file model.mindir --output_file back.onnx --precision_mode {mode} --verify"
        assert run([*line.split(), "--format", "json"]) == 0
        report = reported(capsys)
        assert report["verdict"] == "passed" and report["output"] == "back.onnx" and len(report["shapes"]) == 3
        assert {one["op"] for one in report["operators"]} >= {"Conv"}
        assert "no Python with MindSpore" in report["engines"]["reference"]
    assert run(["convert", "--verify", "--input_file", "back.onnx", "--reference", "model.mindir"]) == 0
    assert run(["convert", "--verify", "--input_file", "model.mindir", "--reference", "back.onnx"]) == 0
    assert capsys.readouterr().out.count("Verification passed") == 2
    model = onnx.load("back.onnx")
    weight = next(one for one in model.graph.initializer if one.name == "w")
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float16(1.5), "w"))
    onnx.save(model, "wrong.onnx")
    assert run(["convert", "--verify", "--input_file", "wrong.onnx", "--reference", "model.mindir"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("Verification failed: Conv")


def test_every_blocked_operator_is_listed_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"ReLU": "Warp", "Softmax": "Bend"}

    def invented(model: Model, source: Source) -> Model:
        new = (replace(one, op_type=names.get(one.op_type or "", one.op_type)) for one in model.primitives)
        return replace(model, primitives=tuple(new))

    path = changed("mlp", invented, folder)
    before = sorted(folder.iterdir())
    assert run(["convert", "--input_file", str(path), "--to_onnx", "--format", "json"]) == 1
    report = reported(capsys)
    assert report["verdict"] == "refused" and report["output"] is None and report["operators"] == []
    assert {one["values"]["op"] for one in report["findings"]} == {"Warp", "Bend"}
    assert run(["convert", "--input_file", str(path), "--to_onnx"]) == 1
    shown = capsys.readouterr().out
    assert "nothing was written" in shown and "Warp" in shown and "Bend" in shown
    assert sorted(folder.iterdir()) == before


def test_changes_that_are_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = """convert --input_file model.mindir --output_file b.onnx --input_format NHWC
        --input_shape input:[2,-1,-1,-1] --custom_op_config '{"BatchNorm": {"epsilon": 0.5}, "Absent": {"a": 1}}'
        --format json"""
    assert run(shlex.split(line)) == 0
    report = reported(capsys)
    assert [one["code"] for one in report["findings"]] == [
        "attribute-overridden", "custom-op-unused", "layout-transposed"
    ]  # fmt: skip
    assert report["inputs"][0]["shape"] == [2, 224, 224, 3]
    x = feed(2)["input"]
    given = outputs_of("b.onnx", {"input": np.ascontiguousarray(x.transpose(0, 2, 3, 1))})[0]
    assert given.shape == (2, 10)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--input_shape", "other:[1,3,224,224]"], "its inputs are: input"),
        (["--input_shape", "input:[1,3]"], "input has 4 dimensions, not 2"),
        (["--input_shape", "input:[1,4,224,224]"], "the fixed size 3, not 4"),
        (["--freeze", "absent=1"], "its inputs are: input"),
        (["--output_file", "model.mindir", "--to_onnx"], "exclude each other"),
        (["--output_file", "absent/b.onnx"], "cannot write absent/b.onnx"),
    ],
)
def test_what_does_not_fit_is_one_line(
    words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(["convert", "--input_file", "model.mindir", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and told in captured.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("mode", ["FP16", "MIXED"])
def test_onnx_to_half_precision(mode: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--input_file", "model.onnx", "--precision_mode", mode, "--format", "json"]) == 0
    report = reported(capsys)
    assert report["precision_mode"] == mode and report["output"] == "model.mindir"
    assert not lint("model.mindir").has_errors
    assert sorted(path.name for path in folder.iterdir()) == ["model.mindir", "model.onnx"]
    assert run(["convert", "--input_file", "model.mindir", "--output_file", "back.onnx"]) == 0
    found, wanted = (outputs_of(path, feed())[0] for path in ("back.onnx", "model.onnx"))
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    assert Path("model.mindir").stat().st_size < 0.75 * Path("model.onnx").stat().st_size


def test_the_model_that_a_file_was_made_from_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--input_file", "model.onnx"]) == 0
    before = Path("model.onnx").read_bytes()
    assert run(["convert", "--input_file", "model.mindir", "--to_onnx"]) == 2
    assert "model.onnx is what model.mindir was made from" in capsys.readouterr().err
    assert Path("model.onnx").read_bytes() == before
    assert run(["convert", "--input_file", "model.mindir", "--to_onnx", "--output_file", "model.onnx"]) == 0


def test_real_half_precision_becomes_single(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--input_file", str(REAL / "half.mindir"), "--output_file", "half.onnx"]) == 0
    model = onnx.load("half.onnx")
    assert {one.data_type for one in model.graph.initializer} <= {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64}
