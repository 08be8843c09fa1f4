"""``mswb convert lint`` and ``inspect``: text, reports, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mswb.cli.app import run
from tests.unit.convert.models import REAL
from tests.unit.inventories import MODELS

SCHEMA = json.loads((Path(__file__).parents[2] / "fixtures" / "report.schema.json").read_text(encoding="utf-8"))
MLP = str(REAL / "mlp.mindir")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """A model with an operator that MindSpore lacks."""
    path = tmp_path / "odd.mindir"
    path.write_bytes(Path(MLP).read_bytes().replace(b"ReLU", b"ReLX"))
    return str(path)


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    return report


def test_a_good_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "lint", MLP]) == 0
    shown = capsys.readouterr().out
    assert "18 nodes" in shown and "fine: nothing is wrong" in shown and max(map(len, shown.splitlines())) <= 80
    assert run(["convert", "lint", MLP, "--format", "json"]) == 0
    report = reported(capsys)
    assert report["schema"] == "mswb.convert_lint/1" and report["verdict"] == "fine" and report["findings"] == []
    assert (report["nodes"], report["weights"], report["weights_bytes"]) == (18, 4, 232)


def test_a_defect(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "lint", odd]) == 1
    shown = capsys.readouterr().out
    assert "unsupported-op" in shown and "(near: ReLU)" in shown and "at byte" in shown and "1 error\n" in shown
    assert run(["msconvert", "lint", odd, "--format", "json"]) == 1
    report = reported(capsys)
    assert report["verdict"] == "defects"
    assert [(one["code"], one["values"]["op"]) for one in report["findings"]] == [("unsupported-op", "ReLX")]
    assert report["findings"][0]["where"]["offset"] > 0 and report["findings"][0]["where"]["node"]


def test_in_chinese(odd: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_LANG", "zh")
    assert run(["convert", "lint", odd]) == 1
    assert "不支持算子 ReLX" in (shown := capsys.readouterr().out) and "1 个错误" in shown
    assert run(["convert", "inspect", MLP]) == 0
    assert "18 个节点" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["lint", "inspect"])
@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", "not-a-model", "the file is empty"),
        (b"<html>", "not-a-model", "HTML"),
        (Path(MLP).read_bytes()[:5000], "truncated", "cut off"),
        ((MODELS / "enc_SM4-CBC.mindir").read_bytes(), "encrypted", "SM4-CBC"),
        (None, "path-missing", "no such file"),
    ],
)
def test_what_cannot_be_read(
    command: str, content: bytes | None, code: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.mindir"
    if content is not None:
        path.write_bytes(content)
    assert run(["convert", command, str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and said in captured.err
    assert run(["convert", command, str(path), "--format", "json"]) == 2
    report = reported(capsys)
    assert report["schema"] == f"mswb.convert_{command}/1" and [one["code"] for one in report["findings"]] == [code]


def test_what_a_model_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "inspect", str(REAL / "lstm.mindir")]) == 0
    shown = capsys.readouterr().out
    assert "LSTM" in shown and "mind_ir_version  3" in shown and max(map(len, shown.splitlines())) <= 80
    assert run(["convert", "inspect", str(MODELS / "net.onnx"), "--format", "json"]) == 0
    report = reported(capsys)
    assert report["schema"] == "mswb.convert_inspect/1" and report["operators"] == [{"op": "Gemm", "count": 1}]
    assert report["versions"]["opset ai.onnx"] == "11" and report["graphs"][0]["inputs"][0]["shape"] == [2, 3]
    assert report["weights_bytes"] == 32 and report["external_files"] == []


def test_long_lists_are_cut_unless_all_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    weights = [helper.make_tensor(f"w{number}", TensorProto.FLOAT, [1], [0.0]) for number in range(30)]
    graph = helper.make_graph([helper.make_node("Sum", [w.name for w in weights], ["y"])], "g", [], [], weights)
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    assert run(["convert", "inspect", str(tmp_path / "m.onnx")]) == 0
    shown = capsys.readouterr().out
    assert "and 20 more" in shown and "w29" not in shown
    assert run(["convert", "inspect", "--all", str(tmp_path / "m.onnx")]) == 0
    assert "more" not in (shown := capsys.readouterr().out) and "w29" in shown


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["convert"], ["convert", "--help"], ["msconvert", "-h"]):
        assert run(words) == 0
        assert {"lint", "inspect"} <= set(capsys.readouterr().out.split())
    assert run(["convert", "lnt", MLP]) == 2
    assert "lint" in capsys.readouterr().err
