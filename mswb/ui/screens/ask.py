"""A question that is answered by one line of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from mswb.ui import keymap
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.form.fields import Entry


class Ask(PacedModal["str | None"]):
    """Enter answers, Esc does not.

    Args:
        question: one line.
        remark: a sentence about the answer so far, drawn under it.
    """

    DEFAULT_CSS = """
    Ask { align: center middle; background: $background 50%; }
    Ask > Vertical { width: 80%; max-width: 80; height: auto; background: $panel; padding: 1 2; }
    Ask .question { text-style: bold; height: auto; }
    Ask .remark { height: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("ask")

    def __init__(self, question: str, text: str = "", remark: Callable[[str], str] = lambda text: "") -> None:
        super().__init__()
        self._question = question
        self._text = text
        self._remark = remark

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._question, classes="question", markup=False)
            yield Entry(self._text)
            yield Static(self._remark(self._text), classes="remark", markup=False)

    def on_mount(self) -> None:
        self.query_one(Entry).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(".remark", Static).update(self._remark(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)

    def action_close(self) -> None:
        """Leave it open."""
        self.dismiss(None)
