"""The list of caches, kept true while files change: what is new, what has changed, what has gone.

Folders are watched by events where their file system has them (:mod:`mswb.files.watch`); a change in one has that
folder looked at again, and nothing else. What changes all the time is looked at less often.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from mswb.files.items import Item
from mswb.files.watch import Changes, Waker
from mswb.flows.inventory import MAX_DEPTH, is_skipped, scan

MAX_FOLDERS = 256
"""Folders that are watched, those near the top first; the others are seen at the next look."""
PAUSE_S = 0.5
"""Least seconds between two looks."""
SHARE = 20
"""Looks may take one part in so many of the time."""
WAIT_S = 0.5
"""Seconds between two looks whether anybody still wants to know."""
CLOCKS_S = 2.0
"""Seconds by which the clock of a file system may be behind."""
SWEEP_S = 5.0
"""Seconds between two looks at folders without events: whether names have come or gone."""

Pause = Callable[[float], bool]
"""Sleeps so many seconds; returns at once, and True, when nobody wants to know any more."""


def follow(root: str, items: Sequence[Item], pause: Pause, since: float) -> Iterator[list[Item]]:
    """The whole list anew each time something in it has changed; ends once ``pause`` says so.

    Args:
        items: what a look at ``root`` (and at places outside it) has found.
        since: when that look began, in seconds since the epoch.
    """
    live = Live(root, items, since)
    try:
        while not pause(0):
            if live.wait(WAIT_S):
                if pause(live.rest_s):
                    return
                if live.look(lambda: pause(0)):
                    yield live.items
    finally:
        live.close()


class Live:
    """A list and the folders it comes from.

    Attributes:
        items: the entries as they were at the last look, by path.
    """

    def __init__(self, root: str, items: Sequence[Item], since: float = math.inf) -> None:
        self.items = sorted(items, key=_path)
        self._waker = Waker()
        self._times: dict[str, tuple[int, int]] = {}
        self._inner: dict[str, frozenset[str]] = {}
        self._pending: set[str] = set()
        self._sweep = self._due = 0.0
        self._watch(_places(root, self.items))
        self._waker.wait(0)  # the first answer names all of them, and most were looked at just now
        self._pending.update(one for one, (_, time_ns) in self._times.items() if time_ns / 1e9 > since - CLOCKS_S)

    @property
    def watched(self) -> tuple[str, ...]:
        """The folders that are watched."""
        return tuple(self._times)

    @property
    def rest_s(self) -> float:
        """Seconds to let pass before the next look."""
        return max(PAUSE_S, self._due - time.monotonic())

    def close(self) -> None:
        """Watch no more."""
        self._waker.close()

    def wait(self, timeout: float) -> bool:
        """Block until there may be something to look at, or so many seconds are over."""
        self._note(self._waker.wait(timeout))
        return bool(self._pending)

    def look(self, cancelled: Callable[[], bool]) -> bool:
        """Look again where something has changed; whether the list is another one now."""
        self._note(self._waker.wait(0))
        folders, self._pending = sorted(self._pending), set()
        began = time.monotonic()
        new = [path for folder in folders for path in self._new_in(folder)]
        now = relook(self.items, folders, new, cancelled)
        self._watch([*new, *_places("", now)])
        self._due = time.monotonic() + SHARE * (time.monotonic() - began)
        changed, self.items = now != self.items, now
        return changed

    def _watch(self, folders: Iterable[str]) -> None:
        for folder in folders:
            if len(self._times) >= MAX_FOLDERS:
                return
            if folder and folder not in self._times and os.path.isdir(folder):
                self._times[folder] = _signature(folder)
                self._inner[folder] = frozenset(_inner(folder))
                self._waker.watch(folder)

    def _note(self, changes: Changes) -> None:
        """Remember which folders are to be looked at."""
        for path in changes.paths:
            self._pending.update({path, os.path.dirname(path)} & self._times.keys())
        for folder in changes.folders & self._times.keys():
            self._waker.looked(folder, news=False, files=1)
        if time.monotonic() >= self._sweep and changes.folders:
            self._sweep = time.monotonic() + SWEEP_S
            for folder in changes.folders & self._times.keys():
                now = _signature(folder)
                if now != self._times[folder]:
                    self._times[folder] = now
                    self._pending.add(folder)

    def _new_in(self, folder: str) -> list[str]:
        """Folders that have come to a watched one."""
        now = frozenset(_inner(folder))
        before, self._inner[folder] = self._inner.get(folder, frozenset()), now
        return sorted(now - before)


def relook(
    items: Sequence[Item], folders: Sequence[str], new: Sequence[str], cancelled: Callable[[], bool]
) -> list[Item]:
    """The list by path, with some folders looked at again, and ``new`` ones with all that lies below them."""
    again = set(folders)
    listed = {item.path: item for item in items if _stays(item, again)}
    for folder in folders:
        listed.update({item.path: item for item in _found(folder, cancelled, depth=0)})
    for folder in new:
        listed.update({item.path: item for item in _found(folder, cancelled)})
    return sorted((item for item in listed.values() if _is_there(item)), key=_path)


def _stays(item: Item, again: set[str]) -> bool:
    """Whether an entry is kept as it is: a whole folder is watched itself, so a change beside it says nothing of it."""
    if item.path in again:
        return False
    if item.kind == "shared-memory":  # a look at a folder does not find these; whether they are there is looked at
        return True
    return os.path.dirname(item.path) not in again or os.path.isdir(item.path)


def _is_there(item: Item) -> bool:
    return not item.path.startswith("/") or os.path.lexists(item.path)


def _found(folder: str, cancelled: Callable[[], bool], depth: int = MAX_DEPTH) -> list[Item]:
    if not os.path.isdir(folder):
        return []
    return [item for batch in scan(folder, ["cache"], cancelled, depth=depth) for item in batch.items]


def _places(root: str, items: Sequence[Item]) -> Iterator[str]:
    """The folders worth watching: the root, the folders of entries, and what lies one and two below the root."""
    yield root
    paths = [item.path for item in items if item.path.startswith("/")]
    yield from dict.fromkeys(os.path.dirname(path) for path in paths)
    yield from (path for path in paths if os.path.isdir(path))
    first = _inner(root) if root else []
    yield from first
    for folder in first:
        yield from _inner(folder)


def _inner(folder: str) -> list[str]:
    """The folders in a folder that a look enters; links are not followed."""
    try:
        with os.scandir(folder) as listing:
            found = (one.path for one in listing if not is_skipped(one.name) and one.is_dir(follow_symlinks=False))
            return sorted(found)[: 16 * MAX_FOLDERS]
    except OSError:
        return []


def _signature(folder: str) -> tuple[int, int]:
    try:
        found = os.stat(folder)
    except OSError:
        return (0, 0)
    return found.st_ino, found.st_mtime_ns


def _path(item: Item) -> str:
    return item.path
