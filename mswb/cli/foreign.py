"""How trainings that mswb did not start are told of: in ``jobs list`` and ``jobs adopt``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Any

from mswb.cli import output
from mswb.files.plain import to_plain
from mswb.launch.foreign import ForeignProcess, ForeignRun


def summary(run: ForeignRun) -> dict[str, Any]:
    """One training as JSON. Times are seconds since the epoch; ``start_time`` is in clock ticks since boot."""
    built: dict[str, Any] = to_plain(
        {
            "key": run.key,
            "launcher": run.launcher,
            "title": run.title,
            "script": run.script,
            "cwd": run.cwd,
            "command_line": list(run.command),
            "owner": run.owner,
            "mine": run.mine,
            "started": run.started,
            "expected_workers": run.expected,
            "address": run.address,
            "job": run.job,
            "host": run.node,
            "elsewhere": run.elsewhere,
            "log_dir": run.log_dir,
            "logs": [{"path": log.path, "role": log.role, "rank": log.rank} for log in run.logs],
            "processes": [_process(one) for one in run.processes],
        }
    )
    return built


def show_list(found: Sequence[ForeignRun]) -> None:
    """The section of ``jobs list``; nothing at all when there are none."""
    if not found:
        return
    print()
    print("not started by mswb (mswb jobs adopt PID watches one)")
    rows = [
        (
            _first(run).pid,
            run.launcher,
            run.owner,
            _clock(run.started),
            len(run.workers),
            output.short_title(run.title),
            run.log_dir or "",
        )
        for run in found
    ]
    output.show_table(["pid", "by", "user", "started", "ranks", "what", "logs"], rows)


def show(run: ForeignRun) -> None:
    """One training, as it is shown before it is adopted."""
    print(output.safe_line(f"what     {shlex.join(run.command)}"))
    print(output.safe_line(f"where    {run.cwd or '?'} on {run.node}, by {run.launcher}, user {run.owner}"))
    print(output.safe_line(f"logs     {run.log_dir or 'no files'}"))
    rows = [(one.role, one.rank, one.pid, one.devices, one.log) for one in run.processes]
    output.show_table(["role", "rank", "pid", "device", "log"], rows)


def _process(one: ForeignProcess) -> dict[str, Any]:
    return {
        "role": one.role,
        "rank": one.rank,
        "pid": one.pid,
        "start_time": one.id.start_time,
        "started": one.started,
        "devices": one.devices,
        "log": one.log,
    }


def _first(run: ForeignRun) -> ForeignProcess:
    """The process that names the training: its launcher, else its first worker."""
    return next((one for one in run.processes if one.role != "scheduler"), run.processes[0])


def _clock(seconds: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.localtime(seconds))
