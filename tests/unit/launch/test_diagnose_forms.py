"""Logs as people keep them: with colours, other line ends and encodings, prefixes of docker and torchrun, one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.launch.reports import Expected, check_root, report_of
from tests.unit.launch.runs import joined, raised, steps, write

OWN = raised("KeyError: 'lr'")
ROOT = Expected("script-exception", "worker_3.log", (3,), "KeyError: 'lr'")
RED, PLAIN = "\x1b[31m", "\x1b[0m"


def test_colours(tmp_path: Path) -> None:
    write(tmp_path, "worker_3.log", [f"{RED}{line}{PLAIN}" for line in [*joined(7, 3), *OWN]])
    report = report_of(tmp_path)
    check_root(report, ROOT)
    assert "\x1b" not in report["findings"][0]["evidence"]
    assert report["ranks"][0]["records_by_level"] == {"WARNING": 4}


def test_line_ends_of_windows(tmp_path: Path) -> None:
    write(tmp_path, "worker_3.log", [*joined(7, 3), *OWN], end="\r\n")
    check_root(report_of(tmp_path), ROOT)


def test_gbk(tmp_path: Path) -> None:
    lines = [*joined(7, 3), "开始训练", *raised("ValueError: 标签文件损坏：第 3 行")]
    write(tmp_path, "worker_3.log", lines, encoding="gbk")
    check_root(report_of(tmp_path), Expected("script-exception", "worker_3.log", (3,), "^ValueError", "标签文件损坏"))


def test_a_progress_bar_before_the_traceback(tmp_path: Path) -> None:
    bar = "\r".join(f"{step}%|###  | {step}/100 [00:01<00:02, 3.1it/s, loss=0.4]" for step in range(60))
    write(tmp_path, "worker_3.log", [*joined(7, 3), bar + OWN[0], *OWN[1:]])
    check_root(report_of(tmp_path), ROOT)


def test_one_file_is_enough(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", joined(6, 0))
    check_root(report_of(write(tmp_path, "worker_3.log", [*joined(7, 3), *OWN])), ROOT)


def test_a_folder_deep_below(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/worker_3.log", [*joined(7, 3), *OWN])
    check_root(report_of(tmp_path), ROOT)


TIMES = {
    "docker": "2026-11-30T04:00:{0:02d}.123456789Z ",
    "kubectl": "2026-11-30T04:00:{0:02d}.123456789+08:00 stderr F ",
    "ts": "2026-11-30 04:00:{0:02d},123 ",
    "bracketed": "[2026-11-30 04:00:{0:02d}] ",
    "journal": "Nov 30 04:00:{0:02d} node-0 python[77]: ",
}


@pytest.mark.parametrize("prefix", TIMES.values(), ids=TIMES.keys())
def test_a_time_before_every_line(tmp_path: Path, prefix: str) -> None:
    lines = [prefix.format(second) + line for second, line in enumerate([*steps(1, 5), *OWN])]
    report = report_of(write(tmp_path, "pod.log", lines))
    check_root(report, Expected("script-exception", "pod.log", (None,), "KeyError: 'lr'", r"\ATraceback"))
    time = report["findings"][0]["where"]["time"]
    assert time is None or time.startswith("2026-11-30T04:00:07")


RANKS = {
    "torchrun": "[rank{0}]: ",
    "torchrun's default": "[default{0}]:",
    "mpirun": "[1,{0}]<stderr>:",
    "number": "[{0}]:",
    "srun": "{0}: ",
    "compose": "worker-{0}  | ",
    "ours": "[worker_{0}] ",
}


@pytest.mark.parametrize("prefix", RANKS.values(), ids=RANKS.keys())
def test_a_rank_before_every_line(tmp_path: Path, prefix: str) -> None:
    lines = [prefix.format(rank) + line for line in steps(1, 5) for rank in range(12)]
    lines += [prefix.format(10) + line for line in OWN]
    name = "msrun_20261130_040000_99.log" if prefix.startswith("[worker") else "nohup.out"
    report = report_of(write(tmp_path, name, lines))
    check_root(report, Expected("script-exception", name, (10,), "KeyError: 'lr'", r"\ATraceback"))
    assert [rank["rank"] for rank in report["ranks"]] == list(range(12))
    assert {rank["step"] for rank in report["ranks"]} == {4}


def test_a_rank_before_the_lines_of_an_exception_only(tmp_path: Path) -> None:
    lines = [*steps(1, 30), *(f"[rank2]: {line}" for line in OWN)]
    check_root(
        report_of(write(tmp_path, "nohup.out", lines)), Expected("script-exception", "nohup.out", (2,), "KeyError")
    )


def test_a_time_and_a_rank(tmp_path: Path) -> None:
    own = [f"[rank{rank}]: {line}" for line in steps(1, 9) for rank in (0, 1)] + [f"[rank1]: {line}" for line in OWN]
    lines = [TIMES["docker"].format(second) + line for second, line in enumerate(own)]
    check_root(
        report_of(write(tmp_path, "c.log", lines)), Expected("script-exception", "c.log", (1,), "KeyError: 'lr'")
    )


def test_a_time_that_only_the_scripts_own_lines_have_is_no_prefix(tmp_path: Path) -> None:
    lines = [f"2026-11-30 04:00:{second:02d},123 - train - INFO - step {second}" for second in range(9)]
    root = Expected("script-exception", "train.log", (None,), "KeyError: 'lr'")
    check_root(report_of(write(tmp_path, "train.log", [*lines, *OWN])), root)
