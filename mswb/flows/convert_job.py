"""A conversion in a process of its own: the very command that a person would type, its steps, and its report.

The process may be killed, may crash, and takes its native code with it; the workbench only reads what it writes.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import mswb
from mswb.findings import Finding, Where, language, make, stop

LOOK_S = 0.2
"""How long the wait for news lasts before it is asked whether the result is still wanted."""
GRACE_S = 5.0
"""Seconds that an interrupted conversion has to take its files away."""
_START = "import sys; sys.path[:] = [one for one in sys.path if one]; from mswb.__main__ import main; main()"
"""Without the working folder among the places that modules come from: a model's folder may hold anything."""
MOST_EVIDENCE = 4000
_running: set[subprocess.Popen[bytes]] = set()


class Step(NamedTuple):
    """How far it is: ``name`` is convert, start, reference, outputs or operators."""

    name: str
    done: float
    total: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        report: the object that ``--format json`` writes; None when the process died.
        findings: those of the report, or what ended the process.
    """

    report: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    code: int


def run(
    arguments: Sequence[str],
    folder: Path,
    told: Callable[[Step], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome | None:
    """Run ``mswb convert ARGUMENTS`` in a folder; None when it was cancelled. Sub-commands tell no steps.

    Args:
        told: called with each step.
        cancelled: asked a few times a second.

    Raises:
        MswbError: ``path-unreadable``: the folder has gone.
    """
    steps, theirs = os.pipe()
    progress = ("--progress", str(theirs)) if "--input_file" in arguments else ()
    command = [sys.executable, "-c", _START, "convert", *arguments, "--format", "json", *progress]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=folder, env=_environ(),
                pass_fds=(theirs,), start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            os.close(steps)
            raise stop("path-unreadable", values={"path": str(folder), "reason": problem.strerror}) from None
        finally:
            os.close(theirs)
        _running.add(process)
        try:
            if not _follow(steps, told, cancelled):
                return None
            code = process.wait()
        finally:
            os.close(steps)
            _end(process)
            _running.discard(process)
        return _outcome(arguments, out, errors, code)


@atexit.register
def _interrupt() -> None:
    """When this program ends nobody reads what they write: the threads that would end them end with it."""
    for process in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)


def _environ() -> dict[str, str]:
    here = str(Path(mswb.__file__).resolve().parents[1])
    paths = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": paths, "MSWB_LANG": language()}


def _follow(steps: int, told: Callable[[Step], None], cancelled: Callable[[], bool]) -> bool:
    """Tell each step until the process has closed its end; False when nobody wants the result any more."""
    rest = b""
    while True:
        if cancelled():
            return False
        if not select.select([steps], [], [], LOOK_S)[0]:
            continue
        piece = os.read(steps, 1 << 16)
        if not piece:
            return True
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            news = json.loads(line)
            told(Step(str(news["step"]), float(news["done"]), float(news["total"])))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it, so that it takes its files away; kill it when it does not. SIGINT may be ignored, as behind nohup."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _outcome(arguments: Sequence[str], out: IO[bytes], errors: IO[bytes], code: int) -> Outcome:
    out.seek(0)
    try:
        report = json.loads(out.read())
        findings = tuple(map(finding_of, report["findings"]))
    except (ValueError, KeyError, TypeError):
        errors.seek(0)
        evidence = errors.read().decode("utf-8", "replace")[-MOST_EVIDENCE:]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        values = {"how": how, "command": f"mswb convert {shlex.join(arguments)}"}
        return Outcome(None, (make("conversion-died", evidence=evidence, values=values),), code)
    return Outcome(report, findings, code)


def finding_of(told: Mapping[str, Any]) -> Finding:
    """A finding of a report.

    Raises:
        KeyError, TypeError: it is none.
    """
    return Finding(
        code=str(told["code"]),
        severity=told["severity"],
        title=str(told["title"]),
        where=Where(**told["where"]),
        evidence=str(told["evidence"]),
        cause=str(told["cause"]),
        advice=tuple(map(str, told["advice"])),
        values=told["values"],
        consequence_of=told["consequence_of"],
    )
