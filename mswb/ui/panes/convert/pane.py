"""The Convert pane: the models of the folder, what each holds, and what is wrong with a MindIR file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.ui import keymap
from mswb.ui.messages import ShowFindings
from mswb.ui.panes.convert.words import facts_text, word
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.pane import InventoryPane, Shelf

if TYPE_CHECKING:  # they are loaded when a model is looked at
    from mswb.convert.facts import ModelFacts
    from mswb.convert.mindir.lint import Lint

READABLE = ("mindir", "onnx")
"""Kinds of models that can be looked into."""


class ConvertPane(InventoryPane):
    """Which models there are, in which format and version; what they hold and what is wrong with them."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("convert")
    SHELF: ClassVar[Shelf] = Shelf(
        "model",
        "Look for models in",
        (
            "No models here (ONNX, MindIR, MindSpore Lite, AIR, Ascend OM).",
            "此处没有模型（ONNX、MindIR、MindSpore Lite、AIR、昇腾 OM）。",
        ),
        (
            "Enter looks into a model, L checks a MindIR; mswb convert --input_file FILE converts.",
            "Enter 查看模型内容，L 检查 MindIR；转换请用 mswb convert --input_file FILE。",
        ),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A check is of MindIR only."""
        if action == "lint":
            return self.current is not None and self.current.kind == "mindir"
        return super().check_action(action, parameters)

    def action_details(self) -> None:
        """The details, and a look into the model for them."""
        super().action_details()
        self._look_into(self.current)

    def _draw_details(self) -> None:
        """Details that lie over the list were asked for, by a key or by a path that was opened."""
        super()._draw_details()
        if self.state.details and not self.is_wide:
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
