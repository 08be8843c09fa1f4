"""The Convert pane: the models of the folder, what each holds; conversions of them, and their results in numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import Static

from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding, Where, language
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.glyphs import glyph
from mswb.ui.messages import ShowFindings
from mswb.ui.panes.convert import state as works
from mswb.ui.panes.convert.result import ResultView
from mswb.ui.panes.convert.result_text import verdict_text
from mswb.ui.panes.convert.state import ConvertState, Work, short
from mswb.ui.panes.convert.words import facts_text, word
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.pane import InventoryPane, Shelf
from mswb.ui.screens.convert_form.state import INPUT, VERIFY, FormState, Values, begun
from mswb.ui.tasks import Task, Ticket

if TYPE_CHECKING:  # they are loaded when a model is looked at
    from mswb.convert.facts import ModelFacts
    from mswb.convert.mindir.lint import Lint
    from mswb.convert.verify.sides import Models, Sides
    from mswb.flows.convert_job import Outcome
    from mswb.ui.screens.convert_form.screen import Asked

READABLE = ("mindir", "onnx")
"""Kinds of models that can be looked into, and converted."""
TICK_S = 1.0


class ConvertPane(InventoryPane):
    """Which models there are, what they hold and what is wrong with them; conversions, several at once."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("convert")
    DEFAULT_CSS = """
    ConvertPane > ResultView { display: none; }
    ConvertPane.-result > .inventory-body, ConvertPane.-result > .inventory-feet { display: none; }
    ConvertPane.-result > ResultView { display: block; }
    """
    SHELF: ClassVar[Shelf] = Shelf(
        "model",
        "Look for models in",
        (
            "No models here (ONNX, MindIR, MindSpore Lite, AIR, Ascend OM).",
            "此处没有模型（ONNX、MindIR、MindSpore Lite、AIR、昇腾 OM）。",
        ),
        (
            "Enter or c converts a model, d looks into it, L checks a MindIR.",
            "Enter 或 c 转换模型，d 查看内容，L 检查 MindIR。",
        ),
    )

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.works = ConvertState()
        self._tasks: dict[int, Task[Any]] = {}
        self._models: dict[int, Models] = {}
        self._clock: Timer | None = None

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield ResultView()

    # -- the state and its drawing

    @property
    def result(self) -> ResultView:
        """The view of one conversion."""
        return self.query_one(ResultView)

    def show(self, state: states.InventoryState) -> None:
        super().show(state)
        if self.is_mounted:
            self.show_works(self.works)

    def show_works(self, state: ConvertState) -> None:
        """Draw the conversions, whatever was drawn before."""
        state = self._without_cancelled(state)
        before, self.works = self.works, state
        if not self.is_mounted:
            return
        work = state.current
        self.set_class(work is not None, "-result")
        if work is not None:
            task = self._tasks.get(work.number)
            elapsed_s = task.elapsed_s if task is not None else None
            self.result.show(work, state.sides, details=state.details, elapsed_s=elapsed_s)
        self._draw_foot()
        self.refresh_bindings()
        if _view(before) != _view(state):
            self.call_after_refresh(self._focus_front)
        self._wind(any(one.status == "running" for one in state.works))

    def _without_cancelled(self, state: ConvertState) -> ConvertState:
        """Conversions that were cancelled in the drawer run no more."""
        for one in state.works:
            task = self._tasks.get(one.number)
            if one.status == "running" and task is not None and task.state == "cancelled":
                state = works.ended(state, one.number, None)
        return state

    def _wind(self, on: bool) -> None:
        """Draw the elapsed time once a second while it grows."""
        if on and self._clock is None:
            self._clock = self.set_interval(TICK_S, self._tick)
        elif not on and self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        if self.is_on_screen:
            self.show_works(self.works)

    def change_works(self, change: Callable[..., ConvertState], *arguments: Any) -> None:
        """Replace the state of the conversions by ``change(state, *arguments)`` and draw it."""
        self.show_works(change(self.works, *arguments))

    def _focus_front(self) -> None:
        if self.works.shown is None:
            super()._focus_front()
        elif self.app.screen is self.screen and self.is_on_screen:
            self.result.front.focus()

    def _draw_details(self) -> None:
        """Details that lie over the list were asked for, by a key or by a path that was opened."""
        super()._draw_details()
        if self.state.details and not self.is_wide:
            self._look_into(self.current)
        self._draw_foot()

    def _draw_foot(self) -> None:
        item = self.current
        work = self.works.of(item.path) if item is not None else None
        text = self.SHELF.later[language() == "zh"]
        if item is not None and item.kind not in READABLE:
            text = word("foot other")
        elif work is not None:
            sign, sentence, _ = verdict_text(work)
            text = f"{glyph(sign)} {sentence} {glyph('dot')} {word('foot result')}"
        self.query_one(".-later", Static).update(text)

    def open_path(self, path: Path) -> bool:
        self.change_works(works.showing, None)
        return super().open_path(path)

    def open_place(self, where: Where) -> bool:
        """Show an operator of a result."""
        for work in reversed(self.works.works):
            rows = [row for row, one in enumerate(work.operators) if one["node"] == where.node]
            if rows and where.file and os.path.join(work.folder, where.file) in work.models:
                self.change_works(works.showing, work.number)
                self.result.table.set_filter("")
                return self.result.table.move_to(rows[0])
        return False

    # -- a look at a model

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A check is of MindIR only; while a result is looked at, the keys are its own."""
        if self.works.shown is not None:
            return False
        if action == "lint":
            return self.current is not None and self.current.kind == "mindir"
        if action == "verify":
            return self.current is not None and self.current.kind == "mindir"
        if action == "convert":
            return self.current is not None and self.current.kind in READABLE
        return super().check_action(action, parameters)

    def action_details(self) -> None:
        """The details, and a look into the model for them."""
        super().action_details()
        self._look_into(self.current)

    def _look_into(self, item: Item | None) -> None:
        if item is None or item.kind not in READABLE or self._more(item):
            return

        def work(_: object) -> ModelFacts:
            from mswb.convert.inspect import inspect

            return inspect(item.path)

        self.change(states.told, item.path, word("reading"))
        self.context.tasks.start(
            f"{word('inspect')} {printable(item.path)}",
            work,
            lambda facts: self.change(states.told, item.path, facts_text(facts)),
            failed=lambda problem: self.change(states.told, item.path, printable(problem.title)),
            group="convert-inspect",
        )

    def action_lint(self) -> None:
        """Check the model under the cursor, and show what is wrong with it."""
        item = self.current
        if item is None or item.kind != "mindir":
            return

        def work(_: object) -> Lint:
            from mswb.convert.mindir.lint import lint

            return lint(item.path)

        self.context.tasks.start(
            f"{word('lint')} {printable(item.path)}",
            work,
            lambda result: self._linted(item, result.findings),
            failed=lambda problem: self._linted(item, (problem,)),
            group="convert-lint",
        )

    def _linted(self, item: Item, findings: tuple[Finding, ...]) -> None:
        name = printable(item.path.rpartition("/")[2])
        if findings:
            self.post_message(ShowFindings(findings, f"{word('lint')} {name}"))
        else:
            colon = "：" if language() == "zh" else ": "
            self.app.notify(f"{name}{colon}{word('fine')}", markup=False)

    # -- conversions

    def choose(self) -> None:
        """Show the result of the model under the cursor; without one the form, or what is wrong with the model."""
        item = self.current
        work = self.works.of(item.path) if item is not None else None
        if work is not None:
            self.change_works(works.showing, work.number)
        elif item is None or item.kind not in READABLE or item.status:
            self.action_details()
        else:
            self.action_convert()

    def action_convert(self) -> None:
        """The form for the model under the cursor, with what was asked for last time."""
        item = self.current
        if item is None or item.kind not in READABLE:
            return
        work = self.works.of(item.path)
        self._ask(item.path, work.values if work is not None else None)

    def action_verify(self) -> None:
        """Verify the MindIR under the cursor against exact arithmetic."""
        item = self.current
        if item is not None and item.kind == "mindir":
            self.verify_alone(short(item.path, str(self.context.folder)), item.path)

    def verify_alone(self, name: str, source: str) -> None:
        """Verify a MindIR file by itself; ``name`` is its path as the command has it."""
        self.begin(source, {INPUT: name, VERIFY: "true"}, ("--input_file", name, "--verify"))

    def _ask(self, source: str, values: Values | None) -> None:
        from mswb.ui.screens.convert_form.screen import ConvertForm

        state = begun(short(source, str(self.context.folder)), read_only=self.context.options.read_only)
        if values is not None:
            state = FormState(values, read_only=state.read_only)

        def asked(result: Asked | None) -> None:
            if result is not None:
                self.begin(source, result.values, result.arguments)

        self.app.push_screen(ConvertForm(self.context, state), asked)

    def begin(self, source: str, values: Values, words: tuple[str, ...]) -> None:
        """Convert, in a process of its own, and look at it meanwhile."""
        from mswb.flows.convert_job import run

        folder = self.context.folder
        self.works = works.begun(self.works, source, str(folder), values, words)
        number = self.works.numbers

        def work(ticket: Ticket) -> Outcome | None:
            def told(step: Any) -> None:
                ticket.report(step.done, step.total, text=word(f"step-{step.name}"))
                ticket.send(step)

            return run(words, folder, told, ticket.cancelled)

        self._tasks[number] = self.context.tasks.start(
            f"{word('converting')} {printable(os.path.basename(source))}",
            work,
            lambda outcome: self._ended(number, outcome),
            received=lambda step: self.change_works(works.stepped, number, step),
            failed=lambda problem: self.change_works(works.failed, number, problem),
        )
        self.show_works(self.works)
        self.call_after_refresh(self._focus_front)

    def _ended(self, number: int, outcome: Outcome | None) -> None:
        self.change_works(works.ended, number, outcome)
        work = next((one for one in self.works.works if one.number == number), None)
        if work is not None and (self.works.shown != number or not self.is_on_screen):
            sign, text, _ = verdict_text(work)
            self.app.notify(f"{glyph(sign)} {printable(os.path.basename(work.source))}: {text}", markup=False)
        if outcome is not None and outcome.report is not None and outcome.report.get("output"):
            self.action_look()  # there is one more model

    # -- what a result asks for

    @on(ResultView.Asked)
    def _asked(self, event: ResultView.Asked) -> None:
        event.stop()
        work = self.works.current
        if work is not None:
            _ANSWERS[event.what](self, work)

    def _back(self, work: Work) -> None:
        self.change_works(works.showing, None)

    def _turn_details(self, work: Work) -> None:
        self.change_works(works.detailed, not self.works.details)

    def _stop(self, work: Work) -> None:
        task = self._tasks.get(work.number)
        if task is not None and task.state == "running":
            task.cancel()
        self.change_works(works.ended, work.number, None)

    def _again(self, work: Work) -> None:
        if self._refused():
            return
        seed = work.values.get("seed", "").strip()
        changed = {**work.values, "verify": "true", "seed": str(int(seed) + 1 if seed.isdigit() else 1)}
        self.begin(work.source, changed, _with_seed(work, changed["seed"]))

    def _convert(self, work: Work) -> None:
        self._ask(work.source, work.values)

    def _refused(self) -> bool:
        """Whether nothing may be written; says so."""
        if self.context.options.read_only:
            self.app.notify(word("read only"), severity="warning", markup=False)
        return self.context.options.read_only

    def _export(self, work: Work) -> None:
        from mswb.ui.screens.ask import Ask

        if self._refused():
            return
        folder = self.context.folder
        name = f"{os.path.splitext(os.path.basename(work.source))[0]}-report.html"

        def answered(path: str | None) -> None:
            if path and path.strip():
                target = os.path.join(folder, os.path.expanduser(path.strip()))
                self.context.tasks.start(word("export"), lambda ticket: _write(work, target), self._exported)

        self.app.push_screen(Ask(word("export"), name), answered)

    def _exported(self, path: str) -> None:
        self.app.notify(word("exported").format(path=printable(path)), markup=False)

    def _mend(self, work: Work) -> None:
        from mswb.ui.panes.convert.mending import Mending

        if not self._refused():
            Mending(self).begin(work)

    @on(ResultView.Wanted)
    def _sides_wanted(self, event: ResultView.Wanted) -> None:
        event.stop()
        work, one = event.work, event.operator
        if work.status == "running":
            return
        number, output = work.number, str(one["output"])
        known = self._models

        def look(_: object) -> Sides:
            from mswb.convert.verify.sides import Models

            return known.setdefault(number, Models(*work.models)).of(str(one["node"]), output)

        self.context.tasks.start(
            word("looking"),
            look,
            lambda sides: self.change_works(works.told, number, output, sides),
            failed=lambda problem: self.change_works(works.told, number, output, problem),
            group="convert-sides",
            quiet=True,
        )


_ANSWERS: dict[str, Callable[[ConvertPane, Work], None]] = {
    "back": ConvertPane._back,
    "details": ConvertPane._turn_details,
    "stop": ConvertPane._stop,
    "again": ConvertPane._again,
    "convert": ConvertPane._convert,
    "export": ConvertPane._export,
    "fix": ConvertPane._mend,
}


def _view(state: ConvertState) -> tuple[object, ...]:
    """What is in front: another table is when a conversion ends with what stands in its way."""
    work = state.current
    return state.shown, state.details, work is not None and bool(work.blocked)


def _with_seed(work: Work, seed: str) -> tuple[str, ...]:
    """The words of a conversion with a verification on other random inputs."""
    words = list(work.arguments)
    if "--seed" in words:
        words[words.index("--seed") + 1] = seed
    else:
        words += ["--seed", seed]
    return tuple(words if "--verify" in words else [*words, "--verify"])


def _write(work: Work, path: str) -> str:
    from mswb.convert.verify.report import write

    write(work.report or {}, path, language())
    return path
