"""The bottom row: the keys that do something where you are, the nearest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.text import Text
from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.widget import Widget

from mswb.ui import keymap

KEPT = frozenset(
    {"app.help", "app.quit", "inventory.close_details", "form.help", "form.close"}
    | {f"{name}.{key}" for name in ("cache_plan", "cache_server", "hexview") for key in ("help", "close")}
)
"""Always shown, at the right end."""


class Entry(NamedTuple):
    """One key of the bar: its Textual name, how it is written, what it does, whether it is always shown."""

    key: str
    display: str
    words: str
    kept: bool


class KeyBar(Widget):
    """Shows the active bindings that want to be shown; a click presses the key."""

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: 1; width: 1fr; background: $panel; color: $text-muted; }
    """
    COMPONENT_CLASSES = {"keybar--key"}  # noqa: RUF012 (Textual's own form)
    DEFAULT_CSS += "KeyBar > .keybar--key { color: $footer-key-foreground; text-style: bold; }\n"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Entry, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update)

    def _update(self, screen: Screen[object]) -> None:
        entries = tuple(
            Entry(
                active.binding.key,
                self.app.get_key_display(active.binding),
                keymap.words_of(active.binding),
                active.binding.id in KEPT,
            )
            for active in wanted(self._reachable(screen))
        )
        if entries != self._shown:
            self._shown = entries
            self.refresh()

    @staticmethod
    def _reachable(screen: Screen[object]) -> list[ActiveBinding]:
        """The active bindings, without those whose key types something where the focus is."""
        focused = screen.focused
        return [
            active
            for key, active in screen.active_bindings.items()
            if focused is None or not focused.check_consume_key(key, keymap.CHARACTERS.get(key))
        ]

    def _fitting(self) -> list[Entry]:
        """What fits: the last entries (help, quit) are kept, the others as far as there is room."""
        last = [entry for entry in self._shown if entry.kept]
        room = self.size.width - sum(_width(entry) for entry in last)
        row = []
        for entry in (one for one in self._shown if not one.kept):
            if _width(entry) > room:
                break
            row.append(entry)
            room -= _width(entry)
        return row + last

    def render(self) -> Text:
        style = self.get_component_rich_style("keybar--key")
        row = Text(no_wrap=True, end="")
        for entry in self._fitting():
            row.append(f" {entry.display}", style=style)
            row.append(f" {entry.words} ")
        return row

    def on_click(self, event: events.Click) -> None:
        start = 0
        for entry in self._fitting():
            start += _width(entry)
            if event.x < start:
                self.app.simulate_key(entry.key)
                return


def wanted(bindings: Iterable[ActiveBinding]) -> list[ActiveBinding]:
    """The bindings to show: one for each action, the nearest to the focus first, :data:`KEPT` last, whose words
    no other key repeats."""
    seen: set[str] = set()
    row: list[ActiveBinding] = []
    for active in bindings:
        name = active.binding.id or active.binding.action
        if active.binding.show and active.enabled and name not in seen:
            seen.add(name)
            row.append(active)
    last = [active for active in row if active.binding.id in KEPT]
    said = {keymap.words_of(active.binding) for active in last}
    return [one for one in row if keymap.words_of(one.binding) not in said] + last


def _width(entry: Entry) -> int:
    return Text(f" {entry.display} {entry.words} ").cell_len
