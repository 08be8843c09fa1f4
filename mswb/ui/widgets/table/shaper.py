"""Bringing data into shape: at once where that is quick, else in a thread, always ending with what was asked last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from textual.message import Message
from textual.widget import Widget

from mswb.ui.widgets.table.data import TableData
from mswb.ui.widgets.table.view import Shape, View, build

AT_ONCE = 3_000
"""Rows that are sorted and filtered within a frame; more go to a thread."""


class Built(Message):
    """A thread has a view ready, or failed."""

    def __init__(self, view: View | None, problem: str = "") -> None:
        super().__init__()
        self.view = view
        self.problem = problem


class Shaper:
    """One piece of work at a time for one table.

    A newer shape ends the work on an older one; newer data in the same shape waits for it, so that data that comes
    faster than it can be sorted is still shown.

    Args:
        owner: gets a :class:`Built` from each thread and hands it to :meth:`finished`.
        install: shows a view.
    """

    def __init__(self, owner: Widget, install: Callable[[View], None]) -> None:
        self._owner, self._install = owner, install
        self._wanted: tuple[TableData, Shape] | None = None
        self._working: Shape | None = None

    @property
    def busy(self) -> bool:
        """Whether a thread is at work."""
        return self._working is not None

    def want(self, data: TableData, shape: Shape) -> None:
        """Have this shown next."""
        self._wanted = (data, shape)
        if self._working is None:
            self._next()

    def finished(self, built: Built) -> None:
        """A thread has ended: show its view unless the shape has changed, and go on."""
        shape, self._working = self._working, None
        if built.view is not None and (self._wanted is None or self._wanted[1] == shape):
            self._install(built.view)
        self._next()

    def _next(self) -> None:
        if self._wanted is None:
            return
        (data, shape), self._wanted = self._wanted, None
        if shape.plain or len(data) <= AT_ONCE:
            self._install(build(data, shape))
            return
        self._working = shape
        threading.Thread(target=self._work, args=(data, shape), name="table", daemon=True).start()

    def _work(self, data: TableData, shape: Shape) -> None:
        def cancelled() -> bool:
            return self._wanted is not None and self._wanted[1] != shape

        try:
            built = Built(build(data, shape, cancelled))
        except Exception as problem:  # a defect must not end the session
            built = Built(None, f"{type(problem).__name__}: {problem}")
        with suppress(RuntimeError):  # the app has gone meanwhile
            self._owner.post_message(built)
