"""What would mend half precision: the operators that become float32, with their errors before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from mswb.convert.verify.report_text import error_text
from mswb.files.safety import printable
from mswb.ui import keymap
from mswb.ui.panes.convert.words import word
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table


class MendScreen(PacedModal[bool]):
    """Whether to write the mended file.

    Args:
        report: the object of ``mswb convert fix --dry-run --format json``.
        target: where the mended file would go.
    """

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("convert_fix")
    DEFAULT_CSS = """
    MendScreen { background: $background; }
    MendScreen #mend-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    MendScreen #mend-text { height: auto; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, report: Mapping[str, Any], target: str) -> None:
        super().__init__()
        self.report = report
        self._target = target

    def compose(self) -> ComposeResult:
        yield Static(mend_title(self.report), id="mend-title", markup=False)
        yield Static(mend_text(self.report, self._target), id="mend-text", markup=False)
        yield Table(mend_columns(), title=word("become float32"))
        yield KeyBar()

    def on_mount(self) -> None:
        table = self.query_one(Table)
        table.set_data(mend_rows(self.report["changes"]))
        table.focus()

    def action_write(self) -> None:
        """Write it."""
        self.dismiss(True)

    def action_close(self) -> None:
        """Leave the model as it is."""
        self.dismiss(False)


def mend_title(report: Mapping[str, Any]) -> str:
    """The question."""
    return word("mend question").format(count=len(report["changes"]))


def mend_text(report: Mapping[str, Any], target: str) -> str:
    """What else changes."""
    text = word("mend text").format(target=printable(target), casts=report["casts"], removed=report["casts_removed"])
    outputs = ", ".join(map(str, report["float32_outputs"]))
    return f"{text}\n{word('float32 outputs')} {printable(outputs)}" if outputs else text


def mend_columns() -> tuple[Column, ...]:
    """Of the operators that become float32."""
    return (
        Column("op", word("operator"), width=11),
        Column("node", word("node"), cut="start"),
        Column("before", word("before"), "number", width=10, show=error_text, total=False),
        Column("after", word("after"), "number", width=10, show=error_text, total=False),
        Column("times", word("times before"), "number", width=10, show=error_text, total=False),
        Column("then", word("times after"), "number", width=11, show=error_text, total=False),
    )


def mend_rows(changes: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """An operator a row."""
    before, after = [one["before"] for one in changes], [one["after"] or {} for one in changes]
    return {
        "op": [printable(one["op"]) for one in changes],
        "node": [printable(one["node"]) for one in changes],
        "before": [one.get("local_max_abs_error") for one in before],
        "after": [one.get("local_max_abs_error") for one in after],
        "times": [one.get("local_scaled_error") for one in before],
        "then": [one.get("local_scaled_error") for one in after],
    }
