"""How a thing gets into a trash: by renames relative to open folders, checked before and after.

What was swapped in between a check and a rename goes back at once; whatever fails leaves the thing in its place.
"""

from __future__ import annotations

import errno
import os
import shutil
import time

from mswb.cache.locate import cache_root
from mswb.cache.trash import journal
from mswb.cache.trash.journal import new_operation
from mswb.cache.trash.store import DATA, TrashItem, is_ours, own_trash, remember, write
from mswb.files.mounts import mount_points
from mswb.files.moves import exchange, folder_at, identity_at, movable, rename_new
from mswb.files.tree import held
from mswb.plan import path_identity

_TRIES = 8


class Refused(Exception):
    """Something was not moved or restored; the text says why, and nothing has changed."""


def is_still(path: str, identity: str) -> bool:
    """Whether what is at a path has this identity (:func:`mswb.plan.path_identity`)."""
    try:
        return path_identity(path) == identity
    except OSError:
        return False


def take(
    path: str, trash_root: str | None, why: str, operation: str | None, identity: str | None, new: str | None
) -> TrashItem:
    """Move ``path`` into a trash, and ``new``, if there is one, into its place.

    The arguments are those of :func:`mswb.cache.trash.moves.move`; both paths must be real ones.

    Raises:
        Refused, OSError: nothing has changed.
    """
    item = _planned(path, trash_root, why, journal.current() or operation or new_operation(), new)
    if identity is not None and item.identity != identity:
        raise Refused("another thing has taken its place")
    _refuse_unmovable(path, item)
    _enter(item)
    try:
        with folder_at(os.path.dirname(path)) as home, folder_at(item.folder) as trash:
            name = os.path.basename(path)
            if new is None:
                _rename_checked(home, name, trash, item.identity)
            else:
                _swap(home, name, trash, item.identity, new)
    except BaseException:
        if not os.path.lexists(item.data):
            _forget(item)
        raise
    journal.note(path, item.id)
    return item


def _planned(path: str, trash_root: str | None, why: str, operation: str, new: str | None) -> TrashItem:
    """The record of a move, by what is at ``path`` now."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        raise Refused("it is gone already") from None
    root = _root_for(path, found.st_dev, trash_root)
    content = held(path)
    return TrashItem(
        new_operation(),
        operation,
        root,
        os.path.relpath(path, root),
        own_trash(root),
        why,
        f"{found.st_ino}:{found.st_dev}",
        content.size_bytes,
        content.disk_bytes,
        content.files,
        time.time(),
        path_identity(new) if new is not None else "",
    )


def _root_for(path: str, device: int, wanted: str | None) -> str:
    """The folder whose trash takes ``path``: above it, and on its file system, so that a rename is all there is."""
    for root in (wanted, cache_root(os.environ)):
        if root is None:
            continue
        root = os.path.realpath(root)
        if path.startswith(root.rstrip("/") + "/") and _device(root) == device:
            return root
    return os.path.dirname(path)


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1


def _refuse_unmovable(path: str, item: TrashItem) -> None:
    trash = os.path.join(item.root, item.trash)
    if trash == path or trash.startswith(path + "/"):
        raise Refused("the trash lies in it")
    if os.path.ismount(path) or _has_mount(path):
        raise Refused("another file system is mounted in it")
    if item.replaced_by and int(item.replaced_by.partition(":")[2]) != int(item.identity.partition(":")[2]):
        raise Refused("what replaces it lies on another file system")


def _has_mount(path: str) -> bool:
    return any(point.startswith(path + "/") for point in mount_points())


def _enter(item: TrashItem) -> None:
    """Make the item's folder with its record; the thing itself is still in its place."""
    remember(item.root)
    try:
        _make_folder(item)
        write(item)
    except OSError:
        _forget(item)
        raise


def _make_folder(item: TrashItem) -> None:
    trash = os.path.join(item.root, item.trash)
    for _ in range(_TRIES):
        try:
            os.mkdir(trash, 0o700)
        except FileExistsError:
            if not is_ours(trash):
                raise Refused(f"{trash} is no folder that only you can write into") from None
        try:
            os.mkdir(item.folder, 0o700)
            return
        except FileNotFoundError:  # another process has just taken the empty trash away
            continue
    raise Refused(f"{trash} goes as fast as it is made")


def _forget(item: TrashItem) -> None:
    shutil.rmtree(item.folder, ignore_errors=True)
    try:
        os.rmdir(os.path.join(item.root, item.trash))
    except OSError:
        pass


def _rename_checked(home: int, name: str, trash: int, identity: str) -> None:
    """Rename, and look again: what was swapped in between the check and the rename goes back at once."""
    try:
        if identity_at(home, name) != identity:
            raise Refused("another thing has taken its place")
        with movable(home, name):
            rename_new(home, name, trash, DATA)
    except FileNotFoundError:
        raise Refused("it is gone already") from None
    except OSError as problem:
        if problem.errno == errno.EXDEV:
            raise Refused("it can't be renamed into the trash: another mount lies between") from None
        raise
    if identity_at(trash, DATA) != identity:
        rename_new(trash, DATA, home, name)
        raise Refused("another thing has taken its place")


def _swap(home: int, name: str, trash: int, identity: str, new: str) -> None:
    """``new`` in the place of ``name``, which goes to the trash."""
    with folder_at(os.path.dirname(new)) as source:
        base = os.path.basename(new)
        if identity_at(home, name) != identity:
            raise Refused("another thing has taken its place")
        if not exchange(source, base, home, name):
            _rename_checked(home, name, trash, identity)
            try:
                rename_new(source, base, home, name)
            except BaseException:
                rename_new(trash, DATA, home, name)
                raise
            return
        try:
            _rename_checked(source, base, trash, identity)
        except BaseException:
            exchange(source, base, home, name)
            raise
