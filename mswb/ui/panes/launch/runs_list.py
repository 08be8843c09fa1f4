"""The list of runs: one title row over a table, or a word about how to begin."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from mswb.ui import keymap
from mswb.ui.panes.launch.rows import Arrays, age_words, run_arrays
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import LaunchState
from mswb.ui.panes.launch.words import list_title, state_colour
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table

NEVER = 100_000
"""Terminal columns that no terminal has: the column only names the rows."""
COLUMNS = (
    Column("state", word("State"), "text", width=11, style=state_colour),
    Column("age", word("Age"), "age", width=4, show=age_words),
    Column("script", word("Script"), "text", width=14),
    Column("verdict", word("What happened"), "text", width=40),
    Column("ranks", word("Ranks"), "number", width=5),
    Column("run", word("Run"), "text", width=24),
    Column("folder", word("Folder"), "text", width=30),
    Column("host", word("Host"), "text", width=14),
    Column("key", "", "text", hide_below=NEVER),
)


def table_keys(*without: str) -> list[Binding]:
    """The keys of every table ``without`` some, none of them in the key bar: it has room for the pane's own only."""
    return [replace(one, show=False) for one in keymap.bindings("table") if one.id not in without]


class RunsTable(Table):
    """The table of runs."""

    BINDINGS: ClassVar[list[BindingType]] = [*table_keys("table.reverse"), *keymap.bindings("launch_runs")]

    class Restart(Message):
        """The run under the cursor is to be run again."""

    def action_restart(self) -> None:
        """Run it again."""
        self.post_message(self.Restart())


class RunsList(Vertical):
    """All runs of the folder, or of all folders."""

    DEFAULT_CSS = """
    RunsList { height: 1fr; width: 1fr; }
    RunsList #launch-empty { height: 1fr; padding: 1 2; color: $text-muted; display: none; }
    RunsList.-empty #launch-empty { display: block; }
    RunsList.-empty RunsTable { height: 2; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._arrays: Arrays | None = None
        self._words = ""
        self._opened = ""

    def compose(self) -> ComposeResult:
        yield RunsTable(COLUMNS, id="launch-runs", keys_column="key", title=word("Runs"), empty="")
        yield Static("", id="launch-empty", markup=False)

    @property
    def table(self) -> RunsTable:
        """The table of the runs."""
        return self.query_one(RunsTable)

    @property
    def key(self) -> str | None:
        """The key of the run under the cursor."""
        key = self.table.cursor_key
        return key if isinstance(key, str) else None

    @property
    def marked(self) -> tuple[str, ...]:
        """The keys of the marked runs."""
        table = self.table
        return tuple(table.data.value(row, "key") for row in table.marked)

    def show(self, state: LaunchState) -> None:
        """Draw the runs."""
        self.set_class(state.listing.loaded and not state.listing.runs, "-empty")
        words = word("empty read-only" if state.read_only else "empty")
        if words != self._words:
            self._words = words
            self.query_one("#launch-empty", Static).update(words)
        self.table.set_title(list_title(state))
        arrays = run_arrays(state)
        if arrays != self._arrays:
            self._arrays = arrays
            self.table.set_data(arrays)
        self._point_at(state, arrays)

    def _point_at(self, state: LaunchState, arrays: Arrays) -> None:
        """Put the cursor on the run that was opened, once."""
        key = state.open.key if state.open is not None else ""
        if key != self._opened and (not key or key in arrays["key"]):
            self._opened = key
            if key:
                self.table.move_to(arrays["key"].index(key))
