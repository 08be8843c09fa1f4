"""How long a training still takes: steps that are left, times the median of the latest step times."""

from __future__ import annotations

import statistics
from collections import deque

from mswb.launch.forms import Step

RECENT = 64
"""Step times of which the median is taken."""


class Pace:
    """Learns from step lines how they count, and how long steps take. Times are in milliseconds."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=RECENT)
        self._median: float | None = None
        self._from_zero = False
        self._each_epoch = False
        self._later_epoch = False

    def note(self, step: Step) -> None:
        """See a step line: whether epochs count from 0, and whether its total is that of an epoch or of all."""
        self._from_zero = self._from_zero or step.epoch == 0
        if step.step is None or not step.steps or step.epoch is None or not step.epochs:
            return
        passed = step.epoch - (not self._from_zero)
        share = step.steps / step.epochs  # steps of an epoch, if the total is that of all
        self._later_epoch = self._later_epoch or passed > 0
        self._each_epoch = self._each_epoch or not passed * share - 1 <= step.step <= (passed + 1) * share + 1

    def add_time(self, step_ms: float) -> None:
        """A step took so long."""
        self._times.append(step_ms)
        self._median = None

    @property
    def step_ms(self) -> float | None:
        """The median of the latest steps; None before the first."""
        if self._median is None and self._times:
            self._median = statistics.median(self._times)
        return self._median

    def remaining(self, step: Step) -> int | None:
        """How many steps are left behind this one; None when its line does not tell how many there are."""
        if step.step is None or step.steps is None:
            return None
        if step.epoch is None or (self._later_epoch and not self._each_epoch):
            return max(0, step.steps - step.step)
        if step.epochs is None:
            return None
        done = (step.epoch - (not self._from_zero)) * step.steps + step.step
        return max(0, step.epochs * step.steps - done)

    def eta_s(self, step: Step | None) -> float | None:
        """Seconds to the last step; None while the number of steps or their time is unknown."""
        left = self.remaining(step) if step is not None else None
        return None if left is None or self.step_ms is None else left * self.step_ms / 1e3
