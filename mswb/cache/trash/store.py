"""The trashes of this user: where they are, and what lies in them.

A trash is the folder ``.mswb-trash`` (0700) in a root; where that belongs to another user, ``.mswb-trash-UID``. Each
thing in it is a folder ``<id>/`` with ``item.json``, written before the move, and ``data``, the thing itself. Paths are
kept relative to the root, and nothing is ever restored outside it: a trash that came with somebody's archive can't put
files elsewhere. Only trashes that were registered in the state folder, and that of the cache root, are looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mswb.cache.locate import cache_root
from mswb.files.safety import make_private_dir, write_atomic
from mswb.findings import MswbError
from mswb.settings import load_settings

NAME = ".mswb-trash"
KEEP_DAYS = 7
"""Days after which a clean empties what is in the trash."""
DAY_S = 86400.0
DATA = "data"
RECORD = "item.json"
DOOMED = ".gone"
"""Ends the name of an item that is being deleted."""
_MAX_RECORD = 1 << 16
_MAX_TRASHES = 1000
_MAX_PATH = 4096
_FIELDS: Mapping[str, type] = {
    **dict.fromkeys(("operation", "relative", "why", "identity", "replaced_by"), str),
    **dict.fromkeys(("size_bytes", "disk_bytes", "files"), int),
    "moved": float,
}
"""What a record holds."""


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One thing in a trash.

    Attributes:
        id: unique; begins with the time, so that ids sort by it.
        operation: shared by what went in one command, which one undo brings back.
        root: the folder that the trash lies in.
        relative: where the thing was, below the root.
        trash: the base name of the trash in the root.
        why: the command and reason, for people.
        identity: ``inode:device`` of the thing.
        size_bytes, disk_bytes: what its files hold and occupy.
        files: how many regular files it is.
        moved: when, in seconds since the epoch.
        replaced_by: ``inode:device`` of what was put in its place; "" where it just went.
    """

    id: str
    operation: str
    root: str
    relative: str
    trash: str
    why: str
    identity: str
    size_bytes: int = 0
    disk_bytes: int = 0
    files: int = 0
    moved: float = 0.0
    replaced_by: str = ""

    @property
    def path(self) -> str:
        """Where it was, and will be again."""
        return os.path.join(self.root, self.relative)

    @property
    def folder(self) -> str:
        """Its folder in the trash."""
        return os.path.join(self.root, self.trash, self.id)

    @property
    def data(self) -> str:
        """Where it lies now."""
        return os.path.join(self.folder, DATA)


def items(trashes: Sequence[str] | None = None) -> list[TrashItem]:
    """What lies in these trashes (by default in all that are known), the newest first."""
    found = [item for trash in (known() if trashes is None else trashes) for item in _items(trash)]
    return sorted(found, key=lambda item: (item.moved, item.id), reverse=True)


def last_operation(found: list[TrashItem], wanted: str = "") -> list[TrashItem]:
    """The items of the newest operation, or of the one (or the single item) that ``wanted`` names."""
    if wanted:
        return [item for item in found if wanted in (item.operation, item.id)]
    return [item for item in found if item.operation == found[0].operation]


def known(environ: Mapping[str, str] | None = None) -> list[str]:
    """The trashes that exist: that of the cache root, and every one registered when it was first used."""
    roots = [cache_root(os.environ if environ is None else environ), *(root for _, root in _registered(environ))]
    return [trash for root in dict.fromkeys(roots) for trash in trashes_in(root)]


def expired(found: list[TrashItem], days: float = KEEP_DAYS, now: float | None = None) -> list[TrashItem]:
    """The items that have been in the trash for more than ``days`` days."""
    limit = (time.time() if now is None else now) - days * DAY_S
    return [item for item in found if item.moved < limit]


def own_trash(root: str) -> str:
    """The base name of the trash that this user has, or will have, in ``root``."""
    path = os.path.join(root, NAME)
    return NAME if not os.path.lexists(path) or is_ours(path) else f"{NAME}-{os.geteuid()}"


def is_ours(path: str) -> bool:
    """Whether it is a real folder of this user that no other user can write into."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def read(folder: str) -> TrashItem | None:
    """The item in a folder of a trash; None when its record is missing or damaged."""
    trash, name = os.path.split(folder)
    root, base = os.path.split(trash)
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            record: Any = json.loads(file.read(_MAX_RECORD))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or any(type(record.get(key)) is not kind for key, kind in _FIELDS.items()):
        return None
    if {"", ".", ".."} & set(record["relative"].split("/")):
        return None
    return TrashItem(id=name, root=root, trash=base, **{key: record[key] for key in _FIELDS})


def write(item: TrashItem) -> None:
    """Write the record of an item into its folder, which is new: half a record is none.

    Raises:
        OSError: it can't be written, such as on a full disk.
    """
    record = {key: value for key, value in asdict(item).items() if key in _FIELDS}
    descriptor = os.open(os.path.join(item.folder, RECORD), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(record).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def remember(root: str) -> None:
    """Register a root, so that undo finds its trash; without a state folder the trash just has to be named."""
    if root == os.path.realpath(cache_root(os.environ)):
        return
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
    try:
        folder = _register()
        if not (folder / name).exists():
            write_atomic(make_private_dir(folder) / name, os.fsencode(root))
    except MswbError:
        pass


def forget_empty() -> None:
    """Drop from the register the roots that have no trash any more; a root that is gone may be on a disk that is."""
    register = _register()
    for name, root in _registered():
        if os.path.isdir(root) and not trashes_in(root):
            (register / name).unlink(missing_ok=True)


def trashes_in(root: str) -> list[str]:
    """The trashes of this user that exist in a folder."""
    names = (NAME, f"{NAME}-{os.geteuid()}")
    return [path for path in (os.path.join(os.path.realpath(root), name) for name in names) if is_ours(path)]


def _items(trash: str) -> Iterator[TrashItem]:
    try:
        names = os.listdir(trash)
    except OSError:
        return
    for name in names:
        item = None if name.endswith(DOOMED) else read(os.path.join(trash, name))
        if item is not None and os.path.lexists(item.data):
            yield item


def _registered(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """The names in the register, and the root that each stands for."""
    register = _register(environ)
    try:
        names = sorted(os.listdir(register))[:_MAX_TRASHES]
    except OSError:
        return []
    found = []
    for name in names:
        try:
            found.append((name, os.fsdecode((register / name).read_bytes()[:_MAX_PATH])))
        except OSError:
            continue
    return found


def _register(environ: Mapping[str, str] | None = None) -> Path:
    return load_settings(environ).state_dir / "trashes"
