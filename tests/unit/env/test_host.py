"""The facts of a host, read from the files of a made-up one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.env.host import available_cpus, available_numa_nodes, device_numbers, read_host


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V1 = "sys/fs/cgroup/cpuset/cpuset.cpus"
V2 = "sys/fs/cgroup/cpuset.cpus.effective"
ONLINE = "sys/devices/system/cpu/online"


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({V1: "0-3,8\n", V2: "0\n", ONLINE: "0-63\n"}, (0, 1, 2, 3, 8)),
        ({V2: "2,4-5\n", ONLINE: "0-63\n"}, (2, 4, 5)),
        ({ONLINE: "0-1\n"}, (0, 1)),
        ({V1: "\n", ONLINE: "0\n"}, (0,)),
        ({V1: "garbage", ONLINE: "0\n"}, (0,)),
    ],
)
def test_processors(files: dict[str, str], cpus: tuple[int, ...], tmp_path: Path) -> None:
    assert available_cpus(write(tmp_path, files)) == cpus


def test_numa_nodes(tmp_path: Path) -> None:
    assert available_numa_nodes(tmp_path) == ()
    assert available_numa_nodes(write(tmp_path, {"sys/devices/system/node/online": "0-1\n"})) == (0, 1)


MEMINFO = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\nHugePages_Total: 0\n"
KIB = 1024


@pytest.mark.parametrize(
    ("files", "total", "available", "limit"),
    [
        ({}, 1000 * KIB, 600 * KIB, None),
        ({"sys/fs/cgroup/memory.max": "max\n"}, 1000 * KIB, 600 * KIB, None),
        (
            {
                "sys/fs/cgroup/memory.max": f"{500 * KIB}\n",
                "sys/fs/cgroup/memory.current": f"{300 * KIB}\n",
                "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {100 * KIB}\n",
            },
            1000 * KIB,
            300 * KIB,
            500 * KIB,
        ),
        (
            {
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{400 * KIB}\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{100 * KIB}\n",
                "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 0\n",
            },
            1000 * KIB,
            300 * KIB,
            400 * KIB,
        ),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1000 * KIB, 600 * KIB, None),
    ],
)
def test_memory(files: dict[str, str], total: int, available: int, limit: int | None, tmp_path: Path) -> None:
    memory = read_host(write(tmp_path, {"proc/meminfo": MEMINFO, **files})).memory
    assert (memory.total, memory.available, memory.limit) == (total, available, limit)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_a_quota_of_processors(files: dict[str, str], quota: float | None, tmp_path: Path) -> None:
    assert read_host(write(tmp_path, files)).cpu_quota == quota


def test_devices_and_limits(tmp_path: Path) -> None:
    names = ("davinci0", "davinci11", "davinci2", "davinci_manager", "nvidia0", "nvidiactl", "nvidia-uvm")
    root = write(tmp_path, {f"dev/{name}": "" for name in names})
    write(root, {"proc/sys/fs/inotify/max_user_watches": "8192\n"})
    host = read_host(root)
    assert (host.ascend, host.nvidia, host.inotify_watches, host.inotify_instances) == ((0, 2, 11), (0,), 8192, None)
    assert not host.has_cpuset_v1 and host.root == str(root)
    assert device_numbers(tmp_path / "nowhere", "davinci") == ()


def test_tools_are_looked_up_on_the_given_path(tmp_path: Path) -> None:
    (tmp_path / "numactl").write_text("#!/bin/sh\n")
    (tmp_path / "numactl").chmod(0o755)
    assert read_host(path=str(tmp_path)).tools == {"numactl": str(tmp_path / "numactl")}


def test_this_host_has_something() -> None:
    host = read_host()
    assert host.cpus and host.memory.total > 0 and host.open_files[0] != 0
