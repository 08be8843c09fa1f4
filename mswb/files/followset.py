"""Follow many files at once, and the files that appear later in their folders."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType

from mswb.files.follow import Block, Follower, Start
from mswb.files.watch import Waker
from mswb.findings import Finding, MswbError

HIDDEN_S = 1.0
"""Seconds between two looks at a file that nobody sees now, where files are polled."""
_SPARE_DESCRIPTORS = 128

Match = Callable[[str], bool]


def is_log(name: str) -> bool:
    """The usual choice in a folder: ``*.log`` (msrun's workers, scheduler and launcher)."""
    return name.endswith(".log")


@dataclass(frozen=True, slots=True)
class Update:
    """News of one file. ``partial`` is its unfinished last line as it stands after the blocks."""

    path: str
    blocks: tuple[Block, ...]
    partial: bytes = b""


@dataclass(slots=True)
class _Entry:
    follower: Follower
    partial: bytes = b""
    hidden: bool = False
    next_look: float = 0.0


@dataclass(slots=True)
class _Watched:
    """One folder: whether its new files are picked up, and our files in it."""

    pick_up: bool = False
    entries: dict[str, _Entry] = field(default_factory=dict)
    listed: int | None = None


class FollowSet:
    """Followers of files and of folders' files (not of their sub-folders), multiplexed.

    Args:
        targets: files, which may be missing so far, and folders. Links in a folder are not followed.
        match: which names in the folders are followed.
        start: where to begin in files that exist now; later ones are read from their first byte.
        events: False to poll, which costs less for many files that grow all the time.

    Attributes:
        notes: why files are polled instead of watched, for the user.
        problems: what could not be read, by path; such a file is not tried again.
    """

    def __init__(
        self,
        targets: Iterable[str | os.PathLike[str]],
        *,
        match: Match = is_log,
        start: Start = "begin",
        events: bool = True,
    ) -> None:
        self.problems: dict[str, Finding] = {}
        self._match = match
        self._waker = Waker(events=events)
        self._folders: dict[str, _Watched] = {}
        self._budget = descriptor_budget()
        self._hurry: set[str] = set()
        for target in targets:
            self.add(target, start=start)

    def __enter__(self) -> FollowSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def notes(self) -> list[str]:
        return self._waker.notes

    @property
    def paths(self) -> list[str]:
        """The files followed now, as absolute paths."""
        return [path for folder in self._folders.values() for path in folder.entries]

    def add(self, target: str | os.PathLike[str], *, start: Start = "begin") -> None:
        """Follow one more file or folder."""
        path = os.path.abspath(target)
        if os.path.isdir(path):
            self._folder(path).pick_up = True
            self._pick_up(path, start)
        else:
            self._follow(path, start)

    def remove(self, path: str | os.PathLike[str]) -> None:
        """Follow this file no longer."""
        name = os.path.abspath(path)
        entry = self._entry(name)
        if entry is not None:
            entry.follower.close()
            del self._folders[os.path.dirname(name)].entries[name]

    def hide(self, path: str | os.PathLike[str], hidden: bool = True) -> None:
        """Look less often at a file that nobody sees (only where files are polled)."""
        entry = self._entry(os.path.abspath(path))
        if entry is not None:
            entry.hidden, entry.next_look = hidden, 0.0

    def wake(self) -> None:
        """End the present :meth:`wait` from another thread."""
        self._waker.wake()

    def wait(self, timeout: float) -> list[Update]:
        """Block until a file brings news, :meth:`wake` is called or ``timeout`` seconds are over; return the news."""
        end = time.monotonic() + timeout
        while True:
            updates = self._step(0.0 if self._hurry else max(0.0, end - time.monotonic()))
            if updates is not None:
                return updates
            if time.monotonic() >= end:
                return []

    def finish(self) -> list[Update]:
        """Everything that is left in all files, unfinished last lines included."""
        for folder, watched in list(self._folders.items()):
            if watched.pick_up:
                watched.listed = None
                self._pick_up(folder, "begin")
        updates = (self._finished(path) for path in self.paths)
        return [update for update in updates if update.blocks]

    def close(self) -> None:
        """Give descriptors and threads back."""
        for folder in self._folders.values():
            for entry in folder.entries.values():
                entry.follower.close()
        self._waker.close()

    def _step(self, timeout: float) -> list[Update] | None:
        """One waiting and one look; None when there was something to look at but no news."""
        changes = self._waker.wait(timeout)
        hurry, self._hurry = self._hurry, set()
        if not changes and not hurry:
            return []
        updates: list[Update] = []
        for folder in changes.folders:
            updates += self._look_at_folder(folder)
        for path in changes.paths | hurry:
            if os.path.dirname(path) not in changes.folders:
                updates += self._look_at_path(path)
        return updates or None

    def _look_at_folder(self, folder: str) -> list[Update]:
        watched = self._folders.get(folder)
        if watched is None:
            return []
        now = time.monotonic()
        if watched.pick_up:
            self._pick_up(folder, "begin")
        updates = []
        for path, entry in list(watched.entries.items()):
            if not entry.hidden or now >= entry.next_look:
                entry.next_look = now + HIDDEN_S
                updates += self._look(path, entry)
        self._waker.looked(folder, news=bool(updates), files=len(watched.entries))
        return updates

    def _look_at_path(self, path: str) -> list[Update]:
        folder = os.path.dirname(path)
        watched = self._folders.get(folder)
        if watched is None:
            return []
        if path not in watched.entries and watched.pick_up and self._wanted(path):
            self._follow(path, "begin")
        entry = watched.entries.get(path)
        return [] if entry is None else self._look(path, entry)

    def _look(self, path: str, entry: _Entry) -> list[Update]:
        try:
            blocks = entry.follower.poll()
        except MswbError as problem:
            self.problems[path] = problem.finding
            self.remove(path)
            return []
        if entry.follower.behind:
            self._hurry.add(path)
        return self._update(path, entry, blocks)

    def _update(self, path: str, entry: _Entry, blocks: list[Block]) -> list[Update]:
        partial = entry.follower.partial
        if not blocks and partial == entry.partial:
            return []
        entry.partial = partial
        return [Update(path, tuple(blocks), partial)]

    def _finished(self, path: str) -> Update:
        entry = self._entry(path)
        try:
            return Update(path, tuple(entry.follower.finish()) if entry else ())
        except MswbError as problem:
            self.problems[path] = problem.finding
            return Update(path, ())

    def _pick_up(self, folder: str, start: Start) -> None:
        """Follow the folder's new files; it is listed only when its time stamp has moved."""
        watched = self._folders[folder]
        try:
            changed = os.stat(folder).st_mtime_ns
            if changed == watched.listed:
                return
            names = os.listdir(folder)
        except OSError:
            return
        # A second change within the same clock tick would not move the time stamp: list again until it is older.
        watched.listed = changed if time.time_ns() - changed > 50_000_000 else None
        for path in sorted(os.path.join(folder, name) for name in names):
            if path not in watched.entries and self._wanted(path):
                self._follow(path, start)

    def _wanted(self, path: str) -> bool:
        return (
            path not in self.problems
            and self._match(os.path.basename(path))
            and not os.path.islink(path)
            and os.path.isfile(path)
        )

    def _follow(self, path: str, start: Start) -> None:
        watched = self._folder(os.path.dirname(path))
        if path not in watched.entries:
            hold = sum(len(each.entries) for each in self._folders.values()) < self._budget
            watched.entries[path] = _Entry(Follower(path, start=start, hold=hold))

    def _folder(self, folder: str) -> _Watched:
        if folder not in self._folders:
            self._folders[folder] = _Watched()
            self._waker.watch(folder)
        return self._folders[folder]

    def _entry(self, path: str) -> _Entry | None:
        watched = self._folders.get(os.path.dirname(path))
        return None if watched is None else watched.entries.get(path)


def follow(
    targets: Iterable[str | os.PathLike[str]],
    *,
    cancelled: Callable[[], bool],
    match: Match = is_log,
    start: Start = "begin",
    tick: float = 0.2,
) -> Iterator[Update]:
    """News of the targets until ``cancelled()``, asked every ``tick`` seconds; then all that is left in them."""
    with FollowSet(targets, match=match, start=start) as files:
        while not cancelled():
            yield from files.wait(tick)
        yield from files.finish()


def descriptor_budget() -> int:
    """How many files may be held open: what the soft limit leaves beside the ones open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    return max(8, soft - len(os.listdir("/proc/self/fd")) - _SPARE_DESCRIPTORS)
