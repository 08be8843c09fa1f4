"""Renaming and deleting without ever following a link: every folder on the way is opened by its descriptor.

A path names something else as soon as somebody swaps a folder on it for a link. Here the folder that holds the target
is opened step by step from the root, each step refusing links, and the rename is made relative to its descriptor.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
_NOT_KNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def real_place(path: str | os.PathLike[str]) -> str:
    """``path`` with the links above it resolved; what it names itself may be a link and stays one."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


@contextmanager
def folder_at(path: str) -> Iterator[int]:
    """A descriptor of the folder at an absolute path, for names relative to it.

    Raises:
        OSError: a step of the path is missing, or a link (ENOTDIR or ELOOP).
    """
    descriptor = os.open("/", _STEP)
    try:
        for name in path.split("/"):
            if name:
                inner = os.open(name, _STEP, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def make_folders(root: str, relative: str) -> None:
    """Make the folders of ``relative`` below ``root`` that are missing; links on the way are refused, as above.

    Raises:
        OSError: a step can't be made, or is a link or a file.
    """
    path = root
    for name in (part for part in relative.split("/") if part):
        with folder_at(path) as descriptor:
            try:
                os.mkdir(name, dir_fd=descriptor)
            except FileExistsError:
                pass
        path = os.path.join(path, name)


def identity_at(folder: int, name: str) -> str:
    """``inode:device`` of a name in an open folder, links not followed; as :func:`mswb.plan.path_identity`."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return f"{found.st_ino}:{found.st_dev}"


def rename_new(source: int, name: str, target: int, new: str) -> None:
    """Rename within one file system; the new name must be free.

    Raises:
        FileExistsError: it is not.
        OSError: any other reason; nothing has changed.
    """
    try:
        _renameat2(source, name, target, new, RENAME_NOREPLACE)
        return
    except OSError as problem:
        if problem.errno not in _NOT_KNOWN:
            raise
    # File systems without the flag (NFS): a link, and an empty folder, can't be made over anything either.
    if stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        os.mkdir(new, dir_fd=target)
        try:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        except OSError:
            os.rmdir(new, dir_fd=target)
            raise
    else:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        os.unlink(name, dir_fd=source)


def exchange(source: int, name: str, target: int, other: str) -> bool:
    """Let two names of one file system change places in one step; False where the file system can't."""
    try:
        _renameat2(source, name, target, other, RENAME_EXCHANGE)
    except OSError as problem:
        if problem.errno not in _NOT_KNOWN:
            raise
        return False
    return True


@contextmanager
def movable(folder: int, name: str) -> Iterator[None]:
    """Give a folder of ours that forbids writing the right to be moved (its ``..`` changes), and take it away after.

    Only the permission is lent; who may do what in the folder above is left to the kernel.
    """
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    lend = stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_IWUSR and found.st_uid == os.geteuid()
    if not lend:
        yield
        return
    descriptor = os.open(name, _LIST, dir_fd=folder)
    mode = stat.S_IMODE(found.st_mode)
    try:
        os.fchmod(descriptor, mode | stat.S_IWUSR)
        try:
            yield
        finally:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def delete(path: str, cancelled: Callable[[], bool] = lambda: False) -> bool:
    """Delete what lies at ``path`` in a folder of ours alone: links as links, and read-only folders too.

    Folders are pulled up beside ``path`` one by one, so that neither depth nor names can exhaust descriptors or path
    lengths. Whatever an interruption leaves lies in the same folder. Returns False when ``cancelled()`` ended it.

    Raises:
        OSError: something could not be deleted.
    """
    above, first = os.path.split(path)
    with folder_at(above) as home:
        pending = [first]
        number, token = 0, os.urandom(4).hex()
        while pending:
            name = pending.pop()
            if not stat.S_ISDIR(os.stat(name, dir_fd=home, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=home)
                continue
            inner = _open_own(name, home)
            try:
                for entry in os.listdir(inner):
                    if cancelled():
                        return False
                    if not stat.S_ISDIR(os.stat(entry, dir_fd=inner, follow_symlinks=False).st_mode):
                        os.unlink(entry, dir_fd=inner)
                        continue
                    number += 1
                    lifted = f"{first}.{token}.{number}"
                    with movable(inner, entry):
                        os.rename(entry, lifted, src_dir_fd=inner, dst_dir_fd=home)
                    pending.append(lifted)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=home)
    return True


def _open_own(name: str, home: int) -> int:
    """Open a folder for listing and emptying; where its mode forbids that to its owner, the mode goes first."""
    found = os.stat(name, dir_fd=home, follow_symlinks=False)
    if found.st_mode & stat.S_IRWXU != stat.S_IRWXU and found.st_uid == os.geteuid():
        # The folder above is ours alone (0700): nobody can put a link here between the two calls.
        os.chmod(name, stat.S_IRWXU, dir_fd=home)
    return os.open(name, _LIST, dir_fd=home)


def _renameat2(source: int, name: str, target: int, new: str, flags: int) -> None:
    call = _function()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(source, os.fsencode(name), target, os.fsencode(new), flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), new if number == errno.EEXIST else name)


@lru_cache(maxsize=1)
def _function() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """renameat2(2) of the C library (glibc 2.28); None where it has none."""
    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if found is not None:
        found.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return found
