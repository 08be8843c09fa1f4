"""Whether data changed after rows of it were cached: a server keeps serving the old rows and says nothing.

Two ways to know. A folder named by a person is compared with the time at which the session was made. Under ``mswb run``
each cached pipeline notes its files beside the run (:mod:`mswb.inside.server_cache`), and these are compared exactly.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mswb.files.safety import open_regular
from mswb.findings import MswbError

RECORDS = "dataset-cache.jsonl"
"""Beside a run: one line for each cached pipeline that was started."""
MAX_RECORD_BYTES = 64 << 20
MAX_NAMED = 20
"""Files of each kind that are named; all are counted."""


@dataclass(frozen=True, slots=True)
class Use:
    """One cached pipeline as it was started in a training.

    Attributes:
        time: seconds since the epoch, before the first row was read.
        sources: files and folders that its leaves read.
        files: size in bytes and modification time in ns of each file below them, by path.
        code: a digest of the Python functions in it; None where one can't be told from another.
        whole: all files were noted, and not only the first ones of very many.
    """

    session: int
    port: int
    time: float
    run: str
    sources: tuple[str, ...]
    files: Mapping[str, tuple[int, int]]
    code: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between then and now, as paths."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return ", ".join(f"{len(paths)} {word} ({_some(paths)})" for word, paths in parts if paths) or "nothing changed"


def since(paths: Sequence[str], moment: float, cancelled: Callable[[], bool] = lambda: False) -> Changes:
    """Files that were written or replaced after ``moment`` (seconds since the epoch), and folders that lost a file.

    A copy may keep its old modification time, so the time of the last change of the inode counts too. A folder that
    changed, with no new file in it, has lost one: its name stands for the file in ``removed``.

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
    gone = [os.path.join(path, "…") for path in folders if path not in explained]
    return Changes(removed=tuple(sorted(gone)), changed=tuple(sorted(changed)))


def compare(use: Use, cancelled: Callable[[], bool] = lambda: False) -> Changes:
    """The files of a cached pipeline as they are now against those it was filled from."""
    now: dict[str, tuple[int, int]] = {}
    present = [path for path in use.sources if os.path.lexists(path)]
    for path, about in _walk(present, cancelled):
        if stat.S_ISREG(about.st_mode):
            now[path] = (about.st_size, about.st_mtime_ns)
    then = use.files
    added = () if not use.whole else tuple(sorted(now.keys() - then.keys()))
    return Changes(
        added,
        tuple(sorted(then.keys() - now.keys())),
        tuple(sorted(path for path, facts in then.items() if path in now and now[path] != facts)),
    )


def uses(runs_dir: Path) -> list[Use]:
    """Every cached pipeline that trainings under ``mswb run`` have noted, the oldest first."""
    try:
        names = sorted(os.listdir(runs_dir))
    except OSError:
        return []
    found = [use for name in names for use in read_uses(runs_dir / name / RECORDS, name)]
    return sorted(found, key=lambda use: use.time)


def read_uses(path: Path, run: str) -> list[Use]:
    """The notes of one run; lines that are cut or foreign are left out."""
    try:
        with open(open_regular(path), "rb") as file:
            lines = file.read(MAX_RECORD_BYTES).splitlines()
    except (MswbError, OSError):
        return []
    return [use for use in (_use(line, run) for line in lines) if use is not None]


def first_uses(found: Sequence[Use]) -> dict[tuple[int, int], Use]:
    """By port and session: the use that filled it, which is the first."""
    first: dict[tuple[int, int], Use] = {}
    for use in found:
        first.setdefault((use.port, use.session), use)
    return first


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


def _use(line: bytes, run: str) -> Use | None:
    try:
        raw: Any = json.loads(line)
        files = {str(path): (int(facts[0]), int(facts[1])) for path, facts in raw["files"].items()}
        sources = tuple(map(str, raw["sources"]))
        code = raw.get("code")
        return Use(
            int(raw["session"]),
            int(raw["port"]),
            float(raw["time"]),
            run,
            sources,
            files,
            str(code) if code else None,
            bool(raw.get("whole", True)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _some(paths: Sequence[str]) -> str:
    names = ", ".join(os.path.basename(path) for path in paths[:3])
    return f"{names}, …" if len(paths) > 3 else names
