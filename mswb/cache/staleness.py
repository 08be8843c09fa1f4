"""Whether a file cache is older than what it was made from, found out without MindSpore and without reading a sample.

The files of the source are listed beside the samples, and compared with the disk. That its code has changed only a
training can see; it leaves a note in the old cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mswb.cache.entries import UNVERIFIED, Entry
from mswb.cache.filecache.sources import fits, read_list
from mswb.files.safety import printable
from mswb.inside.cached.files import LIST, source_changes

MOST_FILES = 200_000
"""A list of a larger source is not compared for a mere listing; ``mswb cache verify`` does it."""
_LINE_BYTES = 100
_MAX_STATS = 1 << 20
_MAX_MANIFEST = 64 << 20
_NOTES = ("stale-code", "schema-changed", "version-mismatch")


@dataclass(frozen=True, slots=True)
class Stale:
    """What speaks against a cache: a finding code, in words what, and for a source the paths by what became of them."""

    status: str
    reason: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def look(folder: str, most_files: int = MOST_FILES) -> Stale | None:
    """Why a file cache must be made again; None when nothing says so."""
    try:
        small = os.lstat(os.path.join(folder, LIST)).st_size <= most_files * _LINE_BYTES
    except OSError:
        small = False
    found = source_changes(os.path.abspath(folder)) if small else None
    if found and not _is_own_list(folder):
        return Stale("corrupted", f"{LIST}: it is not the list that the manifest has the checksum of")
    if found:
        return Stale("stale-source", printable(str(found)), found.added, found.removed, found.changed)
    notes = _notes(folder)
    code = next((code for code in _NOTES if notes.get(code)), None)
    return Stale(code, printable(str(notes[code]), 300)) if code is not None else None


def current(entry: Entry) -> Entry:
    """An entry whose samples were not read, with what :func:`look` says of it."""
    if entry.form != "file-cache" or entry.status not in ("ok", UNVERIFIED):
        return entry
    found = look(entry.path)
    return entry if found is None else replace(entry, status=found.status, detail=found.reason)


def _is_own_list(folder: str) -> bool:
    """Whether the list of the source is the one that the manifest has the checksum of."""
    try:
        source = _json(os.path.join(folder, "manifest.json"), _MAX_MANIFEST).get("source")
        return not isinstance(source, dict) or fits(read_list(os.path.join(folder, LIST)), source)
    except (OSError, ValueError, AttributeError, RecursionError):
        return True


def _json(path: str, most: int) -> Any:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return json.loads(file.read(most))


def _notes(folder: str) -> Mapping[str, object]:
    try:
        notes = _json(os.path.join(folder, "stats.json"), _MAX_STATS).get("notes")
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}
