"""Completion in the launch form: Tab as in a shell, a list to choose from on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from mswb.launch.form import SCRIPT
from mswb.ui.screens.launch_form import work
from mswb.ui.screens.launch_form.text import say
from mswb.ui.screens.pick import Pick, Picked
from mswb.ui.widgets.form.fields import FieldRow, PathEntry

if TYPE_CHECKING:
    from mswb.ui.screens.launch_form.screen import LaunchForm


class Paths:
    """What the form does when a path is to be completed."""

    def __init__(self, screen: LaunchForm) -> None:
        self._screen = screen

    def complete(self, row: FieldRow, entry: PathEntry, *, offer: bool) -> None:
        """Complete the path in ``entry``, or (``offer``) show what it may be; go on where nothing was begun."""
        name, text = row.field, entry.value
        if not offer and not text and name != SCRIPT:
            self._screen.focus_next()
            return
        settings, folder = self._screen.context.settings, self._screen.context.folder

        def found(what: work.Offer) -> None:
            if offer:
                self._offer(entry, what)
            elif entry.value == text:
                self._completed(row, entry, what)

        self._screen.ask("Complete a path", lambda: work.candidates(name, text, settings, folder, offer=offer), found)

    def _completed(self, row: FieldRow, entry: PathEntry, found: work.Offer) -> None:
        if len(found.text) > len(entry.value):
            with entry.prevent(Input.Changed):
                _fill(entry, found.text)
            self._screen.edit(row.field, found.text)
        elif len(found.rows) < 2 and (entry.value or not found.rows):
            self._screen.focus_next()
            return
        self._screen.hint("  ".join(one.title.strip() for one in found.rows) if len(found.rows) > 1 else "")

    def _offer(self, entry: PathEntry, found: work.Offer) -> None:
        def picked(result: Picked | None) -> None:
            if result is not None:
                _fill(entry, found.values[result.row])

        if found.rows:
            self._screen.app.push_screen(Pick(say("Choose", "选择"), found.rows), picked)
        else:
            self._screen.notify(say("There is nothing to choose from.", "没有可选的内容。"), markup=False)


def _fill(entry: PathEntry, text: str) -> None:
    entry.value = text
    entry.cursor_position = len(text)
