"""The overlay with all of one line."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from mswb.files.safety import printable
from mswb.launch.logview.details import Details
from mswb.ui import keymap
from mswb.ui.messages import Copy
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.log.words import word


class LogDetails(PacedModal[None]):
    """Fields over the wrapped text; ``y`` copies the text."""

    DEFAULT_CSS = """
    LogDetails { align: center bottom; background: $background 50%; }
    LogDetails > Vertical { height: auto; max-height: 80%; width: 1fr; background: $surface; }
    LogDetails VerticalScroll { height: auto; max-height: 1fr; padding: 0 1; }
    LogDetails .fields { height: auto; color: $foreground; margin-bottom: 1; }
    LogDetails .text { height: auto; }
    """
    BINDINGS: ClassVar = keymap.bindings("log_details")

    def __init__(self, details: Details) -> None:
        super().__init__()
        self.details = details

    def compose(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll():
                yield Static(self._fields(), classes="fields", markup=False)
                yield Static(Text(self.details.text), classes="text", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def _fields(self) -> Text:
        named = [(word(name), value) for name, value in self.details.fields]
        widest = max((cell_len(name) for name, _ in named), default=0)
        rows = [Text.assemble((set_cell_size(name, widest + 2), "dim"), printable(value)) for name, value in named]
        return Text("\n").join(rows)

    def action_copy(self) -> None:
        """Copy the text."""
        self.app.post_message(Copy(self.details.text, word("log line")))

    def action_close(self) -> None:
        """Back to the log."""
        self.dismiss(None)
