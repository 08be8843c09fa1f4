"""The row at the bottom of the Cache pane: what goes on, else what can be done with the entry."""

from __future__ import annotations

from mswb.cache.check import CHECKERS
from mswb.files.items import Item
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.state import CacheState, findings_of
from mswb.ui.panes.cache.words import word


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
