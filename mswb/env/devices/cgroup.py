"""The limits of the control groups around this process: a container's, a batch job's, a service's.

Sources: Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current, cpu.max, cpu.stat, memory.events) and
cgroup-v1/memory.rst, scheduler/sched-bwc.rst (memory.limit_in_bytes, cpu.cfs_quota_us, cpuacct.usage).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mswb.env.devices.sample import Cgroup, percent


@dataclass(frozen=True, slots=True)
class _Usage:
    """Counters that only grow: microseconds of processor time, scheduling periods, and those in which it waited."""

    time: float
    cpu_us: int | None = None
    periods: int | None = None
    throttled: int | None = None


@dataclass(frozen=True, slots=True)
class _Memory:
    limit: int | None = None
    used: int | None = None


class CgroupReader:
    """Readings one after another; shares are over the time between two.

    Args:
        root: where proc and sys lie; another one in tests.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._last: _Usage | None = None

    def read(self, now: float, host_memory: int | None) -> Cgroup | None:
        """The groups' limits and use; None where no group limits anything.

        Args:
            now: seconds of a steady clock.
            host_memory: bytes; a limit at or above it is none.
        """
        two = (self._root / "sys/fs/cgroup/cgroup.controllers").exists()
        read = _read_two if two else _read_one
        memory, quota, usage, kills = read(self._root, now)
        before, self._last = self._last, usage
        if memory.limit is not None and host_memory is not None and memory.limit >= host_memory:
            memory = _Memory()
        if memory.limit is None and quota is None:
            return None
        return Cgroup(
            version=2 if two else 1,
            memory_limit_bytes=memory.limit,
            memory_used_bytes=memory.used,
            cpu_quota=quota,
            cpu_percent=_cpu_percent(before, usage, quota),
            throttled_percent=_throttled(before, usage),
            oom_kills=kills,
        )


def _read_two(root: Path, now: float) -> tuple[_Memory, float | None, _Usage, int | None]:
    folders = list(_folders(root, ""))
    memory = _tightest(_memory(one, "memory.max", "memory.current", "inactive_file") for one in folders)
    quotas = [(quota, one) for one in folders if (quota := _quota_two(one / "cpu.max")) is not None]
    quota, place = min(quotas, key=lambda pair: pair[0], default=(None, None))
    table = _table(place / "cpu.stat") if place else {}
    usage = _Usage(now, table.get("usage_usec"), table.get("nr_periods"), table.get("nr_throttled"))
    kills = next(
        (kills for one in folders if (kills := _table(one / "memory.events").get("oom_kill")) is not None), None
    )
    return memory, quota, usage, kills


def _read_one(root: Path, now: float) -> tuple[_Memory, float | None, _Usage, int | None]:
    limited = _folders(root, "memory")
    memory = _tightest(
        _memory(one, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file") for one in limited
    )
    quotas = [(quota, one) for one in _folders(root, "cpu") if (quota := _quota_one(one)) is not None]
    quota, place = min(quotas, key=lambda pair: pair[0], default=(None, None))
    table = _table(place / "cpu.stat") if place else {}
    used = next((ns for one in _folders(root, "cpuacct") if (ns := _number(one / "cpuacct.usage")) is not None), None)
    usage = _Usage(now, None if used is None else used // 1000, table.get("nr_periods"), table.get("nr_throttled"))
    kills = (_table(one / "memory.oom_control").get("oom_kill") for one in _folders(root, "memory"))
    return memory, quota, usage, next((count for count in kills if count is not None), None)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The group's folder and those above it. In a container the path may name a place outside: its root remains."""
    base = root / "sys/fs/cgroup" / controller
    path = _own_path(root, controller)
    while path not in ("", "/", "."):
        if (base / path.lstrip("/")).is_dir():
            yield base / path.lstrip("/")
        path = str(Path(path).parent)
    yield base


def _own_path(root: Path, controller: str) -> str:
    """The path of /proc/self/cgroup for a controller; that of version 2 for none."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(",") and ".." not in path.split("/"):
            return path
    return ""


def _tightest(found: Iterable[_Memory]) -> _Memory:
    """The group with the least room left; where use is unknown, its limit counts."""
    limited = [one for one in found if one.limit is not None]
    return min(limited, key=lambda one: (one.limit or 0) - (one.used or 0), default=_Memory())


def _memory(folder: Path, limit: str, used: str, cache: str) -> _Memory:
    most, now = _number(folder / limit), _number(folder / used)
    if now is not None:
        now = max(0, now - _table(folder / "memory.stat").get(cache, 0))
    return _Memory(most, now)


def _quota_two(file: Path) -> float | None:
    words = _text(file).split()
    return _ratio(words[0], words[1]) if len(words) >= 2 else None


def _quota_one(folder: Path) -> float | None:
    return _ratio(_text(folder / "cpu.cfs_quota_us").strip(), _text(folder / "cpu.cfs_period_us").strip())


def _ratio(quota: str, period: str) -> float | None:
    """Processors' worth; ``max`` and -1 are no limit."""
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _cpu_percent(before: _Usage | None, now: _Usage, quota: float | None) -> float | None:
    if before is None or before.cpu_us is None or now.cpu_us is None or not quota or now.time <= before.time:
        return None
    return percent(max(0, now.cpu_us - before.cpu_us) / 1e6, (now.time - before.time) * quota)


def _throttled(before: _Usage | None, now: _Usage) -> float | None:
    if before is None or None in (before.periods, before.throttled, now.periods, now.throttled):
        return None
    return percent((now.throttled or 0) - (before.throttled or 0), (now.periods or 0) - (before.periods or 0))


def _table(file: Path) -> Mapping[str, int]:
    rows = (line.split() for line in _text(file).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdecimal()}


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.isdecimal() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
