"""``mswb convert --input_file``: the commands as they are written in articles, reports, exit codes, what is listed."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
from onnx import helper

from mswb.cli.app import run
from mswb.cli.convert import joined
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.reader import read_file
from tests.unit.cli.test_convert import SCHEMA, home  # noqa: F401 (a fixture)
from tests.unit.convert.models import REAL
from tests.unit.convert.onnx_models import model_of, saved, small

NORM = """g (float[n,2,h,w] input) => (float[n,2,h,w] output) {
    s = Constant<value = float[2] {1.0, 2.0}>()
    a = BatchNormalization<epsilon = 0.001>(input, s, s, s, s)
    output = Neg(a)
}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    return report


@pytest.mark.parametrize(
    "line",
    [
        "msconvert --input_file model.onnx --output_file model.mindir --input_format NCHW --output_format MINDIR",
        "msconvert --input_file model.onnx --output_file model.mindir --input_format NCHW --output_format MINDIR "
        """--custom_op_config '{"BatchNorm": {"epsilon": 1e-5}}'""",
        "convert --input_file model.onnx",
        "convert --input_file=model.onnx --input_shape input: [1, 2, 4, 4] --input_format nhwc",
    ],
)
def test_commands_as_articles_write_them(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(model_of(NORM), folder, "model.onnx")
    assert run(shlex.split(line)) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("wrote model.mindir (") and "opset 17" in shown and "BatchNormalization" in shown
    assert ("epsilon 0.001 → 1e-05" in shown) == ("custom" in line) and ("transposes" in shown) == ("nhwc" in line)
    assert max(map(len, shown.splitlines())) <= 80
    assert not lint("model.mindir").has_errors


def test_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(model_of(NORM), folder, "model.onnx")
    assert run(["convert", "--input_file", "model.onnx", "--format", "json"]) == 0
    report = reported(capsys)
    assert report["schema"] == "mswb.convert/1" and report["verdict"] == "converted" and report["opset"] == 17
    assert (report["input"], report["output"]) == ("model.onnx", "model.mindir")
    assert report["bytes_written"] == Path("model.mindir").stat().st_size
    assert report["inputs"] == [{"name": "input", "dtype": "float32", "shape": ["n", 2, "h", "w"]}]
    assert [one["op"] for one in report["operators"]][-2:] == ["BatchNormalization", "Neg"]
    assert report["operators"][-1]["max_abs_error"] is None


def test_every_blocked_operator_is_listed_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small()
    model.opset_import.append(helper.make_opsetid("odd", 1))
    del model.graph.node[:]
    model.graph.node.extend(
        [
            helper.make_node("ReluGemm", ["x"], ["a"], name="first", domain="odd"),
            helper.make_node("Neg", ["a"], ["b"]),
            helper.make_node("ReluGemm", ["b"], ["c"], name="second", domain="odd"),
            helper.make_node("Warp", ["c"], ["y"], name="third", domain="odd"),
        ]
    )
    saved(model, folder, "model.onnx")
    assert run(["convert", "--input_file", "model.onnx"]) == 1
    shown = capsys.readouterr().out
    assert "nothing was written" in shown and "near: Relu, Gemm" in shown.replace("\n", "")
    assert "first" in shown and "second" in shown and "third" in shown
    assert list(folder.iterdir()) == [folder / "model.onnx"]
    assert run(["convert", "--input_file", "model.onnx", "--format", "json"]) == 1
    report = reported(capsys)
    assert report["verdict"] == "refused" and report["output"] is None
    assert [(one["code"], one["values"]["op"], one["values"]["count"], one["values"]["nodes"])
            for one in report["findings"]] == [
        ("unsupported-op", "odd.ReluGemm", 2, ["first", "second"]), ("unsupported-op", "odd.Warp", 1, ["third"]),
    ]  # fmt: skip


def test_a_frozen_input_is_no_input_any_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(model_of("g (float[n,3] x, float[3] w) => (float[n,3] y) { y = Add(x, w) }"), folder, "model.onnx")
    assert run(["convert", "--input_file", "model.onnx", "--freeze", "w=[1, 2, 3]", "--format", "json"]) == 0
    assert [one["name"] for one in reported(capsys)["inputs"]] == ["x"]
    assert run(["convert", "--input_file", "model.onnx", "--freeze", "q=1"]) == 2
    assert "its inputs are: x, w" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--input_file", str(REAL / "mlp.mindir"), "--output_file", "b.mindir"], "mlp.mindir is MindIR already"),
        (["--input_file", "model.onnx", "--to_onnx"], "model.onnx is ONNX already"),
        (["--input_file", "model.onnx", "--output_file", "b.onnx"], "model.onnx is ONNX already"),
        (["--input_file", "model.onnx", "--to_onnx", "--output_file", "b.mindir"], "exclude each other"),
        (["--input_file", "model.onnx", "--precision_mode", "ALL"], "--precision_mode ALL is for MindIR to ONNX"),
        (["--output_file", "b.mindir"], "--input_file is missing"),
        (["model.onnx"], "--input_file model.onnx"),
        (["--input_file", "model.onnx", "--output_file", "./model.onnx"], "is ONNX already"),
        (["--input_file", "model.onnx", "--output_file", "absent/b.mindir"], "cannot write absent/b.mindir"),
        (["--input_file", "model.onnx", "--input_shape", "x:[1,2"], "a bracket is missing"),
        (["--input_file", "model.onnx", "--custom_op_config", "{"], "not JSON"),
    ],
)
def test_what_is_not_done_is_one_line(
    words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = saved(small(), folder, "model.onnx").read_bytes()
    assert run(["convert", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and told in captured.err
    assert list(folder.iterdir()) == [folder / "model.onnx"] and Path("model.onnx").read_bytes() == before


def test_the_input_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = saved(small(), folder, "model.bin").read_bytes()
    Path("link.mindir").symlink_to("model.bin")
    for target in ("model.bin", "link.mindir"):
        assert run(["convert", "--input_file", "model.bin", "--output_file", target]) == 2
        assert "would overwrite the input" in capsys.readouterr().err
    assert Path("model.bin").read_bytes() == before


def test_hostile_names_do_not_reach_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small()
    model.graph.node[0].name = "\x1b[2Jnode"
    model.graph.input[0].name = model.graph.node[0].input[0] = model.graph.node[1].input[1] = "\x1b]0;x\x07"
    saved(model, folder, "model.onnx")
    assert run(["convert", "--input_file", "model.onnx", "-v"]) == 0
    assert "\x1b" not in (shown := capsys.readouterr().out) and "\x07" not in shown
    assert onnx.load("model.onnx").graph.node[0].name.startswith("\x1b")


def test_an_unquoted_shape_is_put_together_again() -> None:
    words = ["--input_shape", "a:", "[1,", "2", "]", "--verify", "--input_shape=b:[3,", "4]", "lint"]
    assert joined(words) == ["--input_shape", "a: [1, 2 ]", "--verify", "--input_shape=b:[3, 4]", "lint"]


def test_the_file_tells_what_it_was_made_from(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = saved(model_of(NORM), folder, "model.onnx")
    assert run(["convert", "--input_file", "model.onnx"]) == 0
    told = {one.key: one.value for one in read_file("model.mindir").user_info}
    assert told["mswb.source_sha256"] == hashlib.sha256(Path(source).read_bytes()).hexdigest()
    assert (told["mswb.source"], told["mswb.opset"]) == ("model.onnx", "17")
    assert {"a", "output"} <= json.loads(told["mswb.node_map"] or "{}").keys()
