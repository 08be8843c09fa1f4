"""What Python's worker processes left in /dev/shm: semaphores and buffers whose makers have gone.

A buffer (``psm_*``) may wait under its name for a process that has not opened it yet, so nobody having it open proves
nothing by itself: it must also lie untouched for an hour.
"""

from __future__ import annotations

import os
import time

from mswb.cache.entries import Entry
from mswb.cache.holders import Snapshot
from mswb.files.tree import facts, listing

FOLDER = "/dev/shm"
PREFIXES = ("sem.mp-", "psm_")
REST_S = 3600.0
"""Seconds without a change after which a file that nobody has open is left over."""


def leftovers(seen: Snapshot, folder: str = FOLDER, now: float | None = None) -> list[Entry]:
    """An entry for each such file: ``ok`` while a process has it open or it is young, else ``orphan``.

    What belongs to others is ``foreign``, but for root: who has it open can't be seen.
    """
    found = (facts(folder, name) for name in listing(folder).files if name.startswith(PREFIXES))
    moment = time.time() if now is None else now
    entries = []
    for file in found:
        if file is None:
            continue
        users = seen.of(file.path)
        is_used = bool(users) or moment - file.modified < REST_S
        status = "ok" if is_used else "orphan" if _is_ours(file.path) else "foreign"
        detail = str(users[0]) if users else "of Python workers; no process that can be seen has it open"
        entries.append(
            Entry(
                file.path,
                "shared-memory",
                status=status,
                size_bytes=file.size_bytes,
                disk_bytes=file.disk_bytes,
                modified=file.modified,
                detail=detail,
            )
        )
    return entries


def _is_ours(path: str) -> bool:
    try:
        return os.geteuid() in (0, os.lstat(path).st_uid)
    except OSError:
        return False
