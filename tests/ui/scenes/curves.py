"""The curves' screen, from series as literals."""

from __future__ import annotations

import math
from array import array
from dataclasses import replace

from mswb.findings import make
from mswb.flows.curve_watch import CurveView
from mswb.launch.curves import Curves, Name
from mswb.launch.logview.source import ShownLog
from mswb.launch.series import Curve, Series
from mswb.ui.screens.curves import CurvesScreen, CurvesState
from tests.ui.scenes.stage import Scene, Stage

LOG = ShownLog("ms_run_log/worker_0.log", "worker", 0)
OTHER = ShownLog("ms_run_log/worker_1.log", "worker", 1)


def falling(count: int, start: float = 2.3, broken: int | None = None) -> Series:
    """A loss that falls with a ripple; from ``broken`` on it is not a number."""
    curve = Curve()
    for step in range(1, count + 1):
        value = start * math.exp(-step / 120) + 0.1 * math.sin(step / 5)
        curve.add(step, math.nan if broken is not None and step >= broken else round(value, 6))
    return curve.series


def flat(count: int, value: float) -> Series:
    steps = array("d", range(1, count + 1))
    return Series(steps, array("d", [value + (step % 7) for step in steps]), count)


def view(title: str, loss: Series, **facts: object) -> CurveView:
    """The curves of one run."""
    series: dict[Name, Series] = {"loss": loss, "step_ms": flat(len(loss), 350.0), "samples_s": Series.empty()}
    curves = Curves(series, None, 125.0, measured=True)
    return replace(CurveView(title, LOG, (LOG, OTHER), curves, 1.0, 4096), **facts)  # type: ignore[arg-type]


def shows(state: CurvesState, *keys: str, **named: object) -> Scene:
    """The screen with this state; it reads no log."""

    async def play(stage: Stage) -> None:
        screen = CurvesScreen(stage.app.context, ())
        screen._read = lambda ticket: None  # type: ignore[method-assign]
        await stage.app.push_screen(screen)
        screen.show(state)
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)  # type: ignore[arg-type]


ONE = view("train.py 04:00", falling(400))
TWO = view("train.py 03:00", falling(300, 1.7), log=OTHER)
PROBLEM = make("config-invalid", values={"name": "[progress] patterns", "reason": "it is no expression"}, lang="en")
SCENES = {
    "reading": shows(CurvesState()),
    "no_log": shows(CurvesState((CurveView("empty"),))),
    "half_read": shows(CurvesState((replace(ONE, read=0.42),))),
    "loss": shows(CurvesState((ONE,))),
    "cursor": shows(CurvesState((ONE,)), *["left"] * 12),
    "log_scale": shows(CurvesState((ONE,)), "s"),
    "step_time": shows(CurvesState((ONE,)), "tab"),
    "two": shows(CurvesState((ONE, TWO))),
    "broken": shows(CurvesState((view("train.py 04:00", falling(200, broken=120)),))),
    "few": shows(CurvesState((view("train.py 04:00", falling(2)),))),
    "one_value": shows(CurvesState((view("train.py 04:00", falling(1)),))),
    "no_values": shows(CurvesState((view("train.py 04:00", Series.empty()),))),
    "chinese": shows(CurvesState((ONE, TWO)), config='lang = "zh"\n'),
    "ascii": shows(CurvesState((ONE, TWO)), options={"ascii": True}),
}
"""Every state of the curves' screen."""
