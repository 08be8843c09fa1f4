"""What /proc says about processes: identity, descent, environment, caught signals, exit code of a zombie.

Everything here only reads, and answers None or an empty value for a process that is gone or not ours: between any two
reads it may end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from mswb.jobs.spec import MSWB_RUN_ID
from mswb.signals import ProcessId, is_over, read_stat

ENVIRON_BYTES = 4 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table. ``over``: it has ended and waits for its parent to take the exit code."""

    id: ProcessId
    parent: int
    group: int
    session: int
    name: str
    over: bool

    @property
    def pid(self) -> int:
        return self.id.pid


Table = Mapping[int, Process]


def look(pid: int | str) -> Process | None:
    """The process that has this pid now."""
    stat = read_stat(pid)
    if stat is None:
        return None
    name, fields = stat
    return Process(
        id=ProcessId(int(pid), int(fields[19])),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        name=name,
        over=is_over(fields),
    )


def scan() -> dict[int, Process]:
    """Every process of this pid namespace, by pid (20-40 microseconds each)."""
    found = (look(name) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def descendants(table: Table, roots: Iterable[int]) -> set[int]:
    """The pids below ``roots``, which are not included themselves."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    stack = list(roots)
    while stack:
        below = [pid for pid in children.get(stack.pop(), ()) if pid not in found]
        found.update(below)
        stack.extend(below)
    return found


def ancestors(table: Table, pid: int) -> set[int]:
    """The pids above ``pid``, and itself."""
    found: set[int] = set()
    while pid in table and pid not in found:
        found.add(pid)
        pid = table[pid].parent
    return found


def environ(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty when it is gone, a zombie, or another user's."""
    raw = _read(f"/proc/{pid}/environ", ENVIRON_BYTES)
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if b"=" in item)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def marked(table: Table, run_id: str) -> set[int]:
    """The pids whose environment names this run, whatever their parent or session."""
    needle = b"\0" + f"{MSWB_RUN_ID}={run_id}".encode() + b"\0"
    return {pid for pid in table if needle in b"\0" + _read(f"/proc/{pid}/environ", ENVIRON_BYTES) + b"\0"}


def arguments(pid: int) -> tuple[str, ...]:
    """The command line of a process; empty for a zombie."""
    raw = _read(f"/proc/{pid}/cmdline", 1 << 20)
    return tuple(os.fsdecode(item) for item in raw.rstrip(b"\0").split(b"\0")) if raw else ()


def stdout_path(pid: int) -> str | None:
    """The file that standard output goes to, as the kernel names it; no disk is touched for it."""
    try:
        target = os.readlink(f"/proc/{pid}/fd/1")
    except OSError:
        return None
    return target.removesuffix(" (deleted)") if target.startswith("/") else None


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for this signal (SigCgt), so that sending it does not end the process."""
    for line in _read(f"/proc/{pid}/status", 1 << 16).splitlines():
        if line.startswith(b"SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def peak_memory(pid: int) -> int | None:
    """The most resident memory a process had so far, in bytes (VmHWM)."""
    for line in _read(f"/proc/{pid}/status", 1 << 16).splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


def zombie_code(process: ProcessId) -> int | None:
    """The exit code (negative: the signal) of a process that ended and was not reaped yet; field 52 of its stat.

    None when it still runs, was reaped, or the kernel hides the code from us.
    """
    stat = read_stat(process.pid)
    if stat is None or int(stat[1][19]) != process.start_time or not is_over(stat[1]) or len(stat[1]) < 50:
        return None
    return os.waitstatus_to_exitcode(int(stat[1][49]))


def started_at(process: ProcessId) -> float:
    """When a process started, in seconds since the epoch."""
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start_time / _TICKS
    return time.time() - max(0.0, age)


def owner(pid: int) -> int | None:
    """The user id a process runs as; None when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


@lru_cache(maxsize=256)
def user_name(uid: int) -> str:
    """The name of a user; the number where the host does not know it."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def pid_namespace() -> str:
    """Which pid namespace we are in; two containers on one host share the host name but not this."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(path: str, limit: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return _read_all(descriptor, limit)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 16))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
