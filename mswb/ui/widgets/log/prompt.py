"""The line for text at the bottom of the log view: a search, a filter, an expression."""

from __future__ import annotations

from typing import ClassVar

from textual.message import Message
from textual.widgets import Input

from mswb.ui import keymap


class Prompt(Input):
    """Asks for one text of some purpose. Enter answers, Esc does not."""

    DEFAULT_CSS = """
    Prompt, Prompt:focus { height: 1; width: 1fr; border: none; padding: 0 1; background: $boost; display: none; }
    Prompt.-open, Prompt.-open:focus { display: block; }
    """
    BINDINGS: ClassVar = keymap.bindings("log_prompt")

    class Answered(Message):
        """The text for a purpose; None when it was left."""

        def __init__(self, purpose: str, text: str | None) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True)
        self.cursor_blink = False  # an idle screen sends nothing
        self._purpose = ""
        self._earlier: dict[str, list[str]] = {}
        self._at = 0

    def ask(self, purpose: str, placeholder: str, text: str = "") -> None:
        """Open for a purpose."""
        self._purpose, self.placeholder, self.value = purpose, placeholder, text
        self._at = 0
        self.cursor_position = len(text)
        self.add_class("-open")
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        earlier = self._earlier.setdefault(self._purpose, [])
        if event.value and event.value not in earlier[-1:]:
            earlier.append(event.value)
        self._answer(event.value)

    def key_up(self) -> None:
        """What was typed before."""
        self._recall(1)

    def key_down(self) -> None:
        """What was typed after that."""
        self._recall(-1)

    def _recall(self, step: int) -> None:
        earlier = self._earlier.get(self._purpose, [])
        self._at = max(0, min(len(earlier), self._at + step))
        self.value = earlier[-self._at] if self._at else ""
        self.cursor_position = len(self.value)

    def action_cancel(self) -> None:
        """Leave it as it was."""
        self._answer(None)

    def _answer(self, text: str | None) -> None:
        self.remove_class("-open")
        self.post_message(self.Answered(self._purpose, text))
