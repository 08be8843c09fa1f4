"""Which parts make one run: those of one scheduler address, one job of a batch system, or one launcher. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mswb.launch.foreign.command import script_started
from mswb.launch.foreign.parts import Part, rank_word

Key = tuple[object, ...]

_JOB_WORDS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID")


def runs_of(parts: Iterable[Part]) -> list[list[Part]]:
    """The parts of each run, launchers first; a launcher belongs to the run of its ranks, or is one alone."""
    every = list(parts)
    groups: dict[Key, list[Part]] = {}
    for part in every:
        if part.role != "launcher":
            groups.setdefault(key_of(part), []).append(part)
    runs = [run for key, group in groups.items() for run in _split(key, group)]
    launchers = {part.sight.pid: part for part in every if part.role == "launcher"}
    found = [[*_launchers_of(run, launchers), *run] for run in runs]
    taken = {part.sight.pid for run in found for part in run}
    return found + [[part] for pid, part in launchers.items() if pid not in taken]


def address_of(part: Part) -> str | None:
    """``host:port`` of the scheduler that a process was told."""
    port = part.sight.env.get("MS_SCHED_PORT")
    host = part.sight.env.get("MS_SCHED_HOST", "127.0.0.1")
    if not port:
        return None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def job_of(part: Part) -> str | None:
    """The id that MPI or Slurm gave to the job of a process."""
    env = part.sight.env
    told = next((env[name] for name in _JOB_WORDS if env.get(name)), None)
    if told is not None or not env.get("SLURM_JOB_ID"):
        return told
    return ".".join(filter(None, (env["SLURM_JOB_ID"], env.get("SLURM_STEP_ID"))))


def key_of(part: Part) -> Key:
    """What the parts of one run share and no other run's."""
    sight = part.sight
    owner = (sight.uid, *sight.space)
    address, job = address_of(part), job_of(part)
    if "MS_ROLE" in sight.env and address is not None:
        return ("address", *owner, address)
    if part.role == "single":
        return ("single", sight.process.id)
    if part.launcher is not None:
        return ("launcher", *owner, part.launcher.process.id)
    if job is not None:
        return ("job", *owner, job)
    # Ranks that a shell script starts have a rank table in common, or else the session, which outlives the script.
    place = sight.env.get("RANK_TABLE_FILE") or sight.process.session
    return ("ranks", *owner, place, script_started(sight.command))


def _split(key: Key, group: list[Part]) -> list[list[Part]]:
    """A rank that stands twice shows two runs: of two launchers, or processes alone that inherited a number."""
    ranks = Counter(_number(part) for part in group)
    if all(number is None or count == 1 for number, count in ranks.items()):
        return [group]
    if key[0] in ("ranks", "job"):
        return [[part] for part in group]
    by_launcher: dict[object, list[Part]] = {}
    for part in group:
        by_launcher.setdefault(part.launcher and part.launcher.process.id, []).append(part)
    return list(by_launcher.values())


def _number(part: Part) -> str | None:
    if part.role == "scheduler":
        return "scheduler"
    return part.sight.env.get("MS_NODE_ID") or (None if "MS_ROLE" in part.sight.env else rank_word(part.sight))


def _launchers_of(run: Sequence[Part], launchers: dict[int, Part]) -> list[Part]:
    pids = dict.fromkeys(part.launcher.pid for part in run if part.launcher is not None)
    return [launchers[pid] for pid in pids if pid in launchers]
