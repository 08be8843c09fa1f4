"""How fast this terminal takes what we draw, so that a slow one gets fewer frames instead of old ones.

After each frame the terminal is asked for its cursor position; the answer says that everything before it was taken.
Until it comes, changes gather and are drawn together. A terminal that never answers is judged by our own queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

QUESTION = "\x1b[6n"
"""DSR 6, which every terminal since the VT100 answers with its cursor position."""
PATIENCE_S = 2.0
"""How long an answer may take before the terminal counts as one that does not answer."""
SLOW_BYTES_S = 9_000
"""What ``--slow-link`` sends in a second at most, on average."""


class Pace:
    """The state of one terminal. The event loop asks; the input thread tells of answers.

    Args:
        limit: bytes a second to stay below, or None.
        clock: seconds that only rise.
    """

    def __init__(self, limit: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.sent_bytes = 0
        """All that was written to the terminal so far."""
        self.frames = 0
        self._limit, self._clock = limit, clock
        self._asked: float | None = None
        self._answered = threading.Event()
        self._ever = False
        self._mute = False
        self._free_at = 0.0
        self._counted = 0

    def ready(self) -> bool:
        """Whether the next frame may be drawn now."""
        now = self._clock()
        if now < self._free_at:
            return False
        if self._asked is None or self._answered.is_set():
            return True
        if now - self._asked < PATIENCE_S:
            return False
        self._mute = not self._ever  # one that answered before is only slow: go on at the slowest pace
        return True

    def frame(self) -> str:
        """Note that a frame was sent; returns what to send behind it."""
        now = self._clock()
        self.frames += 1
        if self._limit is not None:
            self._free_at = now + (self.sent_bytes - self._counted) / self._limit
            self._counted = self.sent_bytes
        if self._mute:
            self._asked = None
            return ""
        self._asked = now
        self._answered.clear()
        return QUESTION

    def answered(self) -> None:
        """The terminal has taken everything up to the last question; called by the input thread."""
        self._ever = True
        self._answered.set()

    def settle(self, seconds: float) -> None:
        """Wait for an answer that is on its way, so that the shell does not get it as typed text."""
        if self._asked is not None and not self._mute:
            self._answered.wait(seconds)
