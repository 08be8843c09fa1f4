"""How far a job is: written by the job into the events of its run, read by every face."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mswb.jobs.recorder import append_events, event_line
from mswb.jobs.spec import MSWB_EVENTS, Event

INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` units (None: not known yet), and what is being done now."""

    done: float
    total: float | None = None
    unit: str = ""
    text: str = ""

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None while the total is not known."""
        return None if not self.total or self.total < 0 else min(1.0, max(0.0, self.done / self.total))

    def remaining_s(self, elapsed_s: float) -> float | None:
        """Seconds to go at the average speed so far; None while that says nothing."""
        share = self.share
        return elapsed_s * (1 - share) / share if share and elapsed_s > 0 else None


class Reporter:
    """Appends progress to the run that this process belongs to, at most once in :data:`INTERVAL_S`.

    Outside a run it does nothing, so that the same code runs in a thread of a face.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        path = (os.environ if environ is None else environ).get(MSWB_EVENTS)
        self._folder = Path(path).parent if path else None
        self._next = 0.0

    def report(self, progress: Progress, *, now: bool = False) -> None:
        """Report where the job is; ``now`` also when the last report was a moment ago (the last one of a job)."""
        if self._folder is None or (time.monotonic() < self._next and not now):
            return
        self._next = time.monotonic() + INTERVAL_S
        with suppress(OSError):  # a full disk must not end the job
            append_events(self._folder, event_line(to_event(progress)))


def to_event(progress: Progress) -> Event:
    """The event of a progress, at this moment."""
    return Event(
        time=time.time(),
        event="progress",
        done=progress.done,
        total=progress.total,
        unit=progress.unit or None,
        text=progress.text,
    )


def latest(events: Iterable[Event]) -> Progress | None:
    """The last progress among events; None when there is none."""
    last = None
    for event in events:
        if event.event == "progress" and event.done is not None:
            last = Progress(event.done, event.total, event.unit or "", event.text)
    return last
