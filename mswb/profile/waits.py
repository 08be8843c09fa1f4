"""The longest times in which a device stood still, each with the span that held it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mswb.profile.devices import HOST_DATA, HOST_PEER, Lanes, idle_parts
from mswb.profile.intervals import complement, join
from mswb.profile.steps import Step
from mswb.profile.timeline import Role, Timeline

SHORTEST_NS = 100_000
"""A gap below this, or below a hundredth of a step, is the ordinary pause between two kernels."""
_ROLES = {
    "data": (Role.DATA, Role.HOST),
    "communication": (Role.COMMUNICATION, Role.HOST),
    "copy": (Role.COPY,),
    "sync": (Role.SYNC,),
    "host": (Role.HOST,),
    "unknown": (),
}
_NAMES = {"data": HOST_DATA, "communication": HOST_PEER}


@dataclass(frozen=True, slots=True)
class Wait:
    """One gap: nanoseconds, its main cause with the share of the gap, and the deepest span that stood in it."""

    start: int
    end: int
    cause: str
    share: float
    span: str = ""
    track: str = ""


def waits(timeline: Timeline, lane: Lanes, steps: Sequence[Step] = (), most: int = 20) -> tuple[Wait, ...]:
    """The longest gaps of a device in which it neither computed nor communicated, the longest first."""
    low, high = timeline.window
    typical = int(np.median([step.end - step.start for step in steps])) if steps else 0
    gaps = complement(join(lane.compute, lane.communication), low, high)
    length = gaps.end - gaps.start
    order = np.argsort(-length, kind="stable")[:most]
    found = [at for at in order.tolist() if length[at] >= max(SHORTEST_NS, typical // 100)]
    return tuple(_wait(timeline, lane, int(gaps.start[at]), int(gaps.end[at])) for at in found)


def _wait(timeline: Timeline, lane: Lanes, low: int, high: int) -> Wait:
    totals: dict[str, int] = {}
    for cause, part in idle_parts(lane, low, high):
        totals[cause] = totals.get(cause, 0) + part.total
    cause = max(totals, key=totals.__getitem__)
    name, track = _deepest(timeline, cause, low, high)
    return Wait(low, high, cause, totals[cause] / (high - low), name, track)


def _deepest(timeline: Timeline, cause: str, low: int, high: int) -> tuple[str, str]:
    """Of the spans that can be the cause and fill about as much of the gap as any, the shortest: it lies innermost."""
    before = int(np.searchsorted(timeline.start, high))
    chosen = timeline.having(*_ROLES[cause])[:before] if _ROLES[cause] else np.zeros(before, np.bool_)
    common = np.minimum(timeline.end[:before], high) - np.maximum(timeline.start[:before], low)
    chosen &= common > 0
    pattern = _NAMES.get(cause)
    if pattern is not None:
        fits = np.array([pattern.search(name) is not None for name in timeline.names] or [False])
        special = timeline.having(_ROLES[cause][0])[:before]
        chosen &= special | fits[timeline.name[:before]]
    candidates = np.flatnonzero(chosen)
    if not len(candidates):
        return "", ""
    near = candidates[common[candidates] * 2 >= common[candidates].max()]
    best = near[np.argmin((timeline.end - timeline.start)[near])]
    track = timeline.tracks[timeline.track[best]]
    return timeline.names[timeline.name[best]], track.thread_name or track.process_name or track.thread
