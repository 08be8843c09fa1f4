"""Self times and operator statistics against sums done by hand and by the plain way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.profile.nesting import parents, self_times
from mswb.profile.operators import operators, type_of
from mswb.profile.timeline import Role, Timeline, Track

ROW = st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 20))


def made(rows: list[tuple[int, int, int]], names: list[str] | None = None, role: Role = Role.COMPUTE) -> Timeline:
    """A timeline of (track, start, length) rows."""
    names = names or [f"n{at}" for at in range(len(rows))]
    known = list(dict.fromkeys(names))
    ordered = sorted(zip(rows, names, strict=True), key=lambda row: (row[0][1], -row[0][2]))
    start = np.array([row[1] for row, _ in ordered], np.int64)
    return Timeline(
        start,
        start + np.array([row[2] for row, _ in ordered], np.int64),
        np.array([known.index(name) for _, name in ordered], np.int32),
        np.array([row[0] for row, _ in ordered], np.int32),
        np.full(len(rows), role, np.uint8),
        np.zeros(len(rows), np.int64),
        tuple(known),
        tuple(Track(str(at), str(at)) for at in range(3)),
    )


def plain_parents(timeline: Timeline) -> list[int]:
    """By a stack for each track."""
    stacks: dict[int, list[int]] = {}
    result = []
    for at, (track, start) in enumerate(zip(timeline.track.tolist(), timeline.start.tolist(), strict=True)):
        stack = stacks.setdefault(track, [])
        while stack and timeline.end[stack[-1]] <= start:
            stack.pop()
        result.append(stack[-1] if stack else -1)
        stack.append(at)
    return result


@given(st.lists(ROW, max_size=25))
def test_a_span_lies_in_one_that_goes_on(rows: list[tuple[int, int, int]]) -> None:
    timeline = made(rows)
    for at, parent in enumerate(parents(timeline.track, timeline.start, timeline.end).tolist()):
        if parent >= 0:
            assert timeline.track[parent] == timeline.track[at]
            assert timeline.start[parent] <= timeline.start[at] < timeline.end[parent]


@given(
    st.recursive(st.just([]), lambda inner: st.lists(st.tuples(st.integers(1, 5), inner), max_size=3), max_leaves=12)
)
def test_properly_nested_spans_have_the_parents_of_a_stack(tree: list[object]) -> None:
    rows: list[tuple[int, int, int]] = []

    def place(nodes: list[object], at: int) -> int:
        for gap, inner in nodes:  # type: ignore[misc]
            row = len(rows)
            rows.append((0, at, 0))
            end = place(inner, at + gap) + gap
            rows[row] = (0, at, end - at)
            at = end + 1
        return at

    place(tree, 0)
    timeline = made(rows)
    assert parents(timeline.track, timeline.start, timeline.end).tolist() == plain_parents(timeline)


def test_self_time_leaves_out_what_ran_inside_on_the_same_track_only() -> None:
    timeline = made([(0, 0, 100), (0, 10, 20), (0, 40, 30), (0, 45, 5), (1, 50, 10), (0, 95, 10)])
    assert self_times(timeline).tolist() == [100 - 20 - 30 - 5, 20, 25, 5, 10, 10]


def test_statistics_by_name() -> None:
    timeline = made([(0, 0, 1), (0, 10, 5), (0, 20, 3), (0, 30, 4), (1, 0, 50)], ["a", "a", "a", "a", "AllReduce-op3"])
    first, second = operators(timeline)
    assert (first.name, first.type, first.count, first.total_ns) == ("AllReduce-op3", "AllReduce", 1, 50)
    found = (second.count, second.total_ns, second.self_ns, second.median_ns, second.min_ns, second.max_ns)
    assert found == (4, 13, 13, 3, 1, 5)


def test_without_a_device_every_named_span_counts() -> None:
    assert [one.name for one in operators(made([(0, 0, 1)], ["host"], Role.HOST))] == ["host"]
    assert operators(made([(0, 0, 1)], ["view"], Role.OVERLAY)) == () == operators(made([]))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Default/network-WithLoss/MatMul-op12", "MatMul"),
        ("AllReduce-op3", "AllReduce"),
        ("aclnnAdd_7", "aclnnAdd"),
        ("void gemm<float>(int)", "void gemm<float>(int)"),
        ("conv2d", "conv2d"),
    ],
)
def test_types(name: str, wanted: str) -> None:
    assert type_of(name) == wanted
