"""A command that is ended by a signal cleans up as one that is interrupted does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal has ended this command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def cleaned_up() -> Iterator[None]:
    """While this is open SIGTERM and SIGHUP unwind the command, so that temporary files and child processes go.

    Raises:
        Ended: such a signal came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _end) for number in ENDS if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended(number)
