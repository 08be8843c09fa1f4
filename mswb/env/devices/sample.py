"""One look at a host and its accelerators, as data. None is "not known" everywhere; percentages run from 0 to 100."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["gpu", "mig", "npu"]
DeviceState = Literal["ok", "warning", "alarm", "lost"]
LinkSource = Literal["process", "environment"]


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """One accelerator, or one MIG instance of one.

    key: identity that stays (UUID, else bus id, else the label); history and processes refer to it.
    label: what people call it: ``GPU0``, ``GPU0.1`` (the second MIG instance of GPU 0), ``NPU3``.
    number: the index by which NVML (PCI order) or CANN counts it; None for a MIG instance.
    state: ``lost`` means that only the identity is what it was, and all counters are None; ``warning`` and ``alarm``
        are what npu-smi says of the chip's health.
    utilization_percent: share of time in which the device computed (GPU: any kernel ran; NPU: AI core).
    memory_busy_percent: share of time in which its memory was read or written, or of its bandwidth.
    memory_used_bytes: without what the driver reserves for itself.
    ecc_errors: uncorrected memory errors since the driver was loaded.
    mig: whether a GPU is cut into instances; parent: the key of the GPU that an instance belongs to.
    age_s: how old the counters are; 0 when they were read for this sample.
    note: one sentence when something about this device needs words.
    """

    key: str
    kind: DeviceKind
    label: str
    number: int | None = None
    name: str | None = None
    uuid: str | None = None
    bus_id: str | None = None
    state: DeviceState = "ok"
    utilization_percent: float | None = None
    memory_busy_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    fan_percent: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    clock_mhz: int | None = None
    clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    performance_state: int | None = None
    ecc_enabled: bool | None = None
    ecc_errors: int | None = None
    mig: bool | None = None
    parent: str | None = None
    age_s: float = 0.0
    note: str = ""

    @property
    def memory_percent(self) -> float | None:
        """Used part of the memory."""
        return percent(self.memory_used_bytes, self.memory_total_bytes)


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process that holds a device; one entry for each device that it holds.

    pid: as the driver told it; when ``foreign``, a number of another pid namespace, and nothing else is known.
    kind: what it uses the device for, ``compute``, ``graphics`` or both (``compute+graphics``).
    rank, role, run: of the training it belongs to (``run`` only for runs that mswb started), from its environment.
    """

    device: str
    pid: int
    kind: str = "compute"
    foreign: bool = False
    user: str | None = None
    command: str | None = None
    device_memory_bytes: int | None = None
    utilization_percent: float | None = None
    cpu_percent: float | None = None
    rss_bytes: int | None = None
    rank: int | None = None
    role: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What one origin (NVML, npu-smi) says; the processes only as far as the driver knows them."""

    devices: tuple[DeviceCounters, ...] = ()
    processes: tuple[DeviceProcess, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """A process that was asked for, its descendants included; 100 ``cpu_percent`` are one processor."""

    pid: int
    cpu_percent: float | None
    rss_bytes: int | None
    processes: int


@dataclass(frozen=True, slots=True)
class RankLink:
    """Which device a rank uses. ``device`` is a key, or None when nothing tells.

    source: ``process`` when the driver named the process, ``environment`` when the rank's variables say so.
    """

    pid: int
    rank: int | None
    role: str | None
    run: str | None
    device: str | None
    source: LinkSource


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The tightest limits of the control groups around this process (a container, a batch job).

    memory_used_bytes: what counts against the limit, without file cache that the kernel gives back at once.
    cpu_quota: processors' worth of time; cpu_percent: 100 means that all of the quota is used.
    throttled_percent: share of the scheduling periods since the last sample in which the group had to wait.
    oom_kills: processes that the kernel killed in it for want of memory since it was made.
    """

    version: int
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None
    cpu_quota: float | None = None
    cpu_percent: float | None = None
    throttled_percent: float | None = None
    oom_kills: int | None = None


@dataclass(frozen=True, slots=True)
class HostCounters:
    """The host, and the control group that limits us when there is one.

    cpu_percent: of all processors; core_percents: of each one. usable_cpus: those we may run on (affinity).
    disk_*: the file system of the working folder. Rates are bytes a second over the time since the last sample.
    """

    cpu_percent: float | None = None
    core_percents: tuple[float | None, ...] = ()
    usable_cpus: int | None = None
    load: tuple[float, float, float] | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    disk_path: str = ""
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_read_bps: float | None = None
    disk_write_bps: float | None = None
    network_in_bps: float | None = None
    network_out_bps: float | None = None
    cgroup: Cgroup | None = None

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory that we can have at most: the cgroup's limit where it is below the host's memory."""
        limit = self.cgroup.memory_limit_bytes if self.cgroup else None
        return self.memory_total_bytes if limit is None else limit

    @property
    def memory_used_bytes(self) -> int | None:
        """What is taken of :attr:`memory_limit_bytes`."""
        if self.cgroup is not None and self.cgroup.memory_limit_bytes is not None:
            return self.cgroup.memory_used_bytes
        if self.memory_total_bytes is None or self.memory_available_bytes is None:
            return None
        return max(0, self.memory_total_bytes - self.memory_available_bytes)

    @property
    def memory_percent(self) -> float | None:
        """Used part of what we can have."""
        return percent(self.memory_used_bytes, self.memory_limit_bytes)

    @property
    def cpu_used_percent(self) -> float | None:
        """Used part of the processor time that we can have: of the cgroup's quota where it has one."""
        if self.cgroup is not None and self.cgroup.cpu_quota is not None:
            return self.cgroup.cpu_percent
        return self.cpu_percent


@dataclass(frozen=True, slots=True)
class Sample:
    """All counters of one moment.

    time: seconds since the epoch. devices: by kind and number, an instance after its GPU.
    watched: the processes that the caller named. ranks: those of trainings that hold no device, without descendants.
    notes: one quiet sentence for each thing that is missing, and why.
    """

    time: float
    host: HostCounters
    devices: tuple[DeviceCounters, ...] = ()
    processes: tuple[DeviceProcess, ...] = ()
    links: tuple[RankLink, ...] = ()
    watched: tuple[ProcessCounters, ...] = ()
    notes: tuple[str, ...] = ()
    ranks: tuple[ProcessCounters, ...] = ()

    def device(self, key: str | None) -> DeviceCounters | None:
        """The device of this key."""
        return next((one for one in self.devices if one.key == key), None)

    def device_memory_of(self, pid: int) -> int | None:
        """Device memory of one process of this host, over all devices."""
        known = [
            one.device_memory_bytes
            for one in self.processes
            if one.pid == pid and not one.foreign and one.device_memory_bytes is not None
        ]
        return sum(known) if known else None


def as_lost(device: DeviceCounters, note: str) -> DeviceCounters:
    """The device with its identity only: it no longer answers."""
    return DeviceCounters(
        key=device.key,
        kind=device.kind,
        label=device.label,
        number=device.number,
        name=device.name,
        uuid=device.uuid,
        bus_id=device.bus_id,
        state="lost",
        parent=device.parent,
        note=note,
    )


def percent(part: float | None, whole: float | None) -> float | None:
    """``part`` of ``whole`` in hundredths; None when either is unknown or there is no whole."""
    return None if part is None or not whole else 100.0 * part / whole
