"""What lies over a run on a narrow terminal and beside it on a wide one: the details, or the phases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from mswb.ui.panes.launch.diagnosis_text import details_lines
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import LaunchState, OpenRun, Side, root_of
from mswb.ui.widgets.lines import Line, LineView

if TYPE_CHECKING:
    from mswb.findings import Finding

TITLES = {"details": "Details", "timeline": "Phases"}


class SidePart(Vertical):
    """One title row over lines."""

    DEFAULT_CSS = """
    SidePart { height: 1fr; width: 1fr; }
    SidePart #launch-side-title { height: 1; width: 1fr; background: $panel; padding: 0 1; text-style: bold; }
    SidePart LineView { padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static("", id="launch-side-title", markup=False)
        yield LineView(id="launch-lines")

    @property
    def lines(self) -> LineView:
        return self.query_one(LineView)

    def show(self, state: LaunchState, side: Side) -> None:
        """Draw the details or the phases of the open run."""
        run = state.open
        if run is None or not side:
            return
        what = (run.key, side, run.diagnosis, run.diagnosing, run.phases, _is_live(run))
        if what == self._drawn:
            return
        same = self._drawn[:2] == what[:2]
        self._drawn = what
        self.query_one("#launch-side-title", Static).update(word(TITLES[side]))
        self.lines.set_lines(_maker(run, side, state.now), top=not same)

    def finding(self, state: LaunchState) -> Finding | None:
        """The finding under the cursor, else the root."""
        diagnosis = state.open.diagnosis if state.open is not None else None
        line = self.lines.current
        if diagnosis is None or line is None or line.finding is None or line.finding >= len(diagnosis.findings):
            return root_of(state)
        return diagnosis.findings[line.finding]


def _maker(run: OpenRun, side: Side, now: float) -> Callable[[int], Sequence[Line]]:
    if side == "timeline":
        from mswb.ui.panes.launch.timeline import timeline_lines

        return lambda width: timeline_lines(run, width, now)
    return lambda width: details_lines(run.diagnosis, width, waiting=run.diagnosing, live=_is_live(run))


def _is_live(run: OpenRun) -> bool:
    return run.view is not None and run.view.live
