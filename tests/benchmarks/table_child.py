"""One table in a Textual app, for the benchmark: ``ours``, textual's ``datatable``, or ``fastdatatable``.

It writes one JSON line for each thing it has done to the file named: CPU seconds to the frame that shows it, and by how
many bytes the process grew. (On a quiet machine that is the time it takes; other users of the machine don't count.)
Keys: j and pagedown as in each widget, 1 to 3 sort by the columns of :data:`COLUMNS` after the first.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.widget import Widget

COLUMNS = ("number", "time", "operator", "name", "count")
WORDS = [f"Default/network/layer{number}-Cell/Conv2D-op{number * 7}" for number in range(2000)]


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Bench(App[None]):
    """Loads the table after its first frame, when ``load`` is called by a timer."""

    def __init__(self, rows: int, report: Path) -> None:
        super().__init__()
        self.rows, self.report = rows, report
        chosen = random.Random(1)
        self.data: dict[str, Any] = {
            "number": list(range(rows)),
            "time": [chosen.random() for _ in range(rows)],
            "operator": [WORDS[chosen.randrange(len(WORDS))] for _ in range(rows)],
            "name": [f"op_{chosen.randrange(10**9)}" for _ in range(rows)],
            "count": [chosen.randrange(1000) for _ in range(rows)],
        }

    def on_mount(self) -> None:
        self.prepare()
        self.set_timer(0.3, self._load)

    def prepare(self) -> None:
        """Bring the data into the widget's form; not counted."""

    async def load(self) -> None:
        """Hand the data to the widget."""

    def sort_by(self, key: str) -> None:
        """Sort, ascending; call ``self.tell`` when it is done."""

    def tell(self, what: str, begin: float, before: int = 0) -> None:
        """Report a thing done."""
        line = {"what": what, "seconds": time.process_time() - begin, "bytes": resident() - before}
        with self.report.open("a") as file:
            file.write(json.dumps(line) + "\n")

    async def _load(self) -> None:
        before, begin = resident(), time.process_time()
        await self.load()
        self.call_after_refresh(self.tell, "load", begin, before)

    def key_1(self) -> None:
        self.sort_by("time")

    def key_2(self) -> None:
        self.sort_by("operator")

    def key_3(self) -> None:
        self.sort_by("name")


class Ours(Bench):
    """The workbench's table, with the column of times as an array."""

    def compose(self) -> ComposeResult:
        from mswb.ui.widgets.table.data import Column
        from mswb.ui.widgets.table.widget import Table

        kinds = {"number": "number", "time": "seconds", "count": "number"}
        columns = [Column(key, key.title(), kinds.get(key, "text")) for key in COLUMNS]  # type: ignore[arg-type]
        yield Table(columns, id="table", keys_column="number")

    def prepare(self) -> None:
        import numpy as np

        self.data |= {key: np.array(self.data[key]) for key in ("number", "time", "count")}

    async def load(self) -> None:
        self.table.set_data(self.data)
        self.table.focus()

    @property
    def table(self) -> Any:
        return self.query_one("#table")

    def sort_by(self, key: str) -> None:
        begin, before = time.process_time(), resident()
        self.table.sort_by(key)
        timer = self.set_interval(0.02, lambda: None if self.table.busy else (timer.stop(), done()))

        def done() -> None:
            self.call_after_refresh(self.tell, f"sort {key}", begin, before)


class DataTableBench(Bench):
    """textual's own table."""

    def compose(self) -> ComposeResult:
        from textual.widgets import DataTable

        yield DataTable(id="table", cursor_type="row")

    async def load(self) -> None:
        table: Any = self.query_one("#table")
        for key in COLUMNS:
            table.add_column(key, key=key)
        table.add_rows(zip(*self.data.values(), strict=True))
        table.focus()

    def sort_by(self, key: str) -> None:
        begin, before = time.process_time(), resident()
        table: Any = self.query_one("#table")
        table.sort(key)
        self.call_after_refresh(self.tell, f"sort {key}", begin, before)


class FastBench(Bench):
    """textual-fastdatatable over an Arrow table."""

    def compose(self) -> ComposeResult:
        return iter(())

    def prepare(self) -> None:
        import pyarrow

        self.arrow = pyarrow.table(self.data)

    async def load(self) -> None:
        from textual_fastdatatable import ArrowBackend, DataTable

        table: Widget = DataTable(backend=ArrowBackend(self.arrow), id="table", cursor_type="row")
        await self.mount(table)
        table.focus()

    def sort_by(self, key: str) -> None:
        begin, before = time.process_time(), resident()
        table: Any = self.query_one("#table")
        table.sort([(key, "ascending")])
        self.call_after_refresh(self.tell, f"sort {key}", begin, before)


if __name__ == "__main__":
    kind, rows, report = sys.argv[1:4]
    {"ours": Ours, "datatable": DataTableBench, "fastdatatable": FastBench}[kind](int(rows), Path(report)).run()
