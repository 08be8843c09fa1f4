"""Counts of forked workers in memory that they share with the process that forked them.

A pipeline ends its workers without asking, so what they count must not be in their own memory. Each worker has a slot;
the slot of one that has ended is free again.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
from typing import Any, Callable, Dict, Tuple

import numpy as np

SLOTS = 64
LOWEST, HIGHEST = -400, 1200
"""Classes of :class:`mswb.inside.cached.times.Histogram`, from a picosecond to hours."""
KINDS = ("load", "source")
_SLOT = np.dtype(
    [
        ("pid", "i8"),
        ("bytes", "i8"),
        ("classes", "i8", (len(KINDS), HIGHEST - LOWEST + 1)),
        ("sums", "f8", (len(KINDS), 2)),
    ]
)

Counted = Tuple[Dict[str, Dict[int, int]], Dict[str, Tuple[float, float]], int]
"""For each kind the classes with their counts, for each kind the sum and the maximum in ms, and bytes."""


class SharedCounts:
    """The slots. Made before workers are forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS * _SLOT.itemsize)
        self._slots: Any = np.ndarray((SLOTS,), _SLOT, self._memory)
        self._seen: Any = np.zeros((SLOTS,), _SLOT)
        self._turn = multiprocessing.get_context("fork").Lock()
        self._mine = -1

    def claim(self) -> bool:
        """In a new worker: take a slot; False when there is none."""
        with self._turn:
            free = np.flatnonzero(self._slots["pid"] == 0)
            if not len(free):
                return False
            self._mine = int(free[0])
            self._slots["pid"][self._mine] = os.getpid()
        return True

    def count(self, kind: int, index: int, ms: float, size: int) -> None:
        """In a worker: one sample took ``ms`` and had ``size`` bytes."""
        slot = self._slots[self._mine]
        slot["classes"][kind, min(max(index, LOWEST), HIGHEST) - LOWEST] += 1
        sums = slot["sums"][kind]
        sums[0] += ms
        sums[1] = max(sums[1], ms)
        slot["bytes"] += size

    def collect(self, is_alive: Callable[[int], bool]) -> Counted:
        """In the process that forked them: what all workers have counted since the last call."""
        classes: Dict[str, Dict[int, int]] = {kind: {} for kind in KINDS}
        sums = {kind: (0.0, 0.0) for kind in KINDS}
        size = 0
        with self._turn:
            for place in np.flatnonzero(self._slots["pid"]).tolist():
                ended = not is_alive(int(self._slots["pid"][place]))
                now, seen = self._slots[place].copy(), self._seen[place]
                size += int(now["bytes"] - seen["bytes"])
                for number, kind in enumerate(KINDS):
                    new = now["classes"][number] - seen["classes"][number]
                    for index in np.flatnonzero(new).tolist():
                        classes[kind][index + LOWEST] = classes[kind].get(index + LOWEST, 0) + int(new[index])
                    total = float(now["sums"][number][0] - seen["sums"][number][0])
                    sums[kind] = (sums[kind][0] + total, max(sums[kind][1], float(now["sums"][number][1])))
                empty = np.zeros((), _SLOT)
                self._seen[place] = empty if ended else now
                if ended:
                    self._slots[place] = empty
        return classes, sums, size
