"""Runs of ours: exit codes, stops and stacks in run.json decide what the logs leave open."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from mswb.findings import MswbError
from mswb.launch.diagnose import diagnose
from tests.unit.launch.reports import Expected, check_good, check_root, report_of
from tests.unit.launch.runs import (
    EPOCH,
    ended,
    first_failure,
    joined,
    raised,
    record,
    steps,
    write,
    write_status,
)

IN_SCRIPT = [
    "Current thread 0x00007f01 (most recent call first):",
    '  File "/home/user/project/hang.py", line 12 in wait_for_file',
    '  File "/home/user/project/hang.py", line 30 in <module>',
]
IN_COLLECTIVE = [
    "Thread 0x00007f09 (most recent call first):",
    '  File "/usr/lib/python3.11/threading.py", line 327 in wait',
    "",
    "Current thread 0x00007f02 (most recent call first):",
    '  File "/opt/mindspore/lib/python3.11/site-packages/mindspore/common/api.py", line 1900 in run',
    '  File "/home/user/project/hang.py", line 40 in <module>',
]
STOPPED = {"stopped_by": "user", "stop_requested": EPOCH + 80}


def _logs(folder: Path, *ends: list[str]) -> None:
    for rank, end in enumerate(ends):
        write(folder, f"worker_{rank}.log", [*joined(7 + rank, rank), f"rank id: {rank}", *end])


def _stopped(rank: int, last_output: float) -> Any:
    return ended(rank, -2, ended_by_us=True, last_output=last_output, longest_pause_s=2.0)


def test_a_hang_outside_any_collective(tmp_path: Path) -> None:
    _logs(tmp_path, IN_COLLECTIVE, IN_SCRIPT)
    write_status(tmp_path, [_stopped(0, 5), _stopped(1, 5), ended(None, -2, ended_by_us=True)], **STOPPED)
    place = {"script_file": "/home/user/project/hang.py", "script_line": 12, "function": "wait_for_file"}
    report = report_of(tmp_path)
    check_root(report, Expected("hang", "worker_1.log", (1,), "Current thread", "wait_for_file", place))
    root = report["findings"][report["root"]]
    assert root["values"]["waiting_ranks"] == [0]
    assert root["values"]["silent_s"] == pytest.approx(75)


def test_a_hang_of_all_ranks_blames_none(tmp_path: Path) -> None:
    _logs(tmp_path, IN_SCRIPT, IN_SCRIPT)
    write_status(tmp_path, [_stopped(0, 5), _stopped(1, 5)], **STOPPED)
    check_root(report_of(tmp_path), Expected("hang", "worker_0.log", (None,), "Current thread", "line 12"))


@pytest.mark.parametrize("end", [IN_COLLECTIVE, raised("KeyboardInterrupt")], ids=["stacks", "interrupt"])
def test_a_stop_of_a_healthy_run_is_no_failure(tmp_path: Path, end: list[str]) -> None:
    _logs(tmp_path, [*steps(1, 50), *end], [*steps(1, 50), *end])
    write_status(tmp_path, [_stopped(0, 79.5), _stopped(1, 79.5)], **STOPPED)
    report = report_of(tmp_path)
    check_good(report, "unknown")
    assert [one["code"] for one in report["findings"]] == ["stopped-by-user"]


@pytest.mark.parametrize(("kills", "code"), [(1, "host-out-of-memory"), (0, "killed-by-signal")])
def test_a_killed_rank_among_ranks_that_we_ended(tmp_path: Path, kills: int, code: str) -> None:
    _logs(tmp_path, steps(1, 50), steps(1, 50), steps(1, 50))
    processes = [ended(0, -15, 91, ended_by_us=True), ended(1, -9, 91, ended_by_us=True), ended(2, -9)]
    write_status(tmp_path, processes, stopped_by="failure", oom_kills=kills, first_failure=first_failure(2, -9))
    report = report_of(tmp_path)
    check_root(report, Expected(code, "worker_2.log", (2,), "step: 49"))
    assert [(rank["rank"], rank["state"], rank["exit_code"]) for rank in report["ranks"]] == [
        (0, "killed", -15),
        (1, "killed", -9),
        (2, "killed", -9),
    ]


def test_the_noise_of_peers_that_we_ended(tmp_path: Path) -> None:
    noise = [
        record("ERROR", "DISTRIBUTED", 8, 91, "Kill this process with SIGTERM."),
        *raised("RuntimeError: signal 15"),
    ]
    _logs(tmp_path, raised("ValueError: x"), [*steps(1, 4), *noise])
    processes = [ended(0, 1), ended(1, 1, 91, ended_by_us=True)]
    write_status(tmp_path, processes, stopped_by="failure", first_failure=first_failure(0, 1))
    check_root(report_of(tmp_path), Expected("script-exception", "worker_0.log", (0,), "ValueError: x"))


def test_a_good_run_whose_scheduler_we_ended(tmp_path: Path) -> None:
    _logs(tmp_path, steps(1, 50), steps(1, 50))
    write_status(tmp_path, [ended(0, 0), ended(1, 0), ended(None, -15, 95, ended_by_us=True)], exit_code=0)
    report = report_of(tmp_path)
    check_good(report)
    assert [rank["state"] for rank in report["ranks"]] == ["ended", "ended"]


@pytest.mark.parametrize(("silent_s", "codes"), [(1, []), (1200, ["hang"])])
def test_a_run_that_goes_on(tmp_path: Path, silent_s: float, codes: list[str]) -> None:
    _logs(tmp_path, steps(1, 50), steps(1, 50))
    now = EPOCH + 6000
    facts = {"state": "running", "exit_code": None, "ended": None, "longest_pause_s": 2.0}
    processes = [ended(rank, 0, last_output=6000 - silent_s, **facts) for rank in (0, 1)]
    write_status(tmp_path, processes, state="running", heartbeat=now, ended=None)
    report = report_of(tmp_path, now=now)
    assert report["verdict"] == "running"
    assert [one["code"] for one in report["findings"]] == codes


def test_exit_codes_in_files_of_single_ranks(tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path, f"worker_{rank}.log", [*joined(7 + rank, rank), *steps(1, 5)])
        write(tmp_path, f"exit_code_{rank}", ["3" if rank == 2 else "0"])
    check_root(
        report_of(tmp_path), Expected("unknown-failure", "worker_2.log", (2,), "step: 4", values={"exit_code": 3})
    )


def test_a_fresh_foreign_log_is_a_running_one(tmp_path: Path) -> None:
    log = write(tmp_path, "worker_0.log", [*joined(7, 0), *steps(1, 9)])
    check_good(report_of(tmp_path, now=os.stat(log).st_mtime + 2), "running")
    check_good(report_of(tmp_path, now=time.time() + 86_400), "unknown")


def test_empty_logs_tell_nothing(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path, f"worker_{rank}.log", [])
    check_good(report_of(tmp_path, now=time.time() + 86_400), "unknown")


def _folder(tmp_path: Path) -> Path:
    write(tmp_path, "train.py", ["print(1)"])
    return tmp_path


def _binary(tmp_path: Path) -> Path:
    path = tmp_path / "worker_0.log.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00" + bytes(range(256)) * 4)
    return path


@pytest.mark.parametrize(
    ("make", "code"),
    [(_folder, "no-logs"), (_binary, "path-unreadable"), (lambda path: path / "absent", "path-missing")],
    ids=["no log", "not a log", "absent"],
)
def test_what_cannot_be_diagnosed_is_one_clear_error(tmp_path: Path, make: Any, code: str) -> None:
    path = make(tmp_path)
    with pytest.raises(MswbError) as raised_error:
        diagnose(path)
    assert (raised_error.value.finding.code, raised_error.value.exit_code) == (code, 2)
    assert str(path) in str(raised_error.value)
