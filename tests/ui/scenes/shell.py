"""What lies over any pane (findings, help, jobs, commands, notices), and one full screen in every theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mswb.findings import Finding, Where, make
from mswb.jobs.progress import Progress
from mswb.ui.screens.drawer import DrawerScreen, RunLine
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.tasks import State, Task
from tests.ui import launch_states as made
from tests.ui.scenes import launch
from tests.ui.scenes.stage import Scene, Stage

FINDINGS = (
    replace(made.exception(1), consequence_of=None),
    make("port-in-use", where=Where(node="node-0"), values={"port": 8118, "holder": "pid 4711 python"}, lang="en"),
    make("clock-skew", where=Where(node="node-1"), values={"node": "node-1", "skew_s": 2.5}, lang="en"),
    make("network-folder", values={"path": "/mnt/state", "filesystem": "nfs4"}, lang="en"),
)
THEMES = ("dark", "light", "high-contrast", "colour-blind", "ansi16")


def findings(found: Sequence[Finding], *keys: str, **named: Any) -> Scene:
    """The findings view."""

    async def play(stage: Stage) -> None:
        await stage.app.push_screen(FindingsScreen(found, "Checks"))
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)


def task(
    number: int, title: str, state: State, progress: Progress | None = None, finding: Finding | None = None
) -> Task[None]:
    """A task of this session; on the stage it has gone on for 12 s."""
    made = Task(number, title, "", False, lambda ticket: None, lambda done: None, None)
    made.state, made.finding, made.ticket.progress = state, finding, progress
    return made


def tasks() -> tuple[Task[None], ...]:
    """One of every state; made anew for each stage, where keys may cancel them."""
    return (
        task(3, "Diagnose 20261130_040000_9", "running", Progress(40.0, 100.0, "files", "worker_17.log")),
        task(2, "Read the phases", "running", Progress(1_200_000.0, None, "lines", "")),
        task(1, "Look for caches in resnet", "done"),
        task(1, "Open 结果.log", "failed", finding=FINDINGS[0]),
        task(1, "Look for models in resnet", "cancelled"),
    )


RUNS = (
    RunLine("20261130_040000_9", Path("/state/runs/1"), "running", "train.py", 95.0),
    RunLine("20261130_030000_8", Path("/state/runs/2"), "failed", "结果.py --lr 0.1", 3700.0),
    RunLine("20261129_120000_7", Path("/state/runs/3"), "succeeded", "train.py", 90_000.0),
    RunLine("20261128_110000_5", Path("/state/runs/4"), "lost", "train.py", 190_000.0),
)


def drawer(tasks: Callable[[], Sequence[Task[Any]]], runs: tuple[RunLine, ...], **named: Any) -> Scene:
    """The job drawer over the list of runs."""

    async def play(stage: Stage) -> None:
        screen = DrawerScreen(stage.app.context)
        screen._look = lambda: None  # type: ignore[method-assign]
        stage.pane.show(made.LISTED)
        await stage.app.push_screen(screen)
        stage.app.context.tasks._all[:] = reversed(tasks())
        screen._received(runs)
        stage.app.context.tasks._all.clear()

    return Scene(play, pane="launch", **named)


def after(*keys: str, **named: Any) -> Scene:
    """The list of runs, and keys pressed over it."""

    async def play(stage: Stage) -> None:
        stage.pane.show(made.LISTED)
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **{"pane": "launch", **named})


def notices(*texts: tuple[str, str]) -> Scene:
    """Notices over the list of runs."""

    async def play(stage: Stage) -> None:
        stage.pane.show(made.LISTED)
        for text, severity in texts:
            stage.app.notify(text, severity=severity, timeout=3600, markup=False)  # type: ignore[arg-type]

    return Scene(play, pane="launch", toasts=True)


RICH = launch.shows(replace(made.OPEN_FAILED, side=""))
SCENES = {
    "findings": findings(FINDINGS),
    "findings_last": findings(FINDINGS, "G"),
    "findings_details": findings(FINDINGS, "enter"),
    "findings_one": findings(FINDINGS[:1]),
    "findings_chinese": findings(
        [make("script-exception", values={"who": "rank 1"}, lang="zh")], config='lang = "zh"\n'
    ),
    "help": after("question_mark"),
    "help_filtered": after("question_mark", "slash", *"next"),
    "help_chinese": after("question_mark", config='lang = "zh"\n'),
    "drawer": drawer(tasks, RUNS),
    "drawer_empty": drawer(tuple, ()),
    "drawer_ascii": drawer(tasks, RUNS, options={"ascii": True}),
    "palette": after("ctrl+p"),
    "palette_search": after("ctrl+p", *"port-in-use"),  # matches little else, whatever the catalogue becomes
    "notices": notices(
        ("Copied the finding to the clipboard and ~/.local/state/mswb/clip.txt", "information"),
        ("run 20261130_040000_9 had lost its supervisor; ended: 4711 python", "warning"),
        ("✖ 20261130_040000_9 failed: the training script raised KeyError: 4", "error"),
    ),
    **{f"theme_{name}": replace(RICH, options={"theme": name}) for name in THEMES},
    "ascii": replace(RICH, options={"ascii": True}),
    "no_colour": replace(RICH, environ={"NO_COLOR": "1"}),
    "slow_link": replace(RICH, options={"slow_link": True}),
}
"""What is the same in every pane."""
