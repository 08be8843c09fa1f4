"""Keeping the Launch pane's state up to date: looks at the runs, watches the open one, finds out why it ended.

On the event loop; the work itself is done by tasks. Nothing is looked at while the pane is hidden, but for the end of
runs that are alive: who waits for it in another pane is told all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from textual.timer import Timer

from mswb.flows.known_runs import KnownRun, Lister, from_run
from mswb.flows.runview import RunView
from mswb.ui.messages import RunFinished
from mswb.ui.panes.launch import state as states
from mswb.ui.panes.launch import work
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import Listing
from mswb.ui.panes.launch.words import is_hang

if TYPE_CHECKING:
    from mswb.env.devices.sample import Sample
    from mswb.findings import Finding, Where
    from mswb.jobs.control import Reaped
    from mswb.jobs.runs import Run
    from mswb.launch.diagnose import Diagnosis
    from mswb.ui.panes.launch.pane import LaunchPane
    from mswb.ui.tasks import Task

LOOK_S = 1.0
"""Seconds between two looks at the runs."""
HIDDEN_LOOKS = 5
"""One look of so many is made while the list is hidden by an open run and none of ours lives."""


class Follow:
    """What goes on behind one pane."""

    def __init__(self, pane: LaunchPane) -> None:
        self._pane = pane
        self._context = pane.context
        self._lister = Lister(pane.context.settings, pane.context.folder)
        self._everywhere = False
        self._paths: tuple[Path, ...] = ()
        self._is_shown = Event()
        self._timer: Timer | None = None
        self._ticks = 0
        self._look: Task[Listing] | None = None
        self._watch: Task[None] | None = None
        self._known: KnownRun | None = None
        self._jump: Where | None = None
        self._ended: set[str] = set()
        self._to_tell: dict[str, KnownRun] = {}
        self._reaped: set[str] = set()
        self._silence = 0.0
        """How long the open run was silent when it was last looked into; 0 while it speaks."""

    # -- the life of the pane

    def shown(self) -> None:
        """The pane is in front."""
        self._is_shown.set()
        if self._timer is None:
            self._timer = self._pane.set_interval(LOOK_S, self.tick)
        self.look()

    def hidden(self) -> None:
        """The pane is not in front any more."""
        self._is_shown.clear()

    def close(self) -> None:
        """The pane has gone: nothing is looked at any more."""
        if self._timer is not None:
            self._timer.stop()
        for task in (self._look, self._watch):
            if task is not None:
                task.cancel()

    @property
    def opened(self) -> KnownRun | None:
        """The open run as it was opened, though the list may not have it."""
        return self._known

    # -- the runs

    @property
    def resting(self) -> bool:
        """Whether no look is under way."""
        return self._look is None or self._look.state != "running"

    def tick(self) -> None:
        """Once a second: look, if anybody is interested; less often while an open run hides the list."""
        alive = any(one.live and one.kind == "run" for one in self._pane.state.listing.runs)
        self._ticks += 1
        if alive or (self._is_shown.is_set() and (self._pane.shows_list or self._ticks % HIDDEN_LOOKS == 0)):
            self.look()

    def look(self) -> None:
        """Look at the runs now, unless a look is under way."""
        if not self.resting:
            return
        lister, everywhere, paths = self._lister, self._everywhere, self._paths
        self._look = self._context.tasks.start(
            "Look at the runs", lambda ticket: work.look(lister, everywhere, paths), self._looked, quiet=True
        )

    def toggle_everywhere(self) -> None:
        """The runs of all folders, or of this one again."""
        self._everywhere = not self._everywhere
        self.look()

    def _looked(self, listing: Listing) -> None:
        before = self._pane.state.listing
        self._pane.change(states.listed, listing)
        for known in states.ended_between(before, listing):
            self.diagnose(known, finished=True)
        if not before.loaded and self._pane.state.open is None and self._context.target is None:
            newest = next((one for one in listing.runs if one.live and one.kind == "run"), None)
            if newest is not None:
                self.open(newest)
        self._end_lost(listing)
        if listing.everywhere != self._everywhere:  # asked for meanwhile
            self.look()

    def _end_lost(self, listing: Listing) -> None:
        """End what is left of runs whose supervisor died, as every command of mswb does, and say so."""
        lost = {one.key for one in listing.runs if one.kind == "run" and one.state == "lost"} - self._reaped
        if lost and not self._context.options.read_only:
            self._reaped |= lost
            self._context.tasks.start(
                "End what is left of lost runs", lambda ticket: work.reap(self._context.settings), self._reaped_now
            )

    def _reaped_now(self, reaped: list[Reaped]) -> None:
        for one in reaped:
            names = ", ".join(f"{process.pid} {process.name}" for process in one.ended) or word("nothing was left")
            text = word("run {id} had lost its supervisor; ended: {names}", id=one.run.id, names=names)
            self._pane.app.notify(text, severity="warning", markup=False)
        self.look()

    # -- the open run

    def open(self, known: KnownRun) -> None:
        """Open a run and watch it."""
        if self._pane.state.open is not None and self._pane.state.open.key != known.key:
            self.close_run()
        already = self._pane.state.open is not None
        self._known = known
        self._pane.change(states.opened, known.key)
        if already:
            return
        settings, shown, period = self._context.settings, self._is_shown, self._context.options.redraw_s * 4
        self._watch = self._context.tasks.start(
            f"Watch {known.name}",
            lambda ticket: work.watch(known, settings, ticket, shown, period, self._sample),
            lambda done: None,
            received=lambda view: self.viewed(known, view),
            failed=lambda finding: self._unwatchable(known, finding),
            group="launch.watch",
            quiet=True,
        )
        ended = known.kind == "folder" or (known.kind == "run" and not known.live)
        if ended and known.key not in self._pane.state.results:
            self.diagnose(known)

    def _sample(self) -> Sample | None:
        """The latest counters of the devices; read by the watcher's thread."""
        return getattr(self._pane.app, "sample", None)

    def open_started(self, run: Run) -> None:
        """Open a run that was started just now."""
        self.look()
        self.open(from_run(run))

    def close_run(self) -> None:
        """Leave the open run: its watcher and its files end with it."""
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._known = self._jump = None
        self._silence = 0.0
        self._pane.change(states.closed)

    @property
    def watching(self) -> bool:
        """Whether the open run is watched by a thread."""
        return self._watch is not None and self._watch.state == "running"

    def viewed(self, known: KnownRun, view: RunView) -> None:
        """Take in how the open run is now."""
        run = self._pane.state.open
        if run is None or run.key != known.key:
            return
        before = run.view
        self._pane.change(states.watched, known.key, view, time.time())
        if self._calls_for_why(before, view):
            self.diagnose(known)
        self._try_jump()

    def _calls_for_why(self, before: RunView | None, view: RunView) -> bool:
        """Whether something happened that a person will ask about: a failure, an end, a silence."""
        silent = self._stays_silent(view)
        if before is None:
            return (view.first_failure is not None and view.live) or silent
        failed = view.first_failure is not None and before.first_failure is None
        ended = before.live and not view.live
        return failed or ended or silent

    def _stays_silent(self, view: RunView) -> bool:
        """Whether ranks fell silent, or are silent for twice as long as when nothing was found to hold them up."""
        run = self._pane.state.open
        if not (view.live and view.progress.silent) or run is None:
            self._silence = 0.0
            return False
        longest = max((one.last_line_age_s or 0.0 for one in view.ranks if one.state == "silent"), default=0.0)
        if self._silence and (longest < 2 * self._silence or run.diagnosing or is_hang(run.diagnosis)):
            return False
        self._silence = max(longest, self._context.settings["silence_s"])
        return True

    def _unwatchable(self, known: KnownRun, finding: Finding) -> None:
        self._pane.app.notify(f"{known.name}: {finding.title}", severity="error", markup=False)

    # -- why

    def diagnose(self, known: KnownRun, *, finished: bool = False) -> None:
        """Find out why a run ended as it did (or what holds it up); ``finished``: it ended just now, tell the app."""
        key = known.key
        if finished and key in self._ended:
            return
        if finished:
            self._ended.add(key)
            self._to_tell[key] = known
        self._pane.change(states.diagnosing, key, True)
        self._context.tasks.start(
            f"Diagnose {known.name}",
            lambda ticket: work.diagnose(
                known, self._context.settings, ticket, keep=not self._context.options.read_only
            ),
            lambda diagnosis: self._diagnosed(known, diagnosis),
            failed=lambda finding: self._undiagnosed(known, finding),
            group=f"launch.diagnose.{key}",
        )

    def _diagnosed(self, known: KnownRun, diagnosis: Diagnosis) -> None:
        self._pane.change(states.diagnosed, known.key, diagnosis)
        ended = self._to_tell.pop(known.key, None)
        if ended is not None and ended.run is not None:
            self._pane.post_message(RunFinished(ended.run, diagnosis))

    def _undiagnosed(self, known: KnownRun, finding: Finding) -> None:
        self._pane.change(states.diagnosing, known.key, False)
        self._pane.app.notify(f"{known.name}: {finding.title}", severity="warning", markup=False)

    def read_phases(self) -> None:
        """Read what each rank did when, anew."""
        run = self._pane.state.open
        if run is None or run.view is None:
            return
        key, logs = run.key, run.view.logs
        self._context.tasks.start(
            "Read the phases",
            lambda ticket: work.phases(logs, ticket),
            lambda phases: self._pane.change(states.phased, key, phases),
            group="launch.phases",
        )

    # -- places

    def open_path(self, path: Path) -> None:
        """Open a log folder, a log file, or the folder of a run."""
        settings, folder = self._context.settings, self._context.folder
        self._resolve(path, lambda: work.resolve(path, settings, folder))

    def goto(self, where: Where) -> None:
        """Show a line of a log: in the open run where it is one of its logs, else the log alone."""
        assert where.file is not None
        self._jump = where
        run = self._pane.state.open
        if run is None or run.view is None or all(one.path != where.file for one in run.view.logs):
            self.open_path(Path(where.file))
        else:
            self._try_jump()

    def _resolve(self, path: Path, work_of: Callable[[], KnownRun]) -> None:
        def found(known: KnownRun) -> None:
            if known.kind == "folder" and path not in self._paths:
                self._paths = (*self._paths, path)
            self.open(known)
            self.look()

        self._context.tasks.start(f"Open {path.name}", lambda ticket: work_of(), found, quiet=True)

    def _try_jump(self) -> None:
        """Make a jump that was asked for as soon as the log can be shown."""
        where = self._jump
        if where is not None and self._pane.jump_to(where):
            self._jump = None
