"""Interval sets against the plainest model there is: a set of whole nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mswb.profile.intervals import NO_SPANS, Spans, clip, complement, covered, intersect, join, subtract, union

TIMES = st.integers(0, 60)
PAIRS = st.lists(st.tuples(TIMES, TIMES), max_size=12)


def spans(pairs: list[tuple[int, int]]) -> Spans:
    starts, ends = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return union(np.array(starts, np.int64), np.array(ends, np.int64))


def points(found: Spans) -> set[int]:
    assert np.all(found.start < found.end) and np.all(found.end[:-1] < found.start[1:])
    inside: set[int] = set()
    for start, end in zip(found.start.tolist(), found.end.tolist(), strict=True):
        inside |= set(range(start, end))
    return inside


def model(pairs: list[tuple[int, int]]) -> set[int]:
    return {point for start, end in pairs for point in range(start, end)}


@given(PAIRS, PAIRS)
def test_sets_are_sets(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    left, right = spans(one), spans(two)
    assert points(left) == model(one) and left.total == len(model(one))
    assert points(intersect(left, right)) == model(one) & model(two)
    assert points(subtract(left, right)) == model(one) - model(two)
    assert points(join(left, right)) == model(one) | model(two)


@given(PAIRS, TIMES, TIMES)
def test_windows(pairs: list[tuple[int, int]], one: int, two: int) -> None:
    low, high = sorted((one, two))
    window = set(range(low, high))
    assert points(clip(spans(pairs), low, high)) == model(pairs) & window
    assert points(complement(spans(pairs), low, high)) == window - model(pairs)


@given(PAIRS, PAIRS)
def test_what_of_each_interval_is_covered(pairs: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    ordered = [(min(pair), max(pair)) for pair in asked]
    starts = np.array([start for start, _ in ordered], np.int64)
    ends = np.array([end for _, end in ordered], np.int64)
    found = covered(spans(pairs), starts, ends)
    assert found.tolist() == [len(model(pairs) & set(range(start, end))) for start, end in ordered]


def test_nothing_is_nothing() -> None:
    assert not NO_SPANS and NO_SPANS.total == 0
    assert intersect(NO_SPANS, NO_SPANS).total == subtract(NO_SPANS, NO_SPANS).total == join(NO_SPANS).total == 0
