"""The log panel at work: the engine with its threads, the view, the status row, and when what is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from mswb.files.safety import printable
from mswb.findings import MswbError, make
from mswb.launch.logview.engine import LogEngine
from mswb.launch.logview.filters import NO_FILTER, format_filter
from mswb.launch.logview.rows import Place
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.state import Snapshot
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.widgets.log.actions import LogActions
from mswb.ui.widgets.log.paint import name_of
from mswb.ui.widgets.log.prompt import Prompt
from mswb.ui.widgets.log.status import LogState, LogStatus
from mswb.ui.widgets.log.view import LogView
from mswb.ui.widgets.log.words import word


class LogBody(LogActions):
    """Everything in a :class:`mswb.ui.widgets.log.panel.LogPanel` once there is a log."""

    DEFAULT_CSS = "LogBody { height: 1fr; width: 1fr; layout: vertical; }"
    BINDINGS: ClassVar = keymap.bindings("log")

    class Call(Message, bubble=False):
        """Something that another thread wants done here."""

        def __init__(self, call: Callable[[], None]) -> None:
            super().__init__()
            self.call = call

    def __init__(self, context: Context, owner: Widget) -> None:
        super().__init__()
        self.context = context
        self._owner = owner
        self.when_drawn = []
        self._title = ""
        self._noted = False  # a call of _news is on its way already
        self._drawn_at = 0.0
        self._timer: Timer | None = None
        self._visible = True
        self._goal: tuple[str, int] | None = None
        self._opened: tuple[str, ...] = ()
        self._told: tuple[str, int] | None = None
        self.engine = LogEngine(self._news, self._arrived, self._deliver, self._failed)
        self.view = LogView(self.engine)
        self.prompt = Prompt()
        self.status = LogStatus()

    def compose(self) -> ComposeResult:
        yield self.view
        yield self.prompt
        yield self.status

    def on_unmount(self) -> None:
        self.engine.close()

    # -- for the panel

    def open(self, files: Sequence[ShownLog], title: str) -> None:
        """Show these files instead."""
        self._title, self._goal = title, None
        self._opened = tuple(one.path for one in files)
        self.wanted, self.search = NO_FILTER, ""
        self.when_drawn.clear()
        self.view.marks.clear()
        self.view.picked_from = self.view.last_seen = None
        self.view.following = True
        self.engine.open(files)

    def add(self, files: Sequence[ShownLog]) -> None:
        """Show these too."""
        self.engine.add(files)

    @property
    def stayed(self) -> tuple[str, int] | None:
        """Where the cursor was sent, or stays while the end is not followed: file and line (from 1)."""
        place, files = self.view.place, self.view.snapshot.files
        if self._goal is not None or self.view.following or place is None:
            return self._goal
        return files[place.file].path, place.line + 1

    def goto(self, path: str, line: int) -> None:
        """Put the cursor there as soon as the line is known."""
        self._goal = (path, line)
        self.view.following = False
        self._go()

    def follow(self, on: bool) -> None:
        """Follow the end, or stay."""
        self._goal = None if on else self._goal
        self.view.move_to(self.view.count - 1 if on else self.view.cursor, follow=on)
        self._tell()

    # -- drawing

    def draw(self) -> None:
        """Draw the engine's newest state now."""
        self._drawn_at = time.monotonic()
        self.view.show(self.engine.snapshot)
        self._go()
        waiting, self.when_drawn = self.when_drawn, []
        for call in waiting:
            call()
        self._tell()

    def _go(self) -> None:
        """To the line that was asked for, if it is known by now."""
        snapshot = self.snapshot
        if tuple(one.path for one in snapshot.files[: len(self._opened)]) != self._opened:
            return  # of the files that were open before: a number in it means another file
        number = snapshot.number_of(self._goal[0]) if self._goal is not None else None
        if self._goal is None or number is None or not snapshot.built:
            return
        place = Place(number, self._goal[1] - 1)
        row = snapshot.rows.row_of(place)
        if row is None or snapshot.filtering:
            return
        if not snapshot.passing.has(row):  # what one is sent to is seen, whatever is filtered
            if self.wanted:
                self.set_filter(NO_FILTER)
            return
        self._goal = None
        self.view.marks.add(place)
        self.jump(place)

    def _tell(self) -> None:
        """Bring the status row up to date, and tell the owner where the cursor is."""
        shown = self.view.snapshot  # the engine may be ahead, with other files
        self.status.show(state_of(self._title, self.view, shown))
        place = self.view.place
        if place is not None:
            told = (shown.files[place.file].path, place.line + 1)
            if told != self._told:
                from mswb.ui.widgets.log.panel import LogPanel

                self._told = told
                if isinstance(self._owner, LogPanel):
                    self.post_message(LogPanel.Position(self._owner, *told))

    def on_log_view_moved(self, event: LogView.Moved) -> None:
        event.stop()
        self._tell()

    def on_log_view_picked(self, event: LogView.Picked) -> None:
        event.stop()
        self.action_details()

    def on_show(self) -> None:
        self._visible = True
        self.engine.hidden = False
        self._soon()

    def on_hide(self) -> None:
        self._visible = False
        self.engine.hidden = True

    # -- calls from the engine's threads

    def _news(self) -> None:
        if not self._noted:
            self._noted = True
            self._deliver(self._soon)

    def _arrived(self) -> None:
        self._deliver(self.view.redraw)

    def _deliver(self, call: Callable[[], None]) -> None:
        self.post_message(self.Call(call))

    def _failed(self, problem: Exception) -> None:
        values = {"doing": "the log view", "reason": f"{type(problem).__name__}: {problem}", "place": ""}
        found = problem.finding if isinstance(problem, MswbError) else make("workbench-defect", values=values)
        self._deliver(lambda: self.app.notify(found.title, severity="error", markup=False))

    def on_log_body_call(self, event: Call) -> None:
        event.stop()
        event.call()

    def _soon(self) -> None:
        """Draw now, or when the last drawing is old enough."""
        self._noted = False
        if not self._visible or self._timer is not None:
            return
        rest = self._drawn_at + self.context.options.redraw_s - time.monotonic()
        if rest <= 0 or not self.view.count:
            self.draw()
        else:
            self._timer = self.set_timer(rest, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._visible:
            self.draw()


def state_of(title: str, view: LogView, snapshot: Snapshot) -> LogState:
    """What the status row tells."""
    place, rows, hits = view.place, snapshot.rows, snapshot.hits
    row = rows.kept.select(view.cursor) if place is not None else 0
    files = snapshot.files
    name = title or (files[0].path if len(files) == 1 else word("{count} logs", count=len(files)) if files else "")
    low, high = view.selected
    return LogState(
        title=printable(name),
        line=place.line + 1 if place is not None else None,
        whose=name_of(files[place.file]) if place is not None and snapshot.merged else "",
        row=view.cursor,
        rows=view.count,
        total=rows.total if snapshot.built else view.count,
        errors=snapshot.errors,
        warnings=snapshot.warnings,
        filtered=printable(format_filter(snapshot.wanted)),
        search=printable(snapshot.search),
        match=hits.rank(row) + 1 if hits is not None and place is not None and hits.has(row) else None,
        matches=hits.count if hits is not None else 0,
        searching=not snapshot.hits_done,
        following=view.following and bool(files),
        new_lines=view.new_lines,
        work=_work_words(snapshot),
        selected=high - low + 1 if view.picked_from is not None else 0,
        unreadable=len(snapshot.problems),
    )


def _work_words(snapshot: Snapshot) -> str:
    work = snapshot.work
    if work is None:
        return ""
    what = word(work.what)
    return (
        word("{what} stopped", what=what)
        if work.stopped
        else word("{what} {percent} %", what=what, percent=work.percent)
    )
