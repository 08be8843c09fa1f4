"""Host counters: of this host, and of hosts that tell little."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mswb.env.devices.host import HostReader
from mswb.env.devices.sample import Cgroup, HostCounters

Times = namedtuple("Times", "user system idle iowait guest")


class FakeHost:
    """What psutil says."""

    def __init__(self) -> None:
        self.times = [Times(10.0, 0.0, 90.0, 0.0, 5.0), Times(0.0, 0.0, 100.0, 0.0, 0.0)]
        self.io: Any = SimpleNamespace(read_bytes=1000, write_bytes=500)

    def cpu_times(self, percpu: bool) -> list[Times]:
        return self.times

    def virtual_memory(self) -> Any:
        return SimpleNamespace(total=1000, available=400)

    def swap_memory(self) -> Any:
        raise OSError("vmstat is masked")

    def disk_usage(self, folder: str) -> Any:
        raise FileNotFoundError(folder)

    def disk_io_counters(self) -> Any:
        return self.io

    def net_io_counters(self) -> Any:
        return None


def reader(fake: FakeHost, now: list[float], root: Path) -> HostReader:
    made = HostReader("/nowhere", root, lambda: now[0])
    made._api = fake
    return made


def test_shares_and_rates_need_two_looks(tmp_path: Path) -> None:
    fake, now = FakeHost(), [5.0]
    host = reader(fake, now, tmp_path)
    first = host.read()
    assert (first.cpu_percent, first.core_percents, first.disk_read_bps) == (None, (None, None), None)
    fake.times = [Times(13.0, 1.0, 94.0, 2.0, 7.0), Times(0.0, 0.0, 110.0, 0.0, 0.0)]
    fake.io = SimpleNamespace(read_bytes=3000, write_bytes=100)
    now[0] = 7.0
    second = host.read()
    assert second.core_percents == (40.0, 0.0) and second.cpu_percent == 20.0
    assert second.disk_read_bps == 1000.0
    assert second.disk_write_bps is None  # the counter fell


def test_what_is_not_told_is_unknown(tmp_path: Path) -> None:
    found = reader(FakeHost(), [0.0], tmp_path).read()
    assert found.swap_total_bytes is None and found.disk_free_bytes is None and found.network_in_bps is None
    assert (found.memory_total_bytes, found.memory_used_bytes, found.memory_percent) == (1000, 600, 60.0)


def test_processors_that_come_and_go(tmp_path: Path) -> None:
    fake = FakeHost()
    host = reader(fake, [0.0], tmp_path)
    host.read()
    fake.times = fake.times[:1]
    assert host.read().core_percents == (None,)


def test_this_host() -> None:
    host = HostReader()
    host.read()
    found = host.read()
    assert found.memory_total_bytes and found.memory_used_bytes is not None
    assert 0 < found.memory_used_bytes <= found.memory_total_bytes
    assert found.usable_cpus and found.load is not None and found.disk_total_bytes


def test_the_group_is_the_truth_where_it_limits() -> None:
    host = HostCounters(
        cpu_percent=3.0, memory_total_bytes=1000, memory_available_bytes=900, cgroup=Cgroup(2, 100, 80, 2.0, 95.0)
    )
    assert (host.memory_limit_bytes, host.memory_used_bytes, host.memory_percent) == (100, 80, 80.0)
    assert host.cpu_used_percent == 95.0
    only_cpu = HostCounters(memory_total_bytes=1000, memory_available_bytes=900, cgroup=Cgroup(2, cpu_quota=2.0))
    assert (only_cpu.memory_limit_bytes, only_cpu.memory_used_bytes) == (1000, 100)
    assert only_cpu.cpu_used_percent is None
