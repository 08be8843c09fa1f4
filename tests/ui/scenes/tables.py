"""The table on its own: sorted, filtered, grouped, marked, empty, wide, Chinese, hostile."""

from __future__ import annotations

from typing import Any

from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table
from tests.ui.scenes.stage import Scene, Stage

COLUMNS = (
    Column("rank", "Rank", "number", total=False),
    Column("state", "State", "severity"),
    Column("step", "Step", "number", total=False, style=lambda value: "error" if value < 20 else ""),
    Column("memory", "Memory", "bytes"),
    Column("time", "Time", "seconds"),
    Column("share", "Share", "number", show=lambda value: f"{value:.0%}", total=False),
    Column("line", "Last line"),
)
CHINESE = ("前向计算", "反向传播完成", "Conv2D", "梯度规约 AllReduce", "", "数据加载 ⚠")
HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "[bold]markup[/bold]",
    "tab\tnew\nline",
    "\x1b]52;c;aGk=\x07",
    "‮right to left",
    "\x00\x7f",
)


def rows(count: int, lines: tuple[str, ...] = ()) -> dict[str, Any]:
    words = ("running", "error", "ok", "warning")
    return {
        "rank": list(range(count)),
        "state": [words[rank % 4] for rank in range(count)],
        "step": [None if rank == 1 else 100 - rank for rank in range(count)],
        "memory": [rank * 7 << 20 for rank in range(count)],
        "time": [0.00042 * 3**rank if rank < 16 else None for rank in range(count)],
        "share": [rank / count for rank in range(count)],
        "line": [
            lines[rank % len(lines)] if lines else f"step {rank} of 100, loss is 0.{rank:03}" for rank in range(count)
        ],
    }


def shows(arrays: dict[str, Any], *keys: str, columns: tuple[Column, ...] = COLUMNS, **named: object) -> Scene:
    """A table of these columns, and keys pressed in it."""

    async def play(stage: Stage) -> None:
        table = Table(columns, id="table", keys_column=columns[0].key, title="Ranks")
        table.set_data(arrays)
        await stage.show(table)
        await stage.press(*keys)

    return Scene(play, **named)  # type: ignore[arg-type]


WIDE = tuple(Column(f"c{number}", f"Column {number}", "number") for number in range(40))
WIDE_ROWS = {column.key: [row * 1000 + number for row in range(30)] for number, column in enumerate(WIDE)}
SCENES = {
    "plain": shows(rows(100)),
    "middle": shows(rows(100), "ctrl+d", "pagedown"),
    "empty": shows(rows(0)),
    "few": shows(rows(3)),
    "sorted": shows(rows(30), "greater_than_sign", "greater_than_sign", "greater_than_sign", "s", "s"),
    "filtered": shows(rows(100), "f", *"error", "enter"),
    "filter_open": shows(rows(100), "f", *"step >"),
    "filter_wrong": shows(rows(100), "f", *"rank>", "enter"),
    "grouped": shows(rows(30), "greater_than_sign", "b"),
    "folded": shows(rows(30), "greater_than_sign", "b", "z"),
    "marked": shows(rows(30), "space", "j", "space", "j", "j"),
    "all_marked": shows(rows(30), "asterisk"),
    "chinese": shows(rows(30, CHINESE)),
    "chinese_words": shows(rows(30, CHINESE), config='lang = "zh"\n'),
    "hostile": shows(rows(30, HOSTILE)),
    "wide": shows(WIDE_ROWS, *["greater_than_sign"] * 12, columns=WIDE),
    "ascii": shows(rows(30), "space", options={"ascii": True}),
}
"""Every state of the table."""
