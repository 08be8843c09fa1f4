"""What this host (or container) offers: processors, memory, limits, shared memory, accelerators, tools.

Only files of /proc, /sys and /dev and no subprocess, so that a check before a launch takes milliseconds. Roots can be
given, so that a test can describe another host.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CPUSET_V1 = "sys/fs/cgroup/cpuset/cpuset.cpus"
"""The only place where msrun 2.10 looks for processors to bind to."""
TOOLS = ("tail", "taskset", "numactl", "npu-smi", "nvidia-smi", "hccn_tool", "ip", "lspci", "grep")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. ``limit`` is the container's (cgroup) or None; ``available`` respects it."""

    total: int
    available: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Host:
    """The facts of a host; sizes in bytes. ``cpus`` and ``numa_nodes`` are the ids that processes may use.

    cpu_quota: processors' worth of time that the cgroup allows, or None.
    shm_total: size of /dev/shm, or None where there is none. open_files: soft and hard limit of a process.
    has_cpuset_v1: msrun's --bind_core works here. root: where the host's files lie, "/" but in tests.
    ascend, nvidia: numbers of the device nodes that are present.
    """

    cpus: tuple[int, ...]
    cpu_quota: float | None
    numa_nodes: tuple[int, ...]
    memory: Memory
    shm_total: int | None
    shm_free: int | None
    open_files: tuple[int, int]
    processes: tuple[int, int]
    inotify_watches: int | None
    inotify_instances: int | None
    ascend: tuple[int, ...]
    nvidia: tuple[int, ...]
    has_cpuset_v1: bool = True
    tools: Mapping[str, str] = field(default_factory=dict)
    root: str = "/"


def read_host(root: Path = Path("/"), path: str | None = None) -> Host:
    """Ask this host.

    Args:
        root: where proc, sys and dev lie; another one in tests.
        path: the PATH in which tools are looked for; by default this process's.
    """
    shm = _space(root / "dev/shm")
    return Host(
        cpus=available_cpus(root),
        cpu_quota=_cpu_quota(root),
        numa_nodes=available_numa_nodes(root),
        memory=_memory(root),
        shm_total=shm[0],
        shm_free=shm[1],
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
        processes=resource.getrlimit(resource.RLIMIT_NPROC),
        inotify_watches=_number(root / "proc/sys/fs/inotify/max_user_watches"),
        inotify_instances=_number(root / "proc/sys/fs/inotify/max_user_instances"),
        ascend=device_numbers(root, "davinci"),
        nvidia=device_numbers(root, "nvidia"),
        has_cpuset_v1=(root / CPUSET_V1).is_file(),
        root=str(root),
        tools={name: found for name in TOOLS if (found := shutil.which(name, path=path))},
    )


def available_cpus(root: Path = Path("/")) -> tuple[int, ...]:
    """The processors that processes may be bound to: the cpuset's (cgroup v1 as msrun reads it, or v2), else all."""
    for name in (CPUSET_V1, "sys/fs/cgroup/cpuset.cpus.effective"):
        found = _ids(root / name)
        if found:
            return found
    return _ids(root / "sys/devices/system/cpu/online") or tuple(range(os.cpu_count() or 1))


def available_numa_nodes(root: Path = Path("/")) -> tuple[int, ...]:
    """The NUMA nodes that are online; empty where the kernel shows none."""
    return _ids(root / "sys/devices/system/node/online")


def device_numbers(root: Path, kind: str) -> tuple[int, ...]:
    """The numbers of the device nodes ``/dev/KINDn``."""
    try:
        names = os.listdir(root / "dev")
    except OSError:
        return ()
    tails = (name.removeprefix(kind) for name in names if name.startswith(kind))
    return tuple(sorted(int(tail) for tail in tails if tail.isascii() and tail.isdigit()))


def _ids(path: Path) -> tuple[int, ...]:
    """A list like ``0-3,8`` of the kernel."""
    numbers: list[int] = []
    try:
        for part in path.read_text(encoding="ascii").strip().split(","):
            first, _, last = part.partition("-")
            numbers += range(int(first), min(int(last or first), int(first) + 65536) + 1)
    except (OSError, ValueError):
        return ()
    return tuple(numbers)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _cpu_quota(root: Path) -> float | None:
    try:  # cgroup v2: "max 100000" or "QUOTA PERIOD", microseconds
        quota, period = (root / "sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()[:2]
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        pass
    one = _number(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    per = _number(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us")
    return one / per if one and per and one > 0 else None


def _memory(root: Path) -> Memory:
    table = _meminfo(root / "proc/meminfo")
    total, free = table.get("MemTotal", 0), table.get("MemAvailable", table.get("MemFree", 0))
    limit, used = _memory_limit(root)
    if limit is None or limit >= total > 0:
        return Memory(total, free, None)
    return Memory(total, max(0, min(free, limit - used)), limit)


def _meminfo(path: Path) -> dict[str, int]:
    """Bytes by name; the file's kB are KiB."""
    table: dict[str, int] = {}
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return table
    for line in lines:
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            table[words[0].rstrip(":")] = int(words[1]) * 1024
    return table


def _memory_limit(root: Path) -> tuple[int | None, int]:
    """The cgroup's limit and what counts against it without the page cache that the kernel gives back."""
    for folder, limit, usage, key in (
        ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, used = _number(root / folder / limit), _number(root / folder / usage)
        if most is not None:
            return most, max(0, (used or 0) - _reclaimable(root / folder / "memory.stat", key))
    return None, 0


def _reclaimable(path: Path, key: str) -> int:
    try:
        rows = dict(line.split(" ", 1) for line in path.read_text(encoding="ascii").splitlines())
        return int(rows.get(key, 0))
    except (OSError, ValueError):
        return 0


def _space(path: Path) -> tuple[int | None, int | None]:
    try:
        space = os.statvfs(path)
    except OSError:
        return None, None
    return space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
