"""Curves in bounded memory: what stands out is never lost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.launch.series import MAX_POINTS, Aligned, Curve, Point, Series, align

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=400)


def curve_of(values: list[float], limit: int = 64) -> Series:
    curve = Curve(limit)
    for step, value in enumerate(values):
        curve.add(step, value)
    return curve.series


@settings(max_examples=200)
@given(VALUES)
def test_extremes_ends_and_broken_values_stay(values: list[float]) -> None:
    series = curve_of(values)
    finite = [value for value in values if math.isfinite(value)]
    assert len(series) <= 64 and series.count == len(values)
    assert (series.low.value if series.low else None) == min(finite, default=None)
    assert (series.high.value if series.high else None) == max(finite, default=None)
    assert list(series.steps) == sorted(set(series.steps))
    assert series.broken == len(values) - len(finite)
    if values:
        assert (series.steps[0], series.last.step if series.last else None) == (0, len(values) - 1)
    for point in series:  # nothing is invented
        known = values[int(point.step)]
        assert point.value == known or (math.isnan(point.value) and math.isnan(known))
    first = next((step for step, value in enumerate(values) if not math.isfinite(value)), None)
    assert (series.first_broken.step if series.first_broken else None) == first
    assert any(not math.isfinite(value) for value in series.values) == (first is not None)


def test_a_single_spike_among_a_million_stays() -> None:
    curve = Curve()
    for step in range(300_000):
        curve.add(step, 99.0 if step == 123_456 else math.nan if step == 200_001 else 1.0)
    series = curve.series
    assert len(series) <= MAX_POINTS
    assert series.high == Point(123_456, 99.0)
    assert series.first_broken is not None and series.first_broken.step == 200_001
    assert sum(math.isnan(value) for value in series.values) == 1


def test_going_back_to_an_earlier_step_drops_what_was_beyond() -> None:
    curve = Curve()
    for step, value in ((1, 5.0), (2, 4.0), (3, math.nan), (4, math.inf), (2, 4.5), (3, 4.0)):
        curve.add(step, value)
    assert [(point.step, point.value) for point in curve.series] == [(1, 5.0), (2, 4.5), (3, 4.0)]
    assert curve.series.first_broken is None


@pytest.mark.parametrize(("step", "value"), [(-1, None), (0, 5.0), (0.5, 5.0), (1, 6.0), (99, 6.0)])
def test_value_at_a_step(step: float, value: float | None) -> None:
    found = curve_of([5.0, 6.0]).at(step)
    assert (found.value if found else None) == value


def test_two_runs_at_the_same_step() -> None:
    first, second = curve_of([5.0, 4.0, 3.0]), curve_of([5.0, 4.5])
    assert align(first, second, 1) == Aligned(1, 4.0, 4.5)
    assert align(first, second, 1).difference == 0.5
    assert align(first, second, 2) == Aligned(2, 3.0, None)  # the second has not come so far
    assert align(first, second, 2).difference is None
    assert align(Series.empty(), second, 0) == Aligned(0, None, 5.0)


def test_an_empty_curve_has_no_points() -> None:
    series = Series.empty()
    assert (len(series), series.last, series.low, series.high, series.at(3)) == (0, None, None, None, None)
