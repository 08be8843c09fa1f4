"""The one row that tells where in the log you are, what is filtered and searched, and whether it is followed."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from mswb.ui.glyphs import glyph
from mswb.ui.widgets.log.words import word


@dataclass(frozen=True, slots=True)
class LogState:
    """What the row tells. ``line`` counts from 1 in the file of ``whose``; ``row`` of ``rows`` among those shown."""

    title: str = ""
    line: int | None = None
    whose: str = ""
    row: int = 0
    rows: int = 0
    total: int = 0
    errors: int = 0
    warnings: int = 0
    filtered: str = ""
    search: str = ""
    match: int | None = None
    matches: int = 0
    searching: bool = False
    following: bool = False
    new_lines: int = 0
    work: str = ""
    selected: int = 0
    unreadable: int = 0


class LogStatus(Widget):
    """Draws a state; nothing when it is the same as before."""

    DEFAULT_CSS = """
    LogStatus { height: 1; width: 1fr; background: $panel; color: $foreground; }
    LogStatus > .status--error { color: $text-error; text-style: bold; }
    LogStatus > .status--warning { color: $text-warning; text-style: bold; }
    LogStatus > .status--muted { color: $foreground 75%; }
    LogStatus > .status--live { color: $text-success; text-style: bold; }
    """
    COMPONENT_CLASSES = {"status--error", "status--warning", "status--muted", "status--live"}  # noqa: RUF012

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.state = LogState()
        self._styles: dict[str, Style] = {}

    def show(self, state: LogState) -> None:
        """Draw this state."""
        if state != self.state:
            self.state = state
            self.refresh()

    def notify_style_update(self) -> None:
        """The theme has changed: all colours are others."""
        super().notify_style_update()
        self._styles = {}

    def render(self) -> Text:
        if not self._styles:  # they take longer than the row itself
            self._styles = {name: self.get_component_rich_style(f"status--{name}") for name in _NAMES}
        parts = [(text, self._styles.get(name, "")) for text, name in parts_of(self.state, self.size.width)]
        return Text.assemble(*parts, no_wrap=True, end="")


_NAMES = ("error", "warning", "muted", "live")


def parts_of(state: LogState, width: int) -> list[tuple[str, str]]:
    """Texts with the names of their styles: what matters most is kept where there is little room."""
    right = [part for part in (_work(state), _follow(state)) if part[0]]
    left = [
        part for part in (_filter(state), _search(state), _selection(state), _counts(state), _unreadable(state)) if part
    ]
    room = width - 1 - sum(cell_len(text) + 1 for text, _ in right)
    free = room - bool(right)  # a blank ahead of what stands right
    used = [(_position(state), "")]
    for part in left:
        if _cells(used) + _cells(part) + 2 <= free:
            used += [("  ", ""), *part]
    title = free - _cells(used) - 2
    if title >= 8 and state.title:
        used.insert(0, (_fitted(state.title, title) + "  ", "muted"))
    gap = max(0, room - _cells(used))
    return [(" ", ""), *used, (" " * gap, ""), *[piece for part in right for piece in (part, (" ", ""))]]


def _cells(parts: list[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _fitted(text: str, cells: int) -> str:
    """The end of a text that is too long: of a path that is what tells it apart."""
    if cell_len(text) <= cells:
        return text
    cut = text[-cells:]
    while cell_len(cut) > cells - 1:
        cut = cut[1:]
    return set_cell_size(glyph("ellipsis") + cut, cells)


def _position(state: LogState) -> str:
    if state.line is None:
        return word("{count} lines", count=f"{state.rows:,}") if state.rows else ""
    line = f"{state.whose} {word('line {line}', line=f'{state.line:,}')}".strip()
    if state.rows == state.total and not state.whose:
        return word("{place} of {all}", place=line, all=f"{state.total:,}")
    form = "{place} of {all}" if state.rows == state.total else "{place} of {all} shown"
    return f"{line}  {word(form, place=f'{state.row + 1:,}', all=f'{state.rows:,}')}"


def _counts(state: LogState) -> list[tuple[str, str]]:
    parts = []
    if state.errors:
        parts.append((f"{glyph('error')} {_counted(state.errors, 'error')}", "error"))
    if state.warnings:
        parts += [(" ", "")] if parts else []
        parts.append((f"{glyph('warning')} {_counted(state.warnings, 'warning')}", "warning"))
    return parts


def _counted(count: int, noun: str) -> str:
    return word(f"{{count}} {noun}{'' if count == 1 else 's'}", count=f"{count:,}")


def _search(state: LogState) -> list[tuple[str, str]]:
    if not state.search:
        return []
    more = glyph("ellipsis") if state.searching else ""
    count = f"{state.matches:,}{more}"
    if state.match is not None:
        count = word("{place} of {all}", place=f"{state.match:,}", all=count)
    return [(f"/{state.search}", "muted"), (f" {count}", "")]


def _filter(state: LogState) -> list[tuple[str, str]]:
    return [(word("filter "), "muted"), (state.filtered, "warning")] if state.filtered else []


def _selection(state: LogState) -> list[tuple[str, str]]:
    return [(word("{count} selected", count=f"{state.selected:,}"), "")] if state.selected else []


def _unreadable(state: LogState) -> list[tuple[str, str]]:
    return [(word("{count} not readable", count=f"{state.unreadable:,}"), "warning")] if state.unreadable else []


def _work(state: LogState) -> tuple[str, str]:
    return state.work, "muted"


def _follow(state: LogState) -> tuple[str, str]:
    if state.following:
        return f"{glyph('running')} {word('following')}", "live"
    return (word("+{count} new", count=f"{state.new_lines:,}"), "live") if state.new_lines else ("", "")
