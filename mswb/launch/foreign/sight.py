"""What /proc shows of one process, and a memory of it, so that a host with a thousand processes is polled cheaply.

A training is a Python, so of all other programs only name and owner are looked at, and only once: an exec that made
them a Python would change their name.

The environment is the one the process was started with (later changes of its own don't show), so a process that sets
MS_ROLE itself is known by its mapped files only.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mswb.jobs import procs
from mswb.jobs.procs import Process, Table
from mswb.signals import ProcessId

NAMES = frozenset(
    (
        *("MS_ROLE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_NODE_ID", "MS_WORKER_NUM"),
        *("RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE", "DEVICE_ID", "ASCEND_DEVICE_ID"),
        *("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMIX_RANK"),
        *("PMI_RANK", "PMI_SIZE", "PMI_JOBID"),
        *("SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID"),
        *("MSWB_RUN_ID", "MSWB_EVENTS"),
    )
)
"""The variables that tell anything of a training: MindSpore's, and those of Open MPI, PMIx, MPICH and Slurm."""
LIBRARY = b"libmindspore"
_PYTHONS = ("python", "pypy", "pytest")
_LAUNCHERS = ("mpi", "orte", "prte", "hydra", "srun", "msrun", "prun")
KERNEL_THREADS = 2
"""The pid of kthreadd: it and its children have neither environment nor files."""
_MAP_BLOCK = 1 << 16
_SOONEST_S, _LATEST_S = 1.0, 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Sight:
    """What one process shows.

    Attributes:
        uid: the user id it runs as.
        env: the variables of :data:`NAMES` that a Python was started with; of other programs nothing is read.
        command: the command line of a Python or a launcher, else empty.
        python: whether the program is a Python.
        mapped: whether MindSpore's libraries are loaded.
        readable: whether environment and files are readable for us, so that they count.
        space: its pid and network namespace, in the kernel's words.
    """

    process: Process
    uid: int
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    python: bool = False
    mapped: bool = False
    readable: bool = True
    space: tuple[str, str] = ("", "")

    @property
    def pid(self) -> int:
        return self.process.pid


@dataclass(slots=True)
class _Memory:
    sight: Sight
    again: float


class Eyes:
    """Looks at processes and remembers what can't change; the rest is looked at the more rarely the older it is."""

    def __init__(self) -> None:
        self._memory: dict[ProcessId, _Memory] = {}
        self._me = os.geteuid()

    def look(self, table: Table) -> dict[int, Sight]:
        """What all processes show, those without a live main thread and kernel threads left out."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        fresh: dict[ProcessId, _Memory] = {}
        for process in table.values():
            if process.over or KERNEL_THREADS in (process.pid, process.parent):
                continue
            known = self._memory.get(process.id)
            if known is None or known.sight.process.name != process.name or now >= known.again:
                sight = self._see(process)
                known = None if sight is None else _Memory(sight, _again(sight, now))
            elif known.sight.process != process:
                known.sight = replace(known.sight, process=process)
            if known is not None:
                fresh[process.id] = known
        self._memory = fresh
        return {process.pid: memory.sight for process, memory in fresh.items()}

    def _see(self, process: Process) -> Sight | None:
        uid = procs.owner(process.pid)
        if uid is None:
            return None
        mine = self._me in (0, uid)
        python = is_python(process) if mine else process.name.startswith(_PYTHONS)
        if not python and not process.name.startswith(_LAUNCHERS):
            return Sight(process, uid, readable=mine)
        command = procs.arguments(process.pid)
        if not mine:  # a command line is all that another user's process shows
            return Sight(process, uid, command=command, python=python, readable=False)
        env = procs.environ(process.pid)
        return Sight(
            process,
            uid,
            {name: env[name] for name in NAMES & env.keys()},
            command,
            python,
            mapped=python and has_mapped(process.pid, LIBRARY),
            space=(_link(process.pid, "ns/pid"), _link(process.pid, "ns/net")),
        )


def is_python(process: Process) -> bool:
    """Whether a process of ours runs a Python, by its program file: its name may be anything."""
    return os.path.basename(_link(process.pid, "exe")).startswith(_PYTHONS) or process.name.startswith(_PYTHONS)


def has_mapped(pid: int, name: bytes) -> bool:
    """Whether a file whose path holds ``name`` is mapped into a process; read only as far as needed."""
    try:
        descriptor = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return any(name in block for block in _overlapping(descriptor, len(name)))
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _overlapping(descriptor: int, overlap: int) -> Iterator[bytes]:
    tail = b""
    while block := os.read(descriptor, _MAP_BLOCK):
        yield tail + block
        tail = block[-overlap:]


def _again(sight: Sight, now: float) -> float:
    """When to look again: only a Python can import or exec something new, and if so early in its life."""
    if not sight.python or sight.mapped or not sight.readable:
        return math.inf
    age = now - sight.process.id.start_time / _TICKS
    return now + min(max(age / 4, _SOONEST_S), _LATEST_S)


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""
