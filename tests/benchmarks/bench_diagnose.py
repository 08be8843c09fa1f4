"""Diagnosing a big run: a gigabyte of warnings and steps over 1,024 ranks; one failed, the others waited for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench, seconds

RANKS = 1024
FILE_BYTES = 1 << 20
FAILED = 517
WALL_S = 10.0
SCAN_S = 6.0
RSS_MB = 500.0
_WARNINGS = (
    "cluster/topology/compute_graph_node.cc:173] Register] Failed to connect to the meta server node url: 10.0.0.1:18",
    "cluster/topology/cluster_context.cc:306] BuildCluster] Topology build timed out., retry({i}/1200).",
    "cluster/rpc/tcp/tcp_comm.cc:485] Connect] Connection {i} source: 10.0.0.7:{i}, destination: 10.0.0.1:8118",
    "runtime/hardware_abstract/collective/collective_manager.cc:254] CreateCommunicationGroup] Create group {i}",
)
_RANK = (
    "[WARNING] DISTRIBUTED({pid},7f77,python):2026-11-30-04:05:59.000.001 [mindspore/ccsrc/cluster/topology/"
    "cluster_context.cc:346] PostProcess] This node {rank} rank id: {rank}\n"
)
_FAILURE = """Traceback (most recent call last):
  File "/home/user/project/train.py", line 41, in <module>
    table[rank]
KeyError: {rank}
"""
_WAITED = """[ERROR] DEVICE({pid},7f77,python):2026-11-30-04:36:00.000.001 \
[mindspore/ccsrc/allreduce_impl.cc:129] RunRingAllReduce] Ring ReduceScatter wait receiving [4] failed.
Traceback (most recent call last):
  File "/home/user/project/train.py", line 57, in <module>
    model.train(epochs, data)
RuntimeError: Launch kernel failed, name:Default/AllReduce-op0

----------------------------------------------------
- C++ Call Stack: (For framework developers)
----------------------------------------------------
mindspore/ccsrc/runtime/graph_scheduler.cc:117 RunGraph

"""
_STEP = "epoch: 1 step: {i}, loss is 0.{i}\nTrain epoch time: 500.0 ms, per step time: 50.1 ms\n"


@bench
def diagnose(context: Context) -> Iterator[Row]:
    """Wall time and memory of the whole diagnosis, beside a plain grep over the same files."""
    ranks = 64 if context.quick else RANKS
    failed = min(FAILED, ranks - 1)
    folder = context.temp / "msrun_log"
    _write_logs(folder, ranks, failed)
    size = f"{ranks} logs of 1 MB"
    grep = shutil.which("grep")
    files = sorted(map(str, folder.iterdir()))
    peer = None if grep is None else seconds(lambda: _run([grep, "-cE", "ERROR|Traceback", *files]))
    yield Row(f"scan {size}, s", _in_child(_SCAN, folder)[0], SCAN_S, "grep -cE", peer)
    wall, rss, answer = _in_child(_DIAGNOSE, folder)
    yield Row(f"diagnose {size}, s", wall, WALL_S, "grep -cE", peer)
    yield Row(f"diagnose {size}, peak MB of the biggest process", rss, RSS_MB)
    right = answer == f"script-exception {failed}"
    yield Row("wrong first failures", float(not right), 0)


_SCAN = "from mswb.launch.scan import scan_files; scan_files(sorted(map(str, folder.iterdir()))); answer = ''"
_DIAGNOSE = (
    "from mswb.launch.diagnose import diagnose; told = diagnose(folder); root = told.findings[told.root]; "
    "answer = f'{root.code} {root.where.rank}'"
)
_CHILD = """
import resource, sys, time
from pathlib import Path
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    begin = time.perf_counter()
    {body}
    wall = time.perf_counter() - begin
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(wall, peak / 1024, answer, sep="|")
"""


def _in_child(body: str, folder: Path) -> tuple[float, float, str]:
    """Seconds, peak megabytes, and the answer of a fresh interpreter."""
    script = folder.parent / "child.py"
    script.write_text(_CHILD.format(body=body), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], check=True, capture_output=True, text=True, cwd=Path.cwd(),
        env={"PYTHONPATH": str(Path.cwd()), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    wall, peak, answer = done.stdout.strip().split("|")
    return float(wall), float(peak), answer


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def _write_logs(folder: Path, ranks: int, failed: int) -> None:
    folder.mkdir()
    for rank in range(ranks):
        end = _FAILURE.format(rank=rank) if rank == failed else _WAITED.format(pid=4000 + rank)
        (folder / f"worker_{rank}.log").write_text(_warnings(rank) + end, encoding="utf-8")


def _warnings(rank: int) -> str:
    lines = [_RANK.format(pid=4000 + rank, rank=rank)]
    total = 0
    i = 0
    while total < FILE_BYTES:
        text = _WARNINGS[i % len(_WARNINGS)].format(i=i)
        second, milli = divmod(i, 1000)
        if i % 4 == 3:
            lines.append(_STEP.format(i=i))
            total += len(lines[-1])
        lines.append(
            f"[WARNING] DISTRIBUTED({4000 + rank},7f77,python):2026-11-30-04:06:{second:02d}.{milli:03d}.001 "
            f"[mindspore/ccsrc/{text}\n"
        )
        total += len(lines[-1])
        i += 1
    return "".join(lines)
