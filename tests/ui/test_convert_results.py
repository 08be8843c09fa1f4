"""Conversions from the Convert pane: the form and its command, the process, the table, what is done with a result."""

from __future__ import annotations

import shlex
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.findings import make
from mswb.flows import convert_job
from mswb.flows.convert_job import Outcome, Step, finding_of
from mswb.ui.app import Workbench
from mswb.ui.panes import registry
from mswb.ui.panes.convert.mend import MendScreen
from mswb.ui.panes.convert.pane import ConvertPane
from mswb.ui.screens.convert_form.screen import ConvertForm
from mswb.ui.screens.convert_form.state import arguments
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.widgets.lines import LineView
from tests.ui.scenes.convert import NOTHING, REFUSED
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench
from tests.unit.convert.reports import failed, operator, passed
from tests.unit.inventories import MODELS

pytestmark = pytest.mark.asyncio


class Runner:
    """Stands for the process of a conversion: notes what is asked for, and answers when it is let go."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.reports: dict[str, dict[str, Any]] = {}
        self.go = threading.Event()
        self.go.set()
        self.stopped = 0

    def __call__(
        self,
        words: Sequence[str],
        folder: Path,
        told: Callable[[Step], None] = lambda step: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Outcome | None:
        self.asked.append(tuple(words))
        told(Step("operators", 12, 30))
        while not self.go.wait(0.01):
            if cancelled():
                self.stopped += 1
                return None
        report = next((one for key, one in self.reports.items() if key in words), passed())
        return Outcome(report, tuple(map(finding_of, report["findings"])), 0)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    made = Runner()
    monkeypatch.setattr(convert_job, "run", made)
    return made


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = registry.PANES["convert"]
    plain_panes(monkeypatch)
    monkeypatch.setitem(registry.PANES, "convert", real)
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "project"
    root.mkdir()
    for name in ("net.mindir", "net.onnx"):
        shutil.copy(MODELS / name, root)
    return root


@asynccontextmanager
async def opened(
    tmp_path: Path, name: str = "net.onnx", size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[Workbench, ConvertPane, Pilot[Any]]]:
    """The pane, with the cursor on a model."""
    app = workbench(tmp_path, **options)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        await app.main.show_pane("convert")
        pane = app.main.pane("convert")
        assert isinstance(pane, ConvertPane)
        await until(pilot, lambda: pane.state.looked and pane.has_focus_within)
        row = next(row for row, item in enumerate(pane.state.found.rows.items) if item.path.endswith(name))
        assert pane.table.move_to(row)
        yield app, pane, pilot


async def form(app: Workbench, pilot: Pilot[Any]) -> ConvertForm:
    """The form, when it has looked at its model."""
    await until(pilot, lambda: isinstance(app.screen, ConvertForm) and app.screen.state.is_checked)
    assert isinstance(app.screen, ConvertForm)
    return app.screen


async def converted(app: Workbench, pane: ConvertPane, pilot: Pilot[Any]) -> None:
    """Convert the model under the cursor, and wait for its result."""
    await pilot.press("c")
    await form(app, pilot)
    await pilot.press("ctrl+r")
    await until(pilot, lambda: pane.works.current is not None and pane.works.current.status == "done")
    await until(pilot, lambda: pane.result.has_focus_within)


def order(pane: ConvertPane) -> list[str]:
    table = pane.result.table
    return [str(table.data.value(int(row), "node")) for row in table.view.rows]


# -- the form


async def test_the_form_shows_the_command_that_is_run(tmp_path: Path, runner: Runner) -> None:
    async with opened(tmp_path) as (app, _, pilot):
        await pilot.press("enter")
        screen = await form(app, pilot)
        assert screen.state.text("input_shape").startswith("x:[")
        await pilot.press("tab", "space")  # to the input format
        await until(pilot, lambda: "--input_format NHWC" in screen_text(app))
        words = arguments(screen.state)
        assert words == ("--input_file", "net.onnx", "--input_format", "NHWC", "--verify")
        assert f"mswb convert {shlex.join(words)}" in " ".join(screen_text(app).split())
        await until(pilot, lambda: screen.state.is_checked)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: runner.asked == [words])


async def test_what_is_wrong_is_told_while_it_is_typed_and_stops_the_start(tmp_path: Path, runner: Runner) -> None:
    async with opened(tmp_path) as (app, _, pilot):
        await pilot.press("c")
        screen = await form(app, pilot)
        screen.query_one("#row-threshold Entry").focus()
        await pilot.press(*"much")
        await until(pilot, lambda: "much is no error that could pass" in screen_text(app))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        screen.edit("threshold", "1e-5")
        await until(pilot, lambda: screen.state.is_checked and not screen.state.problems)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: runner.asked == [
            ("--input_file", "net.onnx", "--verify", "--threshold", "1e-5")
        ])  # fmt: skip


async def test_a_mindir_becomes_onnx_beside_what_is_there(tmp_path: Path, runner: Runner) -> None:
    async with opened(tmp_path, "net.mindir") as (app, _, pilot):
        await pilot.press("c")
        screen = await form(app, pilot)
        assert "MindIR → ONNX" in screen_text(app) and "precision" in screen_text(app)
        words = ("--input_file", "net.mindir", "--verify", "--output_file", "net_mindir.onnx", "--to_onnx")
        assert arguments(screen.state) == words
        screen.edit("output_file", "net.mindir")
        await until(pilot, lambda: "would overwrite the input" in screen_text(app))


async def test_escape_and_read_only_start_nothing(tmp_path: Path, runner: Runner) -> None:
    async with opened(tmp_path, read_only=True) as (app, pane, pilot):
        await pilot.press("c")
        screen = await form(app, pilot)
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.screen is screen and "read-only" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert not runner.asked and pane.works.shown is None


# -- the result


async def test_the_operators_sort_by_every_column_and_filter(tmp_path: Path, runner: Runner) -> None:
    runner.reports["net.onnx"] = failed()
    async with opened(tmp_path, size=LARGE) as (app, pane, pilot):
        await converted(app, pane, pilot)
        assert order(pane)[0] == "softmax" and pane.result.operator is not None
        assert "Softmax softmax is wrong" in screen_text(app) and "◆" in screen_text(app)
        table = pane.result.table
        for column in table.columns:
            table.sort_by(column.key)
            keys = [table.data.keys(column.key)[int(row)] for row in table.view.rows]
            known = [key for key in keys if key is not None]
            assert known == sorted(known) and keys[: len(known)] == known
        await pilot.press("slash", *"verdict:wrong", "enter")
        await until(pilot, lambda: order(pane) == ["softmax"])
        await pilot.press("escape")
        await until(pilot, lambda: len(order(pane)) == 6)


async def test_next_and_previous_wrong_one(tmp_path: Path, runner: Runner) -> None:
    report = failed()
    report["operators"] = [operator(at, "Op", f"n{at}", "failed" if at in (1, 3) else "passed") for at in range(5)]
    runner.reports["net.onnx"] = report
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        seen = []
        for key in "eeeEE":
            await pilot.press(key)
            await pilot.pause()
            seen.append(pane.result.table.cursor_row)
        assert seen == [1, 3, 3, 1, 1]


async def test_details_have_numbers_errors_and_what_can_not_be_looked_at(tmp_path: Path, runner: Runner) -> None:
    runner.reports["net.onnx"] = failed()
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, LineView))
        await until(pilot, lambda: any("no such file" in line.text for line in pane.result.query_one(LineView).lines))
        lines = [line.text for line in pane.result.query_one(LineView).lines]
        assert any(line.split() == ["greatest", "3", "2.5"] for line in lines)
        assert any(line.split()[:1] == ["1e-1"] and line.split()[-1] == "2" for line in lines)
        assert any("look at this operator first" in line for line in lines)
        await pilot.press("q")
        await until(pilot, lambda: not pane.works.details and pane.result.table.has_focus_within)


async def test_both_sides_are_read_from_the_files(tmp_path: Path, runner: Runner, project: Path) -> None:
    report = passed()
    report |= {"input": "net.mindir", "output": None}
    name = "MatMul-op0"
    report["operators"] = [operator(0, "MatMul", name, output="?")]
    runner.reports["net.mindir"] = report
    async with opened(tmp_path, "net.mindir", LARGE) as (_, pane, pilot):
        await pilot.press("V")
        await until(pilot, lambda: runner.asked == [("--input_file", "net.mindir", "--verify")])
        await until(pilot, lambda: pane.works.sides.get((1, "?")) is not None)
        sides = pane.works.sides[(1, "?")]
        assert sides.onnx is None


async def test_a_refusal_lists_everything_that_is_in_the_way(tmp_path: Path, runner: Runner) -> None:
    runner.reports["net.onnx"] = {**NOTHING, "findings": [asdict(one) for one in REFUSED]}
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        text = screen_text(app)
        assert all(one in text for one in ("odd.ReluGemm", "Unique", "StringNormalizer", "nothing was written"))
        await pilot.press("j", "enter")
        await until(pilot, lambda: "results is only known when it runs" in screen_text(app))
        await pilot.press("q", "o")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))


@pytest.mark.parametrize(
    ("verdict", "code", "begins"),
    [
        ("failed", "weight-short", "verification failed: "),
        ("nothing-compared", "numbers-not-compared", "nothing was compared: "),
        ("refused", "not-a-model", ""),
    ],
)
async def test_without_operators_the_title_says_why(
    tmp_path: Path, runner: Runner, verdict: str, code: str, begins: str
) -> None:
    finding = make(code, values={"name": "w", "reason": "it is a page", "kind": "weight"}, lang="en")
    runner.reports["net.onnx"] = {**NOTHING, "verdict": verdict, "operator_counts": [], "findings": [asdict(finding)]}
    async with opened(tmp_path, size=LARGE) as (app, pane, pilot):
        await converted(app, pane, pilot)
        assert f"{begins}{finding.title}" in screen_text(app).split("\n")[2]


async def test_progress_stop_and_start_again(tmp_path: Path, runner: Runner) -> None:
    runner.go.clear()
    async with opened(tmp_path) as (app, pane, pilot):
        await pilot.press("c")
        await form(app, pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "measuring operators" in screen_text(app) and "12/30" in screen_text(app))
        assert not pane.result.check_action("again", ())
        await pilot.press("x")
        await until(pilot, lambda: "■ stopped" in screen_text(app) and runner.stopped == 1)
        runner.go.set()
        await pilot.press("v")
        await until(pilot, lambda: "verification passed" in screen_text(app))
        assert runner.asked[1] == ("--input_file", "net.onnx", "--verify", "--seed", "1")
        await pilot.press("v")
        await until(pilot, lambda: len(runner.asked) == 3)
        assert runner.asked[2][-2:] == ("--seed", "2")


async def test_one_that_is_cancelled_in_the_drawer_is_over(tmp_path: Path, runner: Runner) -> None:
    runner.go.clear()
    async with opened(tmp_path) as (app, pane, pilot):
        await pilot.press("c")
        await form(app, pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pane.works.shown == 1 and len(runner.asked) == 1)
        next(task for task in app.context.tasks.listed if task.state == "running").cancel()
        pane._tick()
        assert pane.works.current is not None and pane.works.current.status == "cancelled"


async def test_results_survive_other_panes_and_one_another(tmp_path: Path, runner: Runner) -> None:
    runner.reports["net.onnx"] = failed()
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        await pilot.press("1")
        await until(pilot, lambda: app.main.front == "launch")
        await app.main.show_pane("convert")
        await until(pilot, lambda: "Softmax softmax is wrong" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: pane.works.shown is None and pane.table.has_focus_within)
        assert "Softmax softmax is wrong" in screen_text(app) and "Enter: result" in screen_text(app)
        row = next(row for row, item in enumerate(pane.state.found.rows.items) if item.path.endswith(".mindir"))
        pane.table.move_to(row)
        await converted(app, pane, pilot)
        assert "verification passed" in screen_text(app) and len(pane.works.works) == 2
        await pilot.press("q")
        await until(pilot, lambda: pane.works.shown is None and pane.table.has_focus_within)
        pane.table.move_to(1 - row)
        await pilot.press("enter")
        await until(pilot, lambda: pane.works.shown == 1 and "Softmax softmax is wrong" in screen_text(app))


async def test_a_finding_leads_to_its_operator(tmp_path: Path, runner: Runner) -> None:
    report = failed()
    report |= {"input": "net.onnx", "output": "net.mindir"}
    report["operators"].reverse()
    report["findings"][0]["where"]["file"] = "net.mindir"
    runner.reports["net.onnx"] = report
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        assert pane.result.operator is not None and pane.result.operator["node"] != "softmax"
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        await pilot.press("o")
        await until(pilot, lambda: app.screen is app.main)
        await until(pilot, lambda: pane.result.operator is not None and pane.result.operator["node"] == "softmax")
        assert pane.open_path(tmp_path / "project" / "net.onnx") and pane.works.shown is None


async def test_other_options_begin_with_what_was_asked_for(tmp_path: Path, runner: Runner) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        await pilot.press("c")
        screen = await form(app, pilot)
        screen.edit("threshold", "0.5")
        await until(pilot, lambda: screen.state.is_checked)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pane.works.shown == 1 and pane.result.has_focus_within)
        await until(pilot, lambda: pane.works.current is not None and pane.works.current.status == "done")
        await pilot.press("c")
        again = await form(app, pilot)
        assert again is not screen and again.state.text("threshold") == "0.5"


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
async def test_the_report_is_written(tmp_path: Path, runner: Runner, project: Path, suffix: str) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        await converted(app, pane, pilot)
        await pilot.press("w")
        await until(pilot, lambda: "Write the report to" in screen_text(app))
        await pilot.press("ctrl+u", *f"out.{suffix}", "enter")
        await until(pilot, lambda: (project / f"out.{suffix}").exists())
        assert "conv1" in (project / f"out.{suffix}").read_text(encoding="utf-8")


async def test_half_precision_is_mended_and_verified_again(tmp_path: Path, runner: Runner) -> None:
    wrong = failed()
    wrong |= {"input": "net.mindir", "output": None}
    change = {"op": "Softmax", "node": "soft", "output": "s", "before": wrong["operators"][0],
              "after": operator(0, "Softmax", "soft")}  # fmt: skip
    fix = {"schema": "mswb.convert_fix/1", "findings": [], "changes": [change], "casts": 1, "casts_removed": 0,
           "float32_outputs": ["y"], "output": "net_fixed.mindir"}  # fmt: skip
    runner.reports = {"--dry-run": fix, "--output_file": fix, "net_fixed.mindir": passed(), "net.mindir": wrong}
    async with opened(tmp_path, "net.mindir") as (app, pane, pilot):
        await pilot.press("V")
        await until(pilot, lambda: pane.result.has_focus_within and bool(pane.result.check_action("fix", ())))
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, MendScreen))
        assert "Keep these operators in float32? (1)" in screen_text(app) and "5.0e+03" in screen_text(app)
        await pilot.press("w")
        await until(pilot, lambda: "verification passed" in screen_text(app))
        assert runner.asked == [
            ("--input_file", "net.mindir", "--verify"),
            ("fix", "net.mindir", "--dry-run"),
            ("fix", "net.mindir", "--output_file", "net_fixed.mindir"),
            ("--input_file", "net_fixed.mindir", "--verify"),
        ]


async def test_texts_of_a_model_drive_no_terminal(tmp_path: Path, runner: Runner) -> None:
    report = failed()
    evil = "\x1b]0;t\x07[bold]\u202e"
    report["operators"] = [operator(0, evil, evil, "failed", output=evil, reason=evil, dtype=evil)]
    report["findings"][0]["title"] = evil
    report["findings"][0]["where"]["node"] = evil
    runner.reports["net.onnx"] = report
    async with opened(tmp_path, size=LARGE) as (app, pane, pilot):
        await converted(app, pane, pilot)
        await pilot.pause()
        assert not any(one in screen_text(app) for one in "\x1b\x07\u202e") and "[bold]" in screen_text(app)
