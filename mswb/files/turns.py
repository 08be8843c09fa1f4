"""Whose turn it is: threads that read in the background give way while a key is being answered.

All threads of a process share one interpreter, and one that computes keeps it for up to 5 ms at a time, whenever the
other one has let go of it. So whoever answers a person holds the turn for a moment, and what can wait asks for it
between two small pieces of work.
"""

from __future__ import annotations

import threading
import time

LONGEST_S = 0.06
"""Seconds for which a turn is held at most; who forgets to give it back, or has nothing to draw, stops nobody."""


class Turn:
    """Held by one thread, asked for by others."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self._until = 0.0

    def hold(self) -> None:
        """Keep the others waiting, for :data:`LONGEST_S` at most."""
        self._free.clear()
        self._until = time.monotonic() + LONGEST_S

    def give_back(self) -> None:
        """Let the others go on."""
        self._until = 0.0
        self._free.set()

    def wait(self) -> None:
        """Wait until nobody holds it."""
        left = self._until - time.monotonic()
        if left > 0:
            self._free.wait(left)


TURN = Turn()
"""The turn of this process."""
