"""Walking folders that may be huge, hostile, or only half readable. Links are never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from mswb.files.items import FileFacts

BLOCK = 512
"""The unit of st_blocks, whatever the file system's own (stat(2))."""
CHECK_EVERY = 256
MANY = 1_000_000
"""Entries of one folder, and files of one sum, that are looked at."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One folder: the names of its sub-folders and regular files, sorted; ``problem`` when some could not be read."""

    path: str
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    problem: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Folders and files alike."""
        return self.folders + self.files


@dataclass(frozen=True, slots=True)
class Sum:
    """What lies in a folder, in all: bytes held, bytes occupied, the newest time, and how many files."""

    size_bytes: int = 0
    disk_bytes: int = 0
    modified: float = 0.0
    files: int = 0
    unreadable: int = 0
    whole: bool = True


def listing(path: str, limit: int = MANY) -> Listing:
    """The folder's names, of at most ``limit`` entries; pipes, sockets, devices and links are left out."""
    folders: list[str] = []
    files: list[str] = []
    problem = ""
    try:
        with os.scandir(path) as entries:
            for count, entry in enumerate(entries):
                if count == limit:
                    problem = f"it holds more than {limit:,} entries"
                    break
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError as error:
        problem = error.strerror or str(error)
    return Listing(path, tuple(sorted(folders)), tuple(sorted(files)), problem)


def facts(folder: str, name: str) -> FileFacts | None:
    """What the directory says of a regular file; None when it has gone, or is something else by now."""
    path = os.path.join(folder, name)
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileFacts(path, name, status.st_size, status.st_blocks * BLOCK, status.st_mtime)


def total(
    path: str,
    prefixes: tuple[str, ...] = (),
    limit: int = MANY,
    cancelled: Callable[[], bool] = lambda: False,
) -> Sum:
    """All below ``path``, at most ``limit`` files; with ``prefixes`` only files in it whose names begin so."""
    size = disk = count = unreadable = 0
    newest = 0.0
    pending = [path]
    while pending:
        here = listing(pending.pop())
        unreadable += bool(here.problem)
        for name in here.files:
            if prefixes and not name.startswith(prefixes):
                continue
            file = facts(here.path, name)
            if file is None:
                continue
            size, disk, count = size + file.size_bytes, disk + file.disk_bytes, count + 1
            newest = max(newest, file.modified)
            if count >= limit or (count % CHECK_EVERY == 0 and cancelled()):
                return Sum(size, disk, newest, count, unreadable, whole=False)
        if not prefixes:
            pending += [os.path.join(here.path, name) for name in here.folders]
    return Sum(size, disk, newest or _own_time(path), count, unreadable)


def _own_time(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
