"""The workbench in a real terminal: first frame, memory, key echo while logs pour in, bytes a second.

Peer: an empty Textual app in the same run. Key echo is the time from a key to the last byte that answers it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench, percentile
from tests.terminal import Terminal

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("q Quit")
Empty().run()
"""
FILES = 16
SIZE = (80, 24)


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return kept | {
        "MSWB_STATE_DIR": str(folder / "state"),
        "MSWB_CONFIG": str(folder / "config.toml"),
        "MSWB_PYTHON": sys.executable,
        "LANG": "en_US.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }


@contextmanager
def _opened(context: Context, *arguments: str, cwd: Path | None = None, **terminal: object) -> Iterator[Terminal]:
    folder = cwd or context.temp / "project"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "mswb", "ui", *arguments]
    with Terminal(command, size=SIZE, env=_environment(context.temp), cwd=folder, **terminal) as opened:  # type: ignore[arg-type]
        yield opened


def _resident_mb(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _first(command: list[str], context: Context) -> tuple[float, float]:
    """Seconds to the first whole frame, and resident MB two seconds later."""
    begin = time.perf_counter()
    with Terminal(command, size=SIZE, env=_environment(context.temp), cwd=context.temp) as terminal:
        terminal.wait_for("q Quit")
        took = time.perf_counter() - begin
        _pause(2)
        return took, _resident_mb(terminal.process.pid)


@bench
def first_frame(context: Context) -> Iterator[Row]:
    """The Launch pane of an empty folder against a Textual app with one line of text."""
    times = 3 if context.quick else 9
    ours, peer = [], []
    for _ in range(times):
        ours.append(_first([sys.executable, "-m", "mswb", "ui"], context))
        peer.append(_first([sys.executable, "-c", EMPTY], context))
    yield Row("first frame, s", min(x[0] for x in ours), 2.5, "empty Textual app", min(x[0] for x in peer), True)
    yield Row("resident, MB", max(x[1] for x in ours), 2.0, "empty Textual app", max(x[1] for x in peer), True)


@bench
def idle_traffic(context: Context) -> Iterator[Row]:
    """Bytes a second while nothing happens: without counters, and with them."""
    seconds = 4 if context.quick else 20
    for name, arguments, limit in (("idle", ["--no-counters"], 0), ("counters alone", [], 3000)):
        with _opened(context, *arguments) as terminal:
            terminal.wait_for("q Quit")
            _pause(4)
            before = terminal.byte_count
            _pause(seconds)
            yield Row(f"{name}, bytes a second", (terminal.byte_count - before) / seconds, limit)


@contextmanager
def _writers(folder: Path, rate: int, seconds: float) -> Iterator[None]:
    """Sixteen rank logs, each growing at ``rate`` lines a second."""
    folder.mkdir(parents=True)
    code = [sys.executable, "-m", "tests.benchmarks.writer"]
    children = []
    for rank in range(FILES):
        path = folder / f"worker_{rank}.log"
        path.write_text("[INFO] ME(1:1,MainProcess):2026-01-01-00:00:00.000.000 [a.py:1] starts\n")
        command = [*code, str(path), str(rate), str(seconds)]
        children.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    try:
        for child in children:
            assert child.stdin is not None
            child.stdin.close()
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def _echo(terminal: Terminal, key: str) -> float:
    """Seconds from a key to the first byte that comes after it."""
    before = terminal.byte_count
    begin = time.perf_counter()
    terminal.type(key)
    while terminal.byte_count == before and time.perf_counter() - begin < 5:
        _pause(0.0005)
    return time.perf_counter() - begin


def _follow(context: Context, name: str, rate: int, *arguments: str, **terminal: object) -> tuple[list[float], float]:
    """Key echoes in seconds, and bytes a second without keys, while sixteen merged logs are followed."""
    seconds = 8.0 if context.quick else 30.0
    project = context.temp / f"follow {name}"
    logs = project / "ms_run_log" / "20260101_000000_1"
    with _writers(logs, rate, seconds + 20):
        with _opened(context, str(logs), *arguments, cwd=project, **terminal) as opened:
            opened.wait_for("000000", timeout=60)
            _pause(3)
            before = opened.byte_count
            _pause(seconds / 2)
            traffic = (opened.byte_count - before) / (seconds / 2)
            opened.type("?")  # a help screen that answers every key with a drawing
            opened.wait_for("app.palette")
            opened.type("\x1b")
            _pause(1)
            echoes = []
            end = time.perf_counter() + seconds / 2
            while time.perf_counter() < end:
                echoes.append(_echo(opened, "\x1b[C"))
                echoes.append(_echo(opened, "\x1b[D"))
            return echoes, traffic


@bench
def follow(context: Context) -> Iterator[Row]:
    """Sixteen rank logs followed and merged, at two rates; then on a slow link and in a slow terminal."""
    for rate, limit in ((3_125, 50), (20_000, 150)):
        echoes, traffic = _follow(context, f"{rate}", rate)
        yield Row(f"16 x {rate:,} lines/s: key to frame p50, ms", percentile(echoes, 0.5) * 1000, limit)
        yield Row(f"16 x {rate:,} lines/s: key to frame p99, ms", percentile(echoes, 0.99) * 1000, limit)
        yield Row(f"16 x {rate:,} lines/s: bytes a second", traffic, 40_000)
    _, traffic = _follow(context, "slow link", 3_125, "--slow-link")
    yield Row("--slow-link: bytes a second", traffic, 10_000)
    _, slow = _follow(context, "slow terminal", 3_125, rate=4_000.0)
    yield Row("a terminal that takes 4 kB/s: bytes a second", slow, 4_400)
