"""The launch form: every flag as a field, the same launch as a command line, and what exactly would be started.

Fields and command line show one state; a look at this host follows each change a moment later, beside the event loop.
The result is the run that was started, or None.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.launch import form
from mswb.launch.form import LINE, SCRIPT, SCRIPT_ARGUMENTS, Field, Values
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.messages import Copy, ShowFindings
from mswb.ui.screens.base import PacedModal
from mswb.ui.screens.launch_form import work
from mswb.ui.screens.launch_form.kept import Kept
from mswb.ui.screens.launch_form.paths import Paths
from mswb.ui.screens.launch_form.state import Checked, FormState, shows, typed
from mswb.ui.screens.launch_form.text import FOLLOWS, default_of, help_of, preview_lines, say, status
from mswb.ui.widgets.form.fields import Choice, Entry, FieldRow, FilterEntry, Fold, LineEntry, PathEntry
from mswb.ui.widgets.form.starter import Starter
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.lines import LineView

if TYPE_CHECKING:
    from mswb.jobs.runs import Run

T = TypeVar("T")
PAUSE_S = 0.25
"""How long nobody types before this host is looked at."""
LEAVE_S = 3.0
"""Seconds within which a second Esc leaves a form that was changed."""
_PATHS = ("path", "folder", "program")


class Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The rows; the arrows go from field to field, not by rows."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_fields")


class Preview(LineView):
    """What would be started."""

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if 0 <= index < len(self.lines) and self.lines[index].finding is not None:
            self.move_to(index)
            self.action_choose()


class LaunchForm(PacedModal["Run | None"]):
    """A launch to fill in and start.

    Args:
        arguments: what to begin with; the folder's last launch by default.
    """

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form")
    DEFAULT_CSS = """
    LaunchForm { background: $background; }
    LaunchForm #form-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    LaunchForm #form-body { height: 1fr; layout: vertical; }
    LaunchForm Fields { height: 1fr; scrollbar-size-vertical: 1; }
    LaunchForm Preview { height: 7; padding: 0 1; scrollbar-gutter: stable; }
    LaunchForm Preview:focus { height: 70%; }
    LaunchForm #form-help { height: 2; padding: 0 1; background: $surface; color: $text-muted; }
    LaunchForm.-medium #form-body, LaunchForm.-wide #form-body { layout: horizontal; }
    LaunchForm.-medium Fields, LaunchForm.-wide Fields { width: 1fr; }
    LaunchForm.-medium Preview, LaunchForm.-wide Preview { width: 1fr; height: 1fr; }
    LaunchForm.-medium Preview:focus, LaunchForm.-wide Preview:focus { height: 1fr; }
    """

    def __init__(self, context: Context, arguments: Sequence[str] | None = None) -> None:
        super().__init__()
        self.context = context
        values = form.read_arguments(arguments) if arguments is not None else Values()
        self.state = FormState(values, values, read_only=context.options.read_only)
        self._kept = Kept(self, wanted=arguments is None)
        self._paths = Paths(self)
        self._pause: Timer | None = None
        self._leaving = -LEAVE_S
        self._left = False
        self._before_preview: Widget | None = None
        self._hint = ""

    # -- composition

    def compose(self) -> ComposeResult:
        yield Static(id="form-title", markup=False)
        yield FieldRow(LINE, "mswb run", LineEntry())
        with Container(id="form-body"):
            with Fields(id="form-fields"):
                yield FieldRow(SCRIPT, say("script", "脚本"), PathEntry())
                yield FieldRow(SCRIPT_ARGUMENTS, say("its arguments", "脚本参数"), Entry())
                yield from (self._row(one) for one in form.essentials())
            yield Preview(id="form-preview")
        yield Static(id="form-help", markup=False)
        yield Starter(say("Start", "启动"), id="form-start")
        yield KeyBar()

    def _row(self, one: Field) -> FieldRow:
        default = one.default(language())
        if one.kind in ("choice", "switch"):
            words = one.choices or ("true",)
            editor: Entry | Choice = Choice(words, default=default, switch=one.kind == "switch")
        else:
            editor = PathEntry(placeholder=default) if one.kind in _PATHS else Entry(placeholder=default)
        return FieldRow(one.name, one.name, editor)

    def on_mount(self) -> None:
        self.query_one(f"#row-{SCRIPT}", FieldRow).editor.focus()
        self._show()
        self._kept.read()
        self.call_after_refresh(self._mount_more)

    async def _mount_more(self) -> None:
        """The way to all other flags; the first frame has no room for it."""
        needle = FieldRow("filter", say("more flags  /", "更多参数  /"), FilterEntry(placeholder=say("filter", "筛选")))
        folds = [Fold(group.key, group.titles[language()], len(group.fields)) for group in form.groups()]
        await self.query_one("#form-fields").mount_all([needle, *folds])

    def ask(self, title: str, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Have something quick done beside the event loop; a newer call of that title replaces an older one."""

        def heard(result: T) -> None:
            if not self._left and self.app.is_running:
                done(result)

        self.context.tasks.start(title, lambda ticket: work(), heard, group=f"form: {title}", quiet=True)

    # -- state and drawing

    def _rows(self) -> Iterator[FieldRow]:
        return iter(self.query(FieldRow).results(FieldRow))

    def changed(self) -> None:
        """Draw the state now, and look at this host when nobody has typed for a moment."""
        self._show()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, self._look)

    def _show(self) -> None:
        if not self.is_mounted:
            return
        problems = self.state.problems()
        for row in self._rows():
            if row.field != "filter":
                self._show_row(row, problems)
        self._show_around()

    def _show_row(self, row: FieldRow, problems: Mapping[str, Finding]) -> None:
        text = row.editor.value
        problem = problems.get(row.field) if row.field != LINE else None
        if not shows(self.state, row.field, text):
            text = _text(self.state, row.field)
        row.show(text, printable(problem.title) if problem else "", given=row.field in self.state.values.given)

    def _show_around(self) -> None:
        source = f"   {printable(self.state.source)}" if self.state.source else ""
        title = say("New launch in ", "新的启动，目录 ") + printable(str(self.context.folder)) + source
        _update(self.query_one("#form-title", Static), title)
        now = status(self.state)
        self.query_one(Starter).show(now.sign, now.text, now.colour, can_start=now.can_start)
        self.query_one(Preview).set_lines(lambda width: preview_lines(self.state, width))
        _update(self.query_one("#form-help", Static), self._hint or help_of(self.state, self._field_in_focus()))

    def _field_in_focus(self) -> str:
        focused = self.focused
        if isinstance(focused, (Preview, Starter)):
            return "preview" if isinstance(focused, Preview) else "start"
        row = focused.parent if focused is not None else None
        return row.field if isinstance(row, FieldRow) else ""

    @property
    def focus_chain(self) -> list[Widget]:
        """In the order of the tree: Textual's own has parts first that were mounted just now and have no place yet."""
        return [
            widget
            for widget in self.walk_children(Widget)
            if widget.focusable and all(node.display for node in widget.ancestors_with_self)
        ]

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
        """Take the text of a field that was typed in."""
        if name == "filter":
            self._filter(text)
            return
        self._hint = ""
        self._kept.forget_place()
        self.state = typed(self.state, name, text)
        self.changed()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        row = event.input.parent
        field = row.field if isinstance(row, FieldRow) else ""
        if field == LINE:
            self.query_one(Starter).focus()
        elif field == "filter":
            self._to_match()
        else:
            self.focus_next()

    @on(FilterEntry.Left)
    def _to_match(self) -> None:
        needle = self.query_one("#row-filter", FieldRow).editor.value
        known = form.fields()
        matched = [row for row in self._rows() if row.field in known and form.matches(known[row.field], needle)]
        named = [row for row in matched if needle.strip().lower() in row.field]
        if matched and matched[0].display:
            (named or matched)[0].editor.focus()

    @on(LineEntry.Recalled)
    def _recall(self, event: LineEntry.Recalled) -> None:
        self._kept.recall(event.step)

    @on(PathEntry.Wanted)
    def _complete(self, event: PathEntry.Wanted) -> None:
        row = event.entry.parent
        if isinstance(row, FieldRow):
            self._paths.complete(row, event.entry, offer=event.offer)

    def hint(self, text: str) -> None:
        """Show this in place of the help until something is typed or another field has the focus."""
        self._hint = text
        self._show_around()

    # -- all flags

    @on(Fold.Turned)
    async def _turned(self, event: Fold.Turned) -> None:
        if event.fold.is_open:
            await self._mount_group(event.fold.key)
        self._arrange()
        if event.fold.is_open:
            self.call_after_refresh(event.fold.scroll_visible, animate=False, top=True)

    async def _mount_group(self, key: str) -> None:
        """The rows of a group are made when they are first wanted."""
        group = next(one for one in form.groups() if one.key == key)
        if not self.query(f"#row-{group.fields[0].name}"):
            rows = [self._row(one) for one in group.fields]
            for row in rows:
                self._show_row(row, self.state.problems())
            await self.query_one("#form-fields").mount_all(rows, after=f"#fold-{key}")

    def _filter(self, needle: str) -> None:
        async def filter_now() -> None:
            for group in form.groups() if needle.strip() else ():
                if any(form.matches(one, needle) for one in group.fields):
                    await self._mount_group(group.key)
            self._arrange()

        self.call_later(filter_now)

    def _arrange(self) -> None:
        """Show the rows that are meant: all of an open group, and whatever the filter matches."""
        needle = self.query_one("#row-filter", FieldRow).editor.value
        folds = {fold.key: fold for fold in self.query(Fold).results(Fold)}
        for row in self._rows():
            known = form.fields().get(row.field)
            if known is not None:
                is_open = known.essential or folds[known.group].is_open
                row.display = form.matches(known, needle) if needle.strip() else is_open
        for group in form.groups():
            folds[group.key].display = any(form.matches(one, needle) for one in group.fields)

    def action_filter(self) -> None:
        """Look for a flag among all of them."""
        editor = self.query_one("#row-filter", FieldRow).editor
        editor.focus()
        editor.scroll_visible(animate=False, top=True)

    # -- looking and starting

    def _look(self) -> None:
        """See what these arguments would do on this host."""
        if self.state.wrong:
            return
        arguments, settings, folder = self.state.arguments, self.context.settings, self.context.folder
        self.ask("Check the launch", lambda: work.look(arguments, settings, folder), self._looked)

    def _looked(self, checked: Checked) -> None:
        self.state = replace(self.state, checked=checked)
        if checked.prepared is not None:
            python = checked.prepared.interpreter
            version = f"MindSpore {python.mindspore_version}" if python.mindspore_version else "no MindSpore"
            self._say_default("python", f"{python.path} ({version})")
            for name in FOLLOWS:
                self._say_default(name, default_of(self.state, name))
        self._show()

    def _say_default(self, name: str, text: str) -> None:
        """Show in an empty field what its emptiness means."""
        entry = self.query_one(f"#row-{name}", FieldRow).editor
        if isinstance(entry, Entry):
            entry.placeholder = printable(text)

    @on(Starter.Pressed)
    def action_start(self) -> None:
        """Start the launch, or say why it can't be."""
        now = status(self.state)
        problems = self.state.problems()
        if self.state.read_only or self.state.starting:
            self.notify(now.text, severity="warning", markup=False)
        elif problems or self.state.lacks_script:
            self._to_field(next(iter(problems), SCRIPT))
        elif self.state.is_checked and self.state.checked is not None and not now.can_start:
            self._explain(self.state.checked)
        else:
            self._start()

    def _start(self) -> None:
        arguments, settings, folder = self.state.arguments, self.context.settings, self.context.folder
        self.state = replace(self.state, starting=True)
        self._show_around()
        self.context.tasks.start(
            f"Start {printable(self.state.values.text(SCRIPT))}",
            lambda ticket: work.start(arguments, settings, folder),
            self._started,
            failed=lambda finding: self._started(Checked(arguments, refused=finding)),
        )

    def _started(self, result: Run | Checked) -> None:
        if self._left:  # with Esc, while it started; the run goes on all the same
            self.app.notify(f"run {result.id}" if not isinstance(result, Checked) else _why(result), markup=False)
            return
        self.state = replace(self.state, starting=False)
        if not isinstance(result, Checked):
            self._leave(result)
            return
        self._looked(result)
        self._explain(result)

    def _leave(self, run: Run | None) -> None:
        self._left = True
        if self._pause is not None:
            self._pause.stop()
        while self.app.screen is not self:  # help lies over it
            self.app.pop_screen()
        self.dismiss(run)

    def _explain(self, checked: Checked) -> None:
        self.app.post_message(ShowFindings(checked.findings, say("This launch cannot start", "无法启动")))

    def _to_field(self, name: str) -> None:
        row = self.query(f"#row-{name}")
        if not row:  # in a group that was never opened
            group = form.fields()[name].group
            self.query_one(f"#fold-{group}", Fold).is_open = True
            self.call_after_refresh(self._to_field, name)
            return
        row.first(FieldRow).editor.focus()

    @on(LineView.Chosen)
    def _finding_chosen(self, event: LineView.Chosen) -> None:
        checked = self.state.checked
        if event.line.finding is not None and checked is not None:
            first = checked.findings[event.line.finding]
            others = (one for one in checked.findings if one is not first)
            self.app.post_message(ShowFindings((first, *others), say("Checks", "检查")))

    # -- keys

    def action_pick(self) -> None:
        """Choose a preset or an earlier launch."""
        self._kept.pick()

    def action_save(self) -> None:
        """Keep these values under a name."""
        self._kept.save()

    def action_preview(self) -> None:
        """Into the preview, and back."""
        preview = self.query_one(Preview)
        if self.focused is preview and self._before_preview is not None:
            self._before_preview.focus()
        elif self.focused is not preview:
            self._before_preview = self.focused
            preview.focus()

    def action_copy(self) -> None:
        """Copy the command line; from the preview, what it really starts."""
        text = f"mswb run {form.line(self.state.values)}".rstrip()
        if isinstance(self.focused, Preview) and self.state.checked is not None:
            text = "\n".join(dict.fromkeys(shlex.join(one.argv) for one in self.state.checked.processes))
        self.app.post_message(Copy(text, say("command", "命令")))

    def action_edge(self, end: bool) -> None:
        """To the first or last field."""
        rows = [row.editor for row in self._rows() if row.display]
        rows[-1 if end else 0].focus()

    def action_close(self) -> None:
        """Clear the filter; else leave, at the second press where something would be lost."""
        editor = self.query_one("#row-filter", FieldRow).editor
        if editor.value:
            editor.value = ""
            return
        now = time.monotonic()
        if self.state.values != self.state.first and not self.state.starting and now - self._leaving > LEAVE_S:
            self._leaving = now
            self.notify(
                say("Esc again leaves the form; Ctrl+N keeps it as a preset.", "再按 Esc 离开；Ctrl+N 保存为预设。"),
                markup=False,
            )
            return
        self._leave(None)


def _text(state: FormState, name: str) -> str:
    return form.line(state.values) if name == LINE else state.values.text(name)


def _why(checked: Checked) -> str:
    return printable(checked.findings[0].title) if checked.findings else ""


def _update(static: Static, text: str) -> None:
    if static.content != text:
        static.update(text)
