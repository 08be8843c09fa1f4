"""Counts and percentiles, added up over processes."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.inside.cached.times import Histogram, mark, read_stats, recorder_of


@given(st.lists(st.floats(1e-6, 100), min_size=1, max_size=200), st.integers(0, 199))
def test_percentiles_are_true_to_two_percent(seconds: list[float], cut: int) -> None:
    parts = Histogram(), Histogram()
    for index, value in enumerate(seconds):
        parts[index < cut].add(value)
    parts[0].merge({str(key): count for key, count in parts[1].classes.items()}, [parts[1].sum_ms, parts[1].max_ms])
    summary = parts[0].summary()
    ordered = sorted(value * 1000 for value in seconds)
    for share in (50, 95, 99):
        exact = ordered[math.ceil(len(ordered) * share / 100) - 1]
        assert summary[f"p{share}"] == pytest.approx(exact, rel=0.021)
    assert summary["mean"] == pytest.approx(sum(ordered) / len(ordered), rel=1e-3)
    assert summary["max"] == pytest.approx(ordered[-1], rel=1e-3)
    assert summary["count"] == len(ordered)


def test_processes_add_to_one_file(tmp_path: Path) -> None:
    recorder = recorder_of(str(tmp_path))
    recorder.miss(0.004)
    recorder.hit(0.001, 100)
    recorder.flush()
    children = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            for _ in range(10):
                recorder.hit(0.001, 100)
            recorder.flush()
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    stats = read_stats(str(tmp_path))
    assert (stats["hits"], stats["misses"], stats["loads"], stats["bytes"]) == (31, 1, 32, 3100)
    assert stats["load_ms"]["mean"] == 1.0 and stats["source_ms"]["mean"] == 4.0
    assert len(stats["readers"]) == 4
    assert sorted(os.listdir(tmp_path)) == [".stats.lock", "stats.json"]


def test_workers_that_are_killed_lose_no_count(tmp_path: Path) -> None:
    recorder = recorder_of(str(tmp_path))
    recorder.share()
    ready, told = os.pipe()
    end, never = os.pipe()
    pid = os.fork()
    if pid == 0:
        for _ in range(5):
            recorder.hit(0.001, 10)
        recorder.miss(0.002)
        os.write(told, b"x")
        os.read(end, 1)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    recorder.flush()
    assert read_stats(str(tmp_path))["hits"] == 5
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    recorder.flush()
    stats = read_stats(str(tmp_path))
    assert (stats["hits"], stats["misses"], stats["bytes"]) == (5, 1, 50)
    for descriptor in (ready, told, end, never):
        os.close(descriptor)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"hits": "x", "readers": 5, "classes": {"load": {"a": 1}}, "notes": 3}']
)
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "stats.json").write_text(content)
    recorder = recorder_of(str(tmp_path))
    recorder.hit(0.001, 1)
    recorder.flush()
    assert read_stats(str(tmp_path))["hits"] == 1


def test_notes_come_and_go_and_leave_the_counts(tmp_path: Path) -> None:
    recorder = recorder_of(str(tmp_path))
    recorder.hit(0.001, 1)
    recorder.note("lock-unsafe", "nfs")
    recorder.flush()
    used = read_stats(str(tmp_path))["last_used"]
    mark(str(tmp_path), {"stale-code": "resize changed"})
    stats = read_stats(str(tmp_path))
    assert stats["notes"] == {"lock-unsafe": "nfs", "stale-code": "resize changed"}
    assert (stats["hits"], stats["last_used"]) == (1, used)
    mark(str(tmp_path), {"stale-code": ""})
    assert json.loads((tmp_path / "stats.json").read_text())["notes"] == {"lock-unsafe": "nfs"}


def test_counts_that_can_not_be_written_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = recorder_of(str(tmp_path / "folder"))
    recorder.hit(0.001, 1)
    recorder.flush()
    assert not (tmp_path / "folder").exists()
    (tmp_path / "folder").mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        recorder.flush()
    assert os.listdir(tmp_path / "folder") == [".stats.lock"]
    recorder.flush()
    assert read_stats(str(tmp_path / "folder"))["hits"] == 1
