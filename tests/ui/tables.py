"""A table on its own in an app, for tests: data by the column, and what is on the screen as text."""

from __future__ import annotations

from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from mswb.ui.messages import Copy
from mswb.ui.widgets.table.body import TableBody
from mswb.ui.widgets.table.data import Arrays, Column
from mswb.ui.widgets.table.widget import Table

COLUMNS = (
    Column("rank", "Rank", "number", total=False),
    Column("state", "State", "severity"),
    Column("step", "Step", "number", total=False, style=lambda value: "error" if value < 20 else ""),
    Column("memory", "Memory", "bytes"),
    Column("line", "Last line"),
)
STATES = ("running", "failed", "ok")


def ranks(count: int, **changes: Any) -> dict[str, Any]:
    """Rows as a run has them; ``changes`` replace whole columns."""
    return {
        "rank": list(range(count)),
        "state": [STATES[rank % 3] for rank in range(count)],
        "step": [None if rank == 1 else 100 - rank for rank in range(count)],
        "memory": [rank * 2**20 for rank in range(count)],
        "line": [f"line {rank}" for rank in range(count)],
    } | changes


class TableApp(App[None]):
    """One table, and the messages it sent."""

    def __init__(self, arrays: Arrays, columns: tuple[Column, ...] = COLUMNS, **options: Any) -> None:
        super().__init__()
        self.table = Table(columns, id="table", keys_column=options.pop("keys_column", "rank"), **options)
        self.table.set_data(arrays)
        self.told: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()

    def on_table_highlighted(self, event: Table.Highlighted) -> None:
        self.told.append(event)

    def on_table_chosen(self, event: Table.Chosen) -> None:
        self.told.append(event)

    def on_table_marked(self, event: Table.Marked) -> None:
        self.told.append(event)

    def on_copy(self, event: Copy) -> None:
        self.told.append(event)

    def rows_told(self, kind: type[Message]) -> list[int | None]:
        """The rows of all messages of a kind."""
        return [event.row for event in self.told if isinstance(event, kind)]  # type: ignore[attr-defined]

    @property
    def body(self) -> TableBody:
        return self.table.query_one(TableBody)

    @property
    def ranks_shown(self) -> list[str]:
        """The first cell of each line in sight below the titles."""
        cells = [line[2:7].strip() for line in self.lines[2 : 1 + self.body.size.height]]
        return [cell for cell in cells if cell]

    @property
    def lines(self) -> list[str]:
        """The screen as text, the title line first."""
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys one by one, each answered before the next."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
