"""What /proc says of the processes beside their devices: who, how much, and which rank of which training.

Everything answers None for a process that is gone or not ours to look at.
"""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from mswb.env.devices.sample import ProcessCounters
from mswb.signals import is_over, read_stat

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of include/linux/proc_ns.h: here pids are the host's, as the driver counts them."""
_DEVICE_NODES = ("/dev/nvidia", "/dev/davinci", "/dev/dri/")
_RANK_OF_FILE = re.compile(r"_(\d{1,7})\.log( \(deleted\))?$")
_VARIABLES = 1 << 20
_NAMES = {
    "MS_ROLE", "RANK_ID", "MS_NODE_ID", "DEVICE_ID", "MSWB_RUN_ID", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
    "ASCEND_RT_VISIBLE_DEVICES",
}  # fmt: skip
"""The only variables that are kept of a process's environment."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of the process table. ``start`` in clock ticks since boot, ``cpu_s`` used so far."""

    pid: int
    parent: int
    session: int
    start: int
    name: str
    over: bool
    cpu_s: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Trainer:
    """A process of a MindSpore training: its part in it, and the variables that choose its device."""

    pid: int
    role: str | None
    rank: int | None
    run: str | None
    variables: Mapping[str, str]


def look(pid: int) -> Stat | None:
    """The process that has this pid now."""
    found = read_stat(pid)
    if found is None:
        return None
    name, fields = found
    return Stat(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        start=int(fields[19]),
        name=name,
        over=is_over(fields),
        cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS,
        rss_bytes=int(fields[21]) * _PAGE if len(fields) > 21 else 0,
    )


def scan() -> dict[int, Stat]:
    """Every process of this pid namespace (20-40 microseconds each)."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    found = (look(int(name)) for name in names if name.isdecimal())
    return {one.pid: one for one in found if one is not None}


class CpuShares:
    """Processor shares from one look to the next; 100 is one processor. The first look at a process gives None."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, float, float]] = {}

    def share(self, stat: Stat, now: float | None = None) -> float | None:
        """The share since the last call for the same process; ``now`` in seconds of a steady clock."""
        now = time.monotonic() if now is None else now
        before = self._last.get(stat.pid)
        self._last[stat.pid] = (stat.start, stat.cpu_s, now)
        if before is None or before[0] != stat.start or now <= before[2]:
            return None
        return max(0.0, 100.0 * (stat.cpu_s - before[1]) / (now - before[2]))

    def keep(self, pids: Collection[int]) -> None:
        """Forget all other processes."""
        self._last = {pid: entry for pid, entry in self._last.items() if pid in pids}


def trees(table: Mapping[int, Stat], roots: Iterable[int]) -> dict[int, list[Stat]]:
    """Each root that lives, with its descendants."""
    children: dict[int, list[int]] = {}
    for stat in table.values():
        children.setdefault(stat.parent, []).append(stat.pid)
    found: dict[int, list[Stat]] = {}
    for root in roots:
        stack, members = [root] if root in table else [], []
        while stack:
            pid = stack.pop()
            members.append(table[pid])
            stack += children.get(pid, ())
        found[root] = members
    return found


def counters(root: int, members: list[Stat], shares: Mapping[int, float | None]) -> ProcessCounters:
    """The sums over a tree; None where the root is gone, and for the share until a second look."""
    if not members:
        return ProcessCounters(root, None, None, 0)
    known = [share for one in members if (share := shares.get(one.pid)) is not None]
    return ProcessCounters(root, sum(known) if known else None, sum(one.rss_bytes for one in members), len(members))


def is_here(pid: int) -> bool:
    """Whether a pid that a driver told is one of this pid namespace.

    In a container the driver may tell the host's pids. Where we can see a process's files, it must hold a device.
    """
    if _namespace() == _FIRST_PID_NAMESPACE:
        return os.path.exists(f"/proc/{pid}")
    try:
        files = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    return any(_target(f"/proc/{pid}/fd/{name}").startswith(_DEVICE_NODES) for name in files)


def user_of(pid: int) -> str | None:
    """The name of the user a process runs as; the number where it has none."""
    try:
        return _user_name(os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return None


def command_of(pid: int) -> str | None:
    """The command line in one text; None for a zombie or a process that is gone."""
    raw = _read(f"/proc/{pid}/cmdline", 4096)
    return " ".join(os.fsdecode(raw).rstrip("\0").split("\0")) or None


def trainer_of(pid: int) -> Trainer | None:
    """The part of a process in a MindSpore training; None when it has none, or its environment is not ours to read.

    Source: launch of msrun 2.10. RANK_ID may be an inherited 0, so the log file that the rank writes to comes first.
    """
    pairs = (item.partition(b"=") for item in _read(f"/proc/{pid}/environ", _VARIABLES).split(b"\0"))
    variables = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if os.fsdecode(name) in _NAMES}
    role = {"MS_WORKER": "worker", "MS_SCHED": "scheduler"}.get(variables.get("MS_ROLE", ""))
    if role is None and "RANK_ID" not in variables:
        return None
    rank = None if role == "scheduler" else _rank(pid, variables)
    return Trainer(pid, role or "worker", rank, variables.get("MSWB_RUN_ID"), variables)


def find_trainers(table: Mapping[int, Stat]) -> tuple[Trainer, ...]:
    """Every worker of this host that leads its session, as msrun starts them; helpers that inherit its variables don't.

    A worker of another launcher is found by its device instead.
    """
    leaders = (stat.pid for stat in table.values() if stat.session == stat.pid and not stat.over)
    found = (trainer_of(pid) for pid in leaders)
    return tuple(one for one in found if one is not None and one.role == "worker" and one.rank is not None)


def _rank(pid: int, variables: Mapping[str, str]) -> int | None:
    match = _RANK_OF_FILE.search(_target(f"/proc/{pid}/fd/1"))
    words = (match.group(1) if match else "", variables.get("RANK_ID", ""), variables.get("MS_NODE_ID", ""))
    return next((int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 8), None)


def _namespace() -> str:
    return _target("/proc/self/ns/pid")


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _read(path: str, limit: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""
