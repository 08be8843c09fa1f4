"""All that is known of one entry of the Cache pane, as lines: the findings first, each with its place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mswb.cache.check import CHECKERS
from mswb.cache.entries import Entry
from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.rows import status_colour, status_text
from mswb.ui.panes.cache.state import CacheState, entry_of, findings_of, severity_of
from mswb.ui.panes.cache.words import word
from mswb.ui.widgets.lines import Line, LineView, wrap
from mswb.ui.widgets.table.units import bytes_text

_COLOURS = {"error": "error", "warning": "warning", "note": "text-muted"}
MOST = 50
"""Findings that are listed here; the findings view has all of them."""


class CacheDetails(LineView):
    """The details of the entry under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("inventory-details")
        self._drawn: tuple[Any, ...] = ()

    def show(self, item: Item | None, state: CacheState) -> None:
        """Draw an entry; from its first line when it is another one."""
        facts = (item, state.of(item), state.more.get(item.path), state.work_of(item.path)) if item else ()
        if facts == self._drawn:
            return
        same, self._drawn = facts[:1] == self._drawn[:1], facts
        self.set_lines(lambda width: [] if item is None else entry_lines(item, state, width), top=not same)


def entry_lines(item: Item, state: CacheState, width: int) -> list[Line]:
    """Everything about an entry."""
    entry, findings = entry_of(item, state), findings_of(item, state)
    return [
        *_head(item, entry, state, width),
        *_findings(item, findings, width),
        *_known(item, entry, state, width),
        *_facts(item, width),
    ]


def entry_text(item: Item, state: CacheState) -> str:
    """The same for the clipboard."""
    return "\n".join(line.text.rstrip() for line in entry_lines(item, state, 100))


def _head(item: Item, entry: Entry, state: CacheState, width: int) -> Iterator[Line]:
    from mswb.flows.inventory import kind_words

    yield Line(printable(f"{kind_words(item.kind)}  {entry.name or os.path.basename(item.path)}"), bold=True)
    if not _counts(entry):
        yield from _wrapped(printable(entry.detail), width)
    severity = severity_of(entry)
    work = state.work_of(item.path)
    if work is not None:
        yield Line(f"{glyph('running')} {word('verifying', done=work.done, count=len(work.paths))}", "accent")
    elif not severity:
        yield from _wrapped(word("unverified" if item.kind in CHECKERS else "unchecked"), width, "text-muted")
    else:
        value = f"{severity} {entry.status}"
        yield Line(status_text(value), status_colour(value), bold=True)
    if entry.records is not None:
        yield Line(_count_text(entry))


def _count_text(entry: Entry) -> str:
    # An index may tell how many there are before anybody has read one.
    name = "counted" if entry.intact_records is None else "verified"
    name = "all whole" if entry.intact_records == entry.records else name
    return word(name, records=f"{entry.records or 0:,}", intact=f"{entry.intact_records or 0:,}")


def _counts(entry: Entry) -> bool:
    """Whether the detail says no more than the count of records does."""
    return entry.records is not None and entry.detail.endswith("records are whole")


def _findings(item: Item, findings: Sequence[Finding], width: int) -> Iterator[Line]:
    if not findings:
        return
    yield from _title(word("findings"))
    for index, one in enumerate(findings[:MOST]):
        colour = _COLOURS.get(one.severity, "")
        reason = str(one.values.get("reason") or one.title)
        first, *others = wrap(f"{glyph(one.severity)} {one.code}: {printable(reason, 400)}", width)
        yield Line(first, colour, where=one.where, finding=index)
        yield from (Line(row, colour, finding=index) for row in others)
        place = place_text(item, one)
        if place:
            yield from (Line(row, "text-muted", finding=index) for row in wrap(place, width, "  "))
    if len(findings) > MOST:
        yield Line(word("and more", count=f"{len(findings) - MOST:,}"), "text-muted")


def place_text(item: Item, finding: Finding) -> str:
    """Where a fault is, as a person would look for it."""
    where, parts = finding.where, []
    if where.offset is not None:
        parts.append(word("at byte", offset=f"{where.offset:,}", hex=f"{where.offset:x}"))
    if "record" in finding.values:
        parts.append(word("record", number=finding.values["record"]))
    if where.file and where.file != item.path:
        parts.append(word("in file", name=printable(os.path.basename(where.file))))
    return f" {glyph('dot')} ".join(parts)


def _known(item: Item, entry: Entry, state: CacheState, width: int) -> Iterator[Line]:
    """What the entry and a closer look tell: numbers, source, key."""
    looked = state.more.get(item.path, {})
    facts: dict[str, Any] = dict(entry.more)
    # A closer look that can't tell something does not take back what the list knows.
    facts.update({name: value for name, value in (looked or {}).items() if value is not None or name not in facts})
    holders = facts.pop("holders", None)
    if facts:
        yield from _title(word("known"))
    for name, value in facts.items():
        yield from _fact(name, value, width)
    if looked is None:
        yield Line(f"{word('looking')}{glyph('ellipsis')}", "text-muted")
    if isinstance(holders, (list, tuple)):
        yield from _title(word("held by"))
        yield from (Line(printable(str(one))) for one in holders)
        if not holders:
            yield Line(word("free"), "text-muted")


_UNITS = ("_ms", "_bytes")
"""Ends of names that tell a unit; it stands with the value, not with the name."""


def _fact(name: str, value: Any, width: int, indent: str = "") -> Iterator[Line]:
    """A fact on a line; facts in it on lines of their own."""
    unit = next((end for end in _UNITS if name.endswith(end)), "")
    label = printable(name.removesuffix(unit).replace("_", " "), 60)
    if isinstance(value, Mapping) and value and len(indent) < 4:
        yield from (Line(row) for row in wrap(label, width, indent))
        for key, one in list(value.items())[:MOST]:
            yield from _fact(_with_unit(str(key), unit), one, width, indent + "  ")
    else:
        yield from (Line(row) for row in wrap(f"{label}  {value_text(name, value)}", width, indent))


def _with_unit(key: str, unit: str) -> str:
    """A name inside of a fact whose name tells the unit of all numbers in it but counts."""
    return key if not unit or key == "count" or key.endswith(_UNITS) else key + unit


def value_text(name: str, value: Any) -> str:
    """A fact as a person reads it; the end of its name tells its unit."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{printable(str(key), 60)} {value_text(str(key), one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        shown = ", ".join(value_text("", one) for one in value[:8])
        return f"{shown} + {len(value) - 8:,}" if len(value) > 8 else shown
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(str(value), 300)
    return next((text for end, text in _TEXTS.items() if name.endswith(end)), "{:,}".format)(value)


def _bytes(value: float) -> str:
    return bytes_text(value) if value < 1024 else f"{bytes_text(value)} ({value:,} B)"


def _clock(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
    except (OverflowError, ValueError, OSError):
        return str(moment)


_TEXTS: Mapping[str, Callable[[float], str]] = {
    "_bytes": _bytes,
    "_ms": "{:.4g} ms".format,
    "rate": "{:.1%}".format,
    "last_used": _clock,
    "verified_at": _clock,
    "created": _clock,
}


def _facts(item: Item, width: int) -> Iterator[Line]:
    disk = f"{bytes_text(item.disk_bytes)} {word('disk')}"
    found = [
        ("path", printable(item.path)),
        ("size", f"{bytes_text(item.size_bytes)} ({item.size_bytes:,} B), {disk}"),
        ("files", f"{item.files:,}"),
        ("modified", _clock(item.modified) if item.modified else "-"),
        ("why", printable(item.reason)),
    ]
    for name, body in found:
        yield from _title(word(name))
        yield from _wrapped(body, width)
    if item.parts:
        yield from _title(word("parts"))
        for part in item.parts:
            yield from _wrapped(printable(part), width)


def _title(text: str) -> Iterator[Line]:
    yield Line("")
    yield Line(text, bold=True)


def _wrapped(text: str, width: int, colour: str = "") -> Iterator[Line]:
    yield from (Line(row, colour) for row in wrap(text, width))
