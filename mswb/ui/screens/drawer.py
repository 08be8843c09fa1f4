"""The job drawer: what works beside the panes, and the newest runs of this host, over the lower half of any pane."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static
from textual.widgets.option_list import Option

from mswb.files.safety import printable
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.glyphs import bar, glyph
from mswb.ui.messages import OpenPath, ShowFindings
from mswb.ui.screens.base import PacedModal
from mswb.ui.tasks import Task, Ticket
from mswb.ui.widgets.choices import Choices
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.units import age_text

RUNS = 20
PERIOD_S = 1.0
_GLYPHS = {
    "running": "running",
    "starting": "starting",
    "stopping": "stopping",
    "succeeded": "ok",
    "done": "ok",
    "failed": "error",
    "cancelled": "stopped",
    "stopped": "stopped",
}


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the drawer lists it."""

    run_id: str
    folder: Path
    state: str
    title: str
    age_s: float


class DrawerScreen(PacedModal[None]):
    """Tasks of this session, then runs; Enter opens, ``x`` cancels a task. Runs are stopped from the Launch pane."""

    DEFAULT_CSS = """
    DrawerScreen { align: left bottom; background: $background 50%; }
    DrawerScreen Vertical { height: 60%; background: $surface; }
    DrawerScreen #drawer-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    DrawerScreen OptionList { height: 1fr; border: none; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar = [*keymap.bindings("drawer"), *keymap.bindings("overlay")]

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self._tasks: tuple[Task[Any], ...] = ()
        self._runs: tuple[RunLine, ...] = ()
        self._drawn: tuple[str, ...] | None = None
        self._pointed: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("Jobs", id="drawer-title", markup=False)
            yield Choices(id="drawer-list", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Choices).focus()
        self.set_interval(PERIOD_S, self._look)
        self._look()

    def _look(self) -> None:
        self._draw()
        self.context.tasks.start("Runs", self._read, self._received, group="drawer-runs", quiet=True)

    def _read(self, ticket: Ticket) -> tuple[RunLine, ...]:
        from mswb.jobs.runs import list_runs, run_state

        now = time.time()
        runs = list_runs(self.context.settings)[:RUNS]
        return tuple(
            RunLine(run.id, run.folder, run_state(run), run.status.title if run.status else run.problem,
                    now - run.status.created if run.status else 0.0)
            for run in runs
        )  # fmt: skip

    def _received(self, runs: tuple[RunLine, ...]) -> None:
        self._runs = runs
        if self.is_attached:
            self._draw()

    def _draw(self) -> None:
        self._tasks = self.context.tasks.listed
        lines = tuple([task_line(task) for task in self._tasks] + [run_line(run) for run in self._runs])
        if lines == self._drawn:
            return
        self._drawn = lines
        listed = self.query_one(Choices)
        chosen = listed.highlighted or 0
        listed.clear_options()
        self._pointed = None
        listed.add_options([Option(Text(f" {line}")) for line in lines])
        listed.highlighted = min(chosen, len(lines) - 1) if lines else None
        self.query_one("#drawer-title", Static).update(
            f"Jobs   {self.context.tasks.running} at work, {len(self._runs)} runs" if lines else "Jobs   nothing yet"
        )

    def _chosen(self) -> Task[Any] | RunLine | None:
        index = self.query_one(Choices).highlighted
        rows: list[Task[Any] | RunLine] = [*self._tasks, *self._runs]
        return rows[index] if index is not None and index < len(rows) else None

    def on_option_list_option_highlighted(self) -> None:
        """Point at the line under the cursor: its colour alone is not seen everywhere."""
        listed, lines = self.query_one(Choices), self._drawn or ()
        before, self._pointed = self._pointed, listed.highlighted
        for index, sign in ((before, " "), (self._pointed, glyph("cursor"))):
            if index is not None and index < len(lines):
                listed.replace_option_prompt_at_index(index, Text(sign + lines[index]))

    def on_option_list_option_selected(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the run, the error of the task, or say all of the task's line."""
        chosen = self._chosen()
        if isinstance(chosen, RunLine):
            self.dismiss()
            self.app.post_message(OpenPath(chosen.folder))
        elif chosen is not None and chosen.finding is not None:
            self.app.post_message(ShowFindings([chosen.finding], chosen.title))
        elif chosen is not None:
            self.app.notify(task_line(chosen).strip(), markup=False)

    def action_cancel(self) -> None:
        """Cancel the task under the cursor."""
        chosen = self._chosen()
        if isinstance(chosen, RunLine):
            self.app.notify("Open the run to stop it: Enter, then x.", markup=False)
        elif chosen is not None:
            chosen.cancel()
            self._draw()

    def action_down(self) -> None:
        """The next line; the last one is the end."""
        listed = self.query_one(Choices)
        listed.highlighted = min((listed.highlighted or 0) + 1, listed.option_count - 1)

    def action_up(self) -> None:
        """The line before; the first one is the end."""
        listed = self.query_one(Choices)
        listed.highlighted = max((listed.highlighted or 0) - 1, 0)

    def action_close(self) -> None:
        self.dismiss()


def task_line(task: Task[Any]) -> str:
    """One task: state, title, how far, how long, how long still."""
    progress = task.ticket.progress
    said = task.finding.title if task.finding is not None else task.title
    parts = [f" {glyph(_GLYPHS[task.state])} {task.state:<10} {printable(said)}"]
    if task.state == "running" and progress is not None:
        share = progress.share
        parts.append(f"{bar(share, 10)} {share:.0%}" if share is not None else f"{progress.done:,.0f} {progress.unit}")
        parts.append(printable(progress.text))
        left = progress.remaining_s(task.elapsed_s)
        if left is not None:
            parts.append(f"{left:.0f} s left")
    parts.append(f"{task.elapsed_s:.0f} s")
    return "  ".join(part for part in parts if part)


def run_line(run: RunLine) -> str:
    """One run: state, id, title, age."""
    sign = glyph(_GLYPHS.get(run.state, "lost"))
    return f" {sign} {run.state:<10} {run.run_id}  {printable(run.title)}  {age_text(run.age_s)} ago"
