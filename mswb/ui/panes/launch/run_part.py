"""An open run: its title row, the banner when something is wrong, the ranks grid, and the log below."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from mswb.launch.logview.source import ShownLog
from mswb.ui.context import Context
from mswb.ui.panes.launch.banner import BannerRow
from mswb.ui.panes.launch.ranks_grid import RanksGrid
from mswb.ui.panes.launch.rows import first_failed
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import LaunchState, OpenRun
from mswb.ui.panes.launch.words import banner_of, title_text
from mswb.ui.widgets.log import LogPanel

MERGED_AT_ONCE = 64
"""Logs that are merged without being asked; of a bigger run one rank is shown first."""


class RunPart(Vertical):
    """Everything of one run. Made when the first run is opened, since the log view loads much."""

    DEFAULT_CSS = """
    RunPart { height: 1fr; width: 1fr; }
    RunPart #launch-title { height: 1; width: 1fr; background: $panel; padding: 0 1; }
    RunPart RanksGrid { height: 7; }
    RunPart LogPanel { height: 1fr; }
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context
        self._state: LaunchState | None = None
        self._shown: tuple[str, tuple[ShownLog, ...]] = ("", ())
        self._rooted = ""
        self._rested = ""
        self._texts: dict[str, str] = {}
        self._ready = False
        self._follows = False

    def compose(self) -> ComposeResult:
        yield Static("", id="launch-title", markup=False)
        yield BannerRow(id="launch-banner")
        yield RanksGrid(id="launch-grid")
        yield LogPanel(self.context, id="launch-log")

    @property
    def grid(self) -> RanksGrid:
        return self.query_one(RanksGrid)

    @property
    def log_panel(self) -> LogPanel:
        return self.query_one(LogPanel)

    @property
    def ready(self) -> bool:
        """Whether its parts are there."""
        return self._ready

    def on_mount(self) -> None:
        self._ready = True
        if self._state is not None:
            self.show(self._state)
        if self._follows:
            self.follow()

    def show(self, state: LaunchState) -> None:
        """Draw the open run."""
        self._state = state
        run = state.open
        if run is None or not self._ready:
            return
        self._say("#launch-title", title_text(state))
        self.query_one(BannerRow).show(banner_of(state))
        self._arrange(state, run)
        self.grid.show_run(run)
        self._show_logs(run)
        self._show_root(run)

    @on(LogPanel.Position)
    def _in_place(self) -> None:
        """The end of the log is there: of a run that had ended when it was opened nothing is to follow."""
        body, run = self.log_panel.body, self._state.open if self._state is not None else None
        view = run.view if run is not None else None
        if run is None or view is None or body is None or self._rested == run.key or not body.view.snapshot.built:
            return
        self._rested = run.key
        if not view.live and body.view.following:
            self.log_panel.follow(False)

    def close_run(self) -> None:
        """Give the files of the log view back."""
        self._rested = ""
        self._shown = ("", ())
        self._rooted = ""
        if self._ready:
            self.log_panel.close()

    def shows(self, path: str) -> bool:
        """Whether a log is among those in the log view."""
        return any(one.path == path for one in self._shown[1])

    def follow(self) -> None:
        """Go to the end of the log and stay there, with the focus in it."""
        if not self._ready:
            self._follows = True
            return
        self.log_panel.follow(True)
        self.log_panel.front.focus()

    def goto(self, path: str, line: int) -> None:
        """Show a line of a log."""
        self.log_panel.goto(path, line)

    def _say(self, selector: str, text: str) -> None:
        if self._texts.get(selector) != text:
            self._texts[selector] = text
            self.query_one(selector, Static).update(text, layout=False)  # one row, whatever it says

    def _arrange(self, state: LaunchState, run: OpenRun) -> None:
        """Who has the room: the grid takes as many rows as it has ranks, at most what the person wants."""
        grid, log = self.grid, self.log_panel
        grid.display, log.display = state.maximised != "log", state.maximised != "grid"
        ranks = len(run.view.ranks) if run.view is not None else 0
        height = "1fr" if state.maximised == "grid" else str(1 + max(1, min(state.grid_rows, ranks)))
        if self._texts.get("height") != height:
            self._texts["height"] = height
            grid.styles.height = height

    def _show_logs(self, run: OpenRun) -> None:
        """Open the logs that are wanted; files that appear are added to a merged view."""
        wanted = wanted_logs(run)
        key, shown = self._shown
        if key == run.key and wanted == shown:
            return
        self._shown = (run.key, wanted)
        if key == run.key and len(shown) > 1 and set(shown) < set(wanted):
            self.log_panel.add([one for one in wanted if one not in shown])
        elif wanted:
            place = self.log_panel.place if key == run.key else None
            self.log_panel.open(wanted, title=logs_title(run, wanted))
            if place is not None and self.shows(place[0]):  # other files beside it are no reason to leave a line
                self.log_panel.goto(*place)

    def _show_root(self, run: OpenRun) -> None:
        """Show where the run failed as soon as that is known, once, unless the person reads elsewhere."""
        place = root_place(run)
        if place is None or self._rooted == run.key:
            return
        self._rooted = run.key
        body = self.log_panel.body
        if (body is None or body.view.following) and self.shows(place[0]):
            self.log_panel.goto(*place)


def wanted_logs(run: OpenRun) -> tuple[ShownLog, ...]:
    """The logs to show: those chosen, else all of them, else (of very many) that of the rank to look at first."""
    logs = run.view.logs if run.view is not None else ()
    if run.logs:
        known = {one.path: one for one in logs}
        return tuple(known.get(path) or ShownLog(path) for path in run.logs)
    if len(logs) <= MERGED_AT_ONCE:
        return logs
    first = first_failed(run)
    chosen = next((one for one in logs if first is not None and one.path == first.file), logs[0])
    return (chosen,)


def root_place(run: OpenRun) -> tuple[str, int] | None:
    """File and line of the root cause of a run that failed."""
    diagnosis = run.diagnosis
    if diagnosis is None or diagnosis.root is None or diagnosis.verdict != "failed":
        return None
    where = diagnosis.findings[diagnosis.root].where
    return (where.file, where.line) if where.file is not None and where.line is not None else None


def logs_title(run: OpenRun, logs: Sequence[ShownLog]) -> str:
    """What the log view shows, in a few words."""
    if len(logs) == 1:
        one = logs[0]
        return word("rank {rank}", rank=one.rank) if one.rank is not None else one.role
    if not run.logs:
        return word("all {count} logs by time", count=len(logs))
    ranks = ", ".join(str(one.rank) if one.rank is not None else one.role for one in logs[:8])
    return word("ranks {ranks} by time", ranks=f"{ranks}{' …' if len(logs) > 8 else ''}")
