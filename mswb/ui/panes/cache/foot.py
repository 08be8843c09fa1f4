"""The rows at the bottom of the Cache pane: the entry; and what goes on, else what can be done with it."""

from __future__ import annotations

from mswb.cache.check import CHECKERS
from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.rows import number_of, percent
from mswb.ui.panes.cache.state import CacheState, entry_of, findings_of
from mswb.ui.panes.cache.words import word
from mswb.ui.panes.inventory.rows import HERE, folder_of
from mswb.ui.widgets.table.units import draw


def foot_text(item: Item | None, state: CacheState) -> str:
    """Its text."""
    if state.running:
        work = state.running[-1]
        parts = [f"{glyph('running')} {word('verifying', done=work.done, count=len(work.paths))}"]
        parts += [word("bad so far", bad=work.bad)] if work.bad else []
        parts += [word("stops")]
        return f" {glyph('dot')} ".join(parts)
    if item is None:
        return ""
    count = len(findings_of(item, state))
    if count:
        return word("foot bad", count=word("fault") if count == 1 else word("faults", count=count))
    return word("foot" if item.kind in CHECKERS else "foot plain")


def line_text(item: Item, root: str, state: CacheState) -> str:
    """How a file cache serves; where an entry lies and what it is."""
    entry, place = entry_of(item, state), folder_of(item, root)
    hits, load_ms = number_of(entry, "hit_rate"), number_of(entry, "avg_load_time_ms")
    parts = [
        "" if hits is None else word("hit rate", rate=percent(hits)),
        "" if load_ms is None else word("a load", time=draw("seconds", load_ms / 1000)),
        "" if place == HERE else place,
        entry.detail,
    ]
    return printable(f" {glyph('dot')} ".join(part for part in parts if part))
