"""The Launch pane in every state."""

from __future__ import annotations

from dataclasses import replace

from mswb.launch.timeline import PhaseSpan
from mswb.ui.panes.launch.confirm import Confirm, Question, adopt_question, stop_question
from mswb.ui.panes.launch.state import LaunchState, Listing
from tests.ui import launch_states as made
from tests.ui.scenes.stage import Scene, Stage
from tests.ui.scenes.texts import write_ranks

FOLDER = "ms_run_log"
START_US = 1_796_011_200_000_000  # 2026-11-30T04:00:00


def phases() -> tuple[PhaseSpan, ...]:
    """Two ranks: joined, compiled, train; the second one hangs in a kernel."""
    spans = []
    for rank in (0, 1):
        path = f"{FOLDER}/worker_{rank}.log"
        spans += [
            _span("start", "start", 0, 3, rank, path, 1),
            _span("cluster", "cluster", 3, 9, rank, path, 4),
            _span("compile", "parse", 9, 14, rank, path, 9, "Net_0"),
            _span("compile", "optimize", 14, 40, rank, path, 20, "Net_0"),
            _span("compile", "task_emit", 40, 44, rank, path, 31, "Net_0"),
            _span("training", "training", 44, 90 if rank == 0 else None, rank, path, 35),
        ]
    return (*spans, _span("launch", "AllReduce-op12", 61, None, 1, f"{FOLDER}/worker_1.log", 39))


def _span(
    kind: str, name: str, begin: int, end: int | None, rank: int, file: str, line: int, text: str = ""
) -> PhaseSpan:
    second = 1_000_000
    stop = None if end is None else START_US + end * second
    return PhaseSpan(kind, name, START_US + begin * second, stop, "worker", rank, "node-0", file, line, text)  # type: ignore[arg-type]


def shows(state: LaunchState, *keys: str, **named: object) -> Scene:
    """The pane with this state; the logs that it names lie in the folder of the test."""

    async def play(stage: Stage) -> None:
        folder = stage.folder / FOLDER
        folder.mkdir()
        write_ranks(folder, 4)
        moved = made.moved(state, FOLDER)
        stage.pane.show(moved)
        if state.open is not None:
            await stage.until(lambda: stage.pane.run_part is not None and stage.pane.run_part.ready)
            await stage.until(lambda: stage.pane.run_part.log_panel.body is not None or not state.open.view)
        await stage.press(*keys)

    return Scene(play, pane="launch", **named)  # type: ignore[arg-type]


def asks(question: Question) -> Scene:
    """A question over the list of runs."""

    async def play(stage: Stage) -> None:
        stage.pane.show(made.LISTED)
        await stage.app.push_screen(Confirm(question))

    return Scene(play, pane="launch")


PROCESSES = ((4711, "msrun pretrain.py"), (4712, "python pretrain.py"), (4713, "python pretrain.py"))
CHINESE = replace(made.OPEN_FAILED.listing.runs[1], title="训练脚本/预训练.py")
SCENES = {
    **{name: shows(state, anew=True) for name, state in made.STATES.items()},
    "loading": shows(LaunchState("/project")),
    "read_only_listed": shows(replace(made.LISTED, read_only=True), options={"read_only": True}),
    "read_only_open": shows(replace(made.OPEN_RUNNING, read_only=True), options={"read_only": True}),
    "everywhere": shows(replace(made.LISTED, listing=replace(made.LISTED.listing, everywhere=True))),
    "marked": shows(made.LISTED, "space", "j", "space"),
    "chinese": shows(
        replace(made.LISTED, listing=Listing((CHINESE, *made.EVERY), made.NOW, True)), config='lang = "zh"\n'
    ),
    "failed_chinese": shows(replace(made.OPEN_FAILED, side="details"), config='lang = "zh"\n'),
    "diagnosing": shows(
        replace(made.OPEN_FAILED, open=replace(made.OPEN_FAILED.open, diagnosis=None, diagnosing=True))
    ),
    "phases": shows(replace(made.OPEN_FAILED, side="timeline", open=replace(made.OPEN_FAILED.open, phases=phases()))),
    "no_phases": shows(replace(made.OPEN_RUNNING, side="timeline", open=replace(made.OPEN_RUNNING.open, phases=()))),
    "first_look": shows(replace(made.OPEN_RUNNING, open=replace(made.OPEN_RUNNING.open, view=None))),
    "whole_log": shows(replace(made.OPEN_RUNNING, maximised="log")),
    "whole_grid": shows(replace(made.OPEN_HUGE, maximised="grid")),
    "one_rank": shows(
        replace(made.OPEN_RUNNING, open=replace(made.OPEN_RUNNING.open, logs=(f"{FOLDER}/worker_1.log",)))
    ),
    "log_folder": shows(replace(made.OPEN_RUNNING, open=replace(made.OPEN_SUCCEEDED.open, key=made.FOLDER.key))),
    "stop": asks(stop_question("20261130_040000_9", PROCESSES)),
    "stop_many": asks(stop_question("20261130_040000_9", [(5000 + n, "python train.py") for n in range(40)])),
    "kill": asks(stop_question("20261130_040000_9", PROCESSES, stopping=True)),
    "adopt": asks(adopt_question("msrun 4711", PROCESSES)),
}
"""Every state of the pane."""
