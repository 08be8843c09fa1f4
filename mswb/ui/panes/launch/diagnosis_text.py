"""A diagnosis as lines to read: the verdict, the root cause in full, its chain of consequences, and what else is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mswb.files.safety import printable, printable_block
from mswb.ui.finding_text import label
from mswb.ui.glyphs import glyph, severity_word
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.words import SIGNS, state_word, verdict_state
from mswb.ui.widgets.lines import Line, wrap

if TYPE_CHECKING:
    from mswb.findings import Finding, Where
    from mswb.launch.diagnose import Diagnosis

MAX_EVIDENCE = 40
"""Lines of evidence shown; the whole is in the log, a jump away."""
_COLOURS = {"error": "error", "warning": "warning", "note": "text-muted"}


def details_lines(diagnosis: Diagnosis | None, width: int, *, waiting: bool = False, live: bool = False) -> list[Line]:
    """The lines of the details; ``waiting``: a diagnosis is being made; ``live``: the run goes on."""
    if diagnosis is None:
        return [Line(row, "text-muted") for row in wrap(_nothing_yet(waiting, live), width)]
    return list(_all_lines(diagnosis, width, waiting))


def _nothing_yet(waiting: bool, live: bool) -> str:
    if waiting:
        return f"{word('finding out')} {glyph('ellipsis')}"
    return word("Running, nothing found so far. D looks now.") if live else word("No diagnosis yet. D makes one now.")


def _all_lines(diagnosis: Diagnosis, width: int, waiting: bool) -> Iterator[Line]:
    state = verdict_state(diagnosis)
    colour = SIGNS.get(state, SIGNS["unknown"])[2]
    more = f"  ({word('looking again')} {glyph('ellipsis')})" if waiting else ""
    yield Line(f"{state_word(state).upper()}  {_counted(diagnosis)}{more}", colour, bold=True)
    root = diagnosis.root
    if root is not None:
        yield Line("")
        yield from _finding_lines(diagnosis.findings[root], root, diagnosis.path, width)
    yield from _chain(diagnosis, width)
    yield from _others(diagnosis, width)
    if not diagnosis.findings and state == "unknown":
        text = word("The logs name no error and no exit code is known: the end of this run is not in them.")
        yield from (Line(row) for row in ("", *wrap(text, width)))


def _finding_lines(finding: Finding, index: int, base: str, width: int) -> Iterator[Line]:
    place = finding.where if finding.where.file else None
    for row in wrap(f"{severity_word(finding.severity)} {printable(finding.title)}", width):
        yield Line(row, _COLOURS[finding.severity], bold=True, where=place, finding=index)
    if place is not None:
        for row in wrap(f"{glyph('arrow')} {place_text(place, base)}", width):
            yield Line(row, "accent", where=place, finding=index)
    if finding.cause:
        yield from _section(label("cause"), [finding.cause], width, index)
    if finding.advice:
        yield from _section(label("advice"), finding.advice, width, index)
    if finding.evidence:
        yield Line("")
        yield Line(label("evidence"), bold=True, finding=index)
        for text in printable_block(finding.evidence, lines=MAX_EVIDENCE).split("\n"):
            yield from (Line(row, "text-muted", finding=index) for row in wrap(text, width, "  "))


def _section(title: str, texts: tuple[str, ...] | list[str], width: int, index: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, bold=True, finding=index)
    for text in texts:
        lead = f"{glyph('bullet')} " if len(texts) > 1 else ""
        for number, row in enumerate(wrap(printable(text), width - 2 - len(lead))):
            yield Line(f"  {' ' * len(lead) if number else lead}{row}", finding=index)


def _chain(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """What followed from the root, in the order of time."""
    after = [index for index, one in enumerate(diagnosis.findings) if one.consequence_of is not None]
    if not after:
        return
    yield Line("")
    yield Line(word("Consequences ({count})", count=len(after)), bold=True)
    for index in sorted(after, key=lambda index: diagnosis.findings[index].where.time or ""):
        yield from _short(diagnosis.findings[index], index, glyph("arrow"), width)


def _others(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    rest = [
        index for index, one in enumerate(diagnosis.findings) if index != diagnosis.root and one.consequence_of is None
    ]
    if not rest:
        return
    yield Line("")
    yield Line(word("Also"), bold=True)
    for index in rest:
        finding = diagnosis.findings[index]
        yield from _short(finding, index, severity_word(finding.severity), width)


def _short(finding: Finding, index: int, lead: str, width: int) -> Iterator[Line]:
    """A finding in a line or two that lead to its place."""
    where = finding.where if finding.where.file else None
    clock = (finding.where.time or "")[11:19]
    rank = "" if finding.where.rank is None else f"rank {finding.where.rank}"
    text = " ".join(part for part in (lead, clock, rank, printable(finding.title)) if part)
    colour = "" if finding.consequence_of is not None else _COLOURS[finding.severity]
    for number, row in enumerate(wrap(text, width - 2)):
        yield Line(f"{'  ' if number else ''}{row}", colour, where=where, finding=index)


def _counted(diagnosis: Diagnosis) -> str:
    workers = sum(rank.role == "worker" for rank in diagnosis.ranks)
    if workers == 1:
        return word("1 rank")
    return word("{count} ranks", count=workers) if workers else word("no rank has a log")


def place_text(where: Where, base: str) -> str:
    """A place as short as it can be named: the file below the log folder, and the line."""
    file = where.file or ""
    if os.path.isabs(file) and base and file.startswith(base.rstrip(os.sep) + os.sep):
        file = os.path.relpath(file, base)
    line = f":{where.line}" if where.line is not None else ""
    rank = f"rank {where.rank}  " if where.rank is not None else ""
    clock = f"  {where.time[11:19]}" if where.time else ""
    return printable(f"{rank}{file}{line}{clock}")
