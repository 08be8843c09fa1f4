"""What can be told of entries beside a glance: who uses them, what their kind says of itself, what lies outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from mswb.cache.clean import holders_of
from mswb.cache.entries import UNVERIFIED, Entry, from_item
from mswb.cache.holders import snapshot
from mswb.files.items import Item
from mswb.findings import Finding


def beside(
    items: Iterable[Item], known: Collection[str], cancelled: Callable[[], bool] = lambda: False
) -> dict[str, Entry]:
    """The entries of which more is known than a glance tells, by path: those in use, and file caches.

    Args:
        known: paths of which everything is told already.
    """
    seen = snapshot(cancelled)
    found: dict[str, Entry] = {}
    for item in items:
        if item.path in known:
            continue
        entry = from_item(item)
        if item.kind == "file-cache":
            found[item.path] = entry
        users = holders_of(entry, seen)
        if users:
            found[item.path] = replace(entry, more={**entry.more, "holders": users})
    return found


def stores(items: Iterable[Item]) -> dict[str, Entry]:
    """The file caches among some items with what their own files say, by path."""
    return {item.path: from_item(item) for item in items if item.kind == "file-cache"}


def outside(
    environ: Mapping[str, str], cancelled: Callable[[], bool] = lambda: False
) -> tuple[list[Item], dict[str, Entry], list[Finding]]:
    """The entries of the places outside: as items, as what is known of them, and notes on what could not be read."""
    from mswb.flows.caches import everywhere

    entries, notes = everywhere(environ, cancelled=cancelled)
    return [to_item(entry) for entry in entries], {entry.path: entry for entry in entries}, notes


def to_item(entry: Entry) -> Item:
    """An entry as an inventory would list it."""
    return Item(
        entry.form,
        entry.path,
        entry.size_bytes,
        entry.disk_bytes,
        entry.modified,
        entry.detail,
        "" if entry.status in (UNVERIFIED, "ok") else entry.status,
        files=max(1, len(entry.files)),
    )


def closer(item: Item, cancelled: Callable[[], bool] = lambda: False) -> Mapping[str, Any]:
    """Facts of one entry by name: what its kind can tell; ``holders`` are the processes that use it, as texts."""
    from mswb.flows.caches import informed

    return informed(from_item(item), snapshot(cancelled)).more
