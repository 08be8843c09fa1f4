"""How fast this terminal takes what we draw, so that a slow one gets fewer frames instead of old ones.

After each frame the cursor is put somewhere and the terminal is asked where it is; the answer names the frame, and says
that everything before was taken. Until it comes, changes gather and are drawn together. A terminal that never answers
is judged by our own queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

QUESTION = "\x1b7\x1b[1;{column}H\x1b[6n\x1b8"
"""DSR 6, which every terminal since the VT100 answers with its cursor position; the cursor then goes back."""
NAMES = 8
"""Columns in which the cursor stands by turns: more frames than that are never under way."""
PATIENCE_S = 2.0
"""How long the first answer may take before we go on without it."""
TRIES = 3
"""Questions without an answer after which the terminal counts as one that does not answer."""
LOST_S = 10.0
"""How long the answer of a terminal that has answered before may take: it is slow, or somebody has stopped it."""
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
        self._tries = 0
        self._free_at = 0.0
        self._counted = 0

    @property
    def _column(self) -> int:
        return self.frames % NAMES

    @property
    def _waiting(self) -> bool:
        return self._asked is not None and not self._answered.is_set()

    def ready(self) -> bool:
        """Whether the next frame may be drawn now."""
        now = self._clock()
        if now < self._free_at:
            return False
        if self._asked is None or not self._waiting:
            return True
        return now - self._asked >= (LOST_S if self._ever else PATIENCE_S)

    def frame(self) -> str:
        """Note that a frame was sent; returns what to send behind it."""
        now = self._clock()
        if self._waiting and not self._ever:
            self._tries += 1
        self.frames += 1
        if self._limit is not None:
            self._free_at = now + (self.sent_bytes - self._counted) / self._limit
            self._counted = self.sent_bytes
        if self._tries >= TRIES and not self._ever:
            self._asked = None
            return ""
        self._answered.clear()
        self._asked = now
        return QUESTION.format(column=self._column + 1)

    def answered(self, column: int) -> None:
        """The terminal has taken everything up to the question in ``column`` (from 0); called by the input thread."""
        self._ever = True
        if column == self._column:
            self._answered.set()

    def settle(self, seconds: float) -> None:
        """Wait for an answer that is on its way, so that the shell does not get it as typed text."""
        if self._waiting:
            self._answered.wait(seconds)
