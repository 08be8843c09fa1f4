"""Loss, step time, samples a second and learning rate of a rank as curves; two runs side by side."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.flows.curve_watch import CurveSource, CurveView, CurveWatch
from mswb.launch.curves import NAMES, Name
from mswb.launch.series import Series
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.messages import Copy
from mswb.ui.screens.base import PacedScreen
from mswb.ui.tasks import Task, Ticket
from mswb.ui.widgets.curve import CurvePlot, Drawn
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.units import seconds_text

PERIOD_S = 1.0
"""Seconds between two looks at the logs; twice as many over a slow link."""
_READ_S = 0.3  # seconds of reading before what there is gets drawn
_EMPTY = Series.empty()
_WORDS: dict[Name, tuple[str, str]] = {
    "loss": ("loss", "损失"),
    "step_ms": ("step time ms", "步耗时 ms"),
    "samples_s": ("samples/s", "样本/秒"),
    "lr": ("learning rate", "学习率"),
}


@dataclass(frozen=True, slots=True)
class CurvesState:
    """What the screen shows.

    Attributes:
        views: of the run itself, then of the one it is compared with, if any.
        name: which curve.
        cursor: the step whose values are told.
    """

    views: tuple[CurveView, ...] = ()
    name: Name = "loss"
    cursor: float | None = None
    logarithmic: bool = False

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """The curves to draw, with their names."""
        return tuple(Drawn(view_label(view), view.curves.series.get(self.name, _EMPTY)) for view in self.views)

    @property
    def steps(self) -> Sequence[float]:
        """The steps with a value, of the curve that has the most."""
        return max((one.series.steps for one in self.drawn), key=len, default=())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the reading thread shall read: (number of the source, path of its log or None for the first)."""

    logs: tuple[tuple[int, str | None], ...]


class CurvesScreen(PacedScreen[None]):
    """Follows the first run; ``c`` goes through the others to compare it with.

    Args:
        sources: the run, and others to compare with.
        beside: the number of the one to show beside it at first, if any.
    """

    DEFAULT_CSS = """
    CurvesScreen #curves-title { height: 1; background: $panel; padding: 0 1; }
    CurvesScreen #curves-status { height: 1; color: $text-muted; padding: 0 1; }
    CurvesScreen CurvePlot { margin: 0 1; }
    """
    BINDINGS: ClassVar = [*keymap.bindings("curves"), *keymap.bindings("overlay")]

    def __init__(self, context: Context, sources: Sequence[CurveSource], beside: int | None = None) -> None:
        super().__init__()
        self.context = context
        self.state = CurvesState()
        self._sources = tuple(sources)
        self._wanted = _Wanted(((0, None),) if beside is None else ((0, None), (beside, None)))
        self._hurry = threading.Event()
        self._reading: Task[None] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="curves-title", markup=False)
        yield Static(id="curves-status", markup=False)
        yield CurvePlot()
        yield KeyBar()

    def on_mount(self) -> None:
        self._draw()
        self._reading = self.context.tasks.start(
            _say("Curves", "曲线"),
            self._read,
            lambda nothing: None,
            failed=self._failed,
            received=self._received,
            quiet=True,
        )

    def on_unmount(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._hurry.set()

    def show(self, state: CurvesState) -> None:
        """Draw another state."""
        if state != self.state:
            self.state = state
            self._draw()

    def action_curve(self, by: int) -> None:
        """The next curve, or the one before; those without values are passed over."""
        known = {name for view in self.state.views for name in view.curves.names}
        names = [name for name in NAMES if name in known or name == self.state.name]
        self.show(replace(self.state, name=names[(names.index(self.state.name) + by) % len(names)]))

    def action_rank(self, by: int) -> None:
        """Another rank, of both runs where both have it."""
        if not self.state.views or self.state.views[0].log is None:
            return
        logs = self.state.views[0].logs
        log = logs[(logs.index(self.state.views[0].log) + by) % len(logs)]
        chosen: list[tuple[int, str | None]] = [(self._wanted.logs[0][0], log.path)]
        for (number, _), view in zip(self._wanted.logs[1:], self.state.views[1:], strict=False):
            same = next((one.path for one in view.logs if (one.role, one.rank) == (log.role, log.rank)), None)
            chosen.append((number, same))
        self._want(_Wanted(tuple(chosen)))

    def action_compare(self) -> None:
        """The next of the other runs beside this one; after the last, none."""
        if len(self._sources) < 2:
            self.app.notify(
                _say("Mark two runs in the list of runs to compare them.", "先在运行列表中标记两个运行再对比。"),
                markup=False,
            )
            return
        now = self._wanted.logs[1][0] if len(self._wanted.logs) > 1 else 0
        after = (now + 1) % len(self._sources)
        logs = self._wanted.logs[:1] if after == 0 else (self._wanted.logs[0], (after, None))
        self._want(_Wanted(logs))

    def action_cursor(self, by: int) -> None:
        """Move the cursor over the values that are kept, by about so many columns."""
        steps = self.state.steps
        if not steps:
            return
        at = bisect_left(steps, self.state.cursor) if self.state.cursor is not None else len(steps) - 1
        stride = max(1, len(steps) // self.query_one(CurvePlot).columns)
        self.show(replace(self.state, cursor=steps[min(len(steps) - 1, max(0, at + by * stride))]))

    def action_edge(self, side: int) -> None:
        """The cursor to the first or the last step."""
        if self.state.steps:
            self.show(replace(self.state, cursor=self.state.steps[-side]))

    def action_scale(self) -> None:
        """Logarithmic values or not."""
        self.show(replace(self.state, logarithmic=not self.state.logarithmic))

    def action_copy(self) -> None:
        """Copy the values that are kept as lines of ``step,value``."""
        if self.state.views and len(self.state.drawn[0].series):
            series = self.state.drawn[0].series
            rows = (f"{step:.10g},{value:.10g}" for step, value in zip(series.steps, series.values, strict=True))
            self.post_message(Copy("\n".join((f"step,{self.state.name}", *rows)) + "\n", _say("values", "数值")))

    def action_close(self) -> None:
        """Go back."""
        self.dismiss()

    def _want(self, wanted: _Wanted) -> None:
        self._wanted = wanted
        self._hurry.set()

    def _read(self, ticket: Ticket) -> None:
        """Look at the logs until the screen goes; runs in a thread."""
        settings = self.context.settings
        watches = [CurveWatch(source, settings) for source in self._sources]
        period = PERIOD_S * (2 if self.context.options.slow_link else 1)
        before: object = None
        while not ticket.cancelled():
            self._hurry.clear()
            wanted = self._wanted
            end = time.monotonic() + _READ_S
            over = lambda end=end: ticket.cancelled() or time.monotonic() > end  # noqa: E731
            views = tuple(watches[number].look(path, over) for number, path in wanted.logs)
            stamp = [(view.title, view.log, view.logs, view.offset, view.read) for view in views]
            if stamp != before:
                before = stamp
                ticket.send((wanted, views))
            if all(view.read == 1.0 for view in views):
                self._hurry.wait(period)

    def _received(self, news: tuple[_Wanted, tuple[CurveView, ...]]) -> None:
        wanted, views = news
        if not self.is_attached or wanted != self._wanted:
            return
        told = [finding for view in self.state.views for finding in view.problems]
        for finding in (finding for view in views for finding in view.problems):
            if finding not in told:
                told.append(finding)
                self._failed(finding)
        name = self.state.name
        known = [name for view in views for name in view.curves.names]
        if not any(view.curves.names for view in self.state.views) and known and name not in known:
            name = known[0]
        self.show(replace(self.state, views=views, name=name))

    def _failed(self, finding: Finding) -> None:
        self.app.notify(printable(finding.title), severity="error", markup=False)

    def _draw(self) -> None:
        if not self.is_attached:
            return
        self.query_one("#curves-title", Static).update(title_text(self.state))
        self.query_one("#curves-status", Static).update(Text(status_text(self.state), no_wrap=True))
        self.query_one(CurvePlot).show(self.state.drawn, self.state.cursor, self.state.logarithmic)


def title_text(state: CurvesState) -> Text:
    """The names of the curves, the chosen one in brackets; those without values are dim."""
    known = {name for view in state.views for name in view.curves.names}
    text = Text(no_wrap=True)
    for name in NAMES:
        words = _say(*_WORDS[name])
        if name == state.name:
            text.append(f"[{words}]", style="bold")
        else:
            text.append(f" {words} ", style="" if name in known else "dim")
        text.append(" ")
    if state.logarithmic:
        text.append(_say("log scale", "对数坐标"))
    return text


def status_text(state: CurvesState) -> str:
    """How far the first run is, and when it will be done."""
    if not state.views:
        return _say("reading …", "正在读取 …")
    view = state.views[0]
    if view.log is None:
        return _say("no log yet", "还没有日志")
    step, curves = view.curves.step, view.curves
    parts = [f"{len(view.logs)} {_say('logs', '个日志')}" if len(view.logs) > 1 else ""]
    if step is not None:
        parts += [_of("epoch", step.epoch, step.epochs), _of("step", step.step, step.steps)]
    if curves.eta_s is not None:
        parts.append(f"{_say('to go', '剩余')} {seconds_text(curves.eta_s)}")
    if curves.measured and state.name == "step_ms":
        parts.append(_say("measured by the log's growth", "由日志增长测得"))
    if view.read < 1:
        parts.append(f"{_say('read', '已读')} {view.read:.0%}")
    return "  ".join(part for part in parts if part)


def view_label(view: CurveView) -> str:
    """The run and the rank."""
    if view.log is None:
        return view.title
    who = view.log.role if view.log.rank is None else f"rank {view.log.rank}"
    return f"{view.title} {who}"


def _of(word: str, value: int | None, total: int | None) -> str:
    if value is None:
        return ""
    return f"{word} {value}" if total is None else f"{word} {value}/{total}"


def _say(english: str, chinese: str) -> str:
    return chinese if language() == "zh" else english
