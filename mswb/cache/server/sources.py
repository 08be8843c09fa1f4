"""Whether data changed after rows of it were cached: a server keeps serving the old rows and says nothing.

Two ways to know. A folder named by a person is compared with the time at which the session was made. Under ``mswb run``
each cached pipeline notes its files and functions beside the run (:mod:`mswb.inside.server_cache`), and these are
compared exactly.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mswb.inside import server_cache
from mswb.inside.cached import files
from mswb.inside.server_cache import Note

MAX_NAMED = 20
"""Files of each kind that are named; all are counted."""
GONE = "(a file that is gone)"
"""Stands in a folder for what it has lost: nobody knows its name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between then and now: paths, and names of functions in ``code``."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    code: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.code)

    def __str__(self) -> str:
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        told = [f"{len(paths)} {word} ({_some(paths)})" for word, paths in parts if paths]
        told += [f"code changed: {', '.join(self.code[:3])}"] if self.code else []
        return ", ".join(told)

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            tuple(sorted({*self.added, *other.added})),
            tuple(sorted({*self.removed, *other.removed})),
            tuple(sorted({*self.changed, *other.changed})),
            tuple(sorted({*self.code, *other.code})),
        )


NOTHING = Changes()


def since(paths: Sequence[str], moment: float, cancelled: Callable[[], bool] = lambda: False) -> Changes:
    """Files that were written or replaced after ``moment`` (seconds since the epoch), and folders that lost a file.

    A copy may keep its old modification time, so the time of the last change of the inode counts too. A folder that
    changed, with no new file in it, has lost one.

    Raises:
        FileNotFoundError: a path that does not exist.
    """
    changed: list[str] = []
    folders: list[str] = []
    for path, about in _walk(paths, cancelled):
        if stat.S_ISDIR(about.st_mode):
            folders += [path] * (about.st_mtime > moment)
        elif max(about.st_mtime, about.st_ctime) > moment:
            changed.append(path)
    explained = {os.path.dirname(path) for path in (*changed, *folders)}
    gone = [os.path.join(path, GONE) for path in folders if path not in explained]
    return Changes(removed=tuple(sorted(gone)), changed=tuple(sorted(changed)))


def of_notes(notes: Sequence[Note]) -> Changes:
    """What has changed since each cache of a session was filled: its files until now, its code until its last use."""
    first: dict[object, Note] = {}
    found = NOTHING
    for note in sorted(notes, key=lambda one: one.time):
        begun = first.setdefault(note.same, note)
        code = server_cache.changed_functions(begun.code, note.code)
        found += Changes(code=tuple(code))
    for note in first.values():
        then = files.parse(note.listing)
        changed = files.compare(then, files.list_files(note.sources))
        found += Changes(changed.added, changed.removed, changed.changed)
    return found


def notes_of(runs_dir: Path, session: int) -> list[Note]:
    """The pipelines of a session that trainings under ``mswb run`` have noted, the oldest first."""
    return server_cache.notes(str(runs_dir), session)


def _walk(paths: Sequence[str], cancelled: Callable[[], bool]) -> Iterator[tuple[str, os.stat_result]]:
    """Everything at and below some paths; links below them are not followed."""
    stack = [os.path.abspath(path) for path in paths]
    for path in stack:
        os.stat(path)
    roots = set(stack)
    while stack and not cancelled():
        path = stack.pop()
        try:
            about = os.stat(path, follow_symlinks=path in roots)
        except OSError:  # it has gone meanwhile
            continue
        yield path, about
        if stat.S_ISDIR(about.st_mode):
            try:
                stack += [os.path.join(path, name) for name in os.listdir(path)]
            except OSError:
                continue


def _some(paths: Sequence[str]) -> str:
    names = ", ".join(_short(path) for path in paths[:3])
    return f"{names}, …" if len(paths) > 3 else names


def _short(path: str) -> str:
    folder, name = os.path.split(path)
    return f"{os.path.basename(folder)}/{name}" if name == GONE else name
