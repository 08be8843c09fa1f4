"""Processes of real msrun that nobody watches any more.

When msrun is ended by SIGTERM or SIGKILL its scheduler, workers and tails live on. They are found by MS_ROLE in their
environment and by a parent that only adopts orphans. A run started with ``--join=False`` looks the same while it is
healthy, so they are shown with a plan and never ended unasked.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mswb.jobs import procs
from mswb.jobs.procs import Process, Table
from mswb.jobs.runs import is_live, load_run
from mswb.jobs.spec import MSWB_EVENTS, MSWB_RUN_ID
from mswb.plan import Action, Plan, end_process
from mswb.settings import Settings
from mswb.signals import ProcessId

# Who adopts orphans: pid 1 of any name, a user's systemd, and the reapers that containers start with.
REAPERS = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "containerd-shim", "conmon"})
_ROLES = {"MS_SCHED": "scheduler", "MS_WORKER": "worker"}
WARNING = (
    "A training that was started with msrun --join=False looks the same while it is healthy: end these only if you "
    "know that their msrun is gone."
)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process without anyone to watch it. ``role`` is scheduler, worker, tail or child; times are since the epoch."""

    process: Process
    role: str
    rank: int | None
    log: str | None
    command: tuple[str, ...]
    started: float


def find_foreign_orphans(watched: Collection[ProcessId] = ()) -> list[Orphan]:
    """The orphans of this user that a real msrun, not started by mswb, left behind; roots before their children.

    Args:
        watched: the processes of adopted runs (:func:`mswb.jobs.adopt.adopted_by`), which are no orphans.
    """
    table = procs.scan()
    mine = {pid: process for pid, process in table.items() if procs.owner(pid) == os.geteuid() and not process.over}
    envs = {pid: env for pid in mine if "MS_ROLE" in (env := procs.environ(pid)) and MSWB_RUN_ID not in env}
    tops = [mine[pid] for pid in envs if mine[pid].parent not in envs and _adopts(table, mine[pid].parent)]
    roots = [one for one in tops if one.id not in watched]
    below = procs.descendants(table, [root.pid for root in roots]) & mine.keys()
    found = [_orphan(root, envs[root.pid]) for root in roots]
    found += [_orphan(mine[pid], envs.get(pid), child=True) for pid in sorted(below)]
    return [orphan for orphan in found if orphan.process.pid not in procs.ancestors(table, os.getpid())]


def find_own_orphans(settings: Settings) -> list[Orphan]:
    """Processes that carry the mark of a run which is not live: its folder is gone, or it counts as ended.

    Runs whose supervisor died are the business of :func:`mswb.jobs.control.reap_lost`, which goes first.
    """
    table = procs.scan()
    above = procs.ancestors(table, os.getpid())
    mine = [pid for pid in table.keys() - above if procs.owner(pid) == os.geteuid() and not table[pid].over]
    marks = {pid: folder for pid in sorted(mine) if (folder := _marked_folder(settings, procs.environ(pid)))}
    dead = {folder for folder in set(marks.values()) if not (folder.is_dir() and is_live(load_run(folder)))}
    return [_orphan(table[pid], procs.environ(pid)) for pid, folder in marks.items() if folder in dead]


def orphan_plan(orphans: Sequence[Orphan]) -> Plan:
    """The plan that ends these processes, schedulers and workers before their helpers."""
    order = sorted(orphans, key=lambda orphan: (orphan.role not in ("scheduler", "worker"), orphan.process.pid))
    return Plan(tuple(_action(orphan) for orphan in order), (WARNING,) if orphans else ())


def _action(orphan: Orphan) -> Action:
    rank = "" if orphan.rank is None else f" {orphan.rank}"
    place = f", log {orphan.log}" if orphan.log else ""
    command = " ".join(orphan.command)
    return end_process(orphan.process.id, orphan.process.name, detail=f"{orphan.role}{rank}{place}: {command}")


def _adopts(table: Table, pid: int) -> bool:
    return pid <= 1 or pid not in table or table[pid].name in REAPERS


def _orphan(process: Process, env: dict[str, str] | None, *, child: bool = False) -> Orphan:
    command = procs.arguments(process.pid)
    role = "child" if child else _ROLES.get((env or {}).get("MS_ROLE", ""), "child")
    if command and os.path.basename(command[0]) == "tail":
        return Orphan(process, "tail", None, command[-1], command, procs.started_at(process.id))
    if role == "worker" and process.session != process.pid:
        role = "child"  # a data loader whose worker is dead: workers lead a session
    node = (env or {}).get("MS_NODE_ID", "")
    rank = int(node) if role == "worker" and node.isascii() and node.isdigit() else None
    return Orphan(process, role, rank, procs.stdout_path(process.pid), command, procs.started_at(process.id))


def _marked_folder(settings: Settings, env: Mapping[str, str]) -> Path | None:
    """The folder of the run that a process belongs to, also when that run was started with another state folder."""
    name = os.path.basename(env.get(MSWB_RUN_ID, ""))
    if not name:
        return None
    told = Path(env.get(MSWB_EVENTS, "")).parent
    return told if told.name == name and told.is_absolute() else settings.runs_dir / name
