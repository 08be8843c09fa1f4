"""Sets of half-open intervals ``[start, end)`` in integer nanoseconds, as sorted arrays.

A set is a pair of int64 arrays of one length with ``start[i] < end[i] < start[i + 1]``: what :func:`union` returns and
all other functions here take and return.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Times: TypeAlias = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Disjoint intervals in order; ``start`` and ``end`` in nanoseconds."""

    start: Times
    end: Times

    @property
    def total(self) -> int:
        """Their length together, in nanoseconds."""
        return int((self.end - self.start).sum())

    def __bool__(self) -> bool:
        return bool(len(self.start))


NO_SPANS = Spans(np.empty(0, np.int64), np.empty(0, np.int64))


def union(start: Times, end: Times) -> Spans:
    """The time that any of these intervals covers; they may come in any order and overlap. Empty ones cover nothing."""
    real = end > start
    start, end = start[real], end[real]
    if not len(start):
        return NO_SPANS
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate(([True], start[1:] > reach[:-1])))
    last = np.append(first[1:] - 1, len(start) - 1)
    return Spans(start[first], reach[last])


def join(*parts: Spans) -> Spans:
    """The time that any of these sets covers."""
    return union(np.concatenate([part.start for part in parts]), np.concatenate([part.end for part in parts]))


def clip(spans: Spans, low: int, high: int) -> Spans:
    """What of a set lies in ``[low, high)``."""
    start, end = np.clip(spans.start, low, high), np.clip(spans.end, low, high)
    real = end > start
    return Spans(start[real], end[real])


def complement(spans: Spans, low: int, high: int) -> Spans:
    """What of ``[low, high)`` a set does not cover."""
    inside = clip(spans, low, high)
    start = np.concatenate((np.array([low], np.int64), inside.end))
    end = np.concatenate((inside.start, np.array([high], np.int64)))
    real = end > start
    return Spans(start[real], end[real])


def intersect(one: Spans, two: Spans) -> Spans:
    """The time that both sets cover.

    Every border of either set is a place where the answer may change: between two borders both sets are either
    covering or not, which the count of begun less ended intervals tells.
    """
    if not one or not two:
        return NO_SPANS
    times = np.concatenate((one.start, one.end, two.start, two.end))
    steps = np.repeat(np.array([1, -1, 1, -1], np.int64), [len(one.start)] * 2 + [len(two.start)] * 2)
    order = np.argsort(times, kind="stable")
    times, depth = times[order], np.cumsum(steps[order])
    both = np.flatnonzero(depth[:-1] == 2)
    return union(times[both], times[both + 1])


def subtract(one: Spans, two: Spans) -> Spans:
    """The time of ``one`` that ``two`` does not cover."""
    if not one or not two:
        return one
    return intersect(one, complement(two, int(one.start[0]), int(one.end[-1])))


def covered(spans: Spans, start: Times, end: Times) -> Times:
    """How much of each interval ``[start[i], end[i])`` a set covers, in nanoseconds; intervals may overlap."""
    if not spans:
        return np.zeros(len(start), np.int64)
    return _covered_to(spans, end) - _covered_to(spans, start)


def _covered_to(spans: Spans, times: Times) -> Times:
    """What the set covers of the time up to each moment."""
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(spans.end - spans.start)))
    index = np.searchsorted(spans.start, times, side="right")
    last = np.maximum(index - 1, 0)
    open_part = np.minimum(times, spans.end[last]) - spans.start[last]
    return np.where(index > 0, sums[last] + open_part, 0)
