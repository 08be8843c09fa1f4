"""Help: the keys that work where you were, from the same data that binds them, and their names for [keys]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from mswb.findings import language
from mswb.ui import keymap
from mswb.ui.keymap import Key
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.keybar import KeyBar

_NOTES = (
    "Mouse: click, wheel and double click work everywhere; hold Shift to select text in the terminal itself.\n"
    'Keys are changed in config.toml: [keys] with the name at the right, for example "log.search" = "slash".',
    "鼠标：单击、滚轮、双击处处可用；按住 Shift 可用终端自身的选择。\n"
    '在 config.toml 的 [keys] 中用右侧的名称修改按键，例如 "log.search" = "slash"。',
)


class HelpScreen(PacedModal[None]):
    """All keys of some contexts, and a line to filter them.

    Args:
        shown: the contexts to list, the nearest first.
        displays: how the key of an action is written, by its id.
    """

    DEFAULT_CSS = """
    HelpScreen { background: $background; }
    HelpScreen #help-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    HelpScreen Input { height: 1; border: none; padding: 0 1; background: $surface; }
    HelpScreen VerticalScroll { height: 1fr; padding: 0 1; }
    HelpScreen #help-text { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar = [*keymap.bindings("help"), *keymap.bindings("overlay")]

    def __init__(self, shown: Iterable[str], displays: dict[str, str]) -> None:
        super().__init__()
        self._shown = tuple(shown)
        self._displays = displays

    def compose(self) -> ComposeResult:
        yield Static("帮助" if language() == "zh" else "Help", id="help-title", markup=False)
        with VerticalScroll():
            yield Static(help_text(self._shown, self._displays, ""), id="help-text", markup=False)
        line = Input(placeholder="筛选按键" if language() == "zh" else "filter the keys", compact=True)
        line.cursor_blink = False  # an idle screen sends nothing
        yield line
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one("#help-text", Static).update(help_text(self._shown, self._displays, event.value))

    def on_input_submitted(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_filter(self) -> None:
        """Type into the filter."""
        self.query_one(Input).focus()

    def action_edge(self, end: bool) -> None:
        """To the first or last key."""
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_end(animate=False) if end else scroll.scroll_home(animate=False)

    def action_close(self) -> None:
        self.dismiss()


def help_text(shown: Iterable[str], displays: dict[str, str], words: str) -> Text:
    """The keys of ``shown`` contexts, and then of all others, that hold ``words``."""
    first = [name for name in dict.fromkeys(shown) if name in keymap.contexts()]
    first.sort(key=keymap.GENERIC.__contains__)  # what every list can do comes last
    text = Text()
    for name in first + [other for other in keymap.contexts() if other not in first]:
        rows = [key for key in keymap.keys_of(name) if _holds(key, words)]
        if rows:
            here = name in first
            text.append(f"{name}\n", style="bold" if here else "bold dim")
            for key in rows:
                text.append(f"  {displays.get(key.id) or _plain(key):<18}")
                text.append(f"{key.words():<34} ")
                text.append(f"{key.id}\n", style="dim")
    text.append("\n" + _NOTES[language() == "zh"], style="dim")
    return text


def _holds(key: Key, words: str) -> bool:
    wanted = words.casefold()
    return wanted in f"{key.id} {key.help} {key.zh} {key.keys}".casefold()


def _plain(key: Key) -> str:
    return " ".join(keymap.CHARACTERS.get(name, name) for name in key.keys.split(","))
