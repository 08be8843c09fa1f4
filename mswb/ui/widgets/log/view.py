"""The lines of the log view: a cursor, a window over rows of any number, and only what changed is drawn.

Rows come from the engine's snapshot, which is memory; lines come from its reader, which is asked for a few
milliseconds at most. So no key waits for a disk.
"""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from mswb.files.safety import printable
from mswb.launch.logview.engine import LogEngine
from mswb.launch.logview.rows import Place
from mswb.launch.logview.shown import ShownLine
from mswb.launch.logview.state import Snapshot
from mswb.ui.widgets.log.frame import Canvas, FrameLine, bar_of, bar_sign, lay_out, strip_of, top_for
from mswb.ui.widgets.log.paint import STYLES, Look, Row, highlighter, name_of
from mswb.ui.widgets.log.words import word

PATIENCE_S = 0.008
"""How long a frame waits for its lines before it is drawn without the missing ones."""
WHEEL = 3
EDGE = 2
"""Rows that stay in sight above and below a place that is jumped to."""


class LogView(Widget, can_focus=True):
    """The window. The panel around it knows the keys."""

    DEFAULT_CSS = """
    LogView { height: 1fr; width: 1fr; background: $background; }
    LogView > .log--error { color: $text-error; text-style: bold; }
    LogView > .log--warning { color: $text-warning; text-style: bold; }
    LogView > .log--info { color: $text-primary; }
    LogView > .log--muted { color: $foreground 66%; }
    LogView > .log--rank { color: $text-accent; }
    LogView > .log--fold { color: $text-accent; text-style: bold; }
    LogView > .log--mark { color: $text-accent; text-style: bold; }
    LogView > .log--match { background: $warning 40%; text-style: bold underline; }
    LogView > .log--cursor { background: $surface; }
    LogView:focus > .log--cursor { background: $primary 30%; }
    LogView > .log--selected { background: $secondary 30%; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log--{name}" for name in STYLES}

    class Moved(Message):
        """The cursor is on another line, or the window has moved."""

    class Picked(Message):
        """A line was double-clicked."""

    def __init__(self, engine: LogEngine, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.engine = engine
        self.snapshot = Snapshot()
        self.cursor = 0
        self.top = 0
        self.following = True
        self.marks: set[Place] = set()
        self.picked_from: Place | None = None
        self.last_seen: Place | None = None
        self.is_raw = False
        self._left = 0
        self._wrap = False
        self._centred = False  # the cursor's line was brought to the middle, and nobody has moved since
        self._frame: list[FrameLine] = []
        self._canvas = Canvas(0, 0)
        self._bar = (0, 0)
        self._lines: dict[Place, ShownLine] = {}
        self._known_look: tuple[object, Look] | None = None

    # -- what is there

    @property
    def count(self) -> int:
        """Rows to show."""
        return self.snapshot.rows.count if self.snapshot.built else len(self.snapshot.tail)

    @property
    def place(self) -> Place | None:
        """The line under the cursor; None while lines are not counted yet, or without any."""
        return self.place_of(self.cursor)

    def place_of(self, row: int) -> Place | None:
        """The line in a shown row."""
        return self.snapshot.rows.place(row) if self.snapshot.built and 0 <= row < self.count else None

    @property
    def selected(self) -> tuple[int, int]:
        """The first and last selected row; the cursor's when nothing is selected."""
        other = self.snapshot.rows.shown_of(self.picked_from) if self.picked_from is not None else None
        ends = (self.cursor, self.cursor if other is None else other)
        return min(ends), max(ends)

    @property
    def new_lines(self) -> int:
        """Rows that came since the end was left."""
        if self.following or self.last_seen is None or not self.snapshot.built:
            return 0
        seen = self.snapshot.rows.shown_of(self.last_seen)
        return 0 if seen is None else max(0, self.count - 1 - seen)

    # -- changes

    def show(self, snapshot: Snapshot) -> None:
        """Draw a new state, keeping the cursor on its line."""
        old, place = self.snapshot, self.place
        offset = self.cursor - self.top
        self._forget_marks(old, snapshot)
        self.snapshot = snapshot
        if not self.following and (old.layout != snapshot.layout or not old.built):
            row = snapshot.rows.shown_of(place) if place is not None and snapshot.built else None
            self.cursor = row if row is not None else self.cursor
            self.top = self.cursor - offset
        if self.following:
            self.cursor = self.count - 1
        self._settle()
        self.redraw()

    def _forget_marks(self, old: Snapshot, new: Snapshot) -> None:
        """Lines of a file that was begun anew are other lines."""
        if old.generations != new.generations[: len(old.generations)]:
            same = {
                number
                for number, pair in enumerate(zip(old.generations, new.generations, strict=False))
                if pair[0] == pair[1]
            }
            self.marks = {place for place in self.marks if place.file in same}
            self.picked_from = None

    def move_to(self, row: int, *, centre: bool = False, follow: bool = False) -> None:
        """Put the cursor on a row. Without ``follow`` the view stays there while the log grows."""
        self._leave_end(follow)
        before = self.cursor
        self.cursor = max(0, min(row, self.count - 1))
        seen = self.top + EDGE <= self.cursor < self.top + self.size.height - EDGE
        self._centred = centre and not seen
        self._fit()
        if before != self.cursor or follow:
            self.post_message(self.Moved())

    def page(self, rows: int) -> None:
        """Move window and cursor together."""
        self._leave_end(False)
        self.top = max(0, min(self.top + rows, self._last_top()))
        self.move_to(self.cursor + rows)

    def scroll_rows(self, rows: int) -> None:
        """Move the window; the cursor stays in it."""
        self._leave_end(False)
        self._centred = False
        self.top = max(0, min(self.top + rows, self._last_top()))
        self.cursor = max(self.top, min(self.cursor, self.top + self.size.height - 1))
        self._settle()
        self.redraw()
        self.post_message(self.Moved())

    def shift(self, cells: int) -> None:
        """Go along long lines."""
        self._left = max(0, self._left + cells) if not self._wrap else 0
        self.redraw()

    def toggle_wrap(self) -> None:
        """Show all of long lines, or cut them."""
        self._wrap, self._left = not self._wrap, 0
        self._settle()
        self.redraw()

    def toggle_raw(self) -> None:
        """Show records as they are written, or what is worth seeing of them."""
        self.is_raw = not self.is_raw
        self.redraw()

    def toggle_mark(self) -> None:
        """Set or remove a bookmark here."""
        place = self.place
        if place is not None:
            self.marks ^= {place}
            self.redraw()

    def _leave_end(self, follow: bool) -> None:
        if self.following and not follow:
            self.last_seen = self.place_of(self.count - 1)
        self.following = follow

    def _fit(self) -> None:
        """Bring cursor and window together, also when the size is another one."""
        if self._centred:
            self.top = self.cursor - self.size.height // 2
        self._settle()
        self.redraw()

    def _settle(self) -> None:
        """Bring the window to where the cursor is seen."""
        self.cursor = max(0, min(self.cursor, self.count - 1))
        canvas = self._room()
        if self.cursor < self.top:
            self.top = self.cursor
        elif canvas.height:
            lowest = top_for(self.cursor, self._row_at, canvas) if self._wrap else self.cursor - canvas.height + 1
            self.top = max(self.top, lowest)
        self.top = max(0, min(self.top, self._last_top()))

    def _last_top(self) -> int:
        """The top row when the last row is at the bottom."""
        if not self._wrap or not self.count:
            return max(0, self.count - self.size.height)
        return top_for(self.count - 1, self._row_at, self._room())

    # -- drawing

    def redraw(self) -> None:
        """Draw the lines of the screen that look otherwise than before."""
        canvas = self._room()
        if not canvas.width or not canvas.height:
            return
        self._fetch(canvas)
        frame = lay_out(self.top, self.count, self._row_at, canvas)
        rows = len({line.number for line in frame})
        bar = bar_of(self.top, rows, self.count, canvas.height)
        if canvas != self._canvas:
            self._frame, self._canvas, self._bar = frame, canvas, bar
            self.refresh()
            return
        old, self._frame = self._frame, frame
        changed = {y for y in range(canvas.height) if _at(old, y) != _at(frame, y)}
        changed |= {y for y in range(canvas.height) if (y in range(*bar)) != (y in range(*self._bar))}
        changed |= set(range(canvas.height)) if (bar == (0, 0)) != (self._bar == (0, 0)) else set()
        self._bar = bar
        if changed:
            self.refresh(*(Region(0, y, canvas.width, 1) for y in sorted(changed)))

    def _room(self) -> Canvas:
        return Canvas(self.size.width, self.size.height, self._left, self._wrap, self._look())

    def _look(self) -> Look:
        """How rows are drawn; kept until something it depends on has changed."""
        wanted = (self.is_raw, self.snapshot.files, self.snapshot.search)
        if self._known_look is None or self._known_look[0] != wanted:
            names = max((len(name_of(log)) for log in self.snapshot.files), default=0) if self.snapshot.merged else 0
            look = Look(self.is_raw, names, self.rich_style, self._colours(), highlighter(self.snapshot.search))
            self._known_look = (wanted, look)
        return self._known_look[1]

    def _colours(self) -> dict[str, Style]:
        """Of each component class only what it is there for, so that the cursor's background shows through."""
        found = {name: self.get_component_rich_style(f"log--{name}") for name in STYLES}
        plain = {name: Style(color=style.color, bold=style.bold) for name, style in found.items()}
        plain |= {name: Style(bgcolor=found[name].bgcolor) for name in ("selected", "cursor")}
        return plain | {"match": Style(bgcolor=found["match"].bgcolor, bold=True, underline=True)}

    def _fetch(self, canvas: Canvas) -> None:
        """Have the lines of the screen read, and those around it soon."""
        if not self.snapshot.built:
            return
        seen = range(self.top, min(self.count, self.top + canvas.height))
        places = [self.snapshot.rows.place(row) for row in seen]
        self._lines = self.engine.reader.get(places, PATIENCE_S)

    def _row_at(self, number: int) -> Row:
        low, high = self.selected if self.picked_from is not None else (-1, -1)
        cursor, selected = number == self.cursor, low <= number <= high
        if not self.snapshot.built:
            one = self.snapshot.tail[number]
            return Row(one.line, self.snapshot.files[one.file], cursor=cursor)
        place = self.snapshot.rows.place(number)
        line = self._lines.get(place)
        if line is None:
            line = self.engine.reader.get([place], 0.0).get(place)
        log = self.snapshot.files[place.file]
        return Row(line, log, self.snapshot.folded_at(place), place in self.marks, cursor, selected)

    def render_line(self, y: int) -> Strip:
        if y == 0 and (self._canvas.width, self._canvas.height) != self.size:
            self._fit()
        width, look, line = self._canvas.width, self._canvas.look, _at(self._frame, y)
        if line is None:
            return self._message(width, look) if y == 0 and not self._frame else Strip.blank(width, look.base)
        return strip_of(line, self._canvas, bar_sign(y in range(*self._bar), self._bar != (0, 0)))

    def _message(self, width: int, look: Look) -> Strip:
        """Why there is nothing to see."""
        text = Text(f" {printable(why_empty(self.snapshot))}", end="")
        return Strip(text.render(self.app.console)).adjust_cell_length(width).apply_style(look.base)

    # -- events

    def on_resize(self, event: events.Resize) -> None:
        if self.following:
            self.cursor = self.count - 1
        self._fit()

    def notify_style_update(self) -> None:
        """The theme or the focus has changed: all colours are others."""
        super().notify_style_update()
        self._known_look = None
        self.call_later(self.redraw)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-WHEEL)

    def on_click(self, event: events.Click) -> None:
        line = _at(self._frame, event.y)
        if event.x >= self.size.width - 1 and self._bar != (0, 0):
            share = event.y / max(1, self.size.height - 1)
            self.scroll_rows(round(share * self._last_top()) - self.top)
        elif line is not None:
            self.move_to(line.number)
            if event.chain == 2:
                self.post_message(self.Picked())


def why_empty(snapshot: Snapshot) -> str:
    """Why there are no rows to see."""
    if not snapshot.files:
        return word("No log is open.")
    if not snapshot.built or snapshot.filtering:
        return word("Reading …")
    if snapshot.rows.total:
        return word("No line passes the filter; Esc takes it away.")
    problem = snapshot.problems[0] if snapshot.problems else None
    if problem is not None and problem.code == "path-missing":
        return word("Not there yet: {path}", path=problem.values["path"])
    return problem.title if problem is not None else word("The log is empty so far.")


def _at(frame: list[FrameLine], y: int) -> FrameLine | None:
    return frame[y] if 0 <= y < len(frame) else None
