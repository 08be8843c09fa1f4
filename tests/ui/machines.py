"""Made-up machines for the devices screen and the header's counters."""

from __future__ import annotations

from dataclasses import replace

from mswb.env.devices.history import History
from mswb.env.devices.sample import (
    Cgroup,
    DeviceCounters,
    DeviceProcess,
    HostCounters,
    RankLink,
    Sample,
    as_lost,
)

GIB = 1 << 30
HOST = HostCounters(
    cpu_percent=23.0,
    core_percents=(10.0, 90.0, None, 50.0),
    usable_cpus=4,
    load=(1.25, 2.0, 3.0),
    memory_total_bytes=64 * GIB,
    memory_available_bytes=23 * GIB,
    swap_total_bytes=8 * GIB,
    swap_used_bytes=0,
    disk_total_bytes=900 * GIB,
    disk_free_bytes=100 * GIB,
    disk_read_bps=1e6,
    disk_write_bps=2.5e6,
    network_in_bps=1e5,
)
LIMITED = replace(HOST, cgroup=Cgroup(2, 16 * GIB, 12 * GIB, 2.0, 75.0, 12.0, 1))


def gpu(number: int) -> DeviceCounters:
    return DeviceCounters(
        key=f"GPU-{number}",
        kind="gpu",
        label=f"GPU{number}",
        number=number,
        name="NVIDIA H100 80GB HBM3",
        uuid=f"GPU-{number}",
        bus_id=f"00000000:{number + 16:02X}:00.0",
        utilization_percent=40.0 + number,
        memory_busy_percent=20.0,
        memory_used_bytes=12 * GIB,
        memory_total_bytes=80 * GIB,
        temperature_c=61.0 + number,
        power_w=210.0,
        power_limit_w=700.0,
        clock_mhz=1755,
        clock_max_mhz=1980,
        memory_clock_mhz=2619,
        performance_state=0,
        ecc_enabled=True,
        ecc_errors=0,
    )


def lost(number: int) -> DeviceCounters:
    return as_lost(gpu(number), f"GPU{number} is lost: it no longer answers")


def machine(*devices: DeviceCounters, host: HostCounters = HOST, notes: tuple[str, ...] = ()) -> Sample:
    """A machine with these devices, each held by the rank of its number."""
    held = tuple(
        DeviceProcess(
            one.key, 1000 + (one.number or 0), user="anna", command="python train.py", device_memory_bytes=9 * GIB,
            utilization_percent=40.0, cpu_percent=101.0, rss_bytes=3 * GIB, rank=one.number, role="worker", run="r1",
        )
        for one in devices
        if one.state != "lost"
    )  # fmt: skip
    return Sample(1e9, host, devices, held, (), (), notes)


def strangers(sample: Sample) -> Sample:
    """The same, where the driver's pids are of another namespace and only the ranks' variables tell."""
    foreign = tuple(DeviceProcess(one.device, one.pid, foreign=True) for one in sample.processes)
    known = tuple(
        RankLink(50 + (one.rank or 0), one.rank, "worker", "r1", one.device, "environment") for one in sample.processes
    )
    return replace(sample, processes=foreign, links=known)


def history(*samples: Sample) -> History:
    made = History()
    for one in samples:
        made.add(one)
    return made
