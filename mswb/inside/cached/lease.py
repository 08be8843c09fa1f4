"""One writer for one cache: a lease file that names its owner, and a lock of the kernel on it; both must agree.

The lease ``LOCK`` is made whole under another name and linked to its own (link() is atomic on NFS too, where O_EXCL
once was not), so nobody ever reads half of one. A lease whose owner is provably dead is taken over; one of another host
never is, unless a person forces it.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from typing import Dict, NamedTuple, Optional, Set

from .filesystem import mount_of

LOCK = "LOCK"
BEAT_S = 5.0
"""Seconds between two heartbeats: the owner sets the lease's modification time."""
FRESH_S = 60.0
"""A heartbeat older than this is no sign of life, which is not yet a proof of death."""


class Owner(NamedTuple):
    """Who holds a lease. ``start_time`` is in clock ticks since boot; ``space`` names the PID namespace."""

    host: str
    pid: int
    boot_id: str
    start_time: int
    space: str
    token: str
    created: float

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class LeaseHeld(Exception):
    """Another process has the lease. ``owner`` is None where the lease can't be read; ``fresh``: its heart beats."""

    def __init__(self, owner: Optional[Owner], fresh: bool) -> None:
        super().__init__(f"{owner or 'an unknown process'} is writing it")
        self.owner = owner
        self.fresh = fresh


def myself() -> Owner:
    """This process as an owner, with a new token."""
    pid = os.getpid()
    token = secrets.token_hex(8)
    return Owner(socket.gethostname(), pid, _boot_id(), start_time(pid) or 0, _space(), token, time.time())


def start_time(pid: int) -> Optional[int]:
    """When a process started, in clock ticks since boot (field 22 of /proc/PID/stat); None: there is no such one."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def provably_dead(owner: Owner, remote: bool) -> bool:
    """Whether the owner can't be alive: it ran here, and its pid is gone or is another process now.

    Args:
        remote: whether other hosts may write there. If not, an owner from before the last boot is dead too; if so, it
            may be another host of the same name.
    """
    if owner.host != socket.gethostname():
        return False
    if owner.boot_id != _boot_id():
        return not remote
    return owner.space == _space() and start_time(owner.pid) != owner.start_time


class Lease:
    """The right to write into one folder, held by this process until :meth:`release`. Made by :func:`take`."""

    def __init__(self, folder: str, descriptor: int, owner: Owner) -> None:
        self.folder = folder
        self.owner = owner
        self._descriptor = descriptor
        self._identity = _identity(os.fstat(descriptor))
        self._stop = threading.Event()
        _held.add(self)
        self._beating = threading.Thread(target=self._beat, name="mswb-lease", daemon=True)
        self._beating.start()

    @property
    def path(self) -> str:
        return os.path.join(self.folder, LOCK)

    def valid(self) -> bool:
        """Whether it is still ours: nobody has forced it away, and this is no forked child."""
        if self._descriptor < 0 or os.getpid() != self.owner.pid:
            return False
        try:
            return _identity(os.stat(self.path)) == self._identity
        except OSError:
            return False

    def release(self) -> None:
        """Give it up; what another process has put in its place stays."""
        if self._descriptor < 0:
            return
        self._stop.set()
        if self.valid():
            os.unlink(self.path)
        self.forget()

    def forget(self) -> None:
        """Close the lock without giving the lease up: what a forked child does, which must not keep it alive."""
        _held.discard(self)
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_S):
            descriptor = self._descriptor
            if descriptor < 0:
                return
            try:
                os.utime(descriptor)
            except OSError:
                return


_held: Set[Lease] = set()


def _forget_all() -> None:
    for lease in list(_held):
        lease.forget()


os.register_at_fork(after_in_child=_forget_all)


def take(folder: str, *, force: bool = False, locks: bool = True) -> Lease:
    """Take the lease of ``folder``, over from a dead owner if there is one.

    Args:
        force: take it from an owner on another host too, whose death can't be proved.
        locks: whether locks of the kernel work there (:func:`locks_work`); without them nothing is taken over.

    Raises:
        LeaseHeld: another process has it, or may have it.
        OSError: the folder can't be written.
    """
    path = os.path.join(folder, LOCK)
    owner = myself()
    own = os.path.join(folder, f".{LOCK}.{owner.token}")
    descriptor = os.open(own, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, json.dumps(owner._asdict()).encode())
        os.fsync(descriptor)
        if locks:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _put(own, path):
            _replace_dead(own, path, force, locks)
        return Lease(folder, descriptor, owner)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        try:
            os.unlink(own)
        except FileNotFoundError:
            pass


def holder(folder: str) -> Optional[LeaseHeld]:
    """Who holds the lease of ``folder`` now; None when nobody does."""
    path = os.path.join(folder, LOCK)
    try:
        with open(path, encoding="utf-8") as file:
            return _describe(file.read(4096), os.fstat(file.fileno()).st_mtime)
    except FileNotFoundError:
        return None
    except OSError:
        return LeaseHeld(None, False)


_tested: Dict[str, bool] = {}


def locks_work(folder: str) -> bool:
    """Whether a lock that this process holds keeps another process out there; found out once for a mount point."""
    point = mount_of(folder).point
    if point not in _tested:
        _tested[point] = _test_locks(folder)
    return _tested[point]


def _test_locks(folder: str) -> bool:
    path = os.path.join(folder, f".{LOCK}.test.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return not child_gets_lock(path)
    except OSError:
        return False
    finally:
        os.close(descriptor)
        os.unlink(path)


_TRY = """import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(75)
"""


def child_gets_lock(path: str) -> bool:
    """Whether a new process can lock the file; the answer must be no while this one holds the lock."""
    return subprocess.run([sys.executable, "-I", "-S", "-c", _TRY, path], stderr=subprocess.DEVNULL).returncode != 75


def _put(own: str, path: str) -> bool:
    """Give the finished lease its name; False when there is one already."""
    try:
        os.link(own, path)
        return True
    except FileExistsError:
        return False
    except OSError:
        # The answer of a server may be lost while the link was made; a file system without links goes by O_EXCL.
        if os.stat(own).st_nlink == 2:
            return True
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    os.rename(own, path)
    return True


def _replace_dead(own: str, path: str, force: bool, locks: bool) -> None:
    """Put the finished lease in the place of one whose owner is dead."""
    try:
        old = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        if _put(own, path):
            return
        raise LeaseHeld(None, True) from None
    try:
        held = _describe(os.pread(old, 4096, 0).decode("utf-8", "replace"), os.fstat(old).st_mtime)
        dead = held.owner is not None and provably_dead(held.owner, mount_of(path).remote)
        if not (force or (dead and locks)):
            raise held
        try:
            # Of several that find it dead only one gets its lock, and the others then see that it was replaced.
            if locks:
                fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise held from None
        if _identity(os.fstat(old)) != _identity(os.stat(path)):
            raise LeaseHeld(None, True)
        os.rename(own, path)
    finally:
        os.close(old)


def _describe(text: str, beaten: float) -> LeaseHeld:
    fresh = time.time() - beaten < FRESH_S
    try:
        owner = Owner(**json.loads(text))
        ok = isinstance(owner.pid, int) and isinstance(owner.start_time, int) and isinstance(owner.host, str)
    except (ValueError, TypeError):
        return LeaseHeld(None, fresh)
    return LeaseHeld(owner if ok else None, fresh)


def _identity(found: os.stat_result) -> "tuple[int, int]":
    return found.st_dev, found.st_ino


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
