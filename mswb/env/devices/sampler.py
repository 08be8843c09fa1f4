"""All counters in one call, for a thread that calls once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from mswb.env.devices import mapping, procs
from mswb.env.devices.host import HostReader
from mswb.env.devices.npu import NpuSmi
from mswb.env.devices.nvml import Nvml
from mswb.env.devices.sample import (
    DeviceCounters,
    DeviceProcess,
    HostCounters,
    ProcessCounters,
    Reading,
    Sample,
)
from mswb.env.devices.source import Source

NPU_EVERY_S = 2.0
TRAINERS_EVERY_S = 5.0
"""Seconds between two searches of the process table for ranks; it costs some milliseconds with thousands of them."""
FRESH_S = NPU_EVERY_S + 1.0
"""A reading younger than this counts as of now: it is as new as its own cadence lets it be."""


class _Host(Protocol):
    def read(self) -> HostCounters: ...


class _Devices(Protocol):
    def read(self) -> Reading: ...


class Sampler:
    """Counters of this host and its devices. NVML and npu-smi are first asked by the first :meth:`sample`.

    Args:
        folder: whose disk is shown.
        host, nvml, npu: where the counters come from; others in tests.
        is_here: whether a driver's pid is one of our pid namespace.
    """

    def __init__(
        self,
        folder: str = ".",
        *,
        host: _Host | None = None,
        nvml: _Devices | None = None,
        npu: _Devices | None = None,
        is_here: Callable[[int], bool] = procs.is_here,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._host, self._clock, self._is_here = folder, host, clock, is_here
        self._nvml = nvml or Nvml()
        self._sources = (
            Source(_guarded(self._nvml), clock=clock),
            Source(_guarded(npu or NpuSmi()), NPU_EVERY_S, clock=clock),
        )
        self._shares = procs.CpuShares()
        self._trainers: tuple[procs.Trainer, ...] = ()
        self._searched: float | None = None
        self._people: dict[tuple[int, int], tuple[str | None, str | None, procs.Trainer | None]] = {}
        self._lock = threading.Lock()
        self._last: Sample | None = None

    def sample(self, pids: Iterable[int] = (), patience_s: float | None = None) -> Sample:
        """One sample. Takes some milliseconds; a device that is slow to answer is shown with the age of its last word.

        While another thread is in here, the sample before is given back, if there is one.

        Args:
            pids: processes whose use, descendants included, is wanted in ``Sample.watched``.
            patience_s: how long to wait for each kind of device; by default a quarter of a second.
        """
        if not self._lock.acquire(blocking=self._last is None):
            return self._last or Sample(time.time(), HostCounters())
        try:
            self._last = self._sample(tuple(pids), patience_s)
            return self._last
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give the NVIDIA driver back, unless it hangs in a reading."""
        close = getattr(self._nvml, "close", None)
        if close is not None and not self._sources[0].busy:
            close()

    def _sample(self, pids: tuple[int, ...], patience_s: float | None) -> Sample:
        if self._host is None:  # here and not before: psutil is loaded in the caller's thread
            self._host = HostReader(self._folder)
        host = self._host.read()
        reading = _merged([source.latest(patience_s) for source in self._sources])
        table = procs.scan() if pids or self._must_search() else {}
        if table and self._must_search():
            self._searched, self._trainers = self._clock(), procs.find_trainers(table)
        processes, watched, ranks = self._processes(reading.processes, pids, table)
        return Sample(
            time=time.time(),
            host=host,
            devices=reading.devices,
            processes=processes,
            links=mapping.links(self._trainers, reading.devices, processes),
            watched=watched,
            ranks=ranks,
            notes=reading.notes + _foreign_note(processes),
        )

    def _must_search(self) -> bool:
        return self._searched is None or self._clock() - self._searched >= TRAINERS_EVERY_S

    def _processes(
        self, held: tuple[DeviceProcess, ...], pids: tuple[int, ...], table: Mapping[int, procs.Stat]
    ) -> tuple[tuple[DeviceProcess, ...], tuple[ProcessCounters, ...], tuple[ProcessCounters, ...]]:
        """Processes of the devices with what /proc adds, the trees that were asked for, and the ranks without a device;
        each looked at once."""
        now = self._clock()
        here = {one.pid: stat for one in held if (stat := self._look(one.pid, table)) is not None}
        trees = procs.trees(table, pids)
        members = {stat.pid: stat for tree in trees.values() for stat in tree}
        ranks = {one.pid: stat for one in self._trainers if (stat := table.get(one.pid) or procs.look(one.pid))}
        ranks = {pid: stat for pid, stat in ranks.items() if pid not in here and not stat.over}
        shares = {pid: self._shares.share(stat, now) for pid, stat in {**members, **here, **ranks}.items()}
        self._shares.keep(shares)
        self._people = {(stat.pid, stat.start): self._person(stat) for stat in here.values()}
        watched = tuple(procs.counters(pid, trees[pid], shares) for pid in pids)
        described = tuple(self._described(one, here.get(one.pid), shares) for one in held)
        return described, watched, tuple(procs.counters(pid, [stat], shares) for pid, stat in ranks.items())

    def _look(self, pid: int, table: Mapping[int, procs.Stat]) -> procs.Stat | None:
        """The process of this pid, if the driver's pid is one of this namespace."""
        return (table.get(pid) or procs.look(pid)) if self._is_here(pid) else None

    def _person(self, stat: procs.Stat) -> tuple[str | None, str | None, procs.Trainer | None]:
        """User, command and part in a training of a process: read once in its life."""
        known = self._people.get((stat.pid, stat.start))
        return known or (procs.user_of(stat.pid), procs.command_of(stat.pid), procs.trainer_of(stat.pid))

    def _described(
        self, one: DeviceProcess, stat: procs.Stat | None, shares: Mapping[int, float | None]
    ) -> DeviceProcess:
        if stat is None:
            return replace(one, foreign=True)
        user, command, trainer = self._people[stat.pid, stat.start]
        return replace(
            one,
            user=user,
            command=command or one.command or stat.name,
            cpu_percent=shares.get(one.pid),
            rss_bytes=stat.rss_bytes,
            rank=trainer.rank if trainer else None,
            role=trainer.role if trainer else None,
            run=trainer.run if trainer else None,
        )


def _guarded(origin: _Devices) -> Callable[[], Reading]:
    """A reading that can't fail: a driver that answers what nobody expects becomes a note."""

    def read() -> Reading:
        try:
            return origin.read()
        except Exception as problem:
            return Reading(notes=(f"device counters cannot be read: {type(problem).__name__}: {problem}",))

    return read


def _merged(readings: Iterable[tuple[Reading | None, float]]) -> Reading:
    """All origins as one; devices get the age of their reading."""
    devices: list[DeviceCounters] = []
    processes: list[DeviceProcess] = []
    notes: dict[str, None] = {}
    for reading, age in readings:
        if reading is None:
            notes[f"the first reading of a device is under way for {age:.0f} s"] = None
            continue
        late = 0.0 if age < FRESH_S else age
        devices += [replace(one, age_s=one.age_s + late) if late else one for one in reading.devices]
        processes += reading.processes
        notes |= dict.fromkeys(reading.notes)
    return Reading(tuple(devices), tuple(processes), tuple(notes))


def _foreign_note(processes: Iterable[DeviceProcess]) -> tuple[str, ...]:
    count = sum(one.foreign for one in processes)
    if not count:
        return ()
    what = "1 device process belongs" if count == 1 else f"{count} device processes belong"
    return (f"{what} to another pid namespace (another container, or the host): only pid and device memory are known",)
