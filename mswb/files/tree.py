"""Walking folders that may be huge, hostile, or only half readable. Links are never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
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
    status = regular(folder, name)
    if status is None:
        return None
    path = os.path.join(folder, name)
    return FileFacts(path, name, status.st_size, status.st_blocks * BLOCK, status.st_mtime)


def regular(folder: str, name: str) -> os.stat_result | None:
    """The status of a regular file; None when it has gone, or is something else by now."""
    try:
        status = os.lstat(os.path.join(folder, name))
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def held(path: str, cancelled: Callable[[], bool] = lambda: False) -> Sum:
    """What a path holds, be it a folder or a file; a link, a pipe or a socket holds nothing."""
    if os.path.isdir(path) and not os.path.islink(path):
        return total(path, cancelled=cancelled)
    file = facts(*os.path.split(path))
    return Sum(modified=_own_time(path)) if file is None else Sum(file.size_bytes, file.disk_bytes, file.modified, 1)


def freed(paths: Sequence[str], cancelled: Callable[[], bool] = lambda: False) -> list[int]:
    """The bytes of disk that come free as each path goes, in this order: a file with other names is freed by the last.

    Links are not followed; folders that can't be read count nothing.
    """
    left: dict[tuple[int, int], int] = {}
    return [sum(_freed(status, left) for status in _statuses(path, cancelled)) for path in paths]


def _freed(status: os.stat_result, left: dict[tuple[int, int], int]) -> int:
    if status.st_nlink > 1:
        key = (status.st_dev, status.st_ino)
        left[key] = left.get(key, status.st_nlink) - 1
        if left[key] > 0:
            return 0
    return status.st_blocks * BLOCK


def _statuses(path: str, cancelled: Callable[[], bool]) -> Iterator[os.stat_result]:
    """The statuses of all regular files that a path is, or holds."""
    folder, name = os.path.split(path)
    status = regular(folder, name)
    if status is not None:
        yield status
        return
    pending = [] if os.path.islink(path) else [path]
    while pending and not cancelled():
        here = listing(pending.pop())
        pending += [os.path.join(here.path, name) for name in here.folders]
        yield from (found for name in here.files if (found := regular(here.path, name)) is not None)


def _again(status: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    """Whether this file was seen under another name; it is remembered."""
    key = (status.st_dev, status.st_ino)
    known = key in seen
    seen.add(key)
    return known


def total(
    path: str,
    prefixes: tuple[str, ...] = (),
    limit: int = MANY,
    cancelled: Callable[[], bool] = lambda: False,
) -> Sum:
    """All below ``path``, at most ``limit`` files; with ``prefixes`` only files in it whose names begin so.

    A file that has several names there counts once.
    """
    size = disk = count = unreadable = 0
    newest = 0.0
    linked: set[tuple[int, int]] = set()
    pending = [path]
    while pending:
        here = listing(pending.pop())
        unreadable += bool(here.problem)
        for name in here.files:
            if prefixes and not name.startswith(prefixes):
                continue
            status = regular(here.path, name)
            if status is None or (status.st_nlink > 1 and _again(status, linked)):
                continue
            size, disk, count = size + status.st_size, disk + status.st_blocks * BLOCK, count + 1
            newest = max(newest, status.st_mtime)
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
