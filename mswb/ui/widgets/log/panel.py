"""The log panel as its owner sees it. What loads much (numpy, RE2) is imported when the first log is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mswb.launch.logview.source import ShownLog
from mswb.ui.context import Context
from mswb.ui.services import settle_heap
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from mswb.ui.widgets.log.body import LogBody


class LogPanel(Widget):
    """Shows one log, or several merged by time; all keys of :file:`keys/log.toml` work in it. Usable in any app."""

    DEFAULT_CSS = """
    LogPanel { height: 1fr; width: 1fr; layout: vertical; }
    LogPanel > LogEmpty { height: 1fr; color: $foreground 60%; padding: 0 1; }
    """

    class Position(Message):
        """The cursor is on this line (from 1) of this file."""

        def __init__(self, panel: LogPanel, path: str, line: int) -> None:
            super().__init__()
            self.panel = panel
            self.path = path
            self.line = line

        @property
        def control(self) -> LogPanel:
            return self.panel

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context
        self._body: LogBody | None = None
        self._waiting: list[Callable[[LogBody], None]] = []
        self._loading = False

    def compose(self) -> ComposeResult:
        yield LogEmpty("No log is open.", markup=False)

    # -- for its owner

    def open(self, files: Sequence[ShownLog], *, title: str = "") -> None:
        """Show these files instead of the present ones, from their end on, and follow them."""
        self._when_ready(lambda body: body.open(files, title))

    def add(self, files: Sequence[ShownLog]) -> None:
        """Show these files too."""
        self._when_ready(lambda body: body.add(files))

    def goto(self, path: str, line: int) -> None:
        """Put the cursor on a line (from 1) of an open file, as soon as its lines are counted."""
        self._when_ready(lambda body: body.goto(path, line))

    def follow(self, on: bool = True) -> None:
        """Go to the end and stay there while it grows; or stay where it is."""
        self._when_ready(lambda body: body.follow(on))

    def close(self) -> None:
        """Show nothing, and give all files back."""
        self._waiting.clear()
        if self._body is not None:
            self._body.open((), "")

    @property
    def body(self) -> LogBody | None:
        """What draws the log; None until one is opened."""
        return self._body

    @property
    def place(self) -> tuple[str, int] | None:
        """The file and line (from 1) that a person stays at or was sent to; None while the end is followed."""
        return self._body.stayed if self._body is not None else None

    @property
    def front(self) -> Widget:
        """What takes the focus."""
        return self._body.view if self._body is not None else self.query_one(LogEmpty)

    # -- loading

    def _when_ready(self, call: Callable[[LogBody], None]) -> None:
        if self._body is not None:
            call(self._body)
            return
        self._waiting.append(call)
        if not self._loading:
            self._loading = True
            self.context.tasks.start("Log view", _load, self._loaded, quiet=True)

    def _loaded(self, kind: type[LogBody]) -> None:
        """Put the real thing in the place of the empty one."""
        if not self.is_attached:
            return
        body = kind(self.context, self)
        self.mount(body)
        body.call_later(self._take_over, body)  # it comes behind the mounting; before, nothing can be drawn

    def _take_over(self, body: LogBody) -> None:
        """The real thing is mounted: have it do what was asked for meanwhile."""
        empty = self.query_one(LogEmpty)
        self._body = body
        if empty.has_focus:
            self.call_after_refresh(body.view.focus)
        empty.display = False
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(body)
        settle_heap(self.app)  # numpy alone is some ten thousand objects


class LogEmpty(Static, can_focus=True):
    """Stands where the log will be."""


def _load(ticket: Ticket) -> type[LogBody]:
    from mswb.ui.widgets.log.body import LogBody

    return LogBody
