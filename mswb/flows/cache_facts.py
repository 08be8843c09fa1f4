"""What can be told of entries beside a glance: who uses them, what their kind says of itself, what lies outside."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mswb.cache.clean import holders_of
from mswb.cache.entries import UNVERIFIED, Entry, from_item
from mswb.cache.holders import snapshot
from mswb.cache.shm import PREFIXES
from mswb.files.items import Item
from mswb.findings import Finding
from mswb.flows.cache_live import Pause, follow
from mswb.flows.cache_state import verified_small

READ_SHARE = 20
"""Reading file caches that change all the time may take one part in so many of the time."""
MOST_PARTS = 20
"""Files of an entry that are named."""
LOOSE = "shared-memory"
"""The kind of which there may be thousands of files, all alike."""


def beside(
    items: Iterable[Item], known: Collection[str], cancelled: Callable[[], bool] = lambda: False
) -> dict[str, Entry]:
    """The entries of which more is known than a glance tells, by path: those in use, file caches, and what a list
    may read without being slow, as ``mswb cache list`` shows it.

    Args:
        known: paths of which everything is told already.
    """
    seen = snapshot(cancelled)
    glances = [from_item(item) for item in items if item.path not in known]
    found: dict[str, Entry] = {}
    for before, entry in zip(glances, glances if cancelled() else verified_small(glances), strict=True):
        users = holders_of(entry, seen)
        if users or entry.form == "file-cache" or entry != before:
            found[entry.path] = replace(entry, more={**entry.more, "holders": users}) if users else entry
    return found


def followed(
    root: str, items: Sequence[Item], pause: Pause, since: float, known: Mapping[str, Entry]
) -> Iterator[tuple[list[Item], dict[str, Entry]]]:
    """The whole list anew each time something in it has changed (see :func:`mswb.flows.cache_live.follow`), and its
    file caches by path."""
    for listed in follow(root, items, pause, since):
        began = time.monotonic()
        known = stores(listed, known)
        yield listed, known
        pause(READ_SHARE * (time.monotonic() - began))


def stores(items: Iterable[Item], known: Mapping[str, Entry]) -> dict[str, Entry]:
    """The file caches among some items, by path: as they are known, or read as a list reads them where they changed."""
    listed = {item.path: item for item in items if item.kind == "file-cache"}
    same = {path: known[path] for path, item in listed.items() if path in known and _is_as(known[path], item)}
    changed = [from_item(item) for path, item in listed.items() if path not in same]
    return {**same, **{entry.path: entry for entry in verified_small(changed)}}


def _is_as(entry: Entry, item: Item) -> bool:
    return (entry.size_bytes, entry.modified) == (item.size_bytes, item.modified)


def outside(
    environ: Mapping[str, str], cancelled: Callable[[], bool] = lambda: False
) -> tuple[list[Item], dict[str, Entry], list[Finding]]:
    """The entries of the places outside: as items, as what is known of them, and notes on what could not be read."""
    from mswb.flows.caches import everywhere

    entries, notes = everywhere(environ, cancelled=cancelled)
    entries = gathered(entries)
    return [to_item(entry) for entry in entries], {entry.path: entry for entry in entries}, notes


def gathered(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with loose files of one folder, owner and status as one, whose ``files`` they are."""
    groups: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        is_loose = entry.form == LOOSE and entry.path.startswith("/")
        alike = (os.path.dirname(entry.path), _owner(entry.path), entry.status, _begin(entry.path))
        groups[alike if is_loose else (entry.path,)].append(entry)
    return [found[0] if len(found) == 1 else _together(found) for found in groups.values()]


def _together(entries: Sequence[Entry]) -> Entry:
    first, last = entries[0], max(entries, key=lambda entry: entry.modified)
    told = list(dict.fromkeys(entry.detail for entry in entries))
    return replace(
        first,
        name=f"{_begin(first.path)}* ({len(entries):,})",
        size_bytes=sum(entry.size_bytes for entry in entries),
        disk_bytes=sum(entry.disk_bytes for entry in entries),
        modified=last.modified,
        files=tuple(entry.path for entry in entries),
        detail=told[0] if len(told) == 1 else f"{told[0]}; {len(told) - 1:,} more",
    )


def _begin(path: str) -> str:
    """What the names of one maker begin with: ``sem.mp-``, ``psm_``."""
    name = os.path.basename(path)
    return next((prefix for prefix in PREFIXES if name.startswith(prefix)), name)


def _owner(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


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
        parts=tuple(map(os.path.basename, entry.files[:MOST_PARTS])),
    )


def closer(item: Item, cancelled: Callable[[], bool] = lambda: False) -> Mapping[str, Any]:
    """Facts of one entry by name: what its kind can tell; ``holders`` are the processes that use it, as texts."""
    from mswb.flows.caches import informed

    return informed(from_item(item), snapshot(cancelled)).more
