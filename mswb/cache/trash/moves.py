"""Into the trash and back: what is cleaned or replaced is renamed on its own file system, and can come back.

:mod:`mswb.cache.trash.store` says where a trash is and what it holds. Nothing here follows a link, overwrites what has
come since, or deletes anything but what already lies in a trash.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence

from mswb.cache.trash import journal
from mswb.cache.trash.intake import Refused, is_still, take
from mswb.cache.trash.journal import new_operation
from mswb.cache.trash.store import DATA, DOOMED, NAME, RECORD, TrashItem, items, read
from mswb.files.moves import delete, folder_at, identity_at, make_folders, movable, real_place, rename_new
from mswb.files.tree import held
from mswb.plan import Action, Doer, Plan, path_identity

__all__ = [
    "TRASH_KINDS",
    "Refused",
    "doers",
    "empty",
    "empty_action",
    "empty_plan",
    "move",
    "new_operation",
    "purge",
    "put_in_place",
    "restore",
    "restore_action",
    "sweep",
    "trash_action",
]

_ENTERING_S = 300.0
"""Seconds after which a record without its thing is of a move that was killed; a rename takes milliseconds."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def move(
    path: str | os.PathLike[str],
    trash_root: str | None = None,
    why: str = "",
    *,
    operation: str | None = None,
    identity: str | None = None,
) -> TrashItem:
    """Move a file, link or folder into the trash.

    Args:
        trash_root: the folder whose trash takes it, when ``path`` lies in it on the same file system; otherwise (and
            by default) the cache root, or else the folder that holds ``path``.
        identity: what ``path`` must still be (:func:`mswb.plan.path_identity`).

    Raises:
        Refused: it is gone, or another thing by now, or it holds another file system or a trash.
        OSError: the disk or its permissions forbid it; the thing is where it was.
    """
    return take(real_place(path), trash_root, why, operation, identity, None)


def put_in_place(
    new: str | os.PathLike[str],
    path: str | os.PathLike[str],
    trash_root: str | None = None,
    why: str = "",
    *,
    operation: str | None = None,
    identity: str | None = None,
) -> TrashItem:
    """Put ``new``, a finished file or folder of the same file system, where ``path`` is, which goes to the trash.

    Both change places in one step where the file system can do that. Undo brings the old one back, and keeps the new
    one in the trash instead, as long as the new one was not replaced in turn.

    Raises:
        Refused, OSError: as :func:`move`; ``new`` stays where it is.
    """
    return take(real_place(path), trash_root, why, operation, identity, real_place(new))


def restore(item: TrashItem, displace: bool = False) -> str:
    """Bring a thing back to where it was; returns that path.

    Args:
        displace: whatever stands there now goes to the trash.

    Raises:
        Refused: something else has come there since, or the thing has left the trash.
        OSError: the disk or its permissions forbid it.
    """
    target = item.path
    if not os.path.lexists(item.data):
        raise Refused("it is not in the trash any more")
    make_folders(item.root, os.path.dirname(item.relative))
    if (item.replaced_by or displace) and os.path.lexists(target):
        return _change_back(item, path_identity(target) if displace else item.replaced_by)
    with folder_at(item.folder) as source, folder_at(os.path.dirname(target)) as home:
        if identity_at(source, DATA) != item.identity:
            raise Refused("what lies in the trash under its name is something else")
        try:
            with movable(source, DATA):
                rename_new(source, DATA, home, os.path.basename(target))
        except FileExistsError:
            raise Refused(f"something else has come to {target} since") from None
        os.unlink(RECORD, dir_fd=source)
    os.rmdir(item.folder)
    journal.made(target)
    return target


def empty(item: TrashItem, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Delete an item for good. What an interruption leaves can't be restored, and the next emptying takes it.

    Raises:
        OSError: some of it could not be deleted.
    """
    doomed = item.folder + DOOMED
    os.rename(item.folder, doomed)
    _erase(doomed, cancelled)


def purge(path: str | os.PathLike[str], trash_root: str | None = None, why: str = "", *, identity: str) -> None:
    """Delete a file, link or folder for good, by way of the trash: what goes is what was meant, or nothing.

    Raises:
        Refused, OSError: as :func:`move`, and when some of it could not be deleted.
    """
    try:
        empty(move(path, trash_root, why, identity=identity))
    except OSError as problem:
        if problem.errno not in _FULL:
            raise
        _purge_in_place(real_place(path), identity)


def _purge_in_place(path: str, identity: str) -> None:
    """Delete on a disk so full that nothing can be written, not even the record of a trash."""
    home, name = os.path.split(path)
    doomed = f"{NAME}-{os.urandom(4).hex()}{DOOMED}"
    with folder_at(home) as folder:
        if identity_at(folder, name) != identity:
            raise Refused("another thing has taken its place")
        rename_new(folder, name, folder, doomed)
        if identity_at(folder, doomed) != identity:
            rename_new(folder, doomed, folder, name)
            raise Refused("another thing has taken its place")
    delete(os.path.join(home, doomed))


def sweep(trash: str, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Delete what interrupted emptyings and moves have left in a trash, and the trash itself when nothing is in it."""
    now = time.time()
    for name in os.listdir(trash):
        folder = os.path.join(trash, name)
        if name.endswith(DOOMED) or _is_abandoned(folder, now):
            _erase(folder, cancelled)
    try:
        os.rmdir(trash)
    except OSError:
        pass


def _is_abandoned(folder: str, now: float) -> bool:
    """Whether a move ended between its record and its rename: the thing itself is where it was."""
    try:
        return set(os.listdir(folder)) <= {RECORD} and os.lstat(folder).st_mtime < now - _ENTERING_S
    except OSError:
        return False


def trash_action(
    path: str | os.PathLike[str], detail: str = "", *, freed: int | None = None, for_good: bool = False
) -> Action:
    """The action that moves a path to the trash.

    Args:
        for_good: it is deleted at once instead.
        freed: the bytes that are freed once the trash is emptied; measured when not given.

    Raises:
        OSError: there is no such path.
    """
    place = real_place(path)
    kind = "delete" if for_good else "trash"
    return Action(kind, place, path_identity(place), held(place).disk_bytes if freed is None else freed, detail)


def empty_action(item: TrashItem) -> Action:
    """The action that deletes an item of a trash for good."""
    return Action("empty-trash", item.folder, path_identity(item.folder), item.disk_bytes, f"{item.path}: {item.why}")


def empty_plan(found: Sequence[TrashItem]) -> Plan:
    """The plan that empties these items."""
    return Plan(tuple(empty_action(item) for item in found))


def restore_action(item: TrashItem) -> Action:
    """The action that brings an item back; its target is the place where it was."""
    return Action("restore", item.path, path_identity(item.data), 0, f"from the trash, {item.id}")


def doers(
    why: str = "",
    trash_root: str | None = None,
    refuse: Callable[[str], str] | None = None,
    known_items: Sequence[TrashItem] | None = None,
) -> dict[str, Doer]:
    """What does the actions of this module, as one operation that one undo brings back.

    Args:
        trash_root: as in :func:`move`.
        refuse: asked with each path right before it is moved; a text is the reason why it must stay.
        known_items: what may be restored, where that was read before.
    """
    operation = new_operation()

    def into(action: Action) -> str:
        reason = refuse(action.target) if refuse else ""
        return reason or _told(
            lambda: move(action.target, trash_root, why, operation=operation, identity=action.identity)
        )

    def destroy(action: Action) -> str:
        reason = refuse(action.target) if refuse else ""
        return reason or _told(lambda: purge(action.target, trash_root, why, identity=action.identity))

    def bring(action: Action) -> str:
        found = items() if known_items is None else known_items
        item = next((one for one in found if one.path == action.target and is_still(one.data, action.identity)), None)
        return "it is not in the trash any more" if item is None else _told(lambda: restore(item))

    return {"trash": into, "delete": destroy, "empty-trash": _do_empty, "restore": bring}


def _do_empty(action: Action) -> str:
    return _told(lambda: empty(_checked(action, action.target)))


def _alone(action: Action) -> str:
    return doers()[action.kind](action)


TRASH_KINDS: Mapping[str, Doer] = dict.fromkeys(("trash", "delete", "empty-trash", "restore"), _alone)
"""What does these actions one by one; :func:`doers` makes one operation of a plan."""


def _told(work: Callable[[], object]) -> str:
    try:
        work()
    except Refused as problem:
        return str(problem)
    except OSError as problem:
        if problem.errno not in _FULL:
            raise
        return "the disk is too full for the record of a trash; mswb cache clean --purge deletes at once"
    return ""


def _checked(action: Action, folder: str) -> TrashItem:
    item = read(folder)
    if item is None or not is_still(folder, action.identity):
        raise Refused("it is not in the trash any more")
    return item


def _change_back(item: TrashItem, standing: str) -> str:
    """Let an item and what stands in its place, if that is still this one, change places."""
    if not is_still(item.path, standing):
        raise Refused(f"something else has come to {item.path} since")
    if not is_still(item.data, item.identity):
        raise Refused("what lies in the trash under its name is something else")
    put_in_place(item.data, item.path, item.root, f"undo of: {item.why}", identity=standing)
    shutil.rmtree(item.folder)
    return item.path


def _erase(folder: str, cancelled: Callable[[], bool]) -> None:
    for name in os.listdir(folder):
        if not delete(os.path.join(folder, name), cancelled):
            return
    os.rmdir(folder)
