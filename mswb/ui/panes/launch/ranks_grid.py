"""The ranks grid: what every process of the open run does, a row each."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.message import Message

from mswb.ui import keymap
from mswb.ui.panes.launch.rows import Arrays, first_failed, ordered, rank_arrays, rank_key
from mswb.ui.panes.launch.runs_list import NEVER, RunsTable, table_keys
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import OpenRun
from mswb.ui.panes.launch.words import state_colour
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.units import UNKNOWN
from mswb.ui.widgets.table.widget import Table


def _error_colour(value: Any) -> str:
    return "error" if value else ""


def _warning_colour(value: Any) -> str:
    return "warning" if value else ""


def _exit_colour(value: Any) -> str:
    return "" if value is None else "error" if value else "success"


def _loss_colour(value: Any) -> str:
    bad = isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))
    return "error" if bad else ""


def _whole(value: Any) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


COLUMNS = (
    Column("rank", word("Rank"), "text", width=5),
    Column("state", word("State"), "text", width=13, style=state_colour),
    Column("phase", word("Phase"), "text", width=10),
    Column("step", word("Step"), "number", width=6, total=False),
    Column("loss", word("Loss"), "number", width=7, style=_loss_colour, total=False),
    Column("last", word("Last"), "age", width=4),
    Column("errors", word("Err"), "number", width=4, style=_error_colour),
    Column("exit", word("Exit"), "number", width=4, style=_exit_colour, total=False),
    Column("cpu", "CPU%", "number", width=5, show=_whole),
    Column("memory", word("Memory"), "bytes", width=9),
    Column("warnings", word("Warn"), "number", width=5, style=_warning_colour),
    Column("device", word("Dev"), "text", width=6),
    Column("device_memory", word("Dev mem"), "bytes", width=9),
    Column("pid", word("Pid"), "number", width=8, total=False),
    Column("node", word("Node"), "text", width=12),
    Column("key", "", "text", hide_below=NEVER),
)


class RanksGrid(Table):
    """The processes of a run. Enter shows the log of one, ``l`` those of the marked ones, ``L`` all of them."""

    BINDINGS: ClassVar[list[BindingType]] = [*table_keys("table.reverse"), *keymap.bindings("launch_grid")]

    class Logs(Message):
        """These logs (paths) are to be shown; none: all of them."""

        def __init__(self, paths: tuple[str, ...]) -> None:
            super().__init__()
            self.paths = paths

    class Reorder(Message):
        """The ranks are wanted in the other order."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(COLUMNS, id=id, keys_column="key", title_line=False, empty=word("no process is known yet"))
        self._run: OpenRun | None = None
        self._arrays: Arrays | None = None
        self._files: tuple[str | None, ...] = ()
        self._first: str | None = None

    def show_run(self, run: OpenRun) -> None:
        """Draw the processes of a run; the cursor goes to the one that fails first when it does."""
        if run is self._run:
            return
        self._run = run
        arrays = rank_arrays(run)
        first = first_failed(run)
        fails_now = first is not None and self._first is None
        self._first = rank_key(first) if first is not None else None
        self._files = tuple(one.file for one in ordered(run))
        if arrays != self._arrays:
            self._arrays = arrays
            self.set_data(arrays)
        if fails_now and self._first in arrays["key"]:
            self.move_to(arrays["key"].index(self._first))

    def file_of(self, row: int | None) -> str | None:
        """The log of a row."""
        return self._files[row] if row is not None and 0 <= row < len(self._files) else None

    def action_logs(self) -> None:
        """The logs of the marked ranks, merged; of the one under the cursor when none is marked."""
        rows = sorted(self.marked) or ([self.cursor_row] if self.cursor_row is not None else [])
        paths = tuple(path for row in rows if (path := self.file_of(row)) is not None)
        if paths:
            self.post_message(self.Logs(paths))

    def action_all_logs(self) -> None:
        """All logs of the run, merged."""
        self.post_message(self.Logs(()))

    def action_restart(self) -> None:
        """Run it again."""
        self.post_message(RunsTable.Restart())

    def action_order(self) -> None:
        """Worst first, or by number."""
        self.post_message(self.Reorder())
