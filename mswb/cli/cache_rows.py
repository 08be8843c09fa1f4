"""Entries of caches as the rows of a table: one line each, as far as the path is short enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence

from mswb.cache.entries import Entry
from mswb.cache.sniff import KINDS
from mswb.cache.verified import WHEN
from mswb.cli import output
from mswb.cli.alike import lumped, pattern, place_of
from mswb.cli.sizes import human_bytes
from mswb.findings import language

SEVERITY = {"error": 0, "warning": 1, "note": 2}
WORDS: dict[str, dict[str, str]] = {
    "en": {"status": "status", "kind": "kind", "size": "size", "samples": "samples", "hits": "hits", "path": "path"},
    "zh": {"status": "状态", "kind": "类型", "size": "大小", "samples": "样本", "hits": "命中", "path": "路径"},
}
_DATES = ("%Y-%m-%d", "%m-%d")
VERIFIED = {"en": "verified {date}", "zh": "校验于 {date}"}


def show_entries(entries: Sequence[Entry], *, together: bool) -> None:
    """Print a table; a status ``ok`` comes with the date of its verification.

    The date is shortened, and the kind left out, where more entries fit on a line of their own then.

    Args:
        together: many leftovers alike are one line.
    """
    groups = lumped(entries, _sort) if together else [[entry] for entry in entries]
    shown = [name for name in _CELLS if any(_CELLS[name](group, "") for group in groups)]
    layouts = [(columns, date) for columns in (shown, [one for one in shown if one != "kind"]) for date in _DATES]
    columns, date = max(layouts, key=lambda one: output.whole_lines(*_table(groups, *one)))
    right = [at for at, name in enumerate(columns) if name in ("size", "samples", "hits")]
    heads, rows = _table(groups, columns, date)
    output.show_table(heads, rows, right=right, whole=True)


def sign(entry: Entry) -> str:
    """The mark of the worst that is wrong with an entry, and a space; nothing where it is fine."""
    worst = min((finding.severity for finding in entry.findings), key=SEVERITY.__getitem__, default=None)
    return f"{output.mark(worst)} " if worst else ""


def size_words(count: int) -> str:
    """``51192 (50.0 KiB)``: exact, and as a person reads it."""
    return f"{count} ({human_bytes(count)})" if count >= 1024 else str(count)


def counted(entry: Entry) -> str:
    """``48/50``: intact records of all; one number where all are intact, nothing where nobody counted."""
    if entry.records is None:
        return ""
    if entry.intact_records in (None, entry.records):
        return str(entry.records)
    return f"{entry.intact_records}/{entry.records}"


def _sort(entry: Entry) -> Hashable | None:
    """What leftovers share that stand on one line; None for what always has a line of its own."""
    if entry.kind != "leftover" and not entry.path.startswith("shm:"):
        return None
    return (entry.form, *place_of(entry.path), entry.status)


def _table(groups: Sequence[Sequence[Entry]], columns: Sequence[str], date: str) -> tuple[list[str], list[list[str]]]:
    words = WORDS[language()]
    return [words[name] for name in columns], [[_CELLS[name](group, date) for name in columns] for group in groups]


def _status(group: Sequence[Entry], date: str) -> str:
    """``status:`` is the same in every language, for scripts."""
    entry = group[0]
    when = entry.more.get(WHEN)
    told = ""
    if entry.status == "ok" and isinstance(when, (int, float)):
        day = time.strftime(date, time.localtime(when))
        told = f" ({VERIFIED[language()].format(date=day)})" if date == _DATES[0] else f" ({day})"
    return f"{sign(entry) or '  '}status: {entry.status}{told}"


def _hits(group: Sequence[Entry], date: str) -> str:
    rate = group[0].more.get("hit_rate")
    return f"{rate:.0%}" if isinstance(rate, (int, float)) else ""


_CELLS: Mapping[str, Callable[[Sequence[Entry], str], str]] = {
    "status": _status,
    "kind": lambda group, date: KINDS.get(group[0].form, group[0].form),
    "size": lambda group, date: f"size: {size_words(sum(entry.size_bytes for entry in group))}",
    "samples": lambda group, date: counted(group[0]) if len(group) == 1 else "",
    "hits": _hits,
    "path": lambda group, date: output.short_path(pattern([entry.path for entry in group])),
}
