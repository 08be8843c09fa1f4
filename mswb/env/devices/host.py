"""Counters of the host by psutil: processors, memory, swap, disk, network; and the control group's, which is the truth
inside a container.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mswb.env.devices.cgroup import CgroupReader
from mswb.env.devices.sample import HostCounters, percent

T = TypeVar("T")
_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")
"""Linux counts these in user and nice already."""


class HostReader:
    """Readings one after another; rates and shares are over the time between two, and None in the first.

    Args:
        folder: whose file system is shown.
        root: where proc and sys of the control group lie; another one in tests.
    """

    def __init__(self, folder: str = ".", root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        import psutil

        self._api: Any = psutil
        self._folder, self._clock = folder, clock
        self._cgroup = CgroupReader(root)
        self._cores: Sequence[tuple[float, float]] = ()
        self._rates: dict[str, tuple[float, float]] = {}

    def read(self) -> HostCounters:
        """One reading; what this system does not tell is None."""
        now = self._clock()
        shares, whole = self._cpu()
        memory, swap = _ask(self._api.virtual_memory), _ask(self._api.swap_memory)
        disk = _ask(lambda: self._api.disk_usage(self._folder))
        io, network = _ask(self._api.disk_io_counters), _ask(self._api.net_io_counters)
        return HostCounters(
            cpu_percent=whole,
            core_percents=shares,
            usable_cpus=_ask(lambda: len(os.sched_getaffinity(0))),
            load=_ask(os.getloadavg),
            memory_total_bytes=_field(memory, "total"),
            memory_available_bytes=_field(memory, "available"),
            swap_total_bytes=_field(swap, "total"),
            swap_used_bytes=_field(swap, "used"),
            disk_path=self._folder,
            disk_total_bytes=_field(disk, "total"),
            disk_free_bytes=_field(disk, "free"),
            disk_read_bps=self._rate("disk read", _field(io, "read_bytes"), now),
            disk_write_bps=self._rate("disk write", _field(io, "write_bytes"), now),
            network_in_bps=self._rate("network in", _field(network, "bytes_recv"), now),
            network_out_bps=self._rate("network out", _field(network, "bytes_sent"), now),
            cgroup=self._cgroup.read(now, _field(memory, "total")),
        )

    def _cpu(self) -> tuple[tuple[float | None, ...], float | None]:
        """Each processor's share and that of all; our own differences, since psutil keeps one memory for everybody."""
        times = _ask(lambda: self._api.cpu_times(percpu=True)) or ()
        cores = [_busy_and_all(one) for one in times]
        before, self._cores = self._cores, cores
        if len(before) != len(cores) or not cores:
            return (None,) * len(cores), None
        steps = [(new[0] - old[0], new[1] - old[1]) for new, old in zip(cores, before, strict=True)]
        whole = _limited(percent(sum(busy for busy, _ in steps), sum(every for _, every in steps)))
        return tuple(_limited(percent(busy, every)) for busy, every in steps), whole

    def _rate(self, name: str, value: int | None, now: float) -> float | None:
        before = self._rates.get(name)
        if value is None:
            self._rates.pop(name, None)
            return None
        self._rates[name] = (value, now)
        if before is None or now <= before[1] or value < before[0]:  # a counter that fell was reset
            return None
        return (value - before[0]) / (now - before[1])


def _busy_and_all(times: Any) -> tuple[float, float]:
    parts = times._asdict()
    every = sum(value for name, value in parts.items() if name not in _COUNTED_TWICE)
    return every - sum(parts.get(name, 0.0) for name in _IDLE), every


def _limited(share: float | None) -> float | None:
    """The kernel's idle counters may step back a little."""
    return None if share is None else min(100.0, max(0.0, share))


def _field(value: Any, name: str) -> int | None:
    found = getattr(value, name, None)
    return int(found) if isinstance(found, (int, float)) else None


def _ask(function: Callable[[], T]) -> T | None:
    try:
        return function()
    except Exception:  # psutil raises many kinds where /proc is partial or masked
        return None
