"""A log file as the log view is told of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownLog:
    """One log file to show.

    Attributes:
        path: the file; absolute, so that a change of folder changes nothing.
        role: ``worker``, ``scheduler``, ``launcher`` or ``other``.
        rank: the worker's rank, None where unknown.
        node: the machine's name where a run has several, else None.
        offset_us: microseconds that the node's clock is ahead of the reference (:mod:`mswb.launch.clocks`).
    """

    path: str
    role: str = "other"
    rank: int | None = None
    node: str | None = None
    offset_us: int = 0
