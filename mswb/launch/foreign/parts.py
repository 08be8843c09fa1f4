"""Who plays which part: the workers and schedulers among all that carry their environment, and their launchers.

A data loader, a ``tail`` and a wrapper show the same MS_ROLE as the worker. The worker is the topmost Python of such a
chain, but for a wrapper, which never loads MindSpore while the process below it does. Pure, over what :mod:`.sight`
saw.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from mswb.jobs.procs import Table
from mswb.launch.foreign.command import is_msrun
from mswb.launch.foreign.run import Launcher, Role
from mswb.launch.foreign.sight import Sight

Sights = Mapping[int, Sight]

_ROLES: Mapping[str, Role] = {"MS_SCHED": "scheduler", "MS_WORKER": "worker"}
RANK_WORDS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK_ID")
"""Each launcher's own variable for the rank of a process, the surest first; RANK_ID may be set for a whole login."""
_MPI = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun", "orted", "prted"})
_SLURM = frozenset({"srun", "slurmstepd"})
_OURS = os.path.join("mswb", "inside", "")


@dataclass(frozen=True, slots=True)
class Part:
    """A process with a part in a training, and the launcher above it, if there is one."""

    sight: Sight
    role: Role
    launcher: Sight | None = None
    kind: Launcher = "single"


def cast(sights: Sights, table: Table) -> list[Part]:
    """All parts of all trainings, launchers included, without mswb's own runs."""
    candidates = {pid: sight for pid, sight in sights.items() if _is_candidate(sight)}
    strangers = {pid for pid, sight in sights.items() if not sight.readable and _below_msrun(pid, sights, table)}
    leading = {pid: sight for pid, sight in candidates.items() if _leads(sight, candidates, table)}
    tops = {pid for pid, sight in leading.items() if not _is_launcher_of(pid, sight, leading, table)} | strangers
    parts = [_part(sights[pid], sights, table) for pid in sorted(tops)]
    launchers = list(_launchers(parts, sights))
    taken = {part.sight.pid for part in launchers}
    return [*launchers, *(part for part in parts if part.sight.pid not in taken)]


def role_of(sight: Sight) -> Role:
    """The part of a process by its own environment."""
    if not sight.readable:
        return "worker" if sight.process.session == sight.pid else "scheduler"
    role = _ROLES.get(sight.env.get("MS_ROLE", ""))
    return role or ("worker" if rank_word(sight) is not None else "single")


def rank_word(sight: Sight) -> str | None:
    """What the launcher's variable says of the rank; None for a process alone."""
    return next((sight.env[name] for name in RANK_WORDS if sight.env.get(name, "").isdecimal()), None)


def _is_candidate(sight: Sight) -> bool:
    if not sight.readable or not sight.python or is_msrun(sight.command):
        return False
    if any(_OURS in word for word in sight.command[1:3]):  # a probe of ours
        return False
    return sight.mapped or sight.env.get("MS_ROLE") in _ROLES


def _likeness(sight: Sight) -> tuple[str | None, str | None]:
    """Processes that differ in it are different parts, even one below the other."""
    return sight.env.get("MS_ROLE"), rank_word(sight)


def _leads(sight: Sight, candidates: Sights, table: Table) -> bool:
    """Whether a candidate is the part itself, not a helper of one nor a wrapper around one."""
    like = _likeness(sight)
    above = [one for one in _above(sight.pid, candidates, table) if _likeness(one) == like]
    if any(one.mapped or not sight.mapped for one in above):
        return False
    return sight.mapped or not any(
        one.mapped and _likeness(one) == like and sight.pid in _pids_above(one.pid, table)
        for one in candidates.values()
    )


def _is_launcher_of(pid: int, sight: Sight, leading: Sights, table: Table) -> bool:
    """A process without a part of its own, above some that have one: a launcher script that imports MindSpore."""
    if role_of(sight) != "single":
        return False
    return any(other != pid and pid in _pids_above(other, table) for other in leading)


def _part(sight: Sight, sights: Sights, table: Table) -> Part:
    role = role_of(sight)
    for pid in _pids_above(sight.pid, table):
        above = sights.get(pid)
        name = table[pid].name
        if above is not None and is_msrun(above.command):
            return Part(sight, role, above, "msrun")
        if name in _MPI:
            return Part(sight, role, _topmost_mpi(pid, sights, table), "mpirun")
        if name in _SLURM and role != "single":
            return Part(sight, role, None, "slurm")
        if above is not None and above.mapped and role_of(above) == "single" != role:
            return Part(sight, role, above, "cluster" if "MS_ROLE" in sight.env else "ranks")
    if role == "single":
        return Part(sight, role)
    return Part(sight, role, None, "cluster" if "MS_ROLE" in sight.env else "ranks")


def _topmost_mpi(pid: int, sights: Sights, table: Table) -> Sight | None:
    """The first of the chain of MPI's processes that ends at ``pid``: mpirun itself."""
    chain = takewhile(lambda one: table[one].name in _MPI, [pid, *_pids_above(pid, table)])
    return sights.get(list(chain)[-1])


def _launchers(parts: Sequence[Part], sights: Sights) -> Iterator[Part]:
    """The launchers of the parts, and every msrun that has none yet."""
    known = {part.launcher.pid: part for part in parts if part.launcher is not None}
    for pid, part in known.items():
        yield Part(sights[pid], "launcher", sights[pid], part.kind)
    for pid, sight in sights.items():
        if pid not in known and sight.python and is_msrun(sight.command):
            yield Part(sight, "launcher", sight, "msrun")


def _below_msrun(pid: int, sights: Sights, table: Table) -> bool:
    """Whether another user's Python is a rank of an msrun: all that shows is whose child it is."""
    sight, above = sights[pid], sights.get(table[pid].parent)
    return sight.python and above is not None and is_msrun(above.command) and not is_msrun(sight.command)


def _above(pid: int, candidates: Sights, table: Table) -> list[Sight]:
    return [candidates[one] for one in _pids_above(pid, table) if one in candidates]


def _pids_above(pid: int, table: Table) -> list[int]:
    """The ancestors of a process, the nearest first, pid 1 left out."""
    found: list[int] = []
    while pid in table and table[pid].parent > 1 and table[pid].parent not in found:
        pid = table[pid].parent
        if pid in table:
            found.append(pid)
    return found
