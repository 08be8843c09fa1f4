"""A terminal of our own: runs a program in a pseudo terminal, draws what it sends, types keys, and answers it.

pyte keeps the screen. Every byte is kept too, for tests of what may never reach a terminal.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.waiting import wait_until

_QUESTION = re.compile(rb"\x1b\[(?:(\d+);(\d+)H\x1b\[)?6n")
"""Where the cursor is; answered for where it was put just before, else for the corner."""
_KITTY = re.compile(r"\x1b\[[<>=][0-9;]*[a-zA-Z]")
"""Private sequences that pyte would draw as text."""


class Terminal:
    """One program in one terminal.

    Args:
        answers: whether it answers questions about the cursor, as every real terminal does.
        rate: bytes a second it takes, or None for as fast as they come.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        answers: bool = True,
        rate: float | None = None,
        keep_screen: bool = True,
    ) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.Stream(self.screen)
        self._answers, self._rate, self._keep_screen = answers, rate, keep_screen
        self.draws = True
        """Whether the screen is kept up to date; without, the bytes alone are kept."""
        self._lock = threading.Lock()
        self.received = bytearray()
        self.byte_count = 0
        self.last_byte = time.monotonic()
        self._master, slave = pty.openpty()
        _set_size(self._master, size)
        environ = {**(os.environ if env is None else env), "TERM": (env or {}).get("TERM", "xterm-256color")}
        self.process = subprocess.Popen(
            list(command), stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=cwd, preexec_fn=_own_terminal
        )
        os.close(slave)
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def close(self) -> None:
        """Close the window: the program's terminal is gone."""
        if self._open:
            self._open = False
            self._reader.join(5)
            os.close(self._master)

    def type(self, keys: str) -> None:
        """Send keys as a terminal does."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""
        with self._lock:
            self.screen.resize(rows, columns)
        _set_size(self._master, (columns, rows))

    @property
    def lines(self) -> list[str]:
        """The screen as it is now, one text a row.

        Pyte's ``display`` can't be read while one half of a wide character is overwritten already.
        """
        with self._lock:
            columns, buffer = range(self.screen.columns), self.screen.buffer
            return ["".join(buffer[row][at].data for at in columns).rstrip() for row in range(self.screen.lines)]

    @property
    def text(self) -> str:
        """The screen as it is now."""
        return "\n".join(self.lines)

    def wait_for(self, wanted: str | Callable[[str], bool], timeout: float = 30.0) -> str:
        """Wait until the screen holds a text (or satisfies a condition); returns the screen.

        Raises:
            AssertionError: it did not, with the screen as it was at last.
        """
        holds = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        try:
            return wait_until(lambda: self.text if holds(self.text) else "", timeout)
        except AssertionError:
            raise AssertionError(f"no {wanted!r} on the screen:\n{self.text}\n") from None

    def _read(self) -> None:
        tail = b""
        while self._open:
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            size = 1 << 16 if self._rate is None else max(1, int(self._rate / 20))
            try:
                data = os.read(self._master, size)
            except OSError:
                return
            self.byte_count += len(data)
            self.last_byte = time.monotonic()
            if self._keep_screen:
                self.received += data
            if self._keep_screen and self.draws:
                with self._lock:
                    self._stream.feed(_KITTY.sub("", data.decode("utf-8", "replace")))
            tail = self._answer(tail + data)
            if self._rate is not None:
                threading.Event().wait(len(data) / self._rate)

    def _answer(self, data: bytes) -> bytes:
        """Answer the questions in what came; returns what may be the beginning of another one."""
        end = 0
        for question in _QUESTION.finditer(data):
            end = question.end()
            if self._answers:
                row, column = (int(part or 1) for part in question.groups())
                os.write(self._master, b"\x1b[%d;%dR" % (row, column))
        return data[max(end, len(data) - 20) :]


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _set_size(descriptor: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
