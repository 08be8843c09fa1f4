"""The workbench: one session in one terminal, and who answers which message. Everything else is elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App
from textual.screen import Screen

from mswb.files.safety import printable
from mswb.findings import Finding, MswbError, choose_language, make
from mswb.settings import Settings
from mswb.ui import crash, driver, keymap, messages, session
from mswb.ui.appearance import apply_keys, apply_themes
from mswb.ui.context import Context, Options
from mswb.ui.glyphs import set_ascii
from mswb.ui.pace import SLOW_BYTES_S, Pace
from mswb.ui.panes import registry
from mswb.ui.screens.main import MainScreen
from mswb.ui.tasks import Tasks
from mswb.ui.widgets.header import HeaderState, home_relative

if TYPE_CHECKING:
    from textual.command import Provider

    from mswb.env.devices.history import History
    from mswb.env.devices.sample import Sample

INTERRUPT_S = 2.0
"""Seconds within which a second Ctrl+C leaves."""


def _commands() -> type[Provider]:
    from mswb.ui.commands import WorkbenchCommands

    return WorkbenchCommands


class Workbench(App[int]):
    """One session on one folder.

    Args:
        target: a file or folder to open at the start.
    """

    TITLE = "mswb"
    CSS_PATH = "app.tcss"
    COMMANDS = {_commands}  # noqa: RUF012 (Textual's own form)
    BINDINGS: ClassVar = keymap.bindings("app")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (140, "-wide")]  # noqa: RUF012

    def __init__(
        self, settings: Settings, folder: Path, *, target: Path | None = None, options: Options | None = None
    ) -> None:
        options = options or Options()
        self.pace = Pace(SLOW_BYTES_S if options.slow_link else None)
        kind = driver.driver_class(self.pace, ascii_only=options.ascii, gone=lambda: self._deliver(self.leave))
        super().__init__(driver_class=kind)
        set_ascii(options.ascii)
        choose_language(settings["lang"])
        tasks = Tasks(self._deliver, lambda: self.main.draw_tabs(), self.show_problem)
        self.context = Context(settings, folder, tasks, options, target)
        self.session = session.load(settings)
        self.main = MainScreen(self.context, HeaderState(home_relative(folder)))
        self.sample: Sample | None = None
        self.history: History | None = None
        self._interrupted = -INTERRUPT_S
        self._leaving = False
        wanted = (options.theme, settings["theme"], self.session.theme)
        self.theme_names, problems = apply_themes(self, settings, wanted)
        self._problems = (*problems, *apply_keys(self, settings))

    def get_default_screen(self) -> Screen[Any]:
        return self.main

    def on_mount(self) -> None:
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        """What comes after the first frame."""
        for problem in self._problems:
            self.show_problem(problem)
        pane = self.session.panes.get(str(self.context.folder), registry.FIRST)
        if self.context.target is not None:
            self.open_path(self.context.target)
        else:
            await self.main.show_pane(pane if pane in registry.PANES else registry.FIRST)
        from mswb.ui.services import start_services

        start_services(self)

    # -- leaving

    def leave(self, problem: str = "") -> None:
        """Save the session and end, with a last word; runs go on under their own supervisors."""
        self._leaving = True
        front = self.main.front
        pane = self.main.pane(front) if front else None
        if pane is not None:
            pane.on_pane_hidden()
        self.context.tasks.cancel_all()
        with suppress(MswbError):  # a full disk is no reason to stay
            session.save(self.context.settings, self.session, self.context.folder, front or registry.FIRST)
        self.exit(crash.EXIT_CODE if problem else 0, message=Text(problem) if problem else None)

    def _handle_exception(self, error: Exception) -> None:
        """A defect in a widget ends the session with one clear line; the trace goes to a file, without values."""
        if self._leaving:  # a pane that was being composed just now finds its parts gone
            return
        if self.is_headless:
            super()._handle_exception(error)  # tests see it whole
            return
        self.leave(crash.keep(self.context.settings, error))

    async def action_quit(self) -> None:
        """Leave; nothing that runs is stopped by it."""
        self.leave()

    def action_interrupt(self) -> None:
        """Leave at the second Ctrl+C."""
        now = time.monotonic()
        if now - self._interrupted < INTERRUPT_S:
            self.leave()
        self._interrupted = now
        self.notify("Ctrl+C again to quit; runs go on without the workbench.", markup=False)

    # -- panes

    async def action_pane(self, name: str) -> None:
        """Show a pane."""
        await self.main.choose_pane(name)

    def open_path(self, path: Path) -> None:
        """Show a file or folder in the pane that its content belongs to."""

        def kind(ticket: object) -> str:
            from mswb.flows.open_path import kind_of

            return kind_of(path)

        def opened(known: str) -> None:
            self.call_later(self._open, known, path)

        self.context.tasks.start(f"Open {path.name}", kind, opened)

    async def _open(self, kind: str, path: Path) -> None:
        if not await self.main.open_path(kind, path):
            self.show_problem(make("nothing-opens", values={"path": str(path)}))

    def show_header(self, **changes: Any) -> None:
        """Change parts of the top row."""
        self.main.show_header(replace(self.main.header, **changes))

    # -- messages

    @on(messages.OpenPath)
    def _open_path(self, message: messages.OpenPath) -> None:
        self.open_path(message.path)

    @on(messages.OpenPlace)
    async def _open_place(self, message: messages.OpenPlace) -> None:
        if not await self.main.open_place(message.where):
            self.show_problem(make("nothing-opens", values={"path": str(message.where)}))

    @on(messages.ShowFindings)
    def _show_findings(self, message: messages.ShowFindings) -> None:
        from mswb.ui.screens.findings import FindingsScreen

        self.push_screen(FindingsScreen(message.findings, message.title, message.first))

    @on(messages.Copy)
    def _copy(self, message: messages.Copy) -> None:
        from mswb.ui.services import copy

        copy(self, message.text, message.what)

    @on(messages.RunFinished)
    def _run_finished(self, message: messages.RunFinished) -> None:
        from mswb.ui.services import tell_end

        tell_end(self, message.run, message.diagnosis)

    def show_problem(self, finding: Finding) -> None:
        """One line about something that did not work."""
        text = printable(str(MswbError(finding)))
        self.notify(text, severity="error" if finding.severity == "error" else "warning", markup=False)

    # -- screens

    def action_jobs(self) -> None:
        """Open the job drawer."""
        from mswb.ui.screens.drawer import DrawerScreen

        self.push_screen(DrawerScreen(self.context))

    def action_devices(self) -> None:
        """Open the counters of this host, once."""
        from mswb.ui.screens.devices import DevicesScreen

        if not isinstance(self.screen, DevicesScreen):
            self.push_screen(DevicesScreen(self.context, self.sample, self.history))

    def action_keys(self) -> None:
        """Open the help."""
        from mswb.ui.screens.help import HelpScreen

        active = [one.binding for one in self.screen.active_bindings.values() if one.binding.id]
        displays: dict[str, str] = {}
        for binding in active:
            name = binding.id or ""
            displays[name] = f"{displays.get(name, '')} {self.get_key_display(binding)}".strip()
        self.push_screen(HelpScreen([name.partition(".")[0] for name in displays], displays))

    # -- themes

    def reload_themes(self) -> None:
        """Read the theme files again and draw with what they say now."""
        self.theme_names, problems = apply_themes(self, self.context.settings, (self.theme,))
        self.refresh_css(animate=False)
        for problem in problems:
            self.show_problem(problem)

    def choose_theme(self, name: str) -> None:
        """Use a theme from now on, in later sessions too."""
        self.theme = self.session.theme = name

    def action_next_theme(self) -> None:
        """Go through the themes."""
        following = (self.theme_names.index(self.theme) + 1) % len(self.theme_names)
        self.choose_theme(self.theme_names[following])
        self.notify(f"theme {self.theme}", markup=False)

    def _deliver(self, call: Callable[[], None]) -> None:
        """Have something done on the event loop, from any thread; nothing when the session is over."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            with suppress(RuntimeError):  # it closed just now
                loop.call_soon_threadsafe(self.call_later, self._unless_over, call)

    def _unless_over(self, call: Callable[[], None]) -> None:
        if not self._leaving:
            call()
