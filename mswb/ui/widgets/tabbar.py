"""The second row: the four panes, and at the right what goes on beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from mswb.ui.glyphs import glyph


class TabBar(Widget):
    """Names with their keys; a click chooses one."""

    DEFAULT_CSS = """
    TabBar { height: 1; width: 1fr; background: $surface; color: $text-muted; }
    """
    COMPONENT_CLASSES = {"tabbar--active"}  # noqa: RUF012 (Textual's own form)
    DEFAULT_CSS += "TabBar > .tabbar--active { background: $primary 30%; color: $foreground; text-style: bold; }\n"

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, tabs: Sequence[tuple[str, str]], active: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs = tuple(tabs)
        self._active = active
        self._note = ""

    def show(self, active: str, note: str) -> None:
        """Mark a tab as the one in front, and say ``note`` at the right."""
        if (active, note) != (self._active, self._note):
            self._active, self._note = active, note
            self.refresh()

    def _labels(self) -> list[tuple[str, str]]:
        return [(name, f" {number} {title} ") for number, (name, title) in enumerate(self._tabs, 1)]

    def render(self) -> Text:
        style = self.get_component_rich_style("tabbar--active")
        row = Text(no_wrap=True, end="")
        for name, label in self._labels():
            active = name == self._active
            shown = f"{glyph('cursor') if active else ' '}{label}"
            row.append(shown, style=style if active else "")
        gap = self.size.width - row.cell_len - Text(self._note).cell_len - 1
        if self._note and gap >= 0:
            row.append(" " * gap + self._note)
        return row

    def on_click(self, event: events.Click) -> None:
        start = 0
        for name, label in self._labels():
            end = start + Text(label).cell_len + 1
            if start <= event.x < end:
                self.post_message(self.Chosen(name))
                return
            start = end
