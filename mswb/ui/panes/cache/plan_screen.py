"""A plan over the pane: every action with its target and bytes; applied only when a person says so, then its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from mswb.files.safety import printable
from mswb.plan import Action, Outcome, Plan
from mswb.ui import keymap
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.words import word
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.units import bytes_text
from mswb.ui.widgets.table.widget import Table

MOST_WARNINGS = 4
WHOLE = 8_000
"""Characters of a path or a detail that are shown."""


class PlanScreen(PacedModal[None]):
    """One plan.

    Args:
        title: what it is for.
        folder: targets in it are shown relative to it.
        apply: called once when the plan is to be applied; hand what became of it to :meth:`finished`.
    """

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("cache_plan")
    DEFAULT_CSS = """
    PlanScreen { background: $background; }
    PlanScreen #plan-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    PlanScreen #plan-result { height: auto; max-height: 3; padding: 0 1; text-style: bold; }
    PlanScreen #plan-notes { height: auto; max-height: 8; padding: 0 1; color: $text-muted; }
    PlanScreen #plan-action { height: auto; max-height: 5; padding: 0 1; }
    PlanScreen #plan-whole { display: none; height: 1fr; padding: 1; }
    PlanScreen #plan-whole > Static { width: 1fr; height: auto; }
    PlanScreen.-whole #plan-whole { display: block; }
    PlanScreen.-whole Table, PlanScreen.-whole #plan-notes, PlanScreen.-whole #plan-action { display: none; }
    """

    def __init__(self, title: str, plan: Plan, folder: str, apply: Callable[[PlanScreen], None]) -> None:
        super().__init__()
        self.plan = plan
        self.outcomes: tuple[Outcome, ...] | None = None
        self._title, self._folder, self._apply = title, folder, apply
        self._begun = False

    def compose(self) -> ComposeResult:
        yield Static(printable(self._title), id="plan-title", markup=False)
        yield Static("", id="plan-result", markup=False)
        yield Static(notes_text(self.plan), id="plan-notes", markup=False)
        yield Table(columns(), title=word("plan sum", size=bytes_text(self.plan.bytes)), empty=word("plan nothing"))
        yield Static("", id="plan-action", markup=False)
        with VerticalScroll(id="plan-whole"):
            yield Static("", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        table = self.query_one(Table)
        table.set_data(rows(self.plan.actions, self._folder, None))
        table.focus()

    def on_table_highlighted(self, event: Table.Highlighted) -> None:
        event.stop()
        self._draw_action()

    def on_table_chosen(self, event: Table.Chosen) -> None:
        """A double click; Enter is a key of the screen."""
        event.stop()
        self.action_whole()

    @property
    def is_whole(self) -> bool:
        """Whether one action has the whole screen."""
        return self.has_class("-whole")

    def _draw_action(self) -> None:
        row = self.query_one(Table).cursor_row
        if row is None:
            short_text = whole = ""
        else:
            action, outcome = self.plan.actions[row], self.outcomes[row] if self.outcomes else None
            short_text, whole = action_text(action, outcome), whole_text(action, outcome)
        self.query_one("#plan-action", Static).update(short_text)
        self.query_one("#plan-whole > Static", Static).update(whole)

    def finished(self, outcomes: Sequence[Outcome]) -> None:
        """Show what became of the actions."""
        self.outcomes = tuple(outcomes)
        if not self.is_mounted:
            return
        table = self.query_one(Table)
        table.set_data(rows(self.plan.actions, self._folder, self.outcomes))
        self._say(result_text(self.outcomes))
        self._draw_action()
        self.refresh_bindings()

    def failed(self, reason: str) -> None:
        """Say that it could not be applied at all."""
        if self.is_mounted:
            self._say(f"{glyph('error')} {printable(reason)}")

    def _say(self, text: str) -> None:
        """Tell how it goes, above the notes."""
        self.query_one("#plan-result", Static).update(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A plan is applied once, and from its list, where all of it is to be seen."""
        if action == "apply":
            return bool(self.plan.actions) and not self._begun and not self.is_whole
        if action == "whole":  # Enter is also the filter line's, and folds groups
            table = self.query_one(Table) if self.is_mounted else None
            is_row = table is not None and table.cursor_row is not None and not table.query("Input:focus")
            return self.is_whole or is_row
        return True

    def action_whole(self) -> None:
        """Show all of the action under the cursor, or the list again; nothing is done by it."""
        self.toggle_class("-whole")
        (self.query_one("#plan-whole") if self.is_whole else self.query_one(Table)).focus()
        self.refresh_bindings()

    def action_apply(self) -> None:
        """Do all of it."""
        if not self._begun and self.plan.actions:
            self._begun = True
            self._say(f"{glyph('running')} {word('plan working')}{glyph('ellipsis')}")
            self.refresh_bindings()
            self._apply(self)

    def action_close(self) -> None:
        """Back to the list, or to the pane; a plan that is being applied goes on."""
        if self.is_whole:
            self.action_whole()
        else:
            self.dismiss(None)


def columns() -> tuple[Column, ...]:
    """Of a plan: what is done, to what, and what became of it."""
    return (
        Column("action", word("action"), width=16),
        Column("target", word("target"), cut="start"),
        Column("size", word("size"), "bytes", width=10),
        Column("result", word("result"), width=12, style=_colour, show=_sign, optional=True),
    )


def rows(actions: Sequence[Action], folder: str, outcomes: Sequence[Outcome] | None) -> dict[str, list[Any]]:
    """A row an action."""
    results = [None] * len(actions) if outcomes is None else ["done" if one.done else "left" for one in outcomes]
    return {
        "action": [printable(action.kind.replace("-", " ")) for action in actions],
        "target": [printable(short(action.target, folder)) for action in actions],
        "size": [action.bytes or None for action in actions],
        "result": results,
    }


def notes_text(plan: Plan) -> str:
    """What a person should know before agreeing."""
    shown = [f"{glyph('warning')} {printable(one, 300)}" for one in plan.warnings[:MOST_WARNINGS]]
    if len(plan.warnings) > MOST_WARNINGS:
        shown.append(word("and more", count=len(plan.warnings) - MOST_WARNINGS))
    return "\n".join(shown)


def action_text(action: Action, outcome: Outcome | None) -> str:
    """An action in a few rows."""
    lines = [printable(action.target), printable(action.detail)]
    if outcome is not None and not outcome.done:
        lines.append(f"{glyph('error')} {word('not done', reason=printable(outcome.reason))}")
    return "\n".join(line for line in lines if line)


def whole_text(action: Action, outcome: Outcome | None) -> str:
    """All of one action, each part under its name."""
    size = f"{bytes_text(action.bytes)} ({action.bytes:,} B)" if action.bytes else ""
    result = "" if outcome is None else word("done") if outcome.done else word("not done", reason=outcome.reason)
    parts = (
        ("action", action.kind.replace("-", " ")),
        ("target", action.target),
        ("size", size),
        ("detail", action.detail),
        ("result", result),
    )
    return "\n\n".join(f"{word(name)}\n{printable(text, WHOLE)}" for name, text in parts if text)


def result_text(outcomes: Sequence[Outcome]) -> str:
    """What became of a plan, in a few words."""
    done = sum(outcome.done for outcome in outcomes)
    sign = "ok" if done == len(outcomes) else "error"
    text = f"{glyph(sign)} {word('plan done', done=done, count=len(outcomes))}"
    reasons = list(dict.fromkeys(outcome.reason for outcome in outcomes if not outcome.done))
    return f"{text}: {printable('; '.join(reasons), 200)}" if reasons else text


def short(path: str, folder: str) -> str:
    """A path as somebody in the folder would type it."""
    inside = folder.rstrip("/") + "/"
    return os.path.relpath(path, folder) if path.startswith(inside) else path


def _sign(value: str) -> str:
    return f"{glyph('ok' if value == 'done' else 'error')} {word(value)}"


def _colour(value: str) -> str:
    return "success" if value == "done" else "error"
