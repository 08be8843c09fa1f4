"""The live trainings of this host that mswb did not start: looking, choosing, and putting together."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mswb.jobs import procs
from mswb.jobs.procs import Table
from mswb.jobs.runs import is_live, load_run
from mswb.jobs.spec import MSWB_EVENTS, MSWB_RUN_ID
from mswb.launch.foreign.command import script_started
from mswb.launch.foreign.files import OpenLogs, open_logs
from mswb.launch.foreign.group import address_of, job_of, runs_of
from mswb.launch.foreign.parts import RANK_WORDS, Part, cast
from mswb.launch.foreign.run import ForeignProcess, ForeignRun, Role
from mswb.launch.foreign.sight import Eyes, Sight
from mswb.launch.logview.source import ShownLog
from mswb.settings import host_name
from mswb.signals import ProcessId

_TICKS = os.sysconf("SC_CLK_TCK")
LOGS_S = 5.0
"""How long the list of a process's open files holds: a new one is seen so late at most."""
_ORDER: Mapping[Role, int] = {"launcher": 0, "scheduler": 1, "worker": 2, "single": 2}
_RANK_OF_FILE = re.compile(r"(?:worker|rank)[\w.{}-]*?_(\d{1,7})\.log$|(?:^|[_.-])rank[_.-]?(\d{1,7})\D*$")
_COUNTS = ("MS_WORKER_NUM", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "RANK_SIZE", "SLURM_NTASKS")
_DEVICES = ("DEVICE_ID", "ASCEND_DEVICE_ID", "ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def find_foreign(table: Table | None = None) -> tuple[ForeignRun, ...]:
    """The live trainings of this host that have no live mswb supervisor, the newest first.

    Args:
        table: the process table, where the caller has one already.
    """
    return Finder().find(table)


class Finder:
    """Finds them again and again; what can't have changed is not read a second time. For one thread at a time."""

    def __init__(self) -> None:
        self._eyes = Eyes()
        self._booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        self._logs: dict[ProcessId, tuple[float, OpenLogs]] = {}

    def find(self, table: Table | None = None) -> tuple[ForeignRun, ...]:
        """See :func:`find_foreign`."""
        known = procs.scan() if table is None else table
        sights = _without_ours(self._eyes.look(known))
        runs = [self._run(parts, known) for parts in runs_of(cast(sights, known))]
        live = {process.id for run in runs for process in run.processes}
        self._logs = {process: seen for process, seen in self._logs.items() if process in live}
        return tuple(sorted(runs, key=lambda run: (-run.started, run.key)))

    def _run(self, parts: Sequence[Part], table: Table) -> ForeignRun:
        found = {part.sight.pid: self._open_logs(part.sight, table) for part in parts}
        processes = tuple(sorted(self._processes(parts, found), key=lambda one: (_ORDER[one.role], _rank(one), one.id)))
        leading = next((part for part in parts if part.role in ("worker", "single")), parts[-1])
        first = min(processes, key=lambda one: (one.started, one.id))
        script = script_started(leading.sight.command)
        return ForeignRun(
            key=f"{first.pid}:{first.id.start_time}",
            launcher=leading.kind,
            title=_title(leading.sight, script),
            script=script,
            cwd=_cwd(leading.sight.pid),
            command=processes[0].command,
            owner=procs.user_name(leading.sight.uid),
            mine=all(part.sight.uid == os.geteuid() for part in parts),
            started=first.started,
            processes=processes,
            expected=_expected(leading.sight.env),
            address=address_of(leading),
            job=job_of(leading),
            node=host_name(),
            elsewhere=leading.sight.readable and leading.sight.space[0] != procs.pid_namespace(),
            log_dir=_log_dir(processes),
            logs=_shown(processes),
        )

    def _processes(self, parts: Sequence[Part], logs: Mapping[int, OpenLogs]) -> Iterator[ForeignProcess]:
        taken: set[int] = set()
        for part in sorted(parts, key=lambda one: one.sight.process.id.start_time):
            sight, open_ = part.sight, logs[part.sight.pid]
            rank = next((number for number in ranks_told(sight, open_) if number not in taken), None)
            rank = rank if part.role == "worker" else None
            taken |= set() if rank is None else {rank}
            yield ForeignProcess(
                id=sight.process.id,
                role=part.role,
                rank=rank,
                uid=sight.uid,
                started=self._booted + sight.process.id.start_time / _TICKS,
                command=sight.command,
                devices=next((sight.env[name] for name in _DEVICES if sight.env.get(name)), None),
                log=open_.output,
                logs=open_.every,
            )

    def _open_logs(self, sight: Sight, table: Table) -> OpenLogs:
        seen = self._logs.get(sight.process.id)
        now = time.monotonic()
        if seen is None or now - seen[0] > LOGS_S:
            seen = self._logs[sight.process.id] = (now, open_logs(sight.pid, table))
        return seen[1]


def _without_ours(sights: Mapping[int, Sight]) -> dict[int, Sight]:
    """All but the members of runs that a live supervisor of mswb watches, and this process."""
    folders = {pid: Path(sight.env[MSWB_EVENTS]).parent for pid, sight in sights.items() if _is_marked(sight)}
    live = {folder for folder in set(folders.values()) if is_live(load_run(folder))}
    return {pid: one for pid, one in sights.items() if pid != os.getpid() and folders.get(pid) not in live}


def _is_marked(sight: Sight) -> bool:
    return MSWB_RUN_ID in sight.env and os.path.isabs(sight.env.get(MSWB_EVENTS, ""))


def ranks_told(sight: Sight, logs: OpenLogs) -> Iterator[int]:
    """What a worker shows of its rank, the best witness first.

    Under msrun RANK_ID may be an inherited 0 (see :mod:`mswb.jobs.roles`), so it stands behind the log's name.
    """
    match = _RANK_OF_FILE.search(os.path.basename(logs.output or ""))
    words = [match.group(1) or match.group(2)] if match else []
    words += [sight.env.get(name, "") for name in ("MS_NODE_ID", *RANK_WORDS)]
    words += [sight.env.get("DEVICE_ID", "")] if "MS_ROLE" in sight.env else []
    return (int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 8)


def _rank(process: ForeignProcess) -> int:
    return 1 << 30 if process.rank is None else process.rank


def _expected(env: Mapping[str, str]) -> int | None:
    return next((int(env[name]) for name in _COUNTS if env.get(name, "").isdecimal()), None)


def _title(sight: Sight, script: str | None) -> str:
    if script is not None:
        return os.path.basename(script)
    return " ".join(sight.command[1:4]) or sight.process.name


def _log_dir(processes: Sequence[ForeignProcess]) -> str | None:
    """The folder that holds the ranks' logs: one for all, or the nearest above them below the root."""
    logs = [one.log for one in processes if one.log and one.role in ("worker", "single")]
    if not logs:
        return None
    common = os.path.commonpath([os.path.dirname(path) for path in logs])
    return common if common.count("/") > 1 or common == os.path.dirname(logs[0]) else None


def _shown(processes: Sequence[ForeignProcess]) -> tuple[ShownLog, ...]:
    """All logs, each once: the workers' first, the launcher's last. One that several write is nobody's own."""
    writers: dict[str, list[ForeignProcess]] = {}
    for process in sorted(processes, key=lambda one: (-_ORDER[one.role], _rank(one))):
        for path in process.logs:
            writers.setdefault(path, []).append(process)
    return tuple(_shown_log(path, those) for path, those in writers.items())


def _shown_log(path: str, writers: Sequence[ForeignProcess]) -> ShownLog:
    roles = {one.role for one in writers}
    if len(writers) > 1:
        return ShownLog(path, "launcher" if "launcher" in roles else "other")
    return ShownLog(path, "other" if "single" in roles else writers[0].role, writers[0].rank)


def _cwd(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
