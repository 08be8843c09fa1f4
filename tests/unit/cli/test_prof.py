"""``mswb prof`` on whole, damaged and foreign files: text, JSON by its schema, exit codes."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mswb.cli.app import run
from mswb.cli.prof import duration

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROFILES = FIXTURES / "inventory/profile"
SCHEMA = json.loads((FIXTURES / "report.schema.json").read_text())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def span(name: str, start: float, end: float, pid: int = 2) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": 1, "ts": start, "dur": end - start}


def trace(path: Path, *, kineto: bool = False) -> Path:
    names = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((1, "Python"), (2, "Ascend Hardware"), (3, "HCCL"))
    ]
    steps = [span(f"ProfilerStep#{step}", 1000 * step, 1000 * step + 1000, 1) for step in range(3)]
    work = [span("MatMul-op1", 1000 * step, 1000 * step + 300) for step in range(3)]
    waits = [span("DataLoader.__next__", 1000 * step + 300, 1000 * step + 1000, 1) for step in range(3)]
    events = [*names, *steps, *work, *waits, span("hcom_allReduce_1", 250, 400, 3)]
    whole: Any = {"traceEvents": events, "distributedInfo": {"rank": 5}} if kineto else events
    path.write_text(json.dumps(whole))
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["prof", *arguments, "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def test_show_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "show", str(trace(tmp_path / "t.json", kineto=True)))
    (device,) = found["devices"]
    assert found["window_us"] == 3000 and found["events"] == {"read": 13, "kept": 13, "dropped": 0}
    assert (device["rank"], device["compute_us"], device["communication_us"], device["overlap_us"]) == (5, 900, 150, 50)
    causes = device["idle_by_cause_us"]
    assert causes["communication"] == 100 and causes["data"] == 2000
    assert sum(causes.values()) == device["idle_us"] + device["communication_us"] - device["overlap_us"]
    assert [(step["step"], step["duration_us"]) for step in found["steps"]] == [(0, 1000), (1, 1000), (2, 1000)]
    assert found["steps"][1]["devices"][0]["compute_us"] == 300
    assert found["operators"][0] | {"self_us": 0} == found["operators"][0] | {"name": "MatMul-op1", "self_us": 0}
    assert [one["code"] for one in found["findings"]] == ["idle-data"]
    assert found["findings"][0]["values"]["span"] == "DataLoader.__next__"


def test_show_gaps_and_ops_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(trace(tmp_path / "rank_3.json"))
    assert run(["prof", "show", path]) == 0
    text = capsys.readouterr().out
    assert "rank 3 device:" in text and "30.0 %  900 us" in text and "idle-data" in text
    assert run(["prof", "gaps", path]) == 0
    text = capsys.readouterr().out
    assert "DataLoader.__next__" in text and "700 us" in text
    assert run(["prof", "ops", path]) == 0
    text = capsys.readouterr().out
    assert "MatMul-op1" in text and "hcom_allReduce_1" in text
    assert max(map(len, text.split("\n"))) <= 80
    assert [one["cause"] for one in report(capsys, "gaps", path)["gaps"]] == ["data"] * 3
    assert report(capsys, "ops", path)["operators"][0]["total_us"] == 900


def test_a_damaged_trace_is_read_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace(tmp_path / "t.json")
    path.write_bytes(path.read_bytes()[:-30])
    found = report(capsys, "show", str(path))
    assert found["events"] == {"read": 13, "kept": 12, "dropped": 1}
    assert found["findings"][0]["code"] == "damaged-profile" and found["findings"][0]["where"]["offset"] > 0


def test_packed_and_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace(tmp_path / "t.json")
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()[:200]) + gzip.compress(path.read_bytes()[200:]))
    assert report(capsys, "show", str(packed))["events"]["kept"] == 13
    packed.write_bytes(gzip.compress(path.read_bytes() + b" " * 9000)[:-40])
    assert report(capsys, "show", str(packed))["window_us"] == 3000


@pytest.mark.parametrize("folder", sorted(PROFILES.rglob("*_ascend_ms")), ids=lambda path: path.parent.name)
def test_real_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["prof", "show", str(folder), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    if not any(folder.rglob("*.json")) and not any(folder.rglob("cpu_op_execute*")):
        assert code == 2 and found["findings"][0]["code"] == "unsupported-profile"
        return
    assert code == 0 and found["events"]["dropped"] == 0 and found["devices"][0]["compute_us"] > 0


def test_the_trace_and_the_raw_records_of_one_run_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next(one for one in PROFILES.rglob("*_ascend_ms") if (one / "ASCEND_PROFILER_OUTPUT").is_dir())
    raw = tmp_path / "run"
    shutil.copytree(folder / "FRAMEWORK", raw / "FRAMEWORK")
    one, two = report(capsys, "show", str(folder)), report(capsys, "show", str(raw))
    assert two["kind"] == "framework-raw" and len(one["steps"]) == len(two["steps"])
    assert one["devices"][0]["compute_us"] == pytest.approx(two["devices"][0]["compute_us"], rel=1e-3)
    assert {row["name"]: row["count"] for row in one["operators"]} == {
        row["name"]: row["count"] for row in two["operators"]
    }


def test_a_folder_that_holds_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs/a").mkdir(parents=True)
    trace(tmp_path / "runs/a/trace.json")
    assert report(capsys, "show", str(tmp_path))["path"].endswith("runs/a/trace.json")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"SQLite format 3\0" + b"x" * 100])
def test_what_is_no_profile_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    assert report(capsys, "show", str(path), code=2)["findings"][0]["code"] == "unsupported-profile"
    assert report(capsys, "show", str(tmp_path), code=2)["findings"][0]["code"] == "unsupported-profile"
    assert run(["prof", "show", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 ns"), (999, "999 ns"), (12345678, "12.3 ms"), (1_500_000_000, "1.5 s")]
)
def test_durations(value: int, text: str) -> None:
    assert duration(value) == text
