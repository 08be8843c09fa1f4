"""Half precision mended from the Convert pane: what would be changed is shown, then written and verified."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.flows import convert_job
from mswb.flows.convert_job import Outcome
from mswb.ui.messages import ShowFindings
from mswb.ui.panes.convert.mend import MendScreen
from mswb.ui.panes.convert.state import Work, short
from mswb.ui.panes.convert.words import word
from mswb.ui.screens.convert_form.state import OF_VERIFY, Values
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from mswb.ui.panes.convert.pane import ConvertPane


class Mending:
    """One search, what was found, and the writing of it."""

    def __init__(self, pane: ConvertPane) -> None:
        self._pane = pane

    def begin(self, work: Work) -> None:
        """Find what mends half precision, show it, and write it when it is wanted."""
        name = short(work.models[1], os.path.realpath(self._pane.context.folder))
        options = _of_verify(work.values)
        self._run(
            f"{word('mend')} {printable(name)}",
            ("fix", name, "--dry-run", *options),
            lambda outcome: self._found(name, options, outcome),
        )

    def _found(self, name: str, options: tuple[str, ...], outcome: Outcome) -> None:
        report = outcome.report or {}
        if outcome.findings:
            self._pane.post_message(ShowFindings(outcome.findings, f"{word('mend')} {printable(name)}"))
        elif not report.get("changes"):
            self._pane.app.notify(word("nothing to mend"), markup=False)
        else:
            base, suffix = os.path.splitext(name)
            target = f"{base}_fixed{suffix}"

            def answered(wanted: bool | None) -> None:
                if wanted:
                    words = ("fix", name, "--output_file", target, *options)
                    self._run(
                        f"{word('mend write')} {printable(target)}", words, lambda done: self._mended(target, done)
                    )

            self._pane.app.push_screen(MendScreen(report, target), answered)

    def _mended(self, target: str, outcome: Outcome) -> None:
        if outcome.findings or not (outcome.report or {}).get("output"):
            self._pane.post_message(ShowFindings(outcome.findings, target))
        else:
            self._pane.verify_alone(target, os.path.join(os.path.realpath(self._pane.context.folder), target))
            self._pane.action_look()

    def _run(self, title: str, words: tuple[str, ...], done: Callable[[Outcome], None]) -> None:
        """Have a sub-command done in a process of its own."""
        context = self._pane.context

        def work(ticket: Ticket) -> Outcome | None:
            return convert_job.run(words, context.folder, cancelled=ticket.cancelled)

        def ended(outcome: Outcome | None) -> None:
            if outcome is not None:
                done(outcome)

        self._pane.app.notify(title, markup=False)
        context.tasks.start(title, work, ended)


def _of_verify(values: Values) -> tuple[str, ...]:
    """The words that say how to measure."""
    given = {flag: values.get(flag, "").strip() for flag in OF_VERIFY}
    return tuple(part for flag, text in given.items() if text for part in (f"--{flag}", text))
