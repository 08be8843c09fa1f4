"""Loss, step time, samples a second and learning rate of one rank over its steps, from the lines its script prints.

Fed with bytes as they are appended; only lines that some form of ``progress.toml`` might fit are parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mswb.files.follow import Block, Follower, last_state
from mswb.launch.forms import BUILT_IN, Forms, Step, StepForm, Values
from mswb.launch.logs import cut_lines, parse_record
from mswb.launch.pace import Pace
from mswb.launch.series import MAX_POINTS, Curve, Series

Name = Literal["loss", "step_ms", "samples_s", "lr"]
NAMES: tuple[Name, ...] = ("loss", "step_ms", "samples_s", "lr")

READ = 1 << 20
"""Bytes read from a log before anyone may cancel."""
_LEARN, _LEARN_AGAIN = 200, 20  # lines in which all forms are tried, and each how many-th later line


@dataclass(frozen=True, slots=True)
class Curves:
    """All curves of one log so far.

    Attributes:
        series: by name; a curve without values is empty.
        step: the last step line, each value as printed last.
        eta_s: seconds to the end, by the median of the latest step times; None when either is unknown.
        measured: whether step times come from the times of the lines, since none were printed.
    """

    series: Mapping[Name, Series] = field(default_factory=dict)
    step: Step | None = None
    eta_s: float | None = None
    measured: bool = False

    @property
    def names(self) -> tuple[Name, ...]:
        """The curves that have values."""
        return tuple(name for name in NAMES if name in self.series and len(self.series[name]))


class StepCounter:
    """Steps counted from the start of the training, whatever is counted anew in each epoch.

    A step that falls begins a new epoch when the epoch has risen, when the last one was complete, or when it falls to 0
    or 1; else the training was resumed from an earlier step.
    """

    def __init__(self) -> None:
        self._base = 0.0
        self._step: int | None = None
        self._steps: int | None = None
        self._epoch: int | None = None

    def count(self, step: Step) -> float | None:
        """The place of a step line; None for a line that names no step and no epoch."""
        if step.step is None:
            if step.epoch is None:
                return None
            self._epoch = step.epoch
            return self._base + (self._step or 0) if self._step is not None else float(step.epoch)
        if self._step is not None and self._begins_epoch(step):
            self._base += self._steps if self._steps is not None else self._step + (step.step == 0)
        self._step = step.step
        self._steps = step.steps or self._steps
        self._epoch = step.epoch if step.epoch is not None else self._epoch
        return self._base + step.step

    def _begins_epoch(self, step: Step) -> bool:
        assert self._step is not None and step.step is not None
        if step.step > self._step:
            return False
        if step.epoch is not None and self._epoch is not None:
            return step.epoch > self._epoch
        return step.step < self._step and (step.step <= 1 or self._step == self._steps)


class CurveReader:
    """Collects the curves of one log.

    Args:
        forms: what lines look like; the user's own included.
        limit: points kept of each curve.
    """

    def __init__(self, forms: Forms = BUILT_IN, limit: int = MAX_POINTS) -> None:
        self._forms = forms
        self._limit = limit
        self._forget()

    def _forget(self) -> None:
        self._curves: dict[Name, Curve] = {name: Curve(self._limit) for name in NAMES}
        self._counter = StepCounter()
        self._place = 0.0
        self._last: Step | None = None
        self._pace = Pace()
        self._batch: int | None = None
        self._batch_is_global = False
        self._printed = False
        self._lines = 0
        self._fitting: tuple[StepForm, ...] = ()
        self._timed: tuple[float, float] | None = None

    def feed(self, blocks: Iterable[Block], arrived: float | None = None) -> None:
        """Take in what was appended to the log.

        Args:
            arrived: when it was written (seconds since the epoch), if that is known: it times steps that print none.
        """
        for block in blocks:
            if block.restart is not None:
                self._forget()
            timed: list[tuple[float, float]] = []
            for line in _lines_with(self._forms, block.data):
                self._take(line, timed)
            if arrived is not None and not timed and self._last is not None:
                timed.append((arrived, self._place))
            if timed:
                self._measure(timed[-1])

    @property
    def curves(self) -> Curves:
        """The curves as they are now."""
        series = {name: curve.series for name, curve in self._curves.items()}
        return Curves(
            series, self._last, self._pace.eta_s(self._last), not self._printed and len(series["step_ms"]) > 0
        )

    def _take(self, line: bytes, timed: list[tuple[float, float]]) -> None:
        text = next(cut_lines([last_state(line)])).text
        record = parse_record(text)
        if record is not None:
            if not record.from_python:
                return
            text = record.text
        step, values = self._forms.step(text), self._beside(text)
        if step is not None and step.recalls(self._last):
            step = None
        if step is not None:
            self._take_step(step)
            if record is not None:
                timed.append((record.time / 1e6, self._place))
                if len(timed) > 1:  # records carry their own times: each step is measured
                    self._measure(timed.pop(0))
        self._take_values(step, values or Values())

    def _beside(self, text: str) -> Values | None:
        """The values of a line; which forms a log has is learned from its first lines, and from some later ones."""
        self._lines += 1
        if self._lines < _LEARN or not self._lines % _LEARN_AGAIN:
            self._fitting = tuple(dict.fromkeys((*self._fitting, *self._forms.fitting(text))))
        return self._forms.beside(text, self._fitting) if self._fitting or self._forms.own else None

    def _take_step(self, step: Step) -> None:
        place = self._counter.count(step)
        if place is not None:
            self._place = place
        self._pace.note(step)
        self._last = step if self._last is None else self._last.updated(step)
        if step.loss is not None:
            self._curves["loss"].add(self._place, step.loss)

    def _take_values(self, step: Step | None, values: Values) -> None:
        if values.batch is not None and (values.batch_is_global or not self._batch_is_global):
            self._batch, self._batch_is_global = values.batch, values.batch_is_global
        printed = step.step_ms if step is not None else None
        step_ms = printed if printed is not None else values.step_ms
        if step_ms is not None:
            self._printed = True
            self._add_time(self._place, step_ms, values.samples_s)
        elif values.samples_s is not None:
            self._curves["samples_s"].add(self._place, values.samples_s)
        if values.lr is not None:
            self._curves["lr"].add(self._place, values.lr)

    def _measure(self, now: tuple[float, float]) -> None:
        """The time of a step from two moments, unless the script prints it."""
        before = self._timed
        if before is not None and before[1] == now[1]:  # no step since
            return
        self._timed = now
        if before is None or self._printed:
            return
        elapsed, done = now[0] - before[0], now[1] - before[1]
        if elapsed > 0 and done > 0:
            self._add_time(now[1], elapsed * 1e3 / done, None)

    def _add_time(self, place: float, step_ms: float, samples_s: float | None) -> None:
        self._curves["step_ms"].add(place, step_ms)
        self._pace.add_time(step_ms)
        if samples_s is None and self._batch is not None and step_ms > 0:
            samples_s = self._batch * 1e3 / step_ms
        if samples_s is not None:
            self._curves["samples_s"].add(place, samples_s)


class CurveLog:
    """The curves of one log file, read from its beginning and kept up to date.

    Raises:
        MswbError: from :meth:`read`: ``path-unreadable``.
    """

    def __init__(self, path: str, forms: Forms = BUILT_IN) -> None:
        self.path = path
        self._follower = Follower(path, hold=False)
        self._reader = CurveReader(forms)
        self._caught_up = False

    def read(self, now: float, cancelled: Callable[[], bool] | None = None) -> Curves:
        """Read all that is new; ``now`` (seconds since the epoch) times the steps that came since the last call.

        Returns early, with what there is, when ``cancelled()``; :attr:`behind` is set then.
        """
        arrived = now if self._caught_up else None
        while True:
            blocks: Sequence[Block] = self._follower.poll(READ)
            self._reader.feed(blocks, arrived)
            if not self._follower.behind:
                self._caught_up = True
                return self._reader.curves
            if cancelled is not None and cancelled():
                return self._reader.curves

    @property
    def behind(self) -> bool:
        """Whether more is waiting to be read."""
        return self._follower.behind

    @property
    def offset(self) -> int:
        """Bytes read so far."""
        return self._follower.offset


def _lines_with(forms: Forms, data: bytes) -> Iterator[bytes]:
    find, begin = forms.find, 0
    while begin < len(data) and (at := find(data, begin, len(data))) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        begin = data.find(b"\n", at) + 1 or len(data)
        yield data[start:begin]
