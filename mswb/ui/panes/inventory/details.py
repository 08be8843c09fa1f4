"""All that is known of one entry, as text, and the part that shows it."""

from __future__ import annotations

import os
import time
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.ui import keymap
from mswb.ui.panes.inventory.rows import status_colour, status_text
from mswb.ui.panes.inventory.words import word
from mswb.ui.widgets.table.units import bytes_text


class DetailsPart(VerticalScroll):
    """The details of the entry under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("inventory_details")
    DEFAULT_CSS = """
    DetailsPart { padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
    DetailsPart > Static { width: 1fr; height: auto; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="inventory-details")
        self._shown: tuple[Item | None, str] = (None, "")

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, item: Item | None, more: str = "") -> None:
        """Draw an entry, from its top; ``more`` is what a closer look has told."""
        if (item, more) == self._shown:
            return
        same, self._shown = item == self._shown[0], (item, more)
        self.query_one(Static).update(Text() if item is None else details_text(item, self._status_style(item), more))
        if not same:
            self.scroll_home(animate=False)

    def _status_style(self, item: Item) -> str:
        from mswb.flows.inventory import severity_of

        colour = status_colour(severity_of(item.kind, item.status) or "") if item.status else "text-muted"
        variable = self.app.theme_variables.get(colour, "")
        return variable if variable.startswith("#") else "bold"

    def action_step(self, rows: int) -> None:
        """Scroll by rows."""
        self.scroll_relative(y=rows, animate=False)

    def action_turn(self, pages: int) -> None:
        """Scroll by pages."""
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False)

    def action_edge(self, end: bool) -> None:
        """Scroll to the top or the end."""
        self.scroll_to(y=self.max_scroll_y if end else 0, animate=False)


def details_text(item: Item, status_style: str = "", more: str = "") -> Text:
    """Everything about an entry; ``status_style`` is a rich style for its status, ``more`` what a closer look told."""
    from mswb.flows.inventory import kind_words

    text = Text()
    text.append(f"{kind_words(item.kind)}\n", style="bold")
    text.append(f"{printable(item.detail)}\n")
    text.append(f"\n{word('status')}  ", style="bold")
    text.append(f"{_status(item)}\n", style=status_style)
    if more:
        text.append(f"\n{more}\n")
    for name, body in _facts(item):
        text.append(f"\n{word(name)}\n", style="bold")
        text.append(f"{body}\n")
    return text


def log_folder(item: Item) -> str | None:
    """The folder of an entry that the Launch pane can open: logs that belong to it. It may not exist."""
    return os.path.join(item.path, _LOGS[item.kind]) if item.kind in _LOGS else None


_LOGS = {"mindspore-profile": "logs", "torch-npu-profile": "logs", "log-archive": "", "cache-server": "cache/log"}


def _status(item: Item) -> str:
    from mswb.flows.inventory import severity_of

    return (
        status_text(f"{severity_of(item.kind, item.status) or ''} {item.status}") if item.status else word("unchecked")
    )


def _facts(item: Item) -> list[tuple[str, str]]:
    size = f"{bytes_text(item.size_bytes)} ({item.size_bytes:,} B), {bytes_text(item.disk_bytes)} {word('disk')}"
    found = [
        ("path", printable(item.path)),
        ("size", size),
        ("files", f"{item.files:,}"),
        ("modified", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(item.modified)) if item.modified else "-"),
        ("why", printable(item.reason)),
    ]
    if item.parts:
        found.append(("parts", "\n".join(printable(part) for part in item.parts)))
    return found
