"""When each log last grew, the exit codes that msrun prints, and whether a log ends in a traceback.

All of it is read off the disk in a thread of its own.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

INTERVAL_S = 0.5
CONSOLE_TAIL_BYTES = 256 << 10
LOG_TAIL_BYTES = 64 << 10
MAX_LOGS = 16
TRACEBACK = b"Traceback (most recent call last):"
# _api.py, join_processes: logger.error(f"Worker process {p.pid} exit with exception. Error code: {ret_code}.")
_WORKER_CODE = re.compile(rb"Worker process (\d{1,10}) exit with exception\. Error code: (-?\d{1,5})\b")


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of one log. Times are seconds since the epoch, 0.0 and None before the first output."""

    size: int = 0
    last: float | None = None
    longest_pause_s: float = 0.0

    def at(self, size: int, changed: float) -> Growth:
        """The same log, seen again; ``changed`` is the file's own modification time."""
        if size == self.size:
            return self
        pause = 0.0 if self.last is None else max(0.0, changed - self.last)
        return Growth(size, changed, max(self.longest_pause_s, pause))


class LogWatch:
    """Watches files whose growth is of interest; :attr:`growth` may be read at any time from any thread."""

    def __init__(self, console: str | None) -> None:
        self.growth: dict[str, Growth] = {}
        self.codes: dict[int, int] = {}
        self.answered = 0
        self.failing = False
        self._suspected: tuple[str, ...] = ()
        self._questions = 0
        self._console = console
        self._asked = threading.Event()
        self._stopped = False
        self._lock = threading.Lock()
        threading.Thread(target=self._work, name="logwatch", daemon=True).start()

    def add(self, path: str) -> None:
        """Watch one more file; it need not exist yet."""
        with self._lock:
            self.growth = {path: Growth(), **self.growth}

    def ask_codes(self) -> int:
        """Look for exit codes in msrun's console now; :attr:`codes` has them by pid.

        Returns a number: :attr:`answered` reaches it when the console was read after this call.
        """
        self._questions += 1
        self._asked.set()
        return self._questions

    def ask_failing(self, paths: Sequence[str]) -> None:
        """Look whether one of these logs has a traceback near its end; :attr:`failing` tells it soon after."""
        self._suspected = tuple(paths[:MAX_LOGS])
        self._asked.set()

    def close(self) -> None:
        """Stop soon; nothing waits for the thread, whose disk may hang."""
        self._stopped = True
        self._asked.set()

    def _work(self) -> None:
        while not self._stopped:
            self._look()
            if self._asked.wait(INTERVAL_S):
                self._asked.clear()
                question = self._questions
                self.codes = console_codes(_tail(self._console)) if self._console else {}
                self.failing = any(TRACEBACK in _tail(path, LOG_TAIL_BYTES) for path in self._suspected)
                self.answered = question

    def _look(self) -> None:
        seen: dict[str, Growth] = {}
        for path, growth in self.growth.items():
            try:
                stat = os.stat(path)
            except OSError:
                continue
            seen[path] = growth.at(stat.st_size, min(stat.st_mtime, time.time()))
        with self._lock:
            self.growth = {**self.growth, **seen}


def console_codes(console: bytes) -> dict[int, int]:
    """The exit codes of workers, by pid, that msrun reports in its console."""
    return {int(match[1]): int(match[2]) for match in _WORKER_CODE.finditer(console)}


def _tail(path: str, length: int = CONSOLE_TAIL_BYTES) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, length, max(0, size - length))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
