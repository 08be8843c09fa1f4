"""The result of one conversion: a title, the table, and the details of the operator under the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.widgets import Static

from mswb.ui import keymap
from mswb.ui.messages import Copy, ShowFindings
from mswb.ui.panes.convert.result_text import finding_lines, operator_lines, status, title
from mswb.ui.panes.convert.rows import blocked_columns, blocked_rows, columns, is_bad, rows
from mswb.ui.panes.convert.state import Work
from mswb.ui.panes.convert.words import word
from mswb.ui.widgets.lines import Line, LineView
from mswb.ui.widgets.table.widget import Table

WIDE = 140
"""Columns from which the details stand beside the table."""


class ResultView(Container):
    """One conversion at a time; what is to be done with it is asked of the pane by messages."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("convert_result")
    DEFAULT_CSS = """
    ResultView { height: 1fr; width: 1fr; }
    ResultView .result-title { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ResultView .result-status { height: auto; max-height: 2; width: 1fr; }
    ResultView .result-body { height: 1fr; }
    ResultView #result-blocked { display: none; }
    ResultView.-blocked #result-blocked { display: block; }
    ResultView.-blocked #result-operators { display: none; }
    ResultView LineView { display: none; width: 1fr; padding: 0 1; }
    ResultView.-over #result-operators, ResultView.-over.-blocked #result-blocked { display: none; }
    ResultView.-over LineView, ResultView.-beside LineView { display: block; }
    ResultView.-beside LineView { width: 58; border-left: tall $panel; }
    """

    class Asked(Message):
        """Something is to be done: back, again, convert, export or stop; ``details`` are to be opened or closed."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    class Wanted(Message):
        """Both sides of an operator are to be looked at."""

        def __init__(self, work: Work, operator: Mapping[str, Any]) -> None:
            super().__init__()
            self.work = work
            self.operator = operator

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.work: Work | None = None
        self._sides: Mapping[tuple[int, str], Any] = {}
        self._elapsed_s: float | None = None
        self._drawn: tuple[Any, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static("", classes="result-title", markup=False)
        yield Static("", classes="result-status", markup=False)
        with Horizontal(classes="result-body"):
            yield Table(columns(), id="result-operators", title=word("operators title"), empty="")
            yield Table(blocked_columns(), id="result-blocked", title=word("in the way"), empty="")
            yield LineView()

    # -- drawing

    @property
    def table(self) -> Table:
        """The table in front."""
        return self.query_one("#result-blocked" if self.has_class("-blocked") else "#result-operators", Table)

    @property
    def front(self) -> Table | LineView:
        """What is to have the focus."""
        return self.query_one(LineView) if self.has_class("-over") else self.table

    @property
    def operator(self) -> Mapping[str, Any] | None:
        """The operator under the cursor."""
        work, row = self.work, self.table.cursor_row
        known = work is not None and not self.has_class("-blocked") and row is not None and row < len(work.operators)
        return work.operators[row] if known and work is not None and row is not None else None

    def show(
        self, work: Work, sides: Mapping[tuple[int, str], Any], *, details: bool, elapsed_s: float | None = None
    ) -> None:
        """Draw a conversion."""
        before, self.work, self._sides, self._elapsed_s = self.work, work, sides, elapsed_s
        wide = self.app.size.width >= WIDE
        self.set_class(bool(work.blocked), "-blocked")
        self.set_class(wide, "-beside")
        self.set_class(details and not wide, "-over")
        self._draw_head()
        if before is None or before.number != work.number or before.report is not work.report or (
            before.findings != work.findings
        ):  # fmt: skip
            self._fill(work, fresh=before is None or before.number != work.number)
        self.query_one("#result-operators", Table).set_empty(
            word("waiting" if work.status == "running" else "no operators")
        )
        self._draw_details()

    def _draw_head(self) -> None:
        assert self.work is not None
        now = (title(self.work, self._elapsed_s), status(self.work))
        for name, content in zip((".result-title", ".result-status"), now, strict=True):
            found = self.query_one(name, Static)
            if found.content != content:
                found.update(content)

    def _fill(self, work: Work, *, fresh: bool) -> None:
        operators, blocked = self.query_one("#result-operators", Table), self.query_one("#result-blocked", Table)
        for table in (operators, blocked) if fresh else ():
            table.set_filter("")
            table.sort_by(None)
            table.clear_marks()
        operators.set_data(rows(work.operators))
        blocked.set_data(blocked_rows(work.blocked))
        self.table.action_top()

    def _draw_details(self) -> None:
        if not (self.has_class("-over") or self.has_class("-beside")):
            return
        now = (self.work, self._key(), self._sides.get(self._key()))
        if now == self._drawn:
            return
        same, self._drawn = now[:2] == self._drawn[:2], now
        self.query_one(LineView).set_lines(self._lines, top=not same)
        one = self.operator
        if one is not None and self.work is not None and now[2] is None:
            self.post_message(self.Wanted(self.work, one))

    def _key(self) -> tuple[int, str]:
        one = self.operator
        number = self.work.number if self.work is not None else 0
        return (number, str(self.table.cursor_row) if one is None else str(one["output"]))

    def _lines(self, width: int) -> list[Line]:
        work, one, row = self.work, self.operator, self.table.cursor_row
        if work is None:
            return []
        if one is not None:
            return operator_lines(work, one, self._sides.get(self._key()), width)
        return finding_lines(work.blocked[row], width) if row is not None and row < len(work.blocked) else []

    # -- what the parts say

    @on(Table.Highlighted)
    def _highlighted(self, event: Table.Highlighted) -> None:
        event.stop()
        if self.work is not None and event.table is self.table:
            self._draw_details()
            self.refresh_bindings()

    @on(Table.Chosen)
    def _chosen(self, event: Table.Chosen) -> None:
        event.stop()
        self.action_details()

    @on(LineView.Chosen)
    def _line_chosen(self, event: LineView.Chosen) -> None:
        event.stop()

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that do something now."""
        work = self.work
        if work is None:
            return False
        needs = {
            "stop": work.status == "running",
            "again": work.status != "running" and work.verdict != "refused",
            "convert": work.status != "running",
            "export": work.report is not None and work.status == "done",
            "findings": bool(work.findings),
            "fix": work.verdict == "failed" and bool(work.models[1]) and work.report is not None,
            "details": self.table.cursor_row is not None,
            "copy_details": self.table.cursor_row is not None,
            "bad": any(one["verdict"] in ("failed", "inherited") for one in work.operators),
        }
        return needs.get(action, True)

    def action_details(self) -> None:
        """Open the details over the table, or go into them where they stand beside it; again: back to the table."""
        if self.has_class("-beside"):
            lines = self.query_one(LineView)
            (self.table if lines.has_focus else lines).focus()
        else:
            self.post_message(self.Asked("details"))

    def action_bad(self, step: int) -> None:
        """To the next operator that is wrong, or the one before, in the order of the table."""
        table = self.table
        row = table.cursor_row
        line = table.view.line_of(row) if row is not None else None
        order = [int(one) for one in table.view.rows]
        bad = [one for one in order if is_bad(table.data.value(one, "verdict"))]
        places = {one: place for one in bad if (place := table.view.line_of(one)) is not None}
        after = [one for one, place in places.items() if line is None or (place - line) * step > 0]
        if after:
            table.move_to(after[0] if step > 0 else after[-1])

    async def action_filter(self) -> None:
        """Open the filter line of the table."""
        await self.table.action_filter()

    def action_findings(self) -> None:
        """All findings of the conversion."""
        if self.work is not None:
            self.post_message(ShowFindings(self.work.findings, f"{word('findings of')} {self.work.source}"))

    def action_copy_details(self) -> None:
        """Copy all that is known of the operator."""
        text = "\n".join(line.text.rstrip() for line in self._lines(100))
        self.post_message(Copy(text, word("details")))

    def action_again(self) -> None:
        """The same once more, verified on other inputs."""
        self.post_message(self.Asked("again"))

    def action_convert(self) -> None:
        """The form, with what was asked for."""
        self.post_message(self.Asked("convert"))

    def action_export(self) -> None:
        """Write the report."""
        self.post_message(self.Asked("export"))

    def action_fix(self) -> None:
        """Find the operators that must not be in half precision."""
        self.post_message(self.Asked("fix"))

    def action_stop(self) -> None:
        """Stop it."""
        self.post_message(self.Asked("stop"))

    def action_back(self) -> None:
        """From the details to the table, from the table to the models."""
        self.post_message(self.Asked("details" if self.has_class("-over") else "back"))
