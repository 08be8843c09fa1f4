"""What the cache commands and the Cache pane list: one cache, data file or leftover, and what is known of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mswb.cache.filecache.folders import glance, name_of
from mswb.files.items import Item
from mswb.findings import Finding

UNVERIFIED = "unverified"
"""The status of what was only looked at: nothing speaks against it, and nothing was checked."""
UNKNOWN = "unknown"
"""The form of what was named and is nothing known."""

REPORTED: Mapping[str, str] = {
    "file-cache": "file-cache",
    "dataset-cache": "dataset-cache",
    "cache-server": "dataset-cache",
    "cache-spill": "dataset-cache",
    "compile-cache": "compile-cache",
    "compile-graph": "compile-cache",
    "compile-hash": "compile-cache",
    "mindrecord": "mindrecord",
    "mindrecord-index": "mindrecord",
    "tfrecord": "tfrecord",
    **dict.fromkeys(("kernel-cache", "tuning-base", "memory-plan", "dump", "plain-copy", "download"), "leftover"),
    **dict.fromkeys(("shared-memory", "log-archive", "fusion-result", "package-cache"), "leftover"),
}
"""From a kind of :data:`mswb.cache.sniff.KINDS` to that of a report; every other one is ``unknown`` there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        path: the file or folder; ``shm:ID`` for a segment of SysV shared memory.
        form: a kind of :data:`mswb.cache.sniff.KINDS`.
        name: what ``--dataset`` selects by: the ``name`` of a file cache; None for what has none.
        status: a finding code, ``ok``, ``building`` or :data:`UNVERIFIED`.
        size_bytes, disk_bytes: what its files hold, and what they occupy (holes do not; hard links count once).
        modified: the newest change in seconds since the epoch.
        records, intact_records: samples in it, and those that were found whole; None where nobody counted.
        files: its files, where it is not one folder.
        detail: a few words for people.
        findings: what is wrong with it.
        more: further keys of its own in a report (``avg_load_time_ms``, ``hit_rate``, ``key``, ``schema`` ...).
    """

    path: str
    form: str
    name: str | None = None
    status: str = UNVERIFIED
    size_bytes: int = 0
    disk_bytes: int = 0
    modified: float = 0.0
    records: int | None = None
    intact_records: int | None = None
    files: tuple[str, ...] = ()
    detail: str = ""
    findings: tuple[Finding, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind that reports name."""
        return REPORTED.get(self.form, UNKNOWN)


def from_item(item: Item) -> Entry:
    """The entry for what an inventory found by a glance."""
    seen = glance(item.path) if item.kind == "file-cache" else None
    return Entry(
        item.path,
        item.kind,
        name_of(item.path) if seen else None,
        status=item.status or UNVERIFIED,
        size_bytes=item.size_bytes,
        disk_bytes=item.disk_bytes,
        modified=item.modified,
        records=seen.records if seen else None,
        detail=f"{item.detail}, {seen.detail}" if seen and seen.detail else item.detail,
        more=seen.more if seen else {},
    )


def to_row(entry: Entry) -> dict[str, Any]:
    """An entry as reports hold it; its findings stand beside the entries."""
    return {
        "path": entry.path,
        "kind": entry.kind,
        "form": entry.form,
        "name": entry.name if entry.name is not None else os.path.basename(entry.path),
        "status": entry.status,
        "size_bytes": entry.size_bytes,
        "disk_bytes": entry.disk_bytes,
        "modified": entry.modified,
        "records": entry.records,
        "intact_records": entry.intact_records,
        "detail": entry.detail,
        **entry.more,
    }
