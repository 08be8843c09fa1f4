"""Which descendants of real msrun are its scheduler and its workers, and which rank each worker is.

Source: mindspore/parallel/cluster/process_entity/_api.py of 2.10. Workers call setsid, the scheduler does not; both
get MS_ROLE, but so do the ``tail -f`` of every worker and the final ``grep``, and RANK_ID may be an inherited 0. The
file that standard output goes to is the best witness of the rank.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mswb.jobs import procs
from mswb.jobs.procs import Process
from mswb.jobs.spec import Role

_PROGRAMS = ("python", "pytest")
_RANK_OF_FILE = re.compile(r"_(\d{1,7})\.log$")


@dataclass(frozen=True, slots=True)
class Found:
    """A worker or scheduler that was not known before."""

    role: Role
    rank: int | None
    log: str | None
    process: Process


@dataclass(frozen=True, slots=True)
class Logs:
    """The files that ranks and scheduler write to, links resolved once, so that later no disk is asked."""

    ranks: Mapping[str, int]
    scheduler: str | None

    @classmethod
    def of(cls, worker_logs: Mapping[int, str], scheduler_log: str | None) -> Logs:
        ranks = {os.path.realpath(path): rank for rank, path in worker_logs.items()}
        return cls(ranks, os.path.realpath(scheduler_log) if scheduler_log else None)

    def path_of(self, rank: int) -> str | None:
        return next((path for path, one in self.ranks.items() if one == rank), None)


@dataclass(frozen=True, slots=True)
class Witness:
    """What one process shows of its role; read at once, since it may end at any time."""

    env: Mapping[str, str]
    stdout: str | None


def witness(process: Process) -> Witness:
    """Ask /proc about one process."""
    return Witness(procs.environ(process.pid), procs.stdout_path(process.pid))


@dataclass(frozen=True, slots=True)
class Known:
    """The parts that are taken already: ranks of workers, and whether the scheduler was found or there is none."""

    ranks: frozenset[int] = frozenset()
    scheduler: bool = False


def find(
    candidates: list[Process], logs: Logs, known: Known, ask: Callable[[Process], Witness] = witness
) -> list[Found]:
    """The scheduler and workers among children of the launcher (or, after its death, of the shim) without a part."""
    found: list[Found] = []
    for process in sorted(candidates, key=lambda item: (item.id.start_time, item.pid)):
        one = _classify(process, logs, known, ask)
        if one is not None:
            found.append(one)
            ranks = known.ranks if one.rank is None else known.ranks | {one.rank}
            known = Known(ranks, known.scheduler or one.role == "scheduler")
    return found


def _classify(process: Process, logs: Logs, known: Known, ask: Callable[[Process], Witness]) -> Found | None:
    leader = process.session == process.pid
    if process.over:
        return _classify_zombie(process, leader, logs, known)
    seen = ask(process)
    role = seen.env.get("MS_ROLE")
    if role == "MS_SCHED" and not leader and _is_scheduler_log(seen.stdout, logs):
        return Found("scheduler", None, seen.stdout, process)
    if leader and (role == "MS_WORKER" or (role is None and "RANK_ID" in seen.env)):
        rank = _rank(seen, logs, known.ranks)
        return Found("worker", rank, logs.path_of(rank) or seen.stdout, process)
    return None


def _classify_zombie(process: Process, leader: bool, logs: Logs, known: Known) -> Found | None:
    """A zombie shows neither environment nor files. Only workers lead a session, and they start in rank order."""
    if leader:
        rank = _next_rank(logs, known.ranks)
        return Found("worker", rank, logs.path_of(rank), process)
    if not known.scheduler and process.name.startswith(_PROGRAMS):  # not a tail, nor a tool that msrun asks
        return Found("scheduler", None, logs.scheduler, process)
    return None


def _is_scheduler_log(stdout: str | None, logs: Logs) -> bool:
    return stdout is not None and (stdout == logs.scheduler or os.path.basename(stdout) == "scheduler.log")


def _rank(seen: Witness, logs: Logs, taken: frozenset[int]) -> int:
    if seen.stdout is not None and seen.stdout in logs.ranks:
        return logs.ranks[seen.stdout]
    match = _RANK_OF_FILE.search(seen.stdout or "")
    words = (match.group(1) if match else None, seen.env.get("MS_NODE_ID"), seen.env.get("DEVICE_ID"))
    numbers = (int(word) for word in words if word and word.isascii() and word.isdigit())
    return next((number for number in numbers if number not in taken), _next_rank(logs, taken))


def _next_rank(logs: Logs, taken: frozenset[int]) -> int:
    known = sorted(set(logs.ranks.values()) - taken)
    return known[0] if known else max(taken, default=-1) + 1
