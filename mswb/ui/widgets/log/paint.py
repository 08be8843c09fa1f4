"""One row of the log as texts with the names of their styles: what is seen of it, and where the search has matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rich.cells import chop_cells
from rich.style import Style

from mswb.files.levels import Level
from mswb.files.patterns import MAX_PATTERN
from mswb.launch.logview.shown import ShownLine
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import REPEAT, Span
from mswb.ui.glyphs import glyph
from mswb.ui.widgets.log.words import word

STYLES = ("error", "warning", "info", "muted", "rank", "fold", "mark", "match", "cursor", "selected")
"""The component classes ``log--NAME`` that colours come from."""
_BY_LEVEL = {Level.CRITICAL: "error", Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "info"}
_GLYPH = {Level.CRITICAL: "error", Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
_SIGNS = frozenset("✖▲•·▸")
_MAX_WORD = 9
_PLAIN = Style()

Parts = list[tuple[str, str]]
"""Texts with the names of their styles; several names are separated by a blank."""
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

    @property
    def ground(self) -> str:
        """The style behind all of the row."""
        return "cursor" if self.cursor else "selected" if self.selected else ""


@dataclass(frozen=True, slots=True)
class Look:
    """How rows are drawn. ``names`` is the width of the column that tells whose a line is, 0 without it."""

    raw: bool = False
    names: int = 0
    base: Style = _PLAIN
    styles: Mapping[str, Style] = field(default_factory=dict)
    highlight: Highlighter | None = None
    _known: dict[tuple[str, str], Style] = field(default_factory=dict, compare=False)

    def style(self, names: str, ground: str = "") -> Style:
        """The style of these names on the ground of a row."""
        known = self._known.get((names, ground))
        if known is None:
            known = self.base
            for name in (ground, *names.split()):
                if not ground or name != "muted":  # too little contrast on another ground
                    known += self.styles.get(name, _PLAIN)
            self._known[names, ground] = known
        return known


def gutter(row: Row, look: Look) -> Parts:
    """The signs ahead of the line: bookmark or cursor, and whose line it is."""
    sign = glyph("mark") if row.marked else glyph("cursor") if row.cursor else " "
    name = f"{name_of(row.log):<{look.names}} " if look.names and row.log is not None else ""
    return [(sign, "mark"), (name, "rank")]


def content(row: Row, look: Look, limit: int) -> Parts:
    """The line itself, at most about ``limit`` characters of it, with the matches of the search."""
    parts: Parts = [(f"{glyph('fold')} ", "fold"), (f"{fold_words(row.fold)} ", "fold")] if row.fold is not None else []
    if row.line is None:
        return [*parts, (glyph("ellipsis"), "muted")]
    own = (_raw_parts if look.raw or not row.line.time else _short_parts)(row.line, limit)
    return parts + (_with_matches(own, look.highlight) if look.highlight is not None else own)


def _raw_parts(line: ShownLine, limit: int) -> Parts:
    name = _BY_LEVEL.get(line.level)
    if name is None:
        return [(line.text[:limit], "")]
    word = min(limit, line.text.find("]") + 1 if line.time else len(line.text))
    return [(f"{glyph(_GLYPH[line.level])} ", name), (line.text[:word], name), (line.text[word:limit], "")]


def _short_parts(line: ShownLine, limit: int) -> Parts:
    name = _BY_LEVEL.get(line.level, "muted")
    sign = glyph(_GLYPH.get(line.level, "dot"))
    return [
        (f"{line.time} ", "muted"),
        (f"{sign} ", name),
        (f"{line.word[:_MAX_WORD]} ", name),
        (f"{line.head} ", "muted"),
        (line.body[:limit], ""),
    ]


def _with_matches(parts: Parts, highlight: Highlighter) -> Parts:
    cuts = [end for span in highlight("".join(text for text, _ in parts)) for end in span]
    found: Parts = []
    for number, piece in enumerate(divided(parts, cuts)):
        found += [(text, f"{names} match") for text, names in piece] if number % 2 else piece
    return found


def divided(parts: Parts, cuts: list[int]) -> list[Parts]:
    """The parts cut at these characters (rising) of their joined text."""
    pieces: list[Parts] = [[]]
    begin, waiting = 0, list(cuts)
    for text, names in parts:
        while waiting and waiting[0] < begin + len(text):
            cut = waiting.pop(0) - begin
            pieces[-1].append((text[:cut], names))
            pieces.append([])
            text, begin = text[cut:], begin + cut
        pieces[-1].append((text, names))
        begin += len(text)
    return pieces + [[] for _ in waiting]


def wrapped(parts: Parts, width: int, most: int) -> list[Parts]:
    """The parts cut into rows of ``width`` cells, at most ``most`` of them."""
    rows = chop_cells("".join(text for text, _ in parts), max(2, width))[:most]
    ends, end = [], 0
    for row in rows:
        end += len(row)
        ends.append(end)
    return divided(parts, ends)[: max(1, len(rows))]


def is_sign(text: str) -> bool:
    """Whether it is one of our signs with its blank: two cells, though it is not ASCII."""
    return text[1:] == " " and text[0] in _SIGNS


def name_of(log: ShownLog) -> str:
    """``r12`` for a rank, else the first letters of the role."""
    return f"r{log.rank}" if log.rank is not None else log.role[:5]


def fold_words(span: Span) -> str:
    """How much is folded away, and what."""
    count = span.stop - span.first
    if span.kind == REPEAT:
        return word("{count} alike:", count=f"{count:,}")
    kind = "" if span.kind == "record" else f"{span.kind} "
    return kind + word("{count} lines:", count=f"{count:,}")


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
