"""What a person does with runs from the Launch pane: start, run again, stop, adopt. Each shows first what exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mswb.ui.panes.launch import work
from mswb.ui.panes.launch.confirm import Confirm, adopt_question, stop_question
from mswb.ui.panes.launch.speech import word

if TYPE_CHECKING:
    from mswb.flows.known_runs import KnownRun
    from mswb.jobs.runs import Run
    from mswb.ui.panes.launch.pane import LaunchPane


def new_run(pane: LaunchPane, arguments: tuple[str, ...] | None = None, folder: Path | None = None) -> None:
    """Open the form (with ``arguments``, to start in ``folder``); what it starts is opened."""
    from mswb.ui.screens.launch_form import LaunchForm

    def started(run: Run | None) -> None:
        if run is not None:
            pane.follow.open_started(run)

    context = pane.context if folder is None else replace(pane.context, folder=folder)
    pane.app.push_screen(LaunchForm(context, arguments=arguments), started)


def run_again(pane: LaunchPane, known: KnownRun) -> None:
    """Open the form with what this run was asked for; it asks before it starts."""
    run = known.run
    if run is None:
        return

    def read(arguments: tuple[str, ...]) -> None:
        new_run(pane, arguments, Path(known.cwd) if known.cwd else None)

    pane.context.tasks.start(f"Read {known.name}", lambda ticket: work.arguments_of(run), read, quiet=True)


def ask_to_stop(pane: LaunchPane, known: KnownRun, *, kill: bool = False) -> None:
    """Show the processes of a run and ask whether to end them."""
    if not known.here:
        text = word("{id} runs on {host}; it is never signalled from here", id=known.name, host=known.host)
        pane.app.notify(text, severity="warning", markup=False)
        return
    pane.context.tasks.start(
        f"Processes of {known.name}",
        lambda ticket: work.members(known),
        lambda found: _ask(pane, found, kill=kill),
        quiet=True,
    )


def _ask(pane: LaunchPane, found: work.Members, *, kill: bool) -> None:
    known = found.known
    question = stop_question(known.name, found.processes, stopping=known.state == "stopping", kill=kill)

    def answered(answer: str | None) -> None:
        if answer:
            _stop(pane, known, kill=answer == "kill")

    pane.app.push_screen(Confirm(question), answered)


def _stop(pane: LaunchPane, known: KnownRun, *, kill: bool) -> None:
    def asked(done: bool) -> None:
        name = ("killing {id}" if kill else "stopping {id}") if done else "{id} had already ended"
        pane.app.notify(word(name, id=known.name), markup=False)
        pane.follow.look()

    title = f"{'Kill' if kill else 'Stop'} {known.name}"
    pane.context.tasks.start(title, lambda ticket: work.stop(known, kill), asked)


def ask_to_adopt(pane: LaunchPane, known: KnownRun) -> None:
    """Show the processes of a run that mswb did not start and ask whether to watch over them."""

    def answered(answer: str | None) -> None:
        if answer:
            settings = pane.context.settings
            title = f"Adopt {known.name}"
            pane.context.tasks.start(title, lambda ticket: work.adopt(known, settings), pane.follow.open_started)

    pane.app.push_screen(Confirm(adopt_question(known.title or known.name, work.foreign_processes(known))), answered)


def show_curves(pane: LaunchPane, chosen: Sequence[KnownRun]) -> None:
    """Open the curves of the first run, beside the second when several are chosen; the others can be put there."""
    from mswb.flows.curve_watch import CurveSource
    from mswb.ui.screens.curves import CurvesScreen

    others = [one for one in pane.state.listing.runs if one.key not in {known.key for known in chosen}]
    sources = [CurveSource(f"{one.title or one.name} {one.name}", one.source) for one in (*chosen, *others)]
    pane.app.push_screen(CurvesScreen(pane.context, sources, beside=1 if len(chosen) > 1 else None))
