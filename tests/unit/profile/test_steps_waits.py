"""Steps by marks and by repetition; the longest waits and what stood in them."""

from __future__ import annotations

from mswb.profile.devices import devices, lanes
from mswb.profile.steps import steps
from mswb.profile.timeline import Timeline
from mswb.profile.waits import Wait, waits
from tests.unit.profile.test_devices import span, timeline


def longest(found: Timeline) -> tuple[Wait, ...]:
    (device,) = devices(found)
    return waits(found, lanes(found, device), steps(found))


def test_marks_are_steps_in_the_order_of_time() -> None:
    found = timeline(
        span(1, "ProfilerStep#12", 20, 30),
        span(1, "ProfilerStep#11", 10, 20),
        span(1, "ProfilerStep#12", 22, 29, tid=3),
        span(2, "MatMul", 11, 12),
    )
    assert [(one.number, one.start, one.end, one.inferred) for one in steps(found)] == [
        (11, 10_000, 20_000, False),
        (12, 20_000, 30_000, False),
    ]


def test_operators_that_repeat_are_steps() -> None:
    names = ("Conv", "MatMul", "Add")
    work = [span(2, name, 10 * k + at, 10 * k + at + 1) for k in range(3) for at, name in enumerate(names)]
    found = timeline(*work)
    assert [(one.number, one.start, one.inferred) for one in steps(found)] == [
        (1, 0, True),
        (2, 10_000, True),
        (3, 20_000, True),
    ]
    assert steps(found)[-1].end == 23_000


def test_what_does_not_repeat_in_order_is_no_step() -> None:
    mixed = [span(2, name, at, at + 1) for name, at in (("a", 0), ("a", 1), ("b", 2), ("b", 3), ("c", 4), ("c", 5))]
    assert steps(timeline(*mixed)) == () == steps(timeline())
    odd = [span(2, f"n{at}", at, at + 1) for at in range(9)]
    assert steps(timeline(*odd)) == ()


def test_the_longest_wait_comes_first_and_names_the_innermost_span() -> None:
    found = timeline(
        span(2, "MatMul", 0, 100),
        span(1, "train_step", 0, 1700),
        span(1, "loader", 100, 1000),
        span(1, "DataLoader.__next__", 105, 990),
        span(1, "dataset.open", 110, 200),
        span(2, "MatMul", 1000, 1100),
        span(1, "aclrtSynchronizeStream", 1100, 1500),
        span(2, "MatMul", 1500, 1600),
        span(2, "Tiny", 1650, 1700),
    )
    first, second = longest(found)
    assert (first.start, first.end, first.cause, first.span) == (100_000, 1_000_000, "data", "DataLoader.__next__")
    assert 0.9 < first.share < 1
    assert (second.cause, second.span, second.share) == ("sync", "aclrtSynchronizeStream", 1.0)


def test_pauses_between_kernels_are_no_waits() -> None:
    assert longest(timeline(span(2, "a", 0, 10), span(2, "b", 60, 70))) == ()
