"""A live training that mswb did not start, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mswb.launch.logview.source import ShownLog
from mswb.signals import ProcessId

Role = Literal["worker", "scheduler", "launcher", "single"]
Launcher = Literal["msrun", "mpirun", "slurm", "cluster", "ranks", "single"]


@dataclass(frozen=True, slots=True)
class ForeignProcess:
    """One process of a training that mswb did not start.

    Attributes:
        id: pid and start time.
        role: ``single`` is a process alone that has MindSpore loaded.
        rank: of a worker, None where nothing tells it.
        uid: the user id it runs as.
        started: seconds since the epoch.
        command: the command line.
        devices: the device ids that its environment names (DEVICE_ID), in the words of the environment.
        log: the file that its standard output goes to, None when that is no file (a terminal, a pipe).
        logs: every log file that it has open for writing, ``log`` first.
    """

    id: ProcessId
    role: Role
    rank: int | None
    uid: int
    started: float
    command: tuple[str, ...]
    devices: str | None = None
    log: str | None = None
    logs: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        return self.id.pid


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """The processes of one training, and what they have in common.

    Attributes:
        key: names the run as long as its first process lives: ``pid:start_time``.
        launcher: what started it: real ``msrun``, ``mpirun``, ``slurm``, a dynamic ``cluster`` started by hand or a
            script, ``ranks`` with RANK_ID of their own, or a ``single`` process.
        title: the script with its arguments, as short as a title must be.
        script: the user's script as the command line has it, None where it can't be told.
        cwd: the working folder of its first worker, None where it can't be read.
        command: the command line of the launcher, else of the first worker.
        owner: the name of the user whose processes these are.
        mine: whether they are the processes of the user who asks; only those can be adopted.
        started: seconds since the epoch.
        processes: launcher, scheduler, workers in the order of their ranks.
        expected: the number of workers that the environment names (MS_WORKER_NUM, RANK_SIZE), on all nodes; else None.
        address: ``host:port`` of the scheduler, else None.
        job: the id that a batch system gave it, else None.
        node: the name of this host.
        elsewhere: whether it runs in another pid namespace (a container), so that its paths may mean other files.
        log_dir: the folder of the rank logs, None where they lie apart or are no files.
        logs: all log files, workers' first.
    """

    key: str
    launcher: Launcher
    title: str
    script: str | None
    cwd: str | None
    command: tuple[str, ...]
    owner: str
    mine: bool
    started: float
    processes: tuple[ForeignProcess, ...]
    expected: int | None
    address: str | None
    job: str | None
    node: str
    elsewhere: bool
    log_dir: str | None
    logs: tuple[ShownLog, ...]

    @property
    def workers(self) -> tuple[ForeignProcess, ...]:
        """The processes that train: ranks, or the one process."""
        return tuple(one for one in self.processes if one.role in ("worker", "single"))
