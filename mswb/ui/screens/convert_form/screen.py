"""The form of a conversion: a model, what to do with it, and the command that says the same.

The result is the command to run, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Input, Static

from mswb.files.complete import complete
from mswb.files.safety import printable
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.messages import Copy, ShowFindings
from mswb.ui.screens.base import PacedModal
from mswb.ui.screens.convert_form import work
from mswb.ui.screens.convert_form.state import (
    CHOICES,
    FLAGS,
    INPUT,
    OUTPUT,
    VERIFY,
    FormState,
    Looked,
    Values,
    arguments,
    command,
    given,
    looked,
    typed,
)
from mswb.ui.screens.convert_form.text import command_text, help_of, label, say, status, title
from mswb.ui.screens.pick import Pick, Picked, Row
from mswb.ui.widgets.form.fields import Choice, Entry, FieldRow, PathEntry
from mswb.ui.widgets.form.starter import Starter
from mswb.ui.widgets.keybar import KeyBar

T = TypeVar("T")
PAUSE_S = 0.25
"""How long nobody types before the values are looked at."""
_PATHS = (INPUT, OUTPUT, "inputs", "python")


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversion that was asked for: the values of the form, and the words behind ``mswb convert``."""

    values: Values
    arguments: tuple[str, ...]


class Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The rows; the arrows go from field to field, not by rows."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_fields")


class ConvertForm(PacedModal["Asked | None"]):
    """A conversion to fill in and start.

    Args:
        state: what to begin with.
    """

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("convert_form")
    DEFAULT_CSS = """
    ConvertForm { background: $background; }
    ConvertForm #convert-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    ConvertForm Fields { height: 1fr; scrollbar-size-vertical: 1; }
    ConvertForm #convert-help { height: 2; padding: 0 1; background: $surface; color: $text-muted; }
    ConvertForm #convert-command { height: auto; padding: 0 1; color: $text-accent; }
    """

    def __init__(self, context: Context, state: FormState) -> None:
        super().__init__()
        self.context = context
        self.state = state
        self._pause: Timer | None = None
        self._left = False
        self._wanted = False
        self._hint = ""

    def compose(self) -> ComposeResult:
        yield Static(id="convert-title", markup=False)
        with Fields():
            yield from (FieldRow(name, label(name), self._editor(name)) for name in FLAGS)
        yield Static(id="convert-help", markup=False)
        yield Static(id="convert-command", markup=False)
        yield Starter(say("Convert", "转换"))
        yield KeyBar()

    def _editor(self, name: str) -> Entry | Choice:
        if name in CHOICES or name == VERIFY:
            return Choice(CHOICES.get(name, ("true",)), default=FLAGS[name], switch=name == VERIFY)
        kind = PathEntry if name in _PATHS else Entry
        return kind(placeholder=FLAGS[name])

    def on_mount(self) -> None:
        self.show(self.state)
        self._row(OUTPUT).editor.focus()
        self._look()

    # -- state and drawing

    def show(self, state: FormState) -> None:
        """Draw a state."""
        self.state = state
        problems = state.problems
        for row in self._rows():
            problem = problems.get(row.field)
            text = state.text(row.field)
            row.show(text, printable(problem.title) if problem else "", given=given(state, row.field))
            row.display = row.field in state.shown
        target = self._row(OUTPUT).editor
        if state.looked is not None and isinstance(target, Entry):
            target.placeholder = printable(state.looked.output)
        self._show_around()

    def _show_around(self) -> None:
        _update(self.query_one("#convert-title", Static), title(self.state))
        now = status(self.state)
        self.query_one(Starter).show(now.sign, now.text, now.colour, can_start=now.can_start)
        _update(self.query_one("#convert-help", Static), self._hint or help_of(self.state, self._field_in_focus()))
        _update(self.query_one("#convert-command", Static), command_text(self.state, self.size.width - 2))

    def on_resize(self, event: events.Resize) -> None:
        self._show_around()

    def _rows(self) -> Iterator[FieldRow]:
        return iter(self.query(FieldRow).results(FieldRow))

    def _row(self, name: str) -> FieldRow:
        return self.query_one(f"#row-{name}", FieldRow)

    def _field_in_focus(self) -> str:
        row = self.focused.parent if self.focused is not None else None
        return row.field if isinstance(row, FieldRow) else ""

    def on_descendant_focus(self) -> None:
        self._hint = ""
        self._show_around()

    # -- what is typed

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        row = event.input.parent
        if isinstance(row, FieldRow):
            row.heard(event.value)
            self.edit(row.field, event.value)

    @on(Choice.Changed)
    def _choice_changed(self, event: Choice.Changed) -> None:
        row = event.choice.parent
        if isinstance(row, FieldRow):
            row.heard(event.value)
            self.edit(row.field, event.value)

    def edit(self, name: str, text: str) -> None:
        """Take the text of a field, and look at it when nobody has typed for a moment."""
        self._hint, self._wanted = "", False
        self.show(typed(self.state, name, text))
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, self._look)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.focus_next()

    @on(PathEntry.Wanted)
    def _complete(self, event: PathEntry.Wanted) -> None:
        row, text = event.entry.parent, event.entry.value
        if not isinstance(row, FieldRow):
            return
        if not event.offer and not text:
            self.focus_next()
            return
        folder = self.context.folder

        def found(texts: tuple[str, tuple[str, ...]]) -> None:
            certain, candidates = texts
            if event.offer:
                self._offer(event.entry, candidates)
            elif event.entry.value == text and len(certain) > len(text):
                event.entry.value = certain
                event.entry.cursor_position = len(certain)
            elif len(candidates) < 2:
                self.focus_next()
            else:
                self._hint = "  ".join(map(printable, candidates))
                self._show_around()

        def look() -> tuple[str, tuple[str, ...]]:
            made = complete(text, folder)
            return made.text, made.candidates

        self.ask("Complete a path", look, found)

    def _offer(self, entry: PathEntry, candidates: tuple[str, ...]) -> None:
        def picked(result: Picked | None) -> None:
            if result is not None:
                entry.value = candidates[result.row]

        if candidates:
            self.app.push_screen(Pick(say("Choose", "选择"), [Row(printable(one)) for one in candidates]), picked)

    # -- looking and starting

    def ask(self, name: str, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Have something quick done beside the event loop; a newer call of that name replaces an older one."""

        def heard(result: T) -> None:
            if not self._left and self.app.is_running:
                done(result)

        self.context.tasks.start(name, lambda ticket: work(), heard, group=f"convert form: {name}", quiet=True)

    def _look(self) -> None:
        values, folder = self.state.values, self.context.folder
        self.ask("Look at the model", lambda: work.look(values, folder), self._looked)

    def _looked(self, found: Looked) -> None:
        self.show(looked(self.state, found))
        if self._wanted and self.state.is_checked:
            self.action_start()

    @on(Starter.Pressed)
    def action_start(self) -> None:
        """Leave with the command; what stands in its way is shown instead. Before the look is over it is waited for."""
        now = status(self.state)
        problems = self.state.problems
        if self.state.read_only:
            self.notify(now.text, severity="warning", markup=False)
        elif problems:
            self._row(next(iter(problems))).editor.focus()
            self.app.post_message(ShowFindings(tuple(problems.values()), say("This can't be converted", "无法转换")))
        elif not self.state.is_checked:
            self._wanted = True
            self._look()
        else:
            self._leave(Asked(self.state.values, arguments(self.state)))

    def _leave(self, asked: Asked | None) -> None:
        self._left = True
        if self._pause is not None:
            self._pause.stop()
        while self.app.screen is not self:  # help lies over it
            self.app.pop_screen()
        self.dismiss(asked)

    # -- keys

    def action_copy(self) -> None:
        """Copy the command."""
        self.app.post_message(Copy(command(self.state), say("command", "命令")))

    def action_edge(self, end: bool) -> None:
        """To the first or last field."""
        rows = [row.editor for row in self._rows() if row.display]
        rows[-1 if end else 0].focus()

    def action_close(self) -> None:
        """Leave; nothing is converted."""
        self._leave(None)


def _update(static: Static, text: str) -> None:
    if static.content != text:
        static.update(text)
