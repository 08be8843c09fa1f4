"""Half precision in real MindIR files: found at the right operator, mended, and right in real MindSpore afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.cli.app import run
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.evaluator import evaluate
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.reader import read_file

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]
SCRIPT = Path(__file__).parent / "scripts" / "export_halves.py"


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("halves")
    subprocess.run([sys.executable, "-W", "ignore", str(SCRIPT), str(folder)], check=True, capture_output=True)
    return folder


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["convert", *arguments, "--python", sys.executable, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def wrong(found: dict[str, Any]) -> list[str]:
    return [one["op"] for one in found["operators"] if one["verdict"] == "failed"]


def errors(path: Path) -> float:
    """How far real MindSpore's output is from exact arithmetic, on inputs that nobody has seen."""
    given = [np.random.default_rng(99).standard_normal((4, 16)).astype(np.float32)]
    with MindSpore(sys.executable) as engine:
        (found,) = engine.run(str(path), given)
    (exact,) = evaluate(str(path), read_file(str(path)), given)
    return float(np.max(np.abs(found.astype(np.float64) - exact)))


def test_a_softmax_on_half_precision_logits(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = nets / "logits.mindir"
    code, found = report(capsys, "--verify", "--input_file", str(path))
    assert (code, found["verdict"], wrong(found)) == (1, "failed", ["Softmax"])
    assert {one["code"] for one in found["findings"]} >= {"over-threshold", "half-can-be-mended"}
    code, mended = report(capsys, "fix", str(path))
    assert (code, mended["verdict"]) == (0, "fixed")
    assert [one["op"] for one in mended["changes"]] == ["Cast", "Softmax"]
    fixed = Path(mended["output"])
    assert fixed == nets / "logits_fixed.mindir" and not lint(str(fixed)).findings
    code, again = report(capsys, "--verify", "--input_file", str(fixed))
    assert (code, again["verdict"], wrong(again)) == (0, "passed", [])
    assert errors(fixed) * 100 < errors(path)


def test_a_network_all_in_half_precision(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cast in front of Softmax and norm alone would not do: what feeds them goes with them, and no more."""
    path = nets / "mixed.mindir"
    code, found = report(capsys, "--verify", "--input_file", str(path))
    assert code == 1 and set(wrong(found)) == {"LayerNorm", "Softmax"}
    code, mended = report(capsys, "fix", str(path), "--output_file", str(nets / "mended.mindir"))
    changed = {one["op"] for one in mended["changes"]}
    assert (code, mended["verdict"]) == (0, "fixed") and {"MatMul", "LayerNorm", "Softmax"} <= changed
    assert len(mended["changes"]) < len(found["operators"])
    assert report(capsys, "--verify", "--input_file", mended["output"])[0] == 0


def test_numbers_that_leave_the_range(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = nets / "large.mindir"
    code, found = report(capsys, "--verify", "--input_file", str(path))
    assert code == 1 and wrong(found)[0] == "Square"
    risks = [one for one in found["findings"] if one["code"] == "fp16-overflow-risk"]
    assert [one["where"]["node"] for one in risks] == ["Square-op0"]
    code, mended = report(capsys, "fix", str(path))
    assert (code, [one["op"] for one in mended["changes"]]) == (0, ["Square", "Sqrt"])
    assert np.isfinite(errors(Path(mended["output"])))


def test_nothing_is_written_where_nothing_is_wrong(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = report(capsys, "fix", str(nets / "healthy.mindir"))
    assert (code, found["verdict"], found["changes"], found["output"]) == (0, "fine", [], None)
    assert not (nets / "healthy_fixed.mindir").exists()


def test_a_dry_run_writes_nothing(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = nets / "dry.mindir"
    code, found = report(capsys, "fix", str(nets / "logits.mindir"), "--output_file", str(target), "--dry-run")
    assert (code, found["output"], len(found["changes"])) == (0, None, 2) and not target.exists()
