"""Logs of made-up runs, line by line in MindSpore's own forms; times are seconds after :data:`START`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from mswb.jobs.spec import FirstFailure, ProcessStatus, RunStatus

START = datetime(2026, 11, 30, 4, 0, 0)
EPOCH = START.timestamp()
CLUSTER = "mindspore/ccsrc/cluster/topology"
CALL = [
    "Traceback (most recent call last):",
    '  File "/home/user/project/train.py", line 42, in <module>',
    "    main()",
]
FRAMEWORK = [
    '  File "/opt/mindspore/lib/python3.11/site-packages/mindspore/train/model.py", line 1092, in train',
    "    self._train(epoch)",
]
RULE = "-" * 52
CPP_STACK = ["", RULE, "- C++ Call Stack: (For framework developers)", RULE, "mindspore/ccsrc/hccl.cc:88 Launch", ""]
NOT_SPAWNED = (
    "RuntimeError: Failed to initialize distributed job cluster because some processes in the cluster are not "
    "successfully spawned."
)


def record(level: str, module: str, pid: int, second: float, text: str, place: str = f"{CLUSTER}/x.cc:1] Run") -> str:
    """A C++ record. ``place`` is ``FILE:LINE] FUNCTION``."""
    moment = START + timedelta(seconds=second)
    fraction = f"{moment.microsecond // 1000:03d}.{moment.microsecond % 1000:03d}"
    return f"[{level}] {module}({pid},7f97,python):{moment:%Y-%m-%d-%H:%M:%S}.{fraction} [{place}] {text}"


def python_record(level: str, pid: int, second: int, text: str, place: str) -> str:
    """A record of MindSpore's Python logger at a whole second."""
    moment = START + timedelta(seconds=second)
    return f"[{level}] ME({pid}:1402,MainProcess):{moment:%Y-%m-%d-%H:%M:%S}.000.000 [{place}] {text}"


def joined(pid: int, rank: int, second: float = 1) -> list[str]:
    """What a worker says until it is part of the cluster, 0.01 s after ``second``."""
    return [
        record("WARNING", "DISTRIBUTED", pid, second - 1, "Topology build timed out., retry(1/1200)."),
        record("WARNING", "DISTRIBUTED", pid, second, "Cluster is successfully initialized."),
        record("WARNING", "DISTRIBUTED", pid, second, f"This node {rank} rank id: {rank}"),
        record("WARNING", "DEVICE", pid, second + 0.01, "The group hccl_world_group has already existed."),
    ]


def goodbye(pid: int, second: float) -> str:
    return record("INFO", "DISTRIBUTED", pid, second, "Event base dispatch success!")


def steps(first: int, last: int) -> list[str]:
    """Step lines as LossMonitor prints them, ``last`` not included."""
    return [f"epoch: 1 step: {step}, loss is {2 / (step + 1):.4f}" for step in range(first, last)]


def raised(exception: str, *, inside: bool = False) -> list[str]:
    """A traceback that ends in this line; ``inside`` MindSpore, with its C++ stack."""
    return [*CALL, *FRAMEWORK, exception, *CPP_STACK] if inside else [*CALL, exception]


def ascend(code: str, text: str, *more: str) -> list[str]:
    """The section with a CANN code below an exception."""
    return [RULE, "- Ascend Error Message:", RULE, f"{code}: {text}", "        Solution: check.", *more, ""]


def registered(pid: int, second: float, ranks: Sequence[int], expected: int, per_node: int = 8) -> list[str]:
    """The scheduler's records of the workers that joined."""
    return [
        record(
            "WARNING",
            "DISTRIBUTED",
            pid,
            second,
            f"The new node: {rank}(role: MS_WORKER), rank id: {rank}, device id: {rank % per_node}, hostname: "
            f"node-{rank // per_node}, ip: 10.0.0.{1 + rank // per_node} is registered successfully. Currently "
            f"registered node number: {count}, expected node number: {expected}.",
            f"{CLUSTER}/meta_server_node.cc:254] ProcessRegister",
        )
        for count, rank in enumerate(ranks, 1)
    ]


def scheduler(pid: int = 900, second: float = 0) -> list[str]:
    return [record("WARNING", "DISTRIBUTED", pid, second, "Begin to Initialize MetaServerNode.")]


def timed_out(pid: int, second: float, role: str) -> list[str]:
    """How a process gives up waiting for the cluster."""
    place = f"{CLUSTER}/cluster_context.cc:94] Initialize"
    return [
        record("ERROR", "DISTRIBUTED", pid, second, f"Building networking for {role} failed.", place),
        *raised(NOT_SPAWNED),
    ]


def waited_in_collective(pid: int, second: float) -> list[str]:
    """The words of a rank that waited MS_NODE_TIMEOUT for a peer in a CPU collective."""
    place = "mindspore/ccsrc/plugin/cpu/res_manager/collective/allreduce_impl.cc:129] RunRingAllReduce"
    return [
        record("ERROR", "DEVICE", pid, second, "Ring ReduceScatter wait receiving [4] failed.", place),
        *raised("RuntimeError: Launch kernel failed, name:Default/AllReduce-op0", inside=True),
    ]


def worker_died(pid: int, second: int, code: int, launcher: int = 5) -> str:
    """msrun's word of the first worker that it saw fail."""
    place = "mindspore/parallel/cluster/process_entity/_api.py:365"
    text = f"Worker process {pid} exit with exception. Error code: {code}."
    return python_record("ERROR", launcher, second, text, place)


def write(folder: Path, name: str, lines: Sequence[str], *, end: str = "\n", encoding: str = "utf-8") -> Path:
    """A file below ``folder`` with these lines."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode(encoding))
    return path


def ended(rank: int | None, code: int, second: float = 90, **facts: object) -> ProcessStatus:
    """A worker (the scheduler for None) that ended; ``last_output`` counts from the start, too."""
    if "last_output" in facts:
        facts["last_output"] = EPOCH + float(str(facts["last_output"]))
    pid = 6 if rank is None else 7 + rank
    role = "scheduler" if rank is None else "worker"
    return msgspec.convert(
        {
            **{"role": role, "rank": rank, "pid": pid, "start_time": pid, "state": "ended", "exit_code": code},
            **{"started": EPOCH, "ended": EPOCH + second},
            **facts,
        },
        ProcessStatus,
    )


def write_status(folder: Path, processes: Sequence[ProcessStatus], **facts: object) -> None:
    """The record of a run of ours, ended 100 s after the start unless ``facts`` say otherwise."""
    status = {
        **{"id": "20261130_040000_9", "kind": "launch", "backend": "direct", "title": "train.py", "cwd": "/w"},
        **{"host": "node-0", "boot_id": "b", "pid": 9, "start_time": 1, "state": "ended", "created": EPOCH},
        **{"heartbeat": EPOCH + 100, "started": EPOCH, "ended": EPOCH + 100, "processes": list(processes)},
        **facts,
    }
    record_of_run = msgspec.convert(msgspec.to_builtins(status), RunStatus)
    (folder / "run.json").write_bytes(msgspec.json.encode(record_of_run))


def first_failure(rank: int, code: int, second: float = 90) -> FirstFailure:
    return FirstFailure(role="worker", rank=rank, pid=7 + rank, exit_code=code, time=EPOCH + second)
