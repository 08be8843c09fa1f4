"""A curve of any length in bounded memory: neighbours are merged, but their lowest, highest and broken values stay."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

MAX_POINTS = 4096
"""Points kept of one curve."""
_GROUP = 8  # neighbours that become at most three points: lowest, highest, first that is no number


@dataclass(frozen=True, slots=True)
class Point:
    """One value. ``step`` counts from the start of the training; ``value`` may be NaN or infinite."""

    step: float
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """A curve as it is now. Steps rise.

    Attributes:
        count: values seen, of which ``steps`` and ``values`` are those kept.
        broken: how many of all values were NaN or infinite; ``first_broken`` is the first of them.
    """

    steps: array[float]
    values: array[float]
    count: int = 0
    broken: int = 0
    first_broken: Point | None = None

    @classmethod
    def empty(cls) -> Series:
        """A curve without values."""
        return cls(array("d"), array("d"))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Point]:
        return map(Point, self.steps, self.values)

    @property
    def last(self) -> Point | None:
        """The newest value."""
        return Point(self.steps[-1], self.values[-1]) if self.steps else None

    @property
    def low(self) -> Point | None:
        """The lowest finite value."""
        return self._place_of(min(self._finite(), default=None))

    @property
    def high(self) -> Point | None:
        """The highest finite value."""
        return self._place_of(max(self._finite(), default=None))

    def at(self, step: float) -> Point | None:
        """The newest value at or before ``step``; None ahead of the first."""
        place = bisect_right(self.steps, step) - 1
        return Point(self.steps[place], self.values[place]) if place >= 0 else None

    def _finite(self) -> Iterator[float]:
        return filter(math.isfinite, self.values)

    def _place_of(self, value: float | None) -> Point | None:
        return None if value is None else Point(self.steps[self.values.index(value)], value)


class Curve:
    """Collects a series value by value.

    Args:
        limit: points kept; at least 64.
    """

    def __init__(self, limit: int = MAX_POINTS) -> None:
        self._limit = max(64, limit)
        self._steps: array[float] = array("d")
        self._values: array[float] = array("d")
        self._count = self._broken = 0
        self._first_broken: Point | None = None

    def add(self, step: float, value: float) -> None:
        """Append a value. A step that is not beyond the last one takes the training back: what was beyond goes."""
        if self._steps and step <= self._steps[-1]:
            self._back_to(step)
        self._steps.append(step)
        self._values.append(value)
        self._count += 1
        if not math.isfinite(value):
            self._broken += 1
            self._first_broken = self._first_broken or Point(step, value)
        if len(self._steps) > self._limit:
            self._thin()

    @property
    def series(self) -> Series:
        """The curve as it is now."""
        return Series(self._steps[:], self._values[:], self._count, self._broken, self._first_broken)

    def _back_to(self, step: float) -> None:
        place = bisect_left(self._steps, step)
        del self._steps[place:], self._values[place:]
        if self._first_broken is not None and self._first_broken.step >= step:
            self._first_broken = None

    def _thin(self) -> None:
        """Keep the ends, and of each group of neighbours at most three."""
        steps, values = self._steps, self._values
        kept = [0]
        for begin in range(1, len(steps) - 1, _GROUP):
            kept += sorted(_of_interest(values, range(begin, min(begin + _GROUP, len(steps) - 1))))
        kept.append(len(steps) - 1)
        self._steps = array("d", (steps[place] for place in kept))
        self._values = array("d", (values[place] for place in kept))


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two curves at the same step; a value is None where its curve has not begun or has ended."""

    step: float
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """The second minus the first."""
        return None if self.first is None or self.second is None else self.second - self.first


def align(first: Series, second: Series, step: float) -> Aligned:
    """Both curves at ``step``."""
    return Aligned(step, _within(first, step), _within(second, step))


def _within(series: Series, step: float) -> float | None:
    point = series.at(step)
    last = series.last
    return None if point is None or last is None or step > last.step else point.value


def _of_interest(values: array[float], places: range) -> set[int]:
    finite = [place for place in places if math.isfinite(values[place])]
    found = {next((place for place in places if not math.isfinite(values[place])), places[0])}
    if len(finite) == len(places):
        found = set()
    if finite:
        found |= {min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)}
    return found
