"""The workbench in a terminal of 80 x 24 as the benchmarks open it, and what its process uses."""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.terminal import Terminal
from tests.waiting import wait_until

SIZE = (80, 24)
FOLLOWING = "following"
MARK = "❯"
"""Stands before the row under the cursor."""
_TOTAL = re.compile(r"(?:line [\d,]+|[\d,]+) of ([\d,]+)|([\d,]+) lines")
_LETTERS = [chr(code) for code in range(0xC0, 0x250)]
"""No log holds them: where one comes from the terminal, it is the answer to the key."""


def environment(folder: Path) -> dict[str, str]:
    """Settings and state of their own, below ``folder``."""
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return kept | {
        "MSWB_STATE_DIR": str(folder / "state"),
        "MSWB_CONFIG": str(folder / "config.toml"),
        "MSWB_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "LANG": "en_US.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }


@contextmanager
def opened(folder: Path, *arguments: str, **terminal: object) -> Iterator[Terminal]:
    """``mswb ui`` in ``folder``, closed at the end."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "mswb", "ui", *arguments]
    settings = {"size": SIZE, "env": environment(folder), "cwd": folder} | terminal
    with Terminal(command, **settings) as one:  # type: ignore[arg-type]
        yield one


def pause(seconds: float) -> None:
    """Let it run."""
    threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True)
class Use:
    """What a process uses at one moment. ``anonymous_mb`` is its own memory, without what it shares with files."""

    resident_mb: float
    anonymous_mb: float
    threads: int
    descriptors: int
    cpu_s: float
    moment: float

    def cpu_share(self, before: Use) -> float:
        """Cores used since."""
        return (self.cpu_s - before.cpu_s) / (self.moment - before.moment)


def use_of(process: int) -> Use:
    """What a process uses now."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return Use(
        resident_mb=int(status["VmRSS"].split()[0]) / 1024,
        anonymous_mb=int(status["RssAnon"].split()[0]) / 1024,
        threads=int(status["Threads"]),
        descriptors=len(os.listdir(f"/proc/{process}/fd")),
        cpu_s=(int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"),
        moment=time.monotonic(),
    )


def total_shown(text: str) -> int:
    """How many lines the status row of the log view says there are; 0 while it doesn't."""
    found = _TOTAL.findall(text)
    return max((int(group.replace(",", "")) for groups in found for group in groups if group), default=0)


def is_following(text: str) -> bool:
    """Whether the log view follows, by its status row."""
    return FOLLOWING in text


def wait_following(terminal: Terminal, timeout: float = 120.0) -> int:
    """Wait until the log view follows and lines really come; returns how many it shows."""
    terminal.wait_for(lambda text: is_following(text) and total_shown(text) > 0, timeout)
    first = total_shown(terminal.text)
    terminal.wait_for(lambda text: is_following(text) and total_shown(text) > first, timeout)
    return total_shown(terminal.text)


class Echo:
    """Times keys of the log view by what only their frame can send."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.seconds: list[float] = []
        self._dice = random.Random(1)
        self._at = 0

    def time(self, keys: str, needle: bytes) -> float:
        """Seconds from these keys to the arrival of ``needle``."""
        start, begin = len(self.terminal.received), time.perf_counter()
        self.terminal.type(keys)
        wait_until(lambda: self.terminal.received.find(needle, start) >= 0, 30, step=0.0005)
        return time.perf_counter() - begin

    def rest(self, low: float = 0.03, high: float = 0.2) -> None:
        """Pause as a person does, so that keys meet every phase of the redrawing."""
        pause(self._dice.uniform(low, high))

    def typed(self, count: int) -> list[float]:
        """Letters typed into the search line while the log goes on."""
        self.terminal.type("/")
        pause(0.5)
        found = []
        for _ in range(count):
            letter = _LETTERS[self._at % len(_LETTERS)]
            self._at += 1
            found.append(self.time(letter, letter.encode()))
            self.rest()
        self.terminal.type("\x1b")
        pause(0.5)
        return found

    def jumps(self, count: int) -> list[float]:
        """Leaving the end (not timed), and back to it: all lines of the screen are others then."""
        found = []
        for _ in range(count):
            self.terminal.type("k")
            pause(0.35)
            self.rest(0.0, 0.25)
            found.append(self.time("G", FOLLOWING.encode()))
            self.rest()
        return found

    def moved(self) -> float:
        """The cursor of a table moves by a row, down and up by turns: the row it comes to is drawn with the mark."""
        self.rest()
        key = "j" if self._at % 2 == 0 else "k"
        self._at += 1
        return self.time(key, MARK.encode())
