"""Which caches, data files and leftovers there are: what list, verify and clean begin with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from mswb.cache.entries import Entry, from_item
from mswb.cache.sniff import KINDS
from mswb.files.tree import facts
from mswb.findings import Finding, stop
from mswb.flows import inventory


def collect(paths: Sequence[str], cancelled: Callable[[], bool] = lambda: False) -> tuple[list[Entry], list[Finding]]:
    """The entries at some paths: a file is itself, a folder all that lies in it; with notes on what can't be read.

    Raises:
        MswbError: ``path-missing``: one of them does not exist.
    """
    entries: dict[str, Entry] = {}
    notes: list[Finding] = []
    for path in paths:
        if not os.path.lexists(path):
            raise stop("path-missing", values={"path": path})
        if os.path.isdir(path):
            for batch in inventory.scan(path, ["cache"], cancelled):
                notes += batch.notes
                entries.update({item.path: from_item(item) for item in batch.items if item.kind in KINDS})
        else:
            entry = at_file(path)
            entries[entry.path] = entry
    return list(entries.values()), notes


def at_file(path: str) -> Entry:
    """The entry that a file is, or belongs to.

    Raises:
        MswbError: ``not-a-record-file``: it is nothing that the cache commands know.
    """
    path = os.path.abspath(path)
    folder, name = os.path.split(path)
    found = next((item for item in _beside(folder) if path in _files(item)), None)
    if found is not None:
        return found
    file = facts(folder, name)
    reason = "it is no regular file" if file is None else "its content is of no kind that is known here"
    raise stop("not-a-record-file", values={"what": "file", "reason": reason, "path": path})


def _beside(folder: str) -> list[Entry]:
    """The entries that lie in a folder itself."""
    return [from_item(item) for batch in inventory.scan(folder, ["cache"], depth=0) for item in batch.items]


def _files(entry: Entry) -> tuple[str, ...]:
    extra = (entry.path + ".db",) if entry.form == "mindrecord" else ()
    return (entry.path, *extra, *entry.files)
