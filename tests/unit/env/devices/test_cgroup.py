"""Limits of control groups, version 1 and 2, at any height of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.env.devices.cgroup import CgroupReader
from mswb.env.devices.sample import Cgroup

HOST = 1 << 40
ROOT2, ROOT1 = "sys/fs/cgroup/", "sys/fs/cgroup/memory/"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V2 = {
    "proc/self/cgroup": "0::/\n",
    ROOT2 + "cgroup.controllers": "cpu memory\n",
    ROOT2 + "memory.max": "8000\n",
    ROOT2 + "memory.current": "5000\n",
    ROOT2 + "memory.stat": "anon 1\ninactive_file 1500\n",
    ROOT2 + "memory.events": "oom 2\noom_kill 3\n",
    ROOT2 + "cpu.max": "150000 100000\n",
    ROOT2 + "cpu.stat": "usage_usec 1000000\nnr_periods 100\nnr_throttled 10\n",
}
V1 = {
    "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n",
    ROOT1 + "memory.limit_in_bytes": "8000\n",
    ROOT1 + "memory.usage_in_bytes": "5000\n",
    ROOT1 + "memory.stat": "total_inactive_file 1500\n",
    ROOT1 + "memory.oom_control": "oom_kill_disable 0\noom_kill 3\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 100\nnr_throttled 10\n",
    "sys/fs/cgroup/cpuacct/cpuacct.usage": "1000000000\n",
}
LATER = {
    2: {ROOT2 + "cpu.stat": "usage_usec 2500000\nnr_periods 120\nnr_throttled 15\n"},
    1: {
        "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 120\nnr_throttled 15\n",
        "sys/fs/cgroup/cpuacct/cpuacct.usage": "2500000000\n",
    },
}


@pytest.mark.parametrize(("version", "files"), [(2, V2), (1, V1)])
def test_limits_and_shares(version: int, files: dict[str, str], tmp_path: Path) -> None:
    reader = CgroupReader(write(tmp_path, files))
    assert reader.read(10.0, HOST) == Cgroup(version, 8000, 3500, 1.5, oom_kills=3)
    write(tmp_path, LATER[version])
    # 1.5 s of work in 2 s, of which the quota allows 3; 5 of 20 periods waited.
    assert reader.read(12.0, HOST) == Cgroup(version, 8000, 3500, 1.5, 50.0, 25.0, 3)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/\n", ROOT2 + "cgroup.controllers": "", ROOT2 + "memory.max": "max\n"},
        {ROOT2 + "cgroup.controllers": "", ROOT2 + "cpu.max": "max 100000\n"},
        {ROOT2 + "cgroup.controllers": "", ROOT2 + "cpu.max": "garbage\n", ROOT2 + "memory.max": "x"},
        {ROOT1 + "memory.limit_in_bytes": "9223372036854771712\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
    ],
)
def test_no_limit(files: dict[str, str], tmp_path: Path) -> None:
    assert CgroupReader(write(tmp_path, files)).read(1.0, HOST) is None


def test_the_tightest_group_counts(tmp_path: Path) -> None:
    job = {
        **V2,
        "proc/self/cgroup": "0::/slurm/job/step\n",
        ROOT2 + "slurm/job/memory.max": "4000\n",
        ROOT2 + "slurm/job/memory.current": "100\n",
        ROOT2 + "slurm/job/step/memory.max": "max\n",
        ROOT2 + "slurm/job/cpu.max": "50000 100000\n",
        ROOT2 + "slurm/job/cpu.stat": "usage_usec 7\n",
    }
    # The outer group of 8000 has 4500 left, the job's 3900.
    found = CgroupReader(write(tmp_path, job)).read(1.0, HOST)
    assert found == Cgroup(2, 4000, 100, 0.5, oom_kills=3)


def test_a_path_that_climbs_out_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {**V2, "proc/self/cgroup": "0::/../../secret\n", "secret/memory.max": "1\n"})
    found = CgroupReader(tmp_path).read(1.0, HOST)
    assert found is not None and found.memory_limit_bytes == 8000
