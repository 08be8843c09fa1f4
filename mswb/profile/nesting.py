"""Spans within spans on one track: which encloses which, and the time that a span does not give to those within it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mswb.profile.intervals import Times
from mswb.profile.timeline import Timeline

_SLOW = 0.8
"""The share of spans that a level may leave over before it is given up."""


def self_times(timeline: Timeline) -> Times:
    """Nanoseconds of each span that no span directly within it on the same track covers.

    A span lies within the latest one on its track that began no later and has not ended; of one that goes on beyond the
    span around it (real traces have them) only the common part counts. Spans within one span that overlap each other
    are counted once each, and the result is never below 0.
    """
    length = timeline.end - timeline.start
    parent = parents(timeline.track, timeline.start, timeline.end)
    inner = np.flatnonzero(parent >= 0)
    around = parent[inner]
    common = np.minimum(timeline.end[inner], timeline.end[around]) - timeline.start[inner]
    given = np.zeros(len(length), np.int64)
    np.add.at(given, around, np.maximum(common, 0))
    return np.maximum(length - given, 0)


def parents(track: npt.NDArray[np.int32], start: Times, end: Times) -> npt.NDArray[np.int64]:
    """The index of the span that each span lies in, -1 for none; spans come in the order of a timeline.

    Spans are taken level by level: those that begin after all earlier ones on their track have ended are at level 0;
    they and their order fix the spans around all others, which are then looked at in the same way. Spans that overlap
    without lying in one another would need a level each: where levels yield little, a stack does the rest.
    """
    parent = np.full(len(start), -1, np.int64)
    order = np.argsort(track, kind="stable")
    left = order
    group = track[order].astype(np.int64)
    while len(left):
        top = _tops(group, start[left], end[left])
        heads = np.flatnonzero(top)
        owner = heads[np.cumsum(top) - 1]
        inside = np.flatnonzero(~top)
        parent[left[inside]] = left[owner[inside]]
        if len(inside) > _SLOW * len(left):
            _by_stack(left[inside], owner[inside], start, end, parent)
            break
        left, group = left[inside], owner[inside]
    return parent


def _by_stack(left: Times, group: Times, start: Times, end: Times, parent: Times) -> None:
    """Fill in the parents of spans that lie in a known one each: the latest span of their group that goes on."""
    stack: list[tuple[int, int]] = []
    last = -1
    rows = zip(left.tolist(), group.tolist(), start[left].tolist(), end[left].tolist(), strict=True)
    for index, owner, begin, stop in rows:
        if owner != last:
            stack.clear()
            last = owner
        while stack and stack[-1][0] <= begin:
            stack.pop()
        if stack:
            parent[index] = stack[-1][1]
        stack.append((stop, index))


def _tops(group: Times, start: Times, end: Times) -> npt.NDArray[np.bool_]:
    """Which spans begin when nothing before them in their group goes on; the first of a group always does.

    A running maximum over all groups at once: each group's times are lifted above those of the group before it.
    """
    if not len(start):
        return np.empty(0, np.bool_)
    border = np.concatenate(([True], group[1:] != group[:-1]))
    rank = np.cumsum(border) - 1
    low = int(start.min())
    height = int(end.max()) - low + 1
    if height * int(rank[-1] + 1) >= 1 << 62:  # years of trace on thousands of tracks: one group after the other
        parts = np.split(np.arange(len(start)), np.flatnonzero(border)[1:])
        each = [_tops(np.zeros(len(part), np.int64), start[part], end[part]) for part in parts]
        return np.concatenate(each)
    lifted_start = start - low + rank * height
    lifted_end = end - low + rank * height
    reach = np.concatenate((np.array([-1], np.int64), np.maximum.accumulate(lifted_end)[:-1]))
    top: npt.NDArray[np.bool_] = border | (lifted_start >= reach)
    return top
