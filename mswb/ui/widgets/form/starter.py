"""The row that starts: a button, and beside it whether the start makes sense."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mswb.ui import keymap
from mswb.ui.glyphs import glyph


class Starter(Widget, can_focus=True):
    """A button with a sentence; Enter, Space or a click press it."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_start")
    DEFAULT_CSS = """
    Starter { height: 1; width: 1fr; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    class Pressed(Message):
        """A start is wanted."""

    def __init__(self, words: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = words
        self._status = ("starting", "", "text-muted", True)

    def show(self, sign: str, text: str, colour: str, *, can_start: bool) -> None:
        """Draw this beside the button; ``colour`` is a theme variable."""
        if (sign, text, colour, can_start) != self._status:
            self._status = (sign, text, colour, can_start)
            self.refresh()

    @property
    def sentence(self) -> str:
        """What stands beside the button."""
        return self._status[1]

    def render(self) -> Content:
        sign, text, colour, can_start = self._status
        button = "$background on $primary bold" if can_start else "$text-muted on $boost"
        if self.has_focus:
            button = "$block-cursor-foreground on $block-cursor-background bold"
        return Content.assemble(
            (f" {glyph('running')} {self._words} ", button), " ", (f"{glyph(sign)} {text}", f"${colour}")
        )

    def on_click(self) -> None:
        self.action_press()

    def action_press(self) -> None:
        """Ask for the start."""
        self.post_message(self.Pressed())
