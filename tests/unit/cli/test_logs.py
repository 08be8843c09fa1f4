"""``mswb logs``: filters, sections, and following files that grow and appear."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mswb.cli.app import run
from mswb.flows.logs import follow
from mswb.launch.merge import Selection
from tests.waiting import wait_until

SAMPLES = Path(__file__).parents[2] / "fixtures" / "launch"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "none.toml"))


def records(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert run(["logs", *arguments, "--format", "json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_all_ranks_are_merged_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    found = records(capsys, str(SAMPLES / "ok" / "msrun_log"))
    times = [str(one["time"]) for one in found if one["time"]]
    assert times == sorted(times)
    assert {one["rank"] for one in found} == {0, 1, None}
    total = sum(len(path.read_text().splitlines()) for path in (SAMPLES / "ok" / "msrun_log").iterdir())
    assert len(found) == total


def test_filters_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(SAMPLES / "exc_one_rank" / "msrun_log")
    errors = records(capsys, folder, "--rank", "1", "--level", "error")
    assert errors and {one["rank"] for one in errors} == {1} and errors[-1]["text"] == "KeyError: 1"
    assert records(capsys, folder, "--grep", r"^KeyError: \d$")[0]["line"] == 75
    assert {one["role"] for one in records(capsys, folder, "--rank", "scheduler")} == {"scheduler"}
    assert records(capsys, folder, "--since", "2030-01-01T00:00:00") == []
    late = records(capsys, folder, "--since", "2026-11-30T04:06:29")
    assert late and all(str(one["time"]) >= "2026-11-30T04:06:29" for one in late)


def test_routine_lines_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(SAMPLES / "ok" / "msrun_log")
    assert run(["logs", folder, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "step 2 loss" in shown and "retry(" not in shown


def test_sections_are_shown_in_the_articles_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["logs", str(SAMPLES / "glog1"), "--sections", "--rank", "0"]) == 0
    shown = capsys.readouterr().out
    assert "[rank 0] [GRAPH_BUILD] GraphId: " in shown and "NodeCount: " in shown
    assert run(["logs", str(SAMPLES / "vlog_kernel_launch"), "--sections"]) == 0
    assert "[KERNEL_LAUNCH] Kernel: Default/fc-Dense/MatMul-op0" in capsys.readouterr().out


def test_following_shows_what_is_there_and_what_comes(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    first = folder / "worker_0.log"
    first.write_text("[WARNING] ME(1:2,MainProcess):2026-11-30-04:00:00.1.00 [a.py:1] begins\nhalf a li")
    seen: list[str] = []
    done = threading.Event()

    def read() -> None:
        for line in follow(folder, Selection(since=1), done.is_set):  # the print of a new rank has no time
            if line is not None:
                seen.append(f"{line.rank}:{line.line}:{line.text.split('] ')[-1]}")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        wait_until(lambda: "0:1:begins" in seen)
        with first.open("a") as file:
            file.write("ne\n")
        (folder / "worker_1.log").write_text("a new rank\n")
        wait_until(lambda: "0:2:half a line" in seen and "1:1:a new rank" in seen)
    finally:
        done.set()
        reader.join()
    assert len(seen) == 3


def test_following_ends_with_an_interrupt(tmp_path: Path) -> None:
    (tmp_path / "worker_0.log").write_text("step 1 loss 0.5\n")
    command = [sys.executable, "-m", "mswb", "logs", str(tmp_path), "-f"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert "step 1 loss" in process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
