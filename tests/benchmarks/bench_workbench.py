"""The workbench at rest in a real terminal: first frame, memory, what it loads, bytes a second.

Peer: an empty Textual app in the same run, by turns.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench
from tests.benchmarks.session import SIZE, environment, opened, pause, use_of
from tests.terminal import Terminal

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("q Quit")
Empty().run()
"""
HEAVY = ("numpy", "re2", "onnx", "mindspore")
"""What only a log, a big table or a model may load."""


def _first(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds to the first whole frame, and resident MB two seconds later."""
    begin = time.perf_counter()
    with Terminal(command, size=SIZE, env=environment(folder), cwd=folder) as terminal:
        terminal.wait_for("q Quit")
        took = time.perf_counter() - begin
        pause(2)
        return took, use_of(terminal.process.pid).resident_mb


@bench
def first_frame(context: Context) -> Iterator[Row]:
    """The Launch pane of an empty folder against a Textual app with one line of text."""
    folder = context.temp / "empty project"
    folder.mkdir()
    ours, peer = [], []
    for _ in range(3 if context.quick else 9):
        ours.append(_first([sys.executable, "-m", "mswb", "ui"], folder))
        peer.append(_first([sys.executable, "-c", EMPTY], folder))
    yield Row("first frame, s", min(x[0] for x in ours), 2.5, "empty Textual app", min(x[0] for x in peer), True)
    yield Row("resident, MB", max(x[1] for x in ours), 2.0, "empty Textual app", max(x[1] for x in peer), True)


@bench
def resting(context: Context) -> Iterator[Row]:
    """A list of runs that are over, the interpreter found; with counters, and without."""
    folder = context.temp / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print('step 1/1 loss 0.5')\n")
    command = [sys.executable, "-m", "mswb", "run", "--backend", "direct", "--skip_check"]
    for _ in range(3):
        workers = ["--worker_num", "1", "--local_worker_num", "1", "train.py"]
        subprocess.run([*command, *workers], env=environment(folder), cwd=folder, stdout=subprocess.DEVNULL, check=True)
    peer = _first([sys.executable, "-c", EMPTY], folder)[1]
    for name, arguments, limit in (("counters alone", [], 3000), ("idle", ["--no-counters"], 0)):
        with opened(folder, *arguments) as terminal:
            terminal.wait_for(lambda text: text.count("succeeded") == 3 and ("Python" in text or "py 3" in text))
            pause(5)
            bytes_a_second = _least_traffic(terminal, 3 if context.quick else 20)
            memory = use_of(terminal.process.pid).resident_mb
            loaded = Path(f"/proc/{terminal.process.pid}/maps").read_text()
        yield Row(f"{name}, bytes a second", bytes_a_second, limit)
        yield Row(f"{name}, resident, MB", memory, 2.0, "empty Textual app", peer, True)
        yield Row(f"{name}, heavy modules loaded", sum(f"/{module}" in loaded for module in HEAVY), 0)


def _least_traffic(terminal: Terminal, seconds: float) -> float:
    """Bytes a second; the lesser of two tries, as the age of a run may pass a minute in one of them."""
    found = []
    for _ in range(2):
        before = terminal.byte_count
        pause(seconds)
        found.append((terminal.byte_count - before) / seconds)
    return min(found)
