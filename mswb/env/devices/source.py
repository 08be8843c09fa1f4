"""A reading that may be slow or hang, beside the sampling: its last value, and how old that is.

Drivers of lost devices block for seconds, and npu-smi takes seconds on a busy host. Each source has one thread at a
time for one reading; whoever asks waits briefly and then goes on with what is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Source(Generic[T]):
    """Readings of one origin.

    Args:
        read: takes one reading; must not raise.
        every_s: least seconds from the start of one reading to that of the next.
        patience_s: how long an asker waits for the reading that is under way.
        clock: seconds; another one in tests.
    """

    def __init__(
        self,
        read: Callable[[], T],
        every_s: float = 0.0,
        patience_s: float = 0.25,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._every, self._patience, self._clock = read, every_s, patience_s, clock
        self._thread: threading.Thread | None = None
        self._started: float | None = None
        self._value: tuple[T, float] | None = None

    def latest(self, patience_s: float | None = None) -> tuple[T | None, float]:
        """The last value and its age in seconds; (None, seconds waited so far) while there is none yet."""
        if self._due():
            self._start()
        if self._thread is not None:
            self._thread.join(self._patience if patience_s is None else patience_s)
        now = self._clock()
        if self._value is None:
            return None, now - (self._started if self._started is not None else now)
        value, read_at = self._value
        return value, max(0.0, now - read_at)

    @property
    def busy(self) -> bool:
        """Whether a reading is under way."""
        return self._thread is not None and self._thread.is_alive()

    def _due(self) -> bool:
        return not self.busy and (self._started is None or self._clock() - self._started >= self._every)

    def _start(self) -> None:
        self._started = self._clock()
        # A daemon: a driver that hangs for ever must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="device reading", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        value = self._read()
        self._value = (value, self._clock())
