"""A list to choose one of: presets and earlier launches, interpreters, files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static
from textual.widgets.option_list import Option

from mswb.ui import keymap
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.choices import Choices
from mswb.ui.widgets.keybar import KeyBar


class Row(NamedTuple):
    """One row: what is listed (made printable already), all of it for the rows below, and whether it may be deleted."""

    title: str
    detail: str = ""
    deletable: bool = False


class Picked(NamedTuple):
    """The row that was chosen, by its index, and whether it is to be deleted."""

    row: int
    delete: bool = False


class Pick(PacedModal["Picked | None"]):
    """Enter takes a row, ``d`` deletes one that may be; the result is None when neither is wanted."""

    DEFAULT_CSS = """
    Pick { align: center middle; background: $background 50%; }
    Pick > Vertical { width: 90%; max-width: 120; height: auto; max-height: 90%; background: $surface; }
    Pick #pick-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    Pick OptionList { height: auto; max-height: 14; border: none; padding: 0; background: $surface; }
    Pick #pick-detail { height: auto; max-height: 6; padding: 0 1; background: $boost; color: $text-muted; }
    Pick KeyBar { dock: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*keymap.bindings("pick"), *keymap.bindings("overlay")]

    def __init__(self, title: str, rows: Sequence[Row], chosen: int = 0) -> None:
        super().__init__()
        self._title = title
        self._rows = tuple(rows)
        self._chosen = min(chosen, len(self._rows) - 1)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._title, id="pick-title", markup=False)
            yield Choices(
                *(Option(Text(row.title, no_wrap=True, overflow="ellipsis")) for row in self._rows), markup=False
            )
            yield Static(id="pick-detail", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        listed = self.query_one(Choices)
        listed.highlighted = self._chosen if self._rows else None
        listed.focus()

    def _current(self) -> Row | None:
        listed = self.query_one_optional(Choices)
        index = listed.highlighted if listed is not None else None
        return self._rows[index] if index is not None else None

    def on_option_list_option_highlighted(self) -> None:
        detail = self.query_one_optional("#pick-detail", Static)
        row = self._current()
        if detail is not None:  # None while the app ends
            detail.update(row.detail if row is not None else "")
            self.refresh_bindings()

    def on_option_list_option_selected(self) -> None:
        self.action_choose()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what may be deleted offers its key."""
        row = self._current() if action == "delete" and self.is_mounted else None
        return action != "delete" or (row is not None and row.deletable)

    def action_choose(self) -> None:
        """Take the row under the cursor."""
        index = self.query_one(Choices).highlighted
        self.dismiss(Picked(index) if index is not None else None)

    def action_delete(self) -> None:
        """Delete the row under the cursor."""
        index = self.query_one(Choices).highlighted
        if index is not None:
            self.dismiss(Picked(index, delete=True))

    def action_down(self) -> None:
        """To the next row."""
        self.query_one(Choices).action_cursor_down()

    def action_up(self) -> None:
        """To the previous row."""
        self.query_one(Choices).action_cursor_up()

    def action_edge(self, end: bool) -> None:
        """To the first or last row."""
        listed = self.query_one(Choices)
        listed.action_last() if end else listed.action_first()

    def action_close(self) -> None:
        """Take nothing."""
        self.dismiss(None)
