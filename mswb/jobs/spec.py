"""What a job is, as data: the files of a run folder, read and written whole.

A run is a folder ``<state>/runs/<id>/``:

=============  =================================================================================================
spec.json      :class:`JobSpec`: what was asked, written once before the start (0600: it holds the environment)
status.json    :class:`RunStatus`: what happens, rewritten by the shim only
output.log     a link to the launcher's own output (for a plain command: its output)
events.jsonl   :class:`Event` a line: started, worker-found, first-failure, stopping, stacks, ended; a member's own:
               progress, stale-source
log            a link to the folder of the rank logs
=============  =================================================================================================

The shim also writes ``run.json`` (a :class:`RunStatus`) into the log folder, so that a diagnosis of that folder has
the exit codes even after it was copied to another machine; not for an adopted run, whose log folder is not ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from mswb.files.safety import open_regular, write_atomic
from mswb.findings import stop

Role = Literal["worker", "scheduler", "launcher", "command"]
State = Literal["starting", "running", "stopping", "ended"]
ProcessState = Literal["starting", "running", "ended"]

ADOPTED = "adopted"
"""The backend of a run whose processes ran before we came."""
LOST_EXIT_CODE = 70
"""The exit code of a run whose shim died, and whose members were ended by a later client."""
MSWB_RUN_ID = "MSWB_RUN_ID"
"""In the environment of every member of a run; how members are found whatever their session or parent."""


MSWB_EVENTS = "MSWB_EVENTS"
"""In the environment of every member: the events.jsonl to which a job of ours appends its progress."""


class ProcessSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One process that the shim starts itself, in a process group of its own.

    ``env`` is added to the job's. Standard output and error both go to ``log`` (absolute); standard input is empty.
    """

    role: Role
    argv: tuple[str, ...]
    log: str
    rank: int | None = None
    env: dict[str, str] = {}


class AdoptedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process that ran before us, and that the shim only watches. ``log``: where its output goes, if a file."""

    role: Role
    pid: int
    start_time: int
    rank: int | None = None
    log: str | None = None


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to run and how to end it.

    kind: ``launch`` = a training (workers are watched, the first failure ends the rest); ``command`` = any program.
    backend: ``msrun`` = one launcher process whose descendants are the workers; ``direct`` = we start each of them;
    ``adopted`` = they ran before we came.
    env: the whole environment of the processes (the shim adds MSWB_RUN_ID).
    worker_logs: under msrun, the file that each rank's output will go to, by rank (absolute paths).
    expected_workers: local workers that must be found before all of them ending well means success.
    stop_grace_s: how long members have after SIGINT, and again after SIGTERM.
    scheduler_grace_s: how long scheduler and launcher may take to end after all workers ended well.
    merged_log: the file into which the shim merges all logs of the run, or None.
    arguments: the words after ``mswb run`` that asked for it, to run it again.
    adopted: the processes of a run that we did not start. They are ended on request only, and with ``end_peers`` after
    the first failure.
    launcher: what had started them (``msrun``, ``mpirun`` …).
    more_logs: further log files (those of glog), each with its rank.
    after: a command of ours that runs once, when the run has ended with exit code 0, before it counts as ended.
    """

    id: str
    kind: Literal["launch", "command"]
    title: str
    cwd: str
    env: dict[str, str]
    processes: tuple[ProcessSpec, ...]
    backend: str = "command"
    script: str | None = None
    log_dir: str | None = None
    merged_log: str | None = None
    worker_logs: dict[int, str] = {}
    scheduler_log: str | None = None
    expected_workers: int = 0
    created: float = 0.0
    stop_grace_s: float = 5.0
    scheduler_grace_s: float = 10.0
    command_line: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    adopted: tuple[AdoptedProcess, ...] = ()
    end_peers: bool = True
    launcher: str = ""
    more_logs: dict[str, int | None] = {}
    after: tuple[str, ...] = ()

    @property
    def under_msrun(self) -> bool:
        """Whether real msrun is the parent of the ranks, and kills them when one fails."""
        return "msrun" in (self.backend, self.launcher)


class ProcessStatus(msgspec.Struct, kw_only=True):
    """One member that matters. Times are seconds since the epoch; ``exit_code`` is negative for a signal.

    ``start_time`` is field 22 of /proc/PID/stat (clock ticks since boot): with the pid it names a process for ever.
    ``ended_by_us``: the shim sent the signal that ended it, so its exit code says nothing about its own health.
    ``last_output``: when its log last grew; ``longest_pause_s``: the longest earlier pause between two growths.
    """

    role: Role
    pid: int
    start_time: int
    rank: int | None = None
    state: ProcessState = "starting"
    exit_code: int | None = None
    started: float = 0.0
    ended: float | None = None
    ended_by_us: bool = False
    log: str | None = None
    last_output: float | None = None
    longest_pause_s: float = 0.0
    peak_rss_bytes: int | None = None


class FirstFailure(msgspec.Struct, kw_only=True):
    """The first worker (or launcher) that ended badly by itself."""

    role: Role
    rank: int | None
    pid: int
    exit_code: int
    time: float


class RunStatus(msgspec.Struct, kw_only=True):
    """What happened so far. ``stopped_by``: ``user`` (a stop was asked), ``failure`` (peers of the first failure).

    ``exit_code`` is 1 where all processes ended with 0 and one told that its result is flawed; ``message`` says how. It
    stays None for an adopted run where nobody could see it; ``family`` are the pids and start times of what descends
    from its processes.
    """

    id: str
    kind: str
    backend: str
    title: str
    cwd: str
    host: str
    boot_id: str
    pid: int
    start_time: int
    pid_namespace: str = ""
    state: State
    created: float
    heartbeat: float
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    stopped_by: Literal["user", "failure"] | None = None
    stop_requested: float | None = None
    first_failure: FirstFailure | None = None
    processes: list[ProcessStatus] = []
    oom_kills: int = 0
    log_dir: str | None = None
    script: str | None = None
    expected_workers: int = 0
    command_line: list[str] = []
    message: str = ""
    family: list[tuple[int, int]] = []


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of events.jsonl."""

    time: float
    event: str
    rank: int | None = None
    role: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    text: str = ""
    done: float | None = None
    total: float | None = None
    unit: str | None = None


_T = TypeVar("_T")

# Python names a byte that is no UTF-8 by a lone surrogate, which JSON can't hold; its stand-in is a character of the
# last private plane, which no real text uses.
_TO_STAND_IN = {0xDC00 + byte: 0x10DC00 + byte for byte in range(0x80, 0x100)}
_FROM_STAND_IN = {stand_in: surrogate for surrogate, stand_in in _TO_STAND_IN.items()}
_STAND_IN_BYTES = (chr(0x10DC80).encode()[:3], chr(0x10DCC0).encode()[:3])


def read_record(path: Path, kind: type[_T]) -> _T:
    """Read a JSON file of a run folder.

    Raises:
        MswbError: ``path-missing``, ``path-unreadable`` (also when the content is not such a record).
    """
    with open(open_regular(path), "rb") as file:
        raw = file.read(64 << 20)
    try:
        if any(mark in raw for mark in _STAND_IN_BYTES):
            return msgspec.convert(_restored(msgspec.json.decode(raw)), kind, str_keys=True)
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as problem:
        raise stop("path-unreadable", values={"path": str(path), "reason": str(problem)}) from None


def write_record(path: Path, record: msgspec.Struct) -> None:
    """Write a record atomically (0600)."""
    write_atomic(path, encode(record))


def encode(record: msgspec.Struct) -> bytes:
    """A record as JSON. Paths and variables need not be UTF-8: odd bytes get stand-ins, which reading undoes."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(record), ensure_ascii=False, separators=(",", ":"))
        return plain.translate(_TO_STAND_IN).encode()


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_FROM_STAND_IN)
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict):
        return {_restored(name): _restored(item) for name, item in value.items()}
    return value
