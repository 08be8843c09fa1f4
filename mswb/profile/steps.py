"""The training steps of a timeline: by the marks that a profiler or a hook left, else by the operators that repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mswb.profile.operators import ON_DEVICE
from mswb.profile.timeline import Role, Timeline

_NUMBER = re.compile(r"(\d+)$")
_ALIKE = 0.8
"""The share of the operators that must run equally often for their repetition to be that of steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step, in nanoseconds. ``inferred`` tells that nothing in the trace marks it."""

    number: int
    start: int
    end: int
    inferred: bool = False


def steps(timeline: Timeline) -> tuple[Step, ...]:
    """The steps in the order of time; none where neither marks nor repetition tell them apart."""
    return _marked(timeline) or _repeated(timeline)


def _marked(timeline: Timeline) -> tuple[Step, ...]:
    """Of several marks with one number (a host's and a device's) the first in the trace counts."""
    found: dict[int, Step] = {}
    for at in np.flatnonzero(timeline.having(Role.STEP)).tolist():
        match = _NUMBER.search(timeline.names[timeline.name[at]])
        number = int(match.group(1)) if match is not None else len(found)
        found.setdefault(number, Step(number, int(timeline.start[at]), int(timeline.end[at])))
    return tuple(sorted((step for step in found.values() if step.end > step.start), key=lambda step: step.start))


def _repeated(timeline: Timeline) -> tuple[Step, ...]:
    """A graph runs each of its operators once a step, so the k-th run of every operator belongs to step k."""
    chosen = timeline.having(*ON_DEVICE)
    if not chosen.any():
        return ()
    name, start = timeline.name[chosen], timeline.start[chosen]
    codes, counts = np.unique(name, return_counts=True)
    count = int(np.bincount(counts).argmax())
    regular = codes[counts == count]
    if count < 2 or len(regular) < 3 or len(regular) < _ALIKE * len(codes):
        return ()
    mine = np.isin(name, regular)
    table = start[mine][np.lexsort((start[mine], name[mine]))].reshape(len(regular), count)
    first, last = table.min(axis=0), table.max(axis=0)
    if np.any(last[:-1] >= first[1:]):
        return ()
    ends = np.append(first[1:], timeline.end[chosen].max())
    pairs = zip(first.tolist(), ends.tolist(), strict=True)
    return tuple(Step(number, low, high, inferred=True) for number, (low, high) in enumerate(pairs, 1))
