"""Who is missing: the rank that others waited for, and ranks that stand still.

In a collective the waiting ranks speak (after MS_NODE_TIMEOUT) and the absent one is silent, so the suspect is the one
that does not complain. Where it stands comes from the stacks that our supervisor asks for before it ends anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mswb.launch.evidence import Evidence
from mswb.launch.failures import Failure, read_part
from mswb.launch.progress import parse_step
from mswb.launch.views import View, last_words, local_us, own_words, said_goodbye, tail

MIN_SILENCE_S = 5.0
"""A shorter silence at a stop is no sign of a hang."""
WAITED = frozenset({"collective-timeout", "collective-init-failed"})
"""What a rank says that waited in vain for others in a collective."""
RUNNING_SILENCE_S = 60.0
HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Suspect:
    """The rank that is missing, the ranks that wait for it, and for how long it has been silent (None: unknown).

    ``certain`` is False when nothing tells the silent ranks apart: then no rank is named.
    """

    view: View
    waiting: tuple[int, ...]
    silent_s: float | None
    certain: bool = True


def missing_in_collective(workers: Sequence[View]) -> Suspect | None:
    """Of ranks of which some gave up waiting in a collective: the one that did not; None when all gave up.

    Of several that did not, one that tells of a failure of its own is the one.
    """
    victims = [view for view in workers if any(one.code in WAITED for one in view.failures)]
    spoke = {id(view) for view in victims}
    others = [view for view in workers if id(view) not in spoke]
    if not victims or not others:
        return None
    failed = [view for view in others if view.silent_death or any(one.kind == "root" for one in view.failures)]
    waiting = tuple(sorted(view.rank for view in victims if view.rank is not None))
    return Suspect(min(failed or others, key=_suspicion), waiting, None)


def standing_still(
    workers: Sequence[View], evidence: Evidence, now: float, silence_s: float = RUNNING_SILENCE_S
) -> Suspect | None:
    """The rank that stands still in a run that was stopped, or that goes on; None when nothing shows a hang.

    Args:
        silence_s: the shortest silence, in seconds, that is a sign of a hang in a run that goes on.
    """
    status = evidence.status
    if status is None:
        if evidence.stopped_by_user:
            return _by_words(workers)
        quiet = evidence.exit_code is None and all(now - view.file.mtime > silence_s for view in workers)
        return (behind_in_steps(workers) or _by_stacks(workers)) if quiet else None
    asked = status.stop_requested if status.stop_requested is not None else now
    least = MIN_SILENCE_S if status.stopped_by == "user" else silence_s
    alive = [view for view in workers if view.alive]
    silent = [view for view in alive if _silence(view, asked) >= max(least, 2 * _pause(view))]
    if not silent or (len(silent) < len(alive) and status.stopped_by != "user"):
        return None
    suspect = min(silent, key=_suspicion)
    rest = [view for view in silent if view is not suspect and view.told.standing is not None]
    waiting = tuple(sorted(view.rank for view in rest if view.rank is not None and _in_framework(view)))
    others = [view for view in silent if view is not suspect]
    certain = not any(_alike(suspect, view) for view in others)
    return Suspect(suspect, waiting, round(_silence(suspect, asked), 1), certain)


def as_failure(suspect: Suspect, code: str) -> Failure:
    """The finding's facts: where it stands if that is known, else its last line."""
    view = suspect.view
    standing = view.told.standing
    rank = view.rank if suspect.certain else None
    who = "all ranks" if rank is None else f"rank {rank}"
    values: dict[str, Any] = {"rank": rank, "who": who, "waiting_ranks": list(suspect.waiting)}
    if suspect.silent_s is not None:
        values["silent_s"] = suspect.silent_s
    values |= {"missing": who, "place": ""}
    if standing is not None and (place := standing.place) is not None:
        values |= {**place.values(), "place": f"at {place.function} ({place.file}:{place.line})"}
    line, offset, evidence = last_words(view)
    own = own_words(view)
    if own and own != evidence:
        evidence = f"{own}\n…\n{evidence}"
    if standing is not None:
        line, offset, evidence = standing.line, standing.offset, standing.evidence
    last = view.process.last_output if view.process is not None else None
    time = local_us(last) if last is not None else view.scan.last_time_us
    return Failure(code, "root", 60, line, offset, time, evidence, values)


def name_missing(failure: Failure, suspect: Suspect | None) -> Failure:
    """A victim's failure with the rank that it waited for, where that is known."""
    if failure.code != "collective-timeout":
        return failure
    missing = f"rank {suspect.view.rank}" if suspect is not None else "another rank"
    return replace(failure, values={**failure.values, "missing": missing})


def _suspicion(view: View) -> tuple[bool, bool, float, int]:
    """Least first: stands in the user's own code; fell silent first; the lowest rank."""
    known = view.told.standing is not None and not _in_framework(view)
    process = view.process
    last = process.last_output * 1e6 if process is not None and process.last_output else view.scan.last_time_us
    return _in_framework(view), not known, float(last) if last is not None else 0.0, view.rank or 0


def _alike(one: View, other: View) -> bool:
    """Whether nothing tells two silent ranks apart: both wait in MindSpore, or stand at the same line."""
    places = (one.told.standing, other.told.standing)
    if None in places or _in_framework(one) != _in_framework(other):
        return places == (None, None)
    first, second = (standing.place for standing in places if standing is not None)
    return first == second


def _in_framework(view: View) -> bool:
    return view.told.standing is not None and view.told.standing.in_framework


def _silence(view: View, now: float) -> float:
    process = view.process
    since = None if process is None else process.last_output or process.started
    return max(0.0, now - since) if since else 0.0


def _pause(view: View) -> float:
    return view.process.longest_pause_s if view.process is not None else 0.0


def _by_stacks(workers: Sequence[View]) -> Suspect | None:
    """The rank whose stack ends in the user's own code while others stand in MindSpore; None when none or all do."""
    inside = [view for view in workers if _in_framework(view)]
    outside = [view for view in workers if view.told.standing is not None and view not in inside]
    if not inside or not outside:
        return None
    waiting = tuple(sorted(view.rank for view in inside if view.rank is not None))
    return Suspect(min(outside, key=_suspicion), waiting, None)


def _by_words(workers: Sequence[View]) -> Suspect | None:
    """From logs alone: who is steps behind, who never entered a collective, else whether all are merely quiet."""
    behind = behind_in_steps(workers)
    if behind is not None:
        return behind
    ring = sorted((view for view in workers if view.rank is not None), key=lambda view: view.rank or 0)
    uncalled = [index for index, view in enumerate(ring) if not _was_called(view)]
    if 0 < len(uncalled) < len(ring):
        absent = ring[uncalled[0] - 1]
        waiting = tuple(view.rank for view in ring if view is not absent and view.rank is not None)
        return Suspect(absent, waiting, None)
    quiet = [view for view in workers if view.scan.lines and not said_goodbye(view)]
    if not quiet or len(quiet) < len(workers):
        return None
    return Suspect(min(quiet, key=_suspicion), (), None, certain=len(quiet) == 1)


def behind_in_steps(workers: Sequence[View]) -> Suspect | None:
    """The rank whose last step is before everybody else's; None when the ranks' logs tell no such thing."""
    ranks = [view for view in workers if view.rank is not None]
    reached = [(step, view) for view in ranks if (step := _last_step(view)) is not None]
    if len(reached) < 2 or len(reached) < len(ranks):
        return None
    least = min(step for step, _ in reached)
    late = [view for step, view in reached if step == least]
    if 2 * len(late) > len(reached) or all(step == least for step, _ in reached):
        return None
    waiting = tuple(sorted(view.rank for view in ranks if view not in late and view.rank is not None))
    return Suspect(min(late, key=_suspicion), waiting, None)


def _last_step(view: View) -> tuple[int, int] | None:
    """(epoch, step) of the last step that a log tells of."""
    for line in reversed(tail(view).split("\n")):
        step = parse_step(line)
        if step is not None and step.step is not None:
            return step.epoch or 0, step.step
    return None


def _was_called(view: View) -> bool:
    """Whether a peer connected for a collective.

    The collectives of the CPU backend go round a ring: entering one, a rank connects to the next, which logs this. So
    the rank before one that was never called is the absent one (all captures, of good runs and of hangs, agree).
    """
    text = b"TcpConnection is constructed"
    return text in read_part(view.file.path, 0, HEAD) or text in read_part(
        view.file.path, max(0, view.scan.size - HEAD), HEAD
    )
