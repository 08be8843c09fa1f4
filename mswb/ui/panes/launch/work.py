"""What the Launch pane has done in threads: look at the runs, watch one, find out why, who its processes are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.flows.known_runs import KnownRun, Lister, from_path, from_run
from mswb.flows.runview import RunView
from mswb.jobs import control
from mswb.jobs.runs import Run, load_run
from mswb.launch.logview.source import ShownLog
from mswb.settings import Settings
from mswb.ui.panes.launch.state import Listing
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from mswb.env.devices.sample import Sample
    from mswb.jobs.spec import ProcessStatus
    from mswb.launch.diagnose import Diagnosis
    from mswb.launch.foreign import ForeignProcess
    from mswb.launch.timeline import PhaseSpan

STEP_S = 0.25
"""How long the watcher waits for news at a time; bounds how late it notices that it is not wanted any more."""
IDLE_S = 0.5


@dataclass(frozen=True, slots=True)
class Members:
    """The live processes of a run: pid, and role with name."""

    known: KnownRun
    processes: tuple[tuple[int, str], ...]


def look(lister: Lister, everywhere: bool, opened: tuple[Path, ...]) -> Listing:
    """The runs as they are now."""
    now = time.time()
    runs = lister.look(everywhere=everywhere, opened=opened, now=now)
    return Listing(tuple(runs), now, loaded=True, everywhere=everywhere, elsewhere=lister.elsewhere)


def watch(
    known: KnownRun,
    settings: Settings,
    ticket: Ticket,
    wanted: Event,
    period_s: float,
    sample: Callable[[], Sample | None] = lambda: None,
) -> None:
    """Send a :class:`RunView` at most once in ``period_s`` (at once when a rank fails or the run ends).

    Rests while ``wanted`` is not set; returns when the ticket is cancelled, or all is read of a run that has ended.

    Args:
        sample: the latest counters of the devices.
    """
    from mswb.flows.watch import RunWatch

    watcher = RunWatch(known.source, settings)
    sent: RunView | None = None
    due = 0.0
    try:
        while not ticket.cancelled():
            if not wanted.is_set():
                wanted.wait(IDLE_S)
                continue
            watcher.step(STEP_S)
            view = watcher.snapshot(sample())
            if sent is None or _is_news(sent, view) or (time.monotonic() >= due and view.version != sent.version):
                sent, due = view, time.monotonic() + period_s
                ticket.send(view)
            if not view.live and view.counted >= 1.0 and sent.version == view.version:
                return
    finally:
        watcher.close()


def _is_news(before: RunView, view: RunView) -> bool:
    """Whether something happened that must be seen at once."""
    return (before.state, before.first_failure) != (view.state, view.first_failure)


def diagnose(known: KnownRun, settings: Settings, ticket: Ticket, *, keep: bool = True) -> Diagnosis:
    """Why a run ended as it did, or what holds it up; ``keep``: of a run that has ended, for every later list."""
    from mswb.flows import verdicts
    from mswb.flows.watch import diagnosis

    report = ticket.report
    found = diagnosis(known.source, settings, ticket.cancelled, lambda done, total: report(done, total, "files"))
    if keep and known.run is not None and not ticket.cancelled():
        verdicts.keep(known.run, found)
    return found


def phases(logs: tuple[ShownLog, ...], ticket: Ticket) -> tuple[PhaseSpan, ...]:
    """What each rank did when."""
    from mswb.launch.timeline import timeline

    return timeline(logs, ticket.cancelled, lambda done, total: ticket.report(done, total, "logs"))


def arguments_of(run: Run) -> tuple[str, ...]:
    """What to ask for to run it again; of a run that did not record it, the script alone."""
    spec = run.spec
    return spec.arguments or ((spec.script,) if spec.script else ())


def members(known: KnownRun) -> Members:
    """The processes that a stop would end; those that the run knows by what they are in it."""
    if known.run is None:
        return Members(known, ())
    run = known.run.reload()
    listed = run.status.processes if run.status is not None else []
    names = {one.pid: _name(one) for one in listed}
    found = ((one.pid, "  ".join(filter(None, (names.get(one.pid), one.name)))) for one in control.members(run))
    return Members(known, tuple(found))


def stop(known: KnownRun, kill: bool) -> bool:
    """Ask for the end of a run; False when it had ended."""
    return known.run is not None and control.request_stop(known.run, kill=kill)


def reap(settings: Settings) -> list[control.Reaped]:
    """End what is left of runs whose supervisor died."""
    return control.reap_lost(settings)


def adopt(known: KnownRun, settings: Settings) -> Run:
    """Watch over a run that mswb did not start."""
    from mswb.flows.adopt import adopt_run
    from mswb.launch.foreign import ForeignRun

    if not isinstance(known.source, ForeignRun):
        raise TypeError(f"{known.key} is watched by mswb already")
    return adopt_run(known.source, settings)


def foreign_processes(known: KnownRun) -> tuple[tuple[int, str], ...]:
    """The processes of a run that mswb did not start: pid, and role with command line."""
    from mswb.launch.foreign import ForeignRun

    processes = known.source.processes if isinstance(known.source, ForeignRun) else ()
    return tuple((one.pid, printable(f"{_name(one)}  {' '.join(one.command)}", 120)) for one in processes)


def _name(one: ForeignProcess | ProcessStatus) -> str:
    return one.role if one.rank is None else f"rank {one.rank}"


def resolve(path: Path, settings: Settings, folder: Path) -> KnownRun:
    """What a path is: the folder of a run of mswb, or logs."""
    if (path / "spec.json").is_file():
        return from_run(load_run(path.absolute()))
    return from_path(path, str(folder.resolve()), time.time())
