"""The register of operations: what each command took, replaced and made, so that one undo takes all of it back.

One file of JSON lines for each operation, in the state folder: a head, then one line for each step, written right after
the step. Without a state folder an operation is what its items in the trash tell, which lacks what was only made.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mswb.cache.trash.store import TrashItem
from mswb.files.safety import make_private_dir
from mswb.findings import MswbError
from mswb.inside.cached.lease import LOCK
from mswb.settings import load_settings

_READERS = frozenset({LOCK, "stats.json"})
"""What reading a cache changes in its folder."""
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_MAX_BYTES = 64 << 20
_MAX_OPERATIONS = 1000
_STEP = ("path", "item", "left")


@dataclass(frozen=True, slots=True)
class Step:
    """One change.

    Attributes:
        path: where.
        item: the id of what went from there to a trash; "" where nothing was.
        left: what stands there since, by :func:`stamp`; "" for nothing.
    """

    path: str
    item: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """What one command did.

    Attributes:
        id: as items in the trash name it.
        why: the command, for people.
        when: in seconds since the epoch.
        undoes: the operation that it took back; "" where it is no undo.
        steps: those that were not taken back yet, in their order.
    """

    id: str
    why: str
    when: float
    undoes: str = ""
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class _Open:
    """An operation that goes on; its file comes with its first step."""

    id: str
    why: str
    undoes: str
    begun: bool = False


_current: ContextVar[_Open | None] = ContextVar("operation", default=None)


def new_operation() -> str:
    """An id under which several things go together."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(3).hex()}"


@contextmanager
def operation(why: str, undoes: str = "") -> Iterator[str]:
    """All that is moved, replaced and made inside is one operation; gives its id."""
    opened = _Open(new_operation(), why, undoes)
    token = _current.set(opened)
    try:
        yield opened.id
    finally:
        _current.reset(token)


def current() -> str:
    """The id of the operation that goes on; "" outside of any."""
    opened = _current.get()
    return opened.id if opened is not None else ""


def made(path: str) -> None:
    """Note a file or folder that was made where nothing was."""
    note(path, "")


def note(path: str, item: str) -> None:
    """Note a step that was just done: ``item`` went from ``path`` to the trash; what stands there now is looked at."""
    opened = _current.get()
    if opened is None:
        return
    lines: list[dict[str, Any]] = []
    if not opened.begun:
        lines.append({"why": opened.why, "when": time.time(), "undoes": opened.undoes})
    opened.begun = _append(opened.id, [*lines, asdict(Step(path, item, stamp(path)))]) or opened.begun


def taken_back(operation_id: str, step: Step) -> None:
    """Note that a step of an operation is undone."""
    _append(operation_id, [{"back": asdict(step)}])


def operations(items: Sequence[TrashItem]) -> list[Operation]:
    """The operations of which something can still be taken back or was not yet, the newest first.

    Args:
        items: what lies in the trashes that are known.
    """
    found = {one.id: one for one in map(_read, _names()) if one is not None}
    for item in sorted(items, key=lambda one: (one.moved, one.id)):
        known = found.get(item.operation) or Operation(item.operation, item.why, item.moved)
        if all(step.item != item.id for step in known.steps):
            known = replace(known, steps=(*known.steps, Step(item.path, item.id, item.replaced_by)))
        found[item.operation] = known
    return sorted((one for one in found.values() if one.steps), key=lambda one: (one.when, one.id), reverse=True)


def forget(items: Sequence[TrashItem], before: float) -> None:
    """Drop operations from before a time of which nothing lies in a trash any more."""
    alive = {item.operation for item in items}
    for name in _names():
        one = _read(name)
        if name not in alive and (one is None or not one.steps or one.when < before):
            (_folder() / name).unlink(missing_ok=True)


def stamp(path: str) -> str:
    """What stands at a path, so that a later change of it shows: identity, sizes, times; "" for nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    identity = f"{found.st_ino}:{found.st_dev}"
    if stat.S_ISDIR(found.st_mode):
        return f"{identity} {_tree(path)}"
    return f"{identity} {found.st_size} {found.st_mtime_ns}"


def is_left(step: Step) -> bool:
    """Whether at the place of a step stands what the step has left there."""
    now = stamp(step.path)
    return now == step.left or (" " not in step.left and step.left != "" and now.startswith(step.left + " "))


def _tree(path: str) -> str:
    """The files of a folder with their sizes and times, but for those that mere reading changes."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted({*files, *folders} - _READERS):
            try:
                found = os.lstat(os.path.join(folder, name))
            except OSError:
                continue
            inner = () if stat.S_ISDIR(found.st_mode) else (found.st_size, found.st_mtime_ns)
            digest.update(repr((os.path.relpath(folder, path), name, inner)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:32]


def _append(name: str, lines: Sequence[dict[str, Any]]) -> bool:
    """Add lines to an operation's file; False where there is no room or no state folder."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode("ascii")
    try:
        folder = make_private_dir(_folder())
        descriptor = os.open(
            folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
    except (OSError, MswbError):
        return False
    return True


def _names() -> list[str]:
    """The newest operations' files."""
    try:
        return sorted(os.listdir(_folder()))[-_MAX_OPERATIONS:]
    except OSError:
        return []


def _read(name: str) -> Operation | None:
    """An operation by its file; lines that are damaged are left out, None where it has no head."""
    try:
        with open(_folder() / name, "rb") as file:
            lines = [_parsed(line) for line in file.read(_MAX_BYTES).splitlines()]
    except OSError:
        return None
    head = next((line for line in lines if isinstance(line.get("when"), float)), None)
    if head is None:
        return None
    steps = [step for step in map(_step, lines) if step is not None]
    for line in lines:
        done = _step(line["back"]) if isinstance(line.get("back"), dict) else None
        if done in steps:
            steps.remove(done)
    return Operation(name, str(head.get("why", "")), head["when"], str(head.get("undoes", "")), tuple(steps))


def _step(line: dict[str, Any]) -> Step | None:
    values = [line.get(key) for key in _STEP]
    return Step(*values) if all(isinstance(value, str) for value in values) else None  # type: ignore[arg-type]


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _folder() -> Path:
    return load_settings().state_dir / "operations"
