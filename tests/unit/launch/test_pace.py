"""How long a training still takes."""

from __future__ import annotations

import pytest

from mswb.launch.forms import Step
from mswb.launch.pace import RECENT, Pace


def step(number: int | None, steps: int | None, epoch: int | None = None, epochs: int | None = None) -> Step:
    return Step(0, number, steps, epoch, epochs, None, None)


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        ([step(3, 10)], 7),
        ([step(3, None)], None),
        ([step(None, 10)], None),
        ([step(3, 10, 1, 4)], 37),
        ([step(9, 10, 4, 4)], 1),
        ([step(3, 10, 2)], None),  # epochs without their number
        ([step(0, 10, 0, 4), step(9, 10, 0, 4), step(3, 10, 1, 4)], 27),  # epochs from 0
        ([step(120, 1000, 2, 10)], 880),  # the total is that of all epochs
        ([step(900, 1000, 1, 10), step(120, 1000, 2, 10)], 8880),  # it is not: 900 is more than a tenth
        ([step(12, 10)], 0),
    ],
)
def test_steps_that_are_left(seen: list[Step], left: int | None) -> None:
    pace = Pace()
    for one in seen:
        pace.note(one)
    assert pace.remaining(seen[-1]) == left


def test_time_is_the_median_of_the_latest_steps() -> None:
    pace = Pace()
    assert pace.step_ms is None and pace.eta_s(step(1, 3)) is None and pace.eta_s(None) is None
    for time in (100.0, 100.0, 9000.0):
        pace.add_time(time)
    assert pace.step_ms == 100.0
    assert pace.eta_s(step(1, 3)) == 0.2
    for _ in range(RECENT):
        pace.add_time(50.0)
    assert pace.step_ms == 50.0
