"""Verifications from the Cache pane: each a task with worker processes of its own; several may go on at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mswb.cache.check import Checked
from mswb.cache.entries import Entry
from mswb.files.safety import printable
from mswb.findings import Finding
from mswb.flows.cache_checks import Step
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache import state as caches
from mswb.ui.panes.cache.state import Told, Work
from mswb.ui.panes.cache.words import word
from mswb.ui.tasks import Task, Ticket

if TYPE_CHECKING:
    from mswb.ui.panes.cache.pane import CachePane


class Verifying:
    """What goes on behind one pane."""

    def __init__(self, pane: CachePane) -> None:
        self._pane = pane
        self._tasks: dict[int, Task[None]] = {}

    def begin(self, entries: Sequence[Entry]) -> None:
        """Check entries; what is found is shown as it comes."""
        pane = self._pane
        pane.change_caches(caches.begun, [entry.path for entry in entries])
        number = pane.caches.numbers
        name = os.path.basename(entries[0].path) if len(entries) == 1 else f"{len(entries):,}"
        self._tasks[number] = pane.context.tasks.start(
            f"{word('verify')} {printable(name)}",
            lambda ticket: verify(ticket, entries, lambda: pane.news_s),
            lambda _: self._ended(number, "done"),
            received=lambda news: pane.news(number, news),
            failed=lambda problem: self._failed(number, problem),
        )

    def stop(self, work: Work) -> None:
        """Stop one; what it has found stays."""
        task = self._tasks.get(work.number)
        if task is not None:
            task.cancel()
        self._ended(work.number, "cancelled")

    def settle(self) -> None:
        """Verifications that were cancelled in the job drawer run no more."""
        for work in self._pane.caches.running:
            task = self._tasks.get(work.number)
            if task is not None and task.state == "cancelled":
                self._ended(work.number, "cancelled")

    def _failed(self, number: int, problem: Finding) -> None:
        self._ended(number, "failed")
        self._pane.app.notify(printable(problem.title), severity="error", markup=False)

    def _ended(self, number: int, status: caches.Status) -> None:
        pane = self._pane
        self._tasks.pop(number, None)
        pane.change_caches(caches.ended, number, status)
        work = next(one for one in pane.caches.works if one.number == number)
        if status in ("done", "cancelled"):
            pane.app.notify(end_text(work), severity="warning" if work.bad else "information", markup=False)


def verify(ticket: Ticket, entries: Sequence[Entry], send_s: Callable[[], float]) -> None:
    """The work itself, in a thread: sends what it has found each ``send_s()`` seconds."""
    from mswb.flows.cache_checks import verify as verified

    found: list[tuple[Entry, Checked | None]] = []
    steps: dict[str, Step] = {}
    sent = 0.0

    def send(force: bool = False) -> None:
        nonlocal sent
        if (found or steps) and (force or time.monotonic() - sent >= send_s()):
            ticket.send(Told(tuple(found), dict(steps)))
            found.clear()
            steps.clear()
            sent = time.monotonic()

    def told(step: Step) -> None:
        ticket.report(step.entries_done, step.entries, text=os.path.basename(step.path))
        steps[step.path] = step
        send()

    for _, entry, checked in verified(entries, cancelled=ticket.cancelled, told=told):
        found.append((entry, checked))
        send()
    send(force=True)


def end_text(work: Work) -> str:
    """What came of a verification, in one line."""
    count = len(work.paths)
    if work.status == "cancelled":
        return f"{glyph('stopped')} {word('stopped', done=work.done, count=count)}"
    (path,) = work.paths if count == 1 else ("",)
    name = printable(os.path.basename(path))
    if work.bad and count == 1:
        return f"{glyph('error')} {word('one bad', name=name)}"
    if work.bad:
        return f"{glyph('error')} {word('some bad', count=count, bad=work.bad)}"
    if count == 1:
        return f"{glyph('ok')} {word('one fine', name=name)}"
    return f"{glyph('ok')} {word('all fine', count=count)}"
