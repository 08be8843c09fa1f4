"""The findings view: a list with one line each, and all of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.visual import VisualType
from textual.widgets import Static
from textual.widgets.option_list import Option

from mswb.findings import Finding
from mswb.ui import keymap
from mswb.ui.finding_text import details, markdown, summary
from mswb.ui.messages import Copy, OpenPlace
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.choices import Choices
from mswb.ui.widgets.keybar import KeyBar


class FindingsScreen(PacedModal[None]):
    """A list over the details; ``o`` goes to the place of the chosen finding."""

    DEFAULT_CSS = """
    FindingsScreen { background: $background; }
    FindingsScreen #findings-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    FindingsScreen OptionList { height: auto; max-height: 40%; border: none; padding: 0; background: $surface; }
    FindingsScreen VerticalScroll { height: 1fr; padding: 1 2; }
    FindingsScreen .detail { width: 1fr; height: auto; }
    FindingsScreen .-expanded { max-height: 0; }
    """
    BINDINGS: ClassVar = [*keymap.bindings("findings"), *keymap.bindings("overlay")]

    def __init__(self, findings: Sequence[Finding], title: str, first: int = 0) -> None:
        super().__init__()
        self._findings = tuple(findings)
        self._title = title
        self._first = first

    def compose(self) -> ComposeResult:
        yield Static(self._title, id="findings-title", markup=False)
        yield Choices(*(Option(_line(one)) for one in self._findings), id="findings-list", markup=False)
        with VerticalScroll(id="findings-scroll"):
            yield Static("", classes="detail", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        listed = self.query_one(Choices)
        listed.highlighted = self._first if self._findings else None
        listed.focus()

    @property
    def chosen(self) -> Finding | None:
        """The finding under the cursor."""
        index = self.query_one(Choices).highlighted
        return self._findings[index] if index is not None else None

    def on_option_list_option_highlighted(self) -> None:
        chosen = self.chosen if self.is_attached else None
        if chosen is not None:
            self.query_one(".detail", Static).update(self._details(chosen))
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def on_option_list_option_selected(self) -> None:
        self.action_details()

    def _details(self, finding: Finding) -> Text:
        variable = {"error": "error", "warning": "warning"}.get(finding.severity, "foreground")
        return details(finding, severity_style=f"bold {self.app.theme_variables[variable]}")

    def action_details(self) -> None:
        """Give the details the whole screen, or half of it again."""
        listed = self.query_one(Choices)
        listed.display = not listed.display
        (listed if listed.display else self.query_one(VerticalScroll)).focus()

    def action_open_place(self) -> None:
        """Leave, and show where the finding is."""
        chosen = self.chosen
        if chosen is not None and chosen.where.file:
            self.dismiss()
            self.app.post_message(OpenPlace(chosen.where))
        else:
            self.app.notify("This finding names no file.", severity="warning", markup=False)

    def action_copy(self) -> None:
        """Copy the finding as Markdown."""
        chosen = self.chosen
        if chosen is not None:
            self.app.post_message(Copy(markdown(chosen), "finding"))

    def action_close(self) -> None:
        """Leave, or show the list again."""
        if self.query_one(Choices).display:
            self.dismiss()
        else:
            self.action_details()

    def action_down(self) -> None:
        """The next line; the last one is the end."""
        listed = self.query_one(Choices)
        listed.highlighted = min((listed.highlighted or 0) + 1, listed.option_count - 1)

    def action_up(self) -> None:
        """The line before; the first one is the end."""
        listed = self.query_one(Choices)
        listed.highlighted = max((listed.highlighted or 0) - 1, 0)

    def action_top(self) -> None:
        self.query_one(Choices).action_first()

    def action_bottom(self) -> None:
        self.query_one(Choices).action_last()


def _line(finding: Finding) -> VisualType:
    return Text(f" {summary(finding)}")
