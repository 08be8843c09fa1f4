"""One row of the log as text with styles: what is left of it, of which colour, and where the search has matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

from mswb.files.levels import Level
from mswb.files.patterns import MAX_PATTERN
from mswb.launch.logview.shown import ShownLine
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import REPEAT, Span
from mswb.ui.glyphs import glyph

STYLES = ("error", "warning", "info", "muted", "rank", "fold", "mark", "match", "cursor", "selected")
"""The component classes ``log--NAME`` that colours come from."""
_BY_LEVEL = {Level.CRITICAL: "error", Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "info"}
_GLYPH = {Level.CRITICAL: "error", Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
_MAX_WORD = 9
_PLAIN = Style()

Spans = list[tuple[int, int]]
Highlighter = Callable[[str], Spans]


@dataclass(frozen=True, slots=True)
class Row:
    """What a row draws: the line, whose it is, and how it stands."""

    line: ShownLine | None
    log: ShownLog | None = None
    fold: Span | None = None
    marked: bool = False
    cursor: bool = False
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """How rows are drawn. ``names`` is the width of the column that tells whose a line is, 0 without it."""

    raw: bool = False
    names: int = 0
    base: Style = _PLAIN
    styles: Mapping[str, Style] | None = None
    highlight: Highlighter | None = None

    def style(self, name: str) -> Style:
        return (self.styles or {}).get(name, _PLAIN)


def gutter(row: Row, look: Look) -> Text:
    """The signs ahead of the line: bookmark or cursor, and whose line it is."""
    sign = glyph("mark") if row.marked else glyph("cursor") if row.cursor else " "
    text = Text(sign, look.style("mark" if row.marked or row.cursor else "muted"), end="")
    if look.names and row.log is not None:
        text.append(f"{name_of(row.log):<{look.names}} ", look.style("rank"))
    return text


def content(row: Row, look: Look, limit: int) -> Text:
    """The line itself, at most ``limit`` characters of it, with the matches of the search."""
    text = Text(end="", no_wrap=True)
    if row.fold is not None:
        text.append(f"{glyph('fold')} {fold_words(row.fold)} ", look.style("fold"))
    if row.line is None:
        text.append(glyph("ellipsis"), look.style("muted"))
        return text
    begin = len(text)
    (_append_raw if look.raw or not row.line.time else _append_short)(text, row.line, look, limit)
    if look.highlight is not None:
        for start, end in look.highlight(text.plain[begin:]):
            text.stylize(look.style("match"), begin + start, begin + end)
    return text


def _append_raw(text: Text, line: ShownLine, look: Look, limit: int) -> None:
    name = _BY_LEVEL.get(line.level)
    if name is None:
        text.append(line.text[:limit])
        return
    text.append(f"{glyph(_GLYPH[line.level])} ", look.style(name))
    word = line.text.find("]") + 1 if line.time else len(line.text)
    text.append(line.text[: min(word, limit)], look.style(name))
    text.append(line.text[word:limit])


def _append_short(text: Text, line: ShownLine, look: Look, limit: int) -> None:
    name = _BY_LEVEL.get(line.level, "muted")
    text.append(f"{line.time} ", look.style("muted"))
    text.append(f"{glyph(_GLYPH.get(line.level, 'dot'))} {line.word[:_MAX_WORD]} ", look.style(name))
    text.append(f"{line.head} ", look.style("muted"))
    text.append(line.body[:limit])


def name_of(log: ShownLog) -> str:
    """``r12`` for a rank, else the first letters of the role."""
    return f"r{log.rank}" if log.rank is not None else log.role[:5]


def fold_words(span: Span) -> str:
    """How much is folded away, and what."""
    count = span.stop - span.first
    if span.kind == REPEAT:
        return f"{count:,} alike:"
    kind = "" if span.kind == "record" else f"{span.kind} "
    return f"{kind}{count:,} lines:"


def wrapped(text: Text, width: int, most: int) -> list[Text]:
    """The text cut into rows of ``width`` cells, at most ``most`` of them."""
    pieces = chop_cells(text.plain, max(2, width))[:most] if text.plain else [""]
    ends, end = [], 0
    for piece in pieces:
        end += len(piece)
        ends.append(end)
    return list(text[:end].divide(ends[:-1]))


def width_of(text: str) -> int:
    """Cells that a text takes."""
    return cell_len(text)


@lru_cache(maxsize=8)
def highlighter(search: str) -> Highlighter | None:
    """Where a search matches in a drawn line; None when there is no search."""
    if not search:
        return None
    compiled = _compiled(search)

    def spans(text: str) -> Spans:
        return [match.span() for match in compiled.finditer(text) if match.end() > match.start()]

    return spans


def _compiled(search: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = search != search.lower()
    try:
        return re2.compile(search[:MAX_PATTERN], options)
    except re2.error:
        return re2.compile(re2.escape(search[:MAX_PATTERN]), options)
