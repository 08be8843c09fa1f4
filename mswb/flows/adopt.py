"""Adopting a training that mswb did not start: which one is meant, and what its supervisor has to know."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mswb.findings import MswbError, stop
from mswb.jobs import procs, runs
from mswb.jobs.adopt import adopt as start_adoption
from mswb.jobs.adopt import adopted_by, refuse_unfit
from mswb.jobs.procs import Table
from mswb.jobs.runs import Run
from mswb.jobs.spec import ADOPTED, AdoptedProcess, JobSpec, Role
from mswb.launch.discover import LogFile, rank_of
from mswb.launch.foreign import ForeignProcess, ForeignRun, find_foreign
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.launch.foreign import Finder

_ROLES: Mapping[str, Role] = {"single": "command", "worker": "worker", "scheduler": "scheduler", "launcher": "launcher"}


def foreign_runs(settings: Settings, finder: Finder | None = None) -> tuple[ForeignRun, ...]:
    """The live trainings that nobody watches: mswb started none of them, nor did it adopt them.

    Args:
        finder: what a caller keeps who asks again and again.
    """
    known = adopted_by(settings)
    found = finder.find() if finder is not None else find_foreign()
    return tuple(run for run in found if not any(process.id in known for process in run.processes))


def choose(pid: int, settings: Settings) -> ForeignRun:
    """The training that has the process ``pid``, or one above it; a data loader's pid will do.

    Raises:
        MswbError: ``adopt-no-process``, ``adopt-other-user``, ``adopt-own-run``, ``adopt-already`` or
            ``adopt-no-training``.
    """
    table = procs.scan()
    process = table.get(pid)
    if process is None or process.over:
        raise stop("adopt-no-process", values={"pid": pid})
    one = AdoptedProcess(role="command", pid=pid, start_time=process.id.start_time)
    refuse_unfit(one, adopted_by(settings))
    found = find_foreign(table)
    above = procs.ancestors(table, pid)
    mine = next((run for run in found if any(process.pid in above for process in run.processes)), None)
    if mine is None:
        values = {"pid": pid, "name": process.name, "near": _near(pid, found, table)}
        raise stop("adopt-no-training", values=values)
    return mine


def adopt(pid: int, settings: Settings, *, end_peers: bool = False) -> Run:
    """Take the training of the process ``pid`` under watch, whole, and return its new run.

    Args:
        end_peers: end the other processes when one fails, as in a run that mswb starts; else it ends as it would.

    Raises:
        MswbError: those of :func:`choose` and of :func:`mswb.jobs.adopt.adopt`.
    """
    return adopt_run(choose(pid, settings), settings, end_peers=end_peers)


def adopt_run(found: ForeignRun, settings: Settings, *, end_peers: bool = False) -> Run:
    """Take a training under watch that was found before.

    Raises:
        MswbError: those of :func:`mswb.jobs.adopt.adopt`; a process of it that has ended since is left out, unless none
            is left.
    """
    living = [one for one in found.processes if procs.look(one.pid) is not None]
    adopted = tuple(_adopted(one) for one in living or found.processes)
    known = adopted_by(settings)
    for one in adopted:
        refuse_unfit(one, known)
    run_id, folder = runs.new_run(settings)
    try:
        return start_adoption(_spec(run_id, found, adopted, end_peers, settings), settings)
    except MswbError:
        if not os.listdir(folder):
            folder.rmdir()
        raise


def _spec(
    run_id: str, found: ForeignRun, adopted: tuple[AdoptedProcess, ...], end_peers: bool, settings: Settings
) -> JobSpec:
    workers = [one for one in adopted if one.role == "worker"]
    own = {one.log for one in adopted}
    return JobSpec(
        id=run_id,
        kind="launch",
        title=found.title,
        cwd=found.cwd or "/",
        env={},
        processes=(),
        backend=ADOPTED,
        script=found.script,
        log_dir=found.log_dir,
        worker_logs={one.rank: one.log for one in workers if one.rank is not None and one.log is not None},
        scheduler_log=next((one.log for one in adopted if one.role == "scheduler"), None),
        expected_workers=len(workers),
        created=found.started,
        stop_grace_s=settings["stop_grace_s"],
        command_line=found.command,
        adopted=adopted,
        end_peers=end_peers,
        launcher=found.launcher,
        more_logs={log.path: log.rank for log in found.logs if log.path not in own},
    )


def _adopted(process: ForeignProcess) -> AdoptedProcess:
    """A worker's rank is what its log says where it says it: the environment may hold a local number only."""
    rank = process.rank
    if process.role == "worker" and process.log is not None:
        rank = rank_of(LogFile(process.log, process.log, "worker", rank, None, 0, 0.0))
    return AdoptedProcess(
        role=_ROLES[process.role],
        pid=process.pid,
        start_time=process.id.start_time,
        rank=rank,
        log=process.log,
    )


def _near(pid: int, found: Iterable[ForeignRun], table: Table) -> str:
    """The trainings below a process that is none itself: a shell script that starts one."""
    below = procs.descendants(table, [pid]) if pid > 1 else set()
    first = [next((one.pid for one in run.processes if one.pid in below), None) for run in found]
    pids = [str(one) for one in first if one is not None]
    return f"; below it runs {', '.join(pids)}" if pids else ""
