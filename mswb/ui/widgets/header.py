"""The top row: the folder, the training Python with its MindSpore, and the live counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rich.text import Text
from textual.widget import Widget

from mswb.files.safety import printable
from mswb.ui.glyphs import glyph


@dataclass(frozen=True, slots=True)
class HeaderState:
    """What the row says; the interpreter in two lengths. ``counters`` is drawn at the right, cut to what is left."""

    folder: str = ""
    interpreter: str = ""
    interpreter_short: str = ""
    counters: Text = field(default_factory=Text)


class Header(Widget):
    """One row; drawn again only when what it says has changed."""

    DEFAULT_CSS = """
    Header { height: 1; width: 1fr; background: $panel; color: $foreground; }
    """

    def __init__(self, state: HeaderState, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state = state

    def show(self, state: HeaderState) -> None:
        """Draw another state."""
        if state != self._state:
            self._state = state
            self.refresh()

    def render(self) -> Text:
        return header_text(self._state, self.size.width)


def header_text(state: HeaderState, width: int) -> Text:
    """The row in ``width`` cells: the name always, then counters, folder and interpreter as far as they fit."""
    name = Text(" mswb ", style="bold")
    counters = state.counters.copy()
    counters.truncate(max(0, width - name.cell_len - 1))
    room = width - name.cell_len - counters.cell_len - 1
    middle = Text(no_wrap=True)
    separator = f" {glyph('dot')} "
    kept = Text(f"{separator}{state.interpreter_short}").cell_len if state.interpreter_short else 0
    middle.append(_shortened(printable(state.folder), max(8, room - kept)))
    for part in (state.interpreter, state.interpreter_short):
        text = (separator if middle else "") + printable(part)
        if part and middle.cell_len + Text(text).cell_len <= room:
            middle.append(text, style="dim")
            break
    middle.truncate(max(0, room))
    gap = max(1, width - name.cell_len - middle.cell_len - counters.cell_len - 1)
    row = Text.assemble(name, middle, " " * gap, counters, " ", no_wrap=True, end="")
    row.truncate(width)
    return row


def home_relative(path: Path) -> str:
    """A path with ``~`` for the home folder."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except ValueError:
        return str(path)


def _shortened(path: str, width: int) -> str:
    """The end of a path, since that tells projects apart."""
    if Text(path).cell_len <= width:
        return path
    kept = path
    while kept and Text(kept).cell_len > width - 1:
        kept = kept[1:]
    return glyph("ellipsis") + kept
