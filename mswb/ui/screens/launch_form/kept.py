"""Presets and earlier launches in the launch form: take one, keep what is there under a name, delete one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.findings import MswbError
from mswb.launch import form, presets
from mswb.launch.form import Values
from mswb.launch.presets import Launch, Launches
from mswb.ui.screens.ask import Ask
from mswb.ui.screens.launch_form import work
from mswb.ui.screens.launch_form.state import filled
from mswb.ui.screens.launch_form.text import say
from mswb.ui.screens.pick import Pick, Picked
from mswb.ui.widgets.form.fields import Entry

if TYPE_CHECKING:
    from mswb.ui.screens.launch_form.screen import LaunchForm


class Kept:
    """What the form does with launches that are kept.

    Args:
        wanted: whether the form begins with the folder's last launch.
    """

    def __init__(self, screen: LaunchForm, *, wanted: bool) -> None:
        self._screen = screen
        self._wanted = wanted
        self._recalled = -1
        self._draft = Values()

    def read(self) -> None:
        """Read presets and history; the first time the form may begin with the last launch."""
        self._screen.ask("Launches of this folder", lambda: presets.load(*self._place), self._received)

    @property
    def _place(self) -> tuple[Path, Path]:
        context = self._screen.context
        return context.settings.state_dir, context.folder

    def _received(self, found: Launches) -> None:
        screen = self._screen
        known = screen.state.launches.findings
        screen.state = replace(screen.state, launches=found)
        for finding in found.findings:
            if finding not in known:
                screen.notify(printable(finding.title), severity="warning", markup=False)
        begins = self._wanted and bool(found.history) and screen.state.values == Values()
        self._wanted = False
        if begins and self._take(found.history[0], ""):
            screen.state = replace(screen.state, first=screen.state.values)
        screen.changed()
        entry = screen.focused
        if begins and isinstance(entry, Entry):
            entry.select_all()

    def forget_place(self) -> None:
        """Something was typed: the next earlier launch is the newest again, and none fills the form by itself."""
        self._recalled = -1
        self._wanted = False

    def recall(self, step: int) -> None:
        """Fill the form with an earlier (-1) or later (1) launch; behind the newest comes what was typed."""
        screen = self._screen
        history = screen.state.launches.history
        if self._recalled < 0:
            self._draft = screen.state.values
        wanted = max(-1, min(self._recalled - step, len(history) - 1))
        if wanted < 0:
            screen.state = filled(screen.state, self._draft)
        elif not self._take(history[wanted], ""):
            return
        self._recalled = wanted
        screen.changed()

    def pick(self) -> None:
        """Choose a preset or an earlier launch from a list."""
        screen = self._screen
        entries = work.entries(screen.state.launches, time.time(), changeable=not screen.state.read_only)

        def picked(result: Picked | None) -> None:
            if result is None:
                return
            chosen = entries[result.row]
            if result.delete:
                self._delete(chosen.preset)
            elif self._take(chosen.launch, chosen.preset):
                screen.changed()

        if entries:
            title = say("Presets and earlier launches", "预设与以前的启动")
            screen.app.push_screen(Pick(title, [one.row for one in entries]), picked)
        else:
            nothing = "Nothing yet: a launch is kept when it is started, a preset when it is saved."
            screen.notify(say(nothing, "还没有：启动后自动记录，保存后成为预设。"), markup=False)

    def save(self) -> None:
        """Ask for a name and keep the values under it."""
        screen = self._screen
        problem = next(iter(screen.state.wrong.values()), None)
        if problem is not None or screen.state.read_only:
            reason = problem.title if problem is not None else say("read-only: nothing is kept", "只读：不会保存")
            screen.notify(printable(reason), severity="error", markup=False)
            return
        known = {one.name for one in screen.state.launches.presets}

        def remark(name: str) -> str:
            return say("replaces the preset of that name", "将替换同名预设") if name.strip() in known else ""

        question = say("Save this launch as a preset; its name:", "将此启动保存为预设，名称：")
        screen.app.push_screen(Ask(question, screen.state.source, remark), self._save)

    def _save(self, name: str | None) -> None:
        screen = self._screen
        if name is None:
            return
        arguments = screen.state.arguments

        def saved(result: None) -> None:
            screen.state = replace(screen.state, source=name.strip())
            screen.notify(printable(say(f"Saved as {name.strip()}", f"已保存为 {name.strip()}")), markup=False)
            self.read()

        screen.ask("Save a preset", lambda: presets.save_preset(*self._place, name, arguments), saved)

    def _delete(self, name: str) -> None:
        def deleted(result: None) -> None:
            self._screen.notify(printable(say(f"Deleted the preset {name}", f"已删除预设 {name}")), markup=False)
            self.read()

        self._screen.ask("Delete a preset", lambda: presets.delete_preset(*self._place, name), deleted)

    def _take(self, launch: Launch, source: str) -> bool:
        """Fill the form with a launch; one without a script keeps the script that stands there."""
        screen = self._screen
        if not form.can_be_shown(launch.arguments):
            problem = say(
                "That launch holds control characters, which a form can't show.", "该启动含有控制字符，无法显示。"
            )
            screen.notify(problem, severity="error", markup=False)
            return False
        try:
            values = form.read_arguments(launch.arguments)
        except MswbError as error:  # kept by a version that knew other flags
            screen.notify(printable(error.finding.title), severity="error", markup=False)
            return False
        program = values.program or screen.state.values.program
        screen.state = filled(screen.state, replace(values, program=program), source, launch.withheld)
        return True
