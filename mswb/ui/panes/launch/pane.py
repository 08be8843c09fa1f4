"""The Launch pane: it keeps one state, hands it to its parts, and turns keys and messages into work and new states.

``state`` the state and its changes · ``words``, ``rows``, ``diagnosis_text``, ``timeline`` pure text · ``runs_list``,
``run_part``, ``side`` what is drawn · ``available`` which keys do something · ``follow`` keeping the state up to date ·
``actions`` start, stop, adopt · ``work`` what runs in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.widget import Widget

from mswb.findings import Finding, Where
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.finding_text import markdown
from mswb.ui.messages import Copy
from mswb.ui.panes.base import Pane
from mswb.ui.panes.launch import actions
from mswb.ui.panes.launch import state as states
from mswb.ui.panes.launch.available import CHANGES, Here, available
from mswb.ui.panes.launch.banner import BannerRow
from mswb.ui.panes.launch.follow import Follow
from mswb.ui.panes.launch.ranks_grid import RanksGrid
from mswb.ui.panes.launch.runs_list import RunsList, RunsTable
from mswb.ui.panes.launch.side import SidePart
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.state import LaunchState, Side
from mswb.ui.widgets.lines import LineView

if TYPE_CHECKING:
    from mswb.ui.panes.launch.run_part import RunPart


class LaunchPane(Pane):
    """Runs, their ranks and logs, and why they failed."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("launch")
    DEFAULT_CSS = """
    LaunchPane #launch-body { height: 1fr; }
    LaunchPane RunsList, LaunchPane RunPart, LaunchPane SidePart { display: none; }
    LaunchPane.-runs RunsList { display: block; }
    LaunchPane.-run RunPart { display: block; }
    LaunchPane.-run.-over RunPart { display: none; }
    LaunchPane.-run.-over SidePart { display: block; }
    LaunchPane.-wide RunsList { display: block; }
    LaunchPane.-wide.-open RunsList { width: 50; }
    LaunchPane.-wide.-open RunPart { display: block; margin-left: 1; }
    LaunchPane.-wide.-open SidePart { margin-left: 1; }
    LaunchPane.-wide.-beside SidePart { display: block; width: 26%; }
    """
    WIDE = 140
    """Columns from which list, run and details stand side by side."""

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.state = LaunchState(str(context.folder), read_only=context.options.read_only)
        self.follow = Follow(self)
        self._ready = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="launch-body"):
            yield RunsList(id="launch-list")
            yield SidePart(id="launch-side")

    # -- the state and its drawing

    def show(self, state: LaunchState) -> None:
        """Draw a state, whatever was drawn before."""
        before, self.state = self.state, state
        if not self._ready:
            return
        self._arrange()
        self.list.show(state)
        self._show_run(before)
        self.side.show(state, self.side_shown)
        if _place(before) != _place(state):
            self.call_after_refresh(self._focus_front)
        self.refresh_bindings()

    def change(self, change: Callable[..., LaunchState], *arguments: Any) -> None:
        """Replace the state by ``change(state, *arguments)`` and draw it."""
        state = change(self.state, *arguments)
        if state is not self.state:
            self.show(state)

    def _arrange(self) -> None:
        """Which parts are to be seen, as classes for the style sheet."""
        state = self.state
        classes = {
            "-wide": self.is_wide,
            "-runs": state.level == "runs",
            "-run": state.level == "run",
            "-open": state.open is not None,
            "-over": bool(state.side),
            "-beside": bool(self.side_shown),
        }
        for name, wanted in classes.items():
            self.set_class(wanted, name)

    @property
    def is_wide(self) -> bool:
        """Whether list, run and details stand side by side."""
        return self.app.size.width >= self.WIDE

    @property
    def shows_list(self) -> bool:
        """Whether the list of runs is to be seen."""
        return self.is_wide or self.state.level == "runs"

    @property
    def side_shown(self) -> Side:
        """What the side part shows: what was asked for; on a wide terminal the details as soon as there are any."""
        run = self.state.open
        if self.state.side or run is None:
            return self.state.side
        return "details" if run.diagnosis is not None and self.is_wide else ""

    @property
    def list(self) -> RunsList:
        """The list of runs."""
        return self.query_one(RunsList)

    @property
    def side(self) -> SidePart:
        """The details or phases."""
        return self.query_one(SidePart)

    @property
    def run_part(self) -> RunPart | None:
        """The open run on the screen; None until the first one was opened."""
        return self.query_one_optional("#launch-run")  # type: ignore[return-value]

    def _show_run(self, before: LaunchState) -> None:
        part = self.run_part
        if self.state.open is None:
            if part is not None and before.open is not None:
                part.close_run()
            return
        if part is None:
            from mswb.ui.panes.launch.run_part import RunPart  # the log view loads much

            part = RunPart(self.context, id="launch-run")
            self.query_one("#launch-body").mount(part, after=self.list)
        part.show(self.state)

    def _front(self) -> Widget | None:
        """What has the focus when nothing else was chosen."""
        part = self.run_part
        if self.state.level == "runs":
            return self.list.table
        if self.state.side:
            return self.side.lines
        if part is None or not part.ready:
            return None
        return part.log_panel.front if self.state.maximised == "log" else part.grid

    def _focus_front(self) -> None:
        """Put the focus where the person is by the state."""
        if not self.is_attached:
            return
        front = self._front()
        if front is None:  # it is being mounted
            self.call_after_refresh(self._focus_front)
        elif self.app.screen is self.screen and self.is_on_screen and not self._in_front():
            front.focus()

    def on_descendant_blur(self) -> None:
        """Textual takes the focus from what is hidden, sometimes after we have given it to what is shown instead."""
        self.call_after_refresh(self._focus_if_nowhere)

    def _focus_if_nowhere(self) -> None:
        if self.is_attached and self.screen.focused is None:
            self._focus_front()

    def _in_front(self) -> bool:
        """Whether the focus is in the log of an open run that is to be seen: it was put there on purpose."""
        part, state = self.run_part, self.state
        shows_log = state.level == "run" and not state.side and state.maximised != "grid"
        return part is not None and part.ready and shows_log and _is_in(self.screen.focused, part.log_panel)

    # -- the life of the pane

    def on_mount(self) -> None:
        self._ready = True
        self.show(self.state)

    def on_resize(self, event: Resize) -> None:
        self.show(self.state)

    def on_pane_shown(self) -> None:
        self.follow.shown()
        self.call_after_refresh(self._focus_front)

    def on_pane_hidden(self) -> None:
        self.follow.hidden()

    def on_unmount(self) -> None:
        self.follow.close()

    def open_path(self, path: Path) -> bool:
        self.follow.open_path(path)
        return True

    def open_place(self, where: Where) -> bool:
        if where.file is None:
            return False
        self.follow.goto(where)
        return True

    def jump_to(self, where: Where) -> bool:
        """Show a line of a log of the open run; False while that can't be done yet."""
        part, run = self.run_part, self.state.open
        if part is None or not part.ready or run is None or run.view is None or where.file is None:
            return False
        if all(one.path != where.file for one in run.view.logs):
            return False
        if not part.shows(where.file):
            self.change(states.shown_logs, (where.file,))
        self.change(states.in_log)
        part.goto(where.file, where.line or 1)
        part.log_panel.front.focus()
        return True

    # -- where the person is

    @property
    def here(self) -> Here:
        """What the keys depend on now."""
        state = self.state
        on_list = state.open is None or state.level == "runs" or _is_in(self.screen.focused, self.list)
        if on_list:
            key = self.list.key if self._ready else None
            return Here(state, state.known(key) if key is not None else None, on_list=True)
        return Here(state, state.current or self.follow.opened, on_list=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that do something now; the key bar shows these."""
        return available(action, self.here)

    def on_key(self, event: Key) -> None:
        """Say why a key does nothing here that would do something elsewhere."""
        if event.key in self.screen.active_bindings:
            return
        bindings = self._bindings.key_to_bindings.get(event.key, [])
        if self.state.read_only and any(one.action in CHANGES for one in bindings):
            self._say_read_only()
        elif self._on_grid and any(event.key in key.keys.split(",") for key in keymap.keys_of("log")):
            self.app.notify(word("{key} is a key of the log; Tab goes there", key=event.key), markup=False)
        else:
            return
        event.stop()

    def _say_read_only(self) -> None:
        self.app.notify(word("read-only: nothing is started, stopped or changed here"), markup=False)

    @property
    def _on_grid(self) -> bool:
        part = self.run_part
        return part is not None and part.ready and _is_in(self.screen.focused, part.grid)

    # -- messages of the parts

    @on(RunsTable.Chosen, "#launch-runs")
    def _run_chosen(self, event: RunsTable.Chosen) -> None:
        event.stop()
        key = self.list.key
        known = self.state.known(key) if key is not None else None
        if known is not None:
            self.follow.open(known)

    @on(RunsTable.Highlighted, "#launch-runs")
    def _run_highlighted(self, event: RunsTable.Highlighted) -> None:
        event.stop()
        self.refresh_bindings()

    @on(RunsTable.Restart)
    def _again(self, event: RunsTable.Restart) -> None:
        event.stop()
        if self.check_action("restart", ()):
            self.action_restart()
        elif self.state.read_only:
            self._say_read_only()

    @on(RanksGrid.Chosen, "#launch-grid")
    def _rank_chosen(self, event: RanksGrid.Chosen) -> None:
        event.stop()
        part = self.run_part
        path = part.grid.file_of(event.row) if part is not None else None
        if path is not None:
            self._show_logs((path,))

    @on(RanksGrid.Logs)
    def _logs_wanted(self, event: RanksGrid.Logs) -> None:
        event.stop()
        self._show_logs(event.paths)

    def _show_logs(self, paths: tuple[str, ...]) -> None:
        self.change(states.shown_logs, paths)
        self.change(states.in_log)
        part = self.run_part
        if part is not None:
            part.log_panel.front.focus()

    @on(RanksGrid.Reorder)
    def _reorder(self, event: RanksGrid.Reorder) -> None:
        event.stop()
        self.change(states.reordered)

    @on(BannerRow.Pressed)
    def _banner_pressed(self, event: BannerRow.Pressed) -> None:
        event.stop()
        if self.check_action("jump", ()):
            self._jump_to(states.root_of(self.state))

    @on(LineView.Chosen)
    def _line_chosen(self, event: LineView.Chosen) -> None:
        event.stop()
        if event.line.where is not None:
            self.follow.goto(event.line.where)
        elif event.line.finding is not None:
            self._jump_to(self.side.finding(self.state))

    # -- keys

    def action_new(self) -> None:
        """Open the form for a new run."""
        actions.new_run(self)

    def action_restart(self) -> None:
        """Open the form with what the run was asked for."""
        if (target := self.here.target) is not None:
            actions.run_again(self, target)

    def action_stop(self) -> None:
        """Show the processes of the run, and ask whether to end them."""
        if (target := self.here.target) is not None:
            actions.ask_to_stop(self, target)

    def action_kill(self) -> None:
        """Show the processes of the run, and ask whether to kill them."""
        if (target := self.here.target) is not None:
            actions.ask_to_stop(self, target, kill=True)

    def action_adopt(self) -> None:
        """Show the processes of a run that mswb did not start, and ask whether to watch over them."""
        if (target := self.here.target) is not None:
            actions.ask_to_adopt(self, target)

    def action_attach(self) -> None:
        """Open a run that lives and follow what it writes."""
        if (target := self.here.target) is not None:
            self.follow.open(target)
            self.change(states.in_log)
            part = self.run_part
            if part is not None:
                part.follow()

    def action_diagnose(self) -> None:
        """Find out now why the run ended, or what holds it up; the answer is shown."""
        target = self.here.target
        if target is None:
            return
        self.follow.open(target)
        if not self.state.side:
            self.change(states.toggled, "details")
        self.follow.diagnose(target)

    def action_side(self, side: Side) -> None:
        """Open or close the details or the phases."""
        self.change(states.toggled, side)
        if self.state.side == "timeline":
            self.follow.read_phases()

    def action_jump(self) -> None:
        """Go to the line in the log: of the finding under the cursor in the details, else of the root cause."""
        self._jump_to(self._finding)

    @property
    def _finding(self) -> Finding | None:
        """The finding that keys are about: the one under the cursor where the details have the focus, else the root."""
        if _is_in(self.screen.focused, self.side):
            return self.side.finding(self.state)
        return states.root_of(self.state)

    def _jump_to(self, finding: Finding | None) -> None:
        if finding is not None and finding.where.file is not None:
            self.follow.goto(finding.where)
        else:
            self.app.notify(word("This finding names no line."), severity="warning", markup=False)

    def action_curves(self) -> None:
        """Loss and speed of the run, or of the runs that are marked in the list, as curves."""
        target = self.here.target
        marked = [known for key in self.list.marked if (known := self.state.known(key)) is not None]
        if target is not None:
            actions.show_curves(self, marked if len(marked) > 1 and self.here.on_list else [target])

    def action_search(self) -> None:
        """Into the log, and ask what to search there."""
        part = self.run_part
        if part is not None and part.log_panel.body is not None:
            self.change(states.in_log)
            part.log_panel.body.action_search()

    def action_everywhere(self) -> None:
        """The runs of all folders, or of this one."""
        self.follow.toggle_everywhere()

    def action_maximise(self) -> None:
        """All room for the part with the focus, or shared again."""
        self.change(states.maximised, "grid" if self._on_grid else "log")

    def action_resize(self, rows: int) -> None:
        """More or fewer rows for the ranks."""
        self.change(states.resized, rows)

    def action_look(self) -> None:
        """Look at the runs now, and read the phases again when they are shown."""
        self.follow.look()
        if self.state.side == "timeline":
            self.follow.read_phases()

    def action_copy_finding(self) -> None:
        """Copy the finding under the cursor, or the root cause, as Markdown."""
        finding = self._finding
        if finding is not None:
            self.post_message(Copy(markdown(finding), "finding"))

    def action_back(self) -> None:
        """One level back; from the run itself to the list, where the run is closed unless both are to be seen."""
        state = self.state
        if not state.side and not state.maximised and (state.level == "runs" or not self.is_wide):
            self.follow.close_run()
        else:
            self.change(states.back)


def _place(state: LaunchState) -> tuple[object, ...]:
    """Where in the pane a state puts the person; the focus follows it."""
    return state.level, state.side, state.maximised, state.open.key if state.open is not None else None


def _is_in(widget: Widget | None, part: Widget) -> bool:
    return widget is not None and part in widget.ancestors_with_self
