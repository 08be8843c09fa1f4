"""Which caches, data files and leftovers there are: what list, verify and clean begin with."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mswb.cache.entries import UNKNOWN, Entry, from_item
from mswb.cache.locate import cache_root
from mswb.cache.sniff import KINDS
from mswb.files.tree import facts, held
from mswb.findings import Finding, MswbError, Where, stop
from mswb.flows import inventory
from mswb.settings import load_settings

if TYPE_CHECKING:
    from mswb.cache.holders import Snapshot

ROOT, FOLDER, SERVER, SYSTEM = "root", "folder", "server", "system"
"""The places of totals: the file-cache root, the folders named, dataset cache servers, everything else."""
_SERVED = frozenset({"dataset-cache", "cache-server", "cache-spill"})


@dataclass(frozen=True, slots=True)
class Total:
    """What entries of one kind hold at one place."""

    place: str
    kind: str
    count: int
    bytes: int
    disk_bytes: int


def usual_paths(environ: Mapping[str, str], folder: str) -> list[str]:
    """Where a list looks unless it is told: the file-cache root, if there is one, and ``folder``."""
    root = cache_root(environ)
    return [root, folder] if os.path.isdir(root) else [folder]


def everywhere(
    environ: Mapping[str, str], seen: Snapshot | None = None, cancelled: Callable[[], bool] = lambda: False
) -> tuple[list[Entry], list[Finding]]:
    """The entries outside the project: places where frameworks keep caches, servers' leftovers, shared memory.

    The file-cache root is not counted with the downloads that lie beside it.
    """
    from mswb.cache import shm
    from mswb.cache.holders import snapshot
    from mswb.cache.server import leftovers

    places = [place for place in inventory.places_of(load_settings(environ), environ) if not place.prefixes]
    batch = inventory.whole_places(places, cancelled)
    entries = [_without(from_item(item), cache_root(environ), cancelled) for item in batch.items]
    entries += leftovers.leftovers()
    entries += shm.leftovers(snapshot(cancelled) if seen is None else seen)
    return [entry for entry in entries if entry is not None], list(batch.notes)


def _without(entry: Entry, root: str, cancelled: Callable[[], bool]) -> Entry | None:
    """A place without what lies in the file-cache root; None when nothing else is in it."""
    if not inventory.within(root, os.path.realpath(entry.path)):
        return entry
    own = held(os.path.realpath(root), cancelled)
    size, disk = entry.size_bytes - own.size_bytes, entry.disk_bytes - own.disk_bytes
    return replace(entry, size_bytes=size, disk_bytes=max(0, disk)) if size > 0 else None


def informed(entry: Entry, seen: Snapshot | None = None) -> Entry:
    """An entry with all that its kind can tell, and ``holders``: who uses it, in words."""
    from mswb.cache.clean import holders_of
    from mswb.cache.holders import snapshot

    more: dict[str, Any] = dict(entry.more)
    if entry.form == "file-cache":
        from mswb.cache import filecache

        more.update(filecache.info(entry.path))
    elif entry.form == "compile-cache":
        from mswb.cache.compile.info import info

        more.update(info(entry.path))
    more["holders"] = holders_of(entry, snapshot() if seen is None else seen)
    return replace(entry, more=more)


def totals(
    entries: Sequence[Entry], environ: Mapping[str, str] = os.environ, folders: Sequence[str] = (".",)
) -> list[Total]:
    """What the entries hold, by place and kind, the most first.

    Args:
        folders: those that were looked through; the file-cache root is a place of its own.
    """
    root = os.path.realpath(cache_root(environ))
    inside = [os.path.realpath(folder) for folder in folders]
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for entry in entries:
        row = sums[_place(entry, root, inside), entry.form]
        row[:] = row[0] + 1, row[1] + entry.size_bytes, row[2] + entry.disk_bytes
    found = [Total(place, kind, *row) for (place, kind), row in sums.items()]
    return sorted(found, key=lambda one: (-one.bytes, one.place, one.kind))


def _place(entry: Entry, root: str, folders: Sequence[str]) -> str:
    if _lies_in(entry.path, root):
        return ROOT
    if entry.form in _SERVED or entry.path.startswith("shm:"):
        return SERVER
    return FOLDER if any(_lies_in(entry.path, folder) for folder in folders) else SYSTEM


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


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


def collect_each(
    paths: Sequence[str], cancelled: Callable[[], bool] = lambda: False
) -> tuple[list[Entry], list[Finding], list[Finding]]:
    """As :func:`collect`, but one path that is nothing known does not hide the others: it is an entry with a finding.

    Returns: entries, notes, and a finding for each path that does not exist.

    Raises:
        MswbError: as :func:`collect`, where there is one path only.
    """
    if len(paths) < 2:
        return (*collect(paths, cancelled), [])
    entries: dict[str, Entry] = {}
    notes: list[Finding] = []
    gone: list[Finding] = []
    for path in paths:
        try:
            found, more = collect([path], cancelled)
        except MswbError as problem:
            if not os.path.lexists(path):
                gone.append(problem.finding)
                continue
            found, more = [_unknown(path, problem.finding)], []
        entries.update((entry.path, entry) for entry in found)
        notes += more
    return list(entries.values()), notes, gone


def _unknown(path: str, finding: Finding) -> Entry:
    path = os.path.realpath(path)
    file = facts(*os.path.split(path))
    size, disk, modified = (file.size_bytes, file.disk_bytes, file.modified) if file is not None else (0, 0, 0.0)
    placed = replace(finding, where=Where(file=path, offset=0 if file is not None else None))
    return Entry(path, UNKNOWN, None, finding.code, size, disk, modified, findings=(placed,))


def at_file(path: str) -> Entry:
    """The entry that a file is, or belongs to; a link that is named stands for what it leads to.

    Raises:
        MswbError: ``not-a-record-file``: it is nothing that the cache commands know.
    """
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    found = next((item for item in beside(folder) if path in _files(item) or item.path == folder), None)
    if found is not None:
        return found
    file = facts(folder, name)
    reason = "it is no regular file" if file is None else "its content is of no kind that is known here"
    raise stop("not-a-record-file", values={"what": "file", "reason": reason, "path": path})


def beside(folder: str) -> list[Entry]:
    """The entries that lie in a folder itself."""
    return [from_item(item) for batch in inventory.scan(folder, ["cache"], depth=0) for item in batch.items]


def _files(entry: Entry) -> tuple[str, ...]:
    extra = (entry.path + ".db",) if entry.form == "mindrecord" else ()
    return (entry.path, *extra, *entry.files)
