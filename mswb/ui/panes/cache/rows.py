"""The entries of the Cache pane as columns of its table: the damaged ones first, then the largest."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mswb.cache.entries import UNVERIFIED, Entry
from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.places import Total, place_of, totals
from mswb.ui.panes.cache.state import CacheState, entry_of, severity_of
from mswb.ui.panes.cache.words import word
from mswb.ui.panes.inventory.rows import NAME_CELLS, Rows, folder_of, names_of
from mswb.ui.widgets.table.data import Column

_ORDER = {"error": 0, "warning": 1, "note": 2, "": 3, "ok": 3}
_COLOURS = {"error": "error", "warning": "warning", "note": "text-muted", "ok": "success", "running": "accent"}


@dataclass(frozen=True, slots=True)
class CacheRows(Rows):
    """The entries of the chosen place as rows; ``every`` are those of all places, ``sums`` their totals, and
    ``base`` what is told beside them. ``bad`` are the rows with errors or warnings."""

    every: tuple[Item, ...] = ()
    sums: tuple[Total, ...] = ()
    base: Mapping[str, Entry] = field(default_factory=dict)
    bad: tuple[int, ...] = ()


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def columns() -> tuple[Column, ...]:
    """The columns; 80 cells hold those up to the size, and ``>`` reaches the others."""
    return (
        Column("name", word("name"), width=NAME_CELLS, cut="path"),
        Column("kind", word("kind"), width=14),
        Column("status", word("status"), width=18, style=status_colour, show=status_text),
        Column("size", word("size"), "bytes", width=9),
        Column("samples", word("samples"), "number", width=8, optional=True),
        Column("hits", word("hits"), "number", width=6, show=percent, total=False, optional=True),
        Column("load", word("load"), "seconds", width=9, total=False, optional=True),
        Column("used", word("used"), "age", width=6, total=False, optional=True),
        Column("holders", word("holders"), "number", width=7, total=False, optional=True),
        Column("age", word("age"), "age", width=5, total=False),
        Column("files", word("files"), "number", width=6, hide_below=100),
        Column("folder", word("folder"), width=28, hide_below=100, cut="start"),
        Column("detail", word("detail"), width=60, hide_below=100),
        Column("key", "", width=1, hide_below=10_000),
    )


def arrange(items: Sequence[Item], state: CacheState, root: str, store: str, now: float) -> CacheRows:
    """The rows of the chosen place; ages are told at ``now`` (seconds since the epoch)."""
    place = state.place
    listed = [item for item in items if not place or place_of(item, root, store) == place]
    entries = {item.path: entry_of(item, state) for item in listed}

    def order(item: Item) -> tuple[int, int, str]:
        return _ORDER[severity_of(entries[item.path])], -item.size_bytes, item.path

    ordered = tuple(sorted(listed, key=order))
    return CacheRows(
        ordered,
        _arrays(ordered, entries, root, now),
        sum(item.size_bytes for item in ordered),
        sum(item.disk_bytes for item in ordered),
        len({os.path.dirname(item.path) for item in ordered}),
        tuple(items),
        totals(items, root, store),
        state.base,
        tuple(row for row, item in enumerate(ordered) if _ORDER[severity_of(entries[item.path])] < _ORDER["note"]),
    )


def _arrays(items: Sequence[Item], entries: Mapping[str, Entry], root: str, now: float) -> dict[str, Sequence[Any]]:
    from mswb.flows.inventory import kind_words

    told = [entries[item.path] for item in items]
    return {
        "key": [f"{item.kind} {item.path}" for item in items],
        "name": names_of(items, root, [one.name for one in told]),
        "kind": [kind_words(item.kind) for item in items],
        "status": [_status(one) for one in told],
        "size": [item.size_bytes for item in items],
        "samples": [one.records for one in told],
        "hits": [number_of(one, "hit_rate") for one in told],
        "load": [_seconds(number_of(one, "avg_load_time_ms")) for one in told],
        "used": [_ago(number_of(one, "last_used"), now) for one in told],
        "holders": [_count(one.more.get("holders")) for one in told],
        "age": [max(0.0, now - item.modified) for item in items],
        "files": [item.files for item in items],
        "detail": [printable(one.detail) for one in told],
        "folder": [printable(folder_of(item, root)) for item in items],
    }


NO_ROWS = CacheRows(arrays=_arrays((), {}, "/", 0.0))


def in_work(rows: Rows, shares: Mapping[str, float | None]) -> Mapping[str, Sequence[Any]]:
    """The columns, with how far the checks are in place of the status of what is checked now."""
    if not shares:
        return rows.arrays
    status = [
        f"running {_share(shares[item.path])}" if item.path in shares else known
        for item, known in zip(rows.items, rows.arrays["status"], strict=True)
    ]
    return {**rows.arrays, "status": status}


def status_text(value: str) -> str:
    """A status with its sign: the sign and the word both tell."""
    severity, _, status = value.partition(" ")
    if not status:
        return "-"
    return f"{glyph(severity)} {status}" if severity else status


def status_colour(value: str) -> str:
    """The theme variable of a status."""
    return _COLOURS.get(value.partition(" ")[0], "text-muted")


def _status(entry: Entry) -> str:
    severity = severity_of(entry)
    if entry.status != UNVERIFIED:
        return f"{severity} {entry.status}"
    return f"{severity} {entry.findings[0].code}" if entry.findings else ""


def _share(share: float | None) -> str:
    return glyph("ellipsis") if share is None else f"{min(99, int(100 * share))}%"


def percent(value: Any) -> str:
    """A share as text."""
    return f"{100 * float(value):.0f}%"


def number_of(entry: Entry, key: str) -> float | None:
    """A number that an entry tells beside its own fields."""
    value = entry.more.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _ago(moment: float | None, now: float) -> float | None:
    return None if moment is None else max(0.0, now - moment)


def _count(holders: Any) -> int | None:
    return len(holders) or None if isinstance(holders, (list, tuple)) else None
