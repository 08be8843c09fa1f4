"""How a run is ended: ladders of signals, and which members each step reaches. Pure; the supervisor sends.

Between the steps the members are looked up anew, since a process that is being ended may still start others.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mswb.jobs.procs import Process

Scope = Literal["ranks", "training", "all"]
STACK_SIGNAL = signal.SIGRTMIN + 5
"""mswb/inside/boot.py registers faulthandler for it in every rank."""
KILL_WAIT_S = 10.0
"""After this long under SIGKILL a process hangs in the kernel (a dead NFS, a driver) and can't be waited for."""


@dataclass(frozen=True, slots=True)
class Step:
    """Send ``number`` (0: nothing) to the scope, then wait for its end, at most ``wait_s``.

    scope: ``ranks`` = workers and scheduler; ``training`` = all but real msrun and its tails, while workers live;
    ``all`` = every member. ``repeat``: send again whenever the members are looked at.
    """

    number: int
    wait_s: float
    scope: Scope = "all"
    repeat: bool = False


KILL = Step(signal.SIGKILL, KILL_WAIT_S, repeat=True)


def after_failure() -> tuple[Step, ...]:
    """Survivors print where they stand, have 0.3 s to end by themselves, 0.7 s after SIGTERM."""
    return (Step(STACK_SIGNAL, 0.3, "ranks"), Step(signal.SIGTERM, 0.7), KILL)


def on_stop(grace_s: float, *, importing: bool = False) -> tuple[Step, ...]:
    """As after Ctrl+C in a terminal, with time to write a checkpoint.

    Args:
        importing: real msrun is alone so far and imports MindSpore; on SIGINT it would abort with a crash report.
    """
    end = (Step(signal.SIGTERM, grace_s), KILL)
    if importing:
        return end
    return (Step(STACK_SIGNAL, 0.25, "ranks"), Step(signal.SIGINT, grace_s, "training"), *end)


def leftovers(linger_s: float, grace_s: float) -> tuple[Step, ...]:
    """What a finished run left behind (uploads, data loaders) may finish first."""
    return (Step(0, linger_s), Step(signal.SIGTERM, grace_s), KILL)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays which part, by pid. ``launcher`` is real msrun, or None."""

    workers: frozenset[int]
    scheduler: int | None
    launcher: int | None

    @property
    def ranks(self) -> frozenset[int]:
        return self.workers if self.scheduler is None else self.workers | {self.scheduler}


def spares_launcher(step: Step, live: Iterable[Process], cast: Cast) -> bool:
    """Whether msrun must be kept out of a step, and held still meanwhile.

    On SIGINT, and whenever a worker ends badly, msrun SIGKILLs all workers: none could write a checkpoint.
    """
    return step.scope == "training" and cast.launcher is not None and any(p.pid in cast.workers for p in live)


def targets(step: Step, live: Sequence[Process], cast: Cast) -> list[Process]:
    """The live members that a step's signal goes to."""
    if step.scope == "ranks":
        return [process for process in live if process.pid in cast.ranks]
    if not spares_launcher(step, live, cast):
        return list(live)
    helpers = {process.pid for process in live if process.parent == cast.launcher} - cast.ranks
    return [process for process in live if process.pid != cast.launcher and process.pid not in helpers]


def awaited(step: Step, live: Sequence[Process], cast: Cast) -> list[Process]:
    """The live members whose end a step waits for.

    The scheduler sits in C++ until the cluster ends and can't answer a SIGINT, so only workers are waited for.
    """
    if step.scope == "training" and cast.workers:
        return [process for process in live if process.pid in cast.workers]
    return targets(step, live, cast)
