"""Seeing processes end: one selector over pidfds and a signal pipe, and the exit code of each.

Works for children and for processes that another parent will reap; for those the code stands in /proc as long as they
are zombies (msrun asks once a second, so there is time, but not always), and newer kernels tell it afterwards.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from dataclasses import dataclass
from types import FrameType

from mswb.jobs import procs
from mswb.signals import ProcessId, is_alive, open_pidfd, reaped_code

POLL_S = 0.15
"""How often processes without a pidfd are looked at."""
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class Ended:
    """A watched process ended. ``code`` is None when its parent took it before we could look."""

    process: ProcessId
    code: int | None


class Watch:
    """The processes whose end matters, and the signals sent to us. Use from the main thread only."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[ProcessId, int | None] = {}
        self._codes: dict[int, int] = {}
        self._next_poll = 0.0
        self._reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._reader, selectors.EVENT_READ, None)
        # Handlers, not SIG_IGN: an ignored signal stays ignored in every child, and a training must get its own.
        for number in HANDLED:
            signal.signal(number, _noted_by_the_pipe)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def add(self, process: ProcessId) -> None:
        """Watch one more process. One that ended already is reported by the next :meth:`wait`."""
        descriptor = open_pidfd(process)
        self._watched[process] = descriptor
        if descriptor is not None:
            self._selector.register(descriptor, selectors.EVENT_READ, process)

    def wait(self, timeout_s: float) -> tuple[list[Ended], list[int]]:
        """Wait for something to happen: who ended, in the order of their ends, and the signals that came."""
        ready = [key.data for key, _ in self._selector.select(min(timeout_s, self._poll_in()))]
        numbers = self._signals() if None in ready else []
        self._reap()
        over = [process for process in ready if process is not None] + self._polled()
        return [self._finish(process) for process in dict.fromkeys(over) if process in self._watched], numbers

    def _poll_in(self) -> float:
        blind = any(descriptor is None for descriptor in self._watched.values())
        return max(0.0, self._next_poll - time.monotonic()) if blind else POLL_S * 10

    def _polled(self) -> list[ProcessId]:
        if time.monotonic() < self._next_poll:
            return []
        self._next_poll = time.monotonic() + POLL_S
        blind = (process for process, descriptor in self._watched.items() if descriptor is None)
        return [process for process in blind if not is_alive(process)]

    def _signals(self) -> list[int]:
        try:
            raw = os.read(self._reader, 4096)
        except BlockingIOError:
            return []
        return [number for number in raw if number != signal.SIGCHLD]

    def _reap(self) -> None:
        """Take the exit code of every child that ended, adopted ones too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if any(process.pid == pid for process in self._watched):
                self._codes[pid] = os.waitstatus_to_exitcode(status)

    def _finish(self, process: ProcessId) -> Ended:
        descriptor = self._watched.pop(process)
        code = self._codes.pop(process.pid, None)
        code = procs.zombie_code(process) if code is None else code
        if descriptor is not None:
            code = reaped_code(descriptor) if code is None else code
            self._selector.unregister(descriptor)
            os.close(descriptor)
        return Ended(process, code)


def _noted_by_the_pipe(number: int, frame: FrameType | None) -> None:
    """The wake-up pipe has the number already."""
