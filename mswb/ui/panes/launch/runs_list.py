"""The list of runs: one title row over a table, or a word about how to begin."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from mswb.ui import keymap
from mswb.ui.panes.launch.rows import Arrays, run_arrays
from mswb.ui.panes.launch.state import LaunchState
from mswb.ui.panes.launch.words import list_title, state_colour
from mswb.ui.widgets.table import Column, Table

COLUMNS = (
    Column("state", "State", "text", width=11, style=state_colour),
    Column("age", "Age", "age", width=4),
    Column("ranks", "Ranks", "number", width=5),
    Column("script", "Script", "text", width=20),
    Column("verdict", "What happened", "text", width=40),
    Column("run", "Run", "text", width=24),
    Column("folder", "Folder", "text", width=30, hide_below=100),
    Column("host", "Host", "text", width=14, hide_below=100),
)
EMPTY = """No runs here yet.

n  start one: a form with every flag, and the exact command
v  show the runs of all folders

mswb run SCRIPT in any terminal starts one, too; it appears here.
A log folder of any other run:  mswb ui PATH"""
READ_ONLY = """No runs here yet.

v  show the runs of all folders

Started with --read-only: nothing is started or stopped from here.
A log folder of any other run:  mswb ui PATH"""


class RunsTable(Table):
    """The table of runs."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("launch_runs")

    class Restart(Message):
        """The run under the cursor is to be run again."""

    def action_restart(self) -> None:
        """Run it again."""
        self.post_message(self.Restart())


class RunsList(Vertical):
    """All runs of the folder, or of all folders."""

    DEFAULT_CSS = """
    RunsList { height: 1fr; width: 1fr; }
    RunsList #launch-runs-title { height: 1; width: 1fr; background: $panel; color: $text-muted; padding: 0 1; }
    RunsList #launch-empty { height: 1fr; padding: 1 2; color: $text-muted; }
    RunsList RunsTable { height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._arrays: Arrays | None = None
        self._title = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="launch-runs-title", markup=False)
        yield RunsTable(COLUMNS, id="launch-runs", keys_column="key")
        yield Static("", id="launch-empty", markup=False)

    @property
    def table(self) -> RunsTable:
        return self.query_one(RunsTable)

    @property
    def key(self) -> str | None:
        """The key of the run under the cursor."""
        row = self.table.cursor_row
        return self._arrays["key"][row] if self._arrays and row is not None and row < len(self._arrays["key"]) else None

    @property
    def marked(self) -> tuple[str, ...]:
        """The keys of the marked runs."""
        keys = self._arrays["key"] if self._arrays else []
        return tuple(keys[row] for row in sorted(self.table.marked) if row < len(keys))

    def show(self, state: LaunchState) -> None:
        """Draw the runs."""
        empty = state.listing.loaded and not state.listing.runs
        self.table.display = not empty
        words = self.query_one("#launch-empty", Static)
        words.display = empty
        if empty:
            words.update(READ_ONLY if state.read_only else EMPTY)
        title = list_title(state)
        if title != self._title:
            self._title = title
            self.query_one("#launch-runs-title", Static).update(title)
        arrays = run_arrays(state)
        if arrays != self._arrays:
            self._arrays = arrays
            self.table.set_data(arrays)
