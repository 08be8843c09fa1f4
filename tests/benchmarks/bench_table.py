"""The table widget in a real terminal: loading, moving, sorting, bytes and memory.

Peers: textual's DataTable with a hundredth of the rows (with all of them it takes minutes), and
textual-fastdatatable with all of them, in an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import table_child
from tests.benchmarks.common import Context, Row, bench
from tests.terminal import Terminal
from tests.waiting import wait_until

_SORTS = {"1": "time", "2": "operator", "3": "name"}
_STEPS = 12


@dataclass(frozen=True, slots=True)
class Outcome:
    """CPU seconds and bytes of what one widget did; steps are seconds from key to last byte, the least of some."""

    done: dict[str, dict[str, Any]]
    step_s: float
    step_bytes: float
    page_s: float
    page_bytes: float

    def seconds(self, what: str) -> float:
        return float(self.done[what]["seconds"])

    def megabytes(self, *what: str) -> float:
        return sum(self.done[one]["bytes"] for one in what) / 1e6


def measure(context: Context, kind: str, rows: int, python: str | Path = sys.executable) -> Outcome:
    """Run one widget in a terminal of 120 x 40."""
    report = context.temp / f"{kind}-{rows}.json"
    report.unlink(missing_ok=True)
    here = Path(__file__).parents[2]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(here)}
    command = [str(python), table_child.__file__, kind, str(rows), str(report)]
    with Terminal(command, size=(120, 40), env=environment, keep_screen=False) as terminal:
        done: dict[str, dict[str, Any]] = {}

        def wait(what: str) -> None:
            wait_until(lambda: what in _read(report) or terminal.process.poll() is not None, 300)
            done[what] = _read(report)[what]
            _quiet(terminal)

        wait("load")
        steps = [_answer(terminal, "\x1b[B") for _ in range(_STEPS)]
        pages = [_answer(terminal, "\x1b[6~") for _ in range(_STEPS)]
        for key, column in _SORTS.items():
            terminal.type(key)
            wait(f"sort {column}")
    return Outcome(done, *_typical(steps), *_typical(pages))


def _read(report: Path) -> dict[str, dict[str, Any]]:
    lines = report.read_text().splitlines() if report.exists() else []
    return {line["what"]: line for line in map(json.loads, lines)}


def _quiet(terminal: Terminal, seconds: float = 0.4) -> None:
    """Wait until nothing more comes."""
    wait_until(lambda: time.monotonic() - terminal.last_byte > seconds, 300)


def _answer(terminal: Terminal, key: str) -> tuple[float, int]:
    """Seconds from a key to the last byte that answers it, and how many bytes there are."""
    before, begin = terminal.byte_count, time.monotonic()
    terminal.type(key)
    wait_until(lambda: terminal.byte_count > before, 60, step=0.001)
    _quiet(terminal, 0.25)
    threading.Event().wait(0.05)
    return terminal.last_byte - begin, terminal.byte_count - before


def _typical(answers: list[tuple[float, int]]) -> tuple[float, float]:
    """The least time, as other users of the machine only add, and the median of the bytes."""
    return min(answer[0] for answer in answers), statistics.median(answer[1] for answer in answers)


def _fast(context: Context) -> Path | None:
    """The interpreter of an environment that holds textual-fastdatatable, made when it isn't there yet."""
    python = context.cache / "fastdatatable" / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", context.cache / "fastdatatable"], capture_output=True)
        install = [python, "-m", "pip", "install", "-q", "textual-fastdatatable==0.19.5"]
        if made.returncode or subprocess.run(install, capture_output=True).returncode:
            shutil.rmtree(context.cache / "fastdatatable", ignore_errors=True)
            return None
    return python


@bench
def table(context: Context) -> Iterator[Row]:
    """A million rows in five columns, three of them arrays and two of them lists of text."""
    rows = 50_000 if context.quick else 1_000_000
    ours = measure(context, "ours", rows)
    small, python = measure(context, "datatable", rows // 100), _fast(context)
    fast = measure(context, "fastdatatable", rows, python) if python else None
    yield from _rows(ours, small, f"DataTable, {rows // 100:,} rows")
    yield from _rows(ours, fast, "textual-fastdatatable")
    memory = ours.megabytes("load", *(f"sort {column}" for column in _SORTS.values()))
    yield Row("memory beyond the data after three sorts, MB", memory, 100)


def _rows(ours: Outcome, peer: Outcome | None, name: str) -> Iterator[Row]:
    def row(what: str, limit: float, of: Any) -> Row:
        return Row(what, of(ours), limit, name, of(peer) if peer else None)

    yield row("load to the frame, CPU s", 0.3, lambda one: one.seconds("load"))
    yield row("memory beyond the data after loading, MB", 30, lambda one: one.megabytes("load"))
    yield row("cursor down, ms to the last byte", 20, lambda one: one.step_s * 1000)
    yield row("cursor down, bytes", 1500, lambda one: one.step_bytes)
    yield row("page down, ms to the last byte", 20, lambda one: one.page_s * 1000)
    yield row("page down, bytes", 10_000, lambda one: one.page_bytes)
    yield row("sort by numbers, CPU s", 1, lambda one: one.seconds("sort time"))
    yield row("sort by 2,000 different texts, CPU s", 1, lambda one: one.seconds("sort operator"))
    yield row("sort by a million different texts, CPU s", 1, lambda one: one.seconds("sort name"))
