"""The Convert pane while it lists models: d looks into one, L checks a MindIR."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.ui.app import Workbench
from mswb.ui.panes import registry
from mswb.ui.panes.convert.pane import ConvertPane
from mswb.ui.screens.findings import FindingsScreen
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench
from tests.unit.inventories import MODELS

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = registry.PANES["convert"]
    plain_panes(monkeypatch)
    monkeypatch.setitem(registry.PANES, "convert", real)
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "project"
    root.mkdir()
    for name in ("net.mindir", "net.onnx", "enc_AES-GCM.mindir"):
        shutil.copy(MODELS / name, root)
    raw = (root / "net.mindir").read_bytes()
    (root / "odd.mindir").write_bytes(raw.replace(b"ReLU", b"ReLX").replace(b"MatMul", b"MatMux"))
    (root / "cut.mindir").write_bytes(raw[:2000])
    return root


@asynccontextmanager
async def opened(
    tmp_path: Path, name: str, size: tuple[int, int] = SMALL
) -> AsyncIterator[tuple[Workbench, ConvertPane, Pilot[Any]]]:
    """The pane, with the cursor on a model."""
    app = workbench(tmp_path)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        await app.main.show_pane("convert")
        pane = app.main.pane("convert")
        assert isinstance(pane, ConvertPane)
        await until(pilot, lambda: pane.state.looked and pane.has_focus_within)
        pane.table.set_filter(f"name:{name}")
        await until(pilot, lambda: pane.current is not None and pane.current.path.endswith(name))
        yield app, pane, pilot


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("net.mindir", ["Made by MindSpore 2.10.0", "mind_ir_version 3", "MatMul", "float32 [2, 3]"]),
        ("net.onnx", ["opset ai.onnx 11", "Gemm"]),
        ("enc_AES-GCM.mindir", ["encrypted (AES-GCM)"]),
        ("cut.mindir", ["is cut off"]),
    ],
)
async def test_d_looks_into_a_model(tmp_path: Path, name: str, words: list[str], size: tuple[int, int]) -> None:
    async with opened(tmp_path, name, size) as (app, pane, pilot):
        await pilot.press("d")
        await until(pilot, lambda: words[-1] in pane._more(pane.current))
        assert all(word in pane._more(pane.current) for word in words)
        if size == LARGE:  # the key bar has room
            assert ("L Check" in screen_text(app)) == name.endswith("mindir")
        await until(pilot, lambda: words[0] in screen_text(app))


async def test_a_path_that_is_opened_is_looked_into(tmp_path: Path) -> None:
    async with opened(tmp_path, "net.mindir") as (app, pane, pilot):
        pane.table.set_filter("")
        assert pane.open_path(tmp_path / "project" / "net.onnx")
        await until(pilot, lambda: "Gemm" in screen_text(app))


async def test_what_was_told_of_another_model_is_not_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, "net.onnx", LARGE) as (app, pane, pilot):
        await pilot.press("d")
        await until(pilot, lambda: "Gemm" in screen_text(app))
        pane.table.set_filter("name:net.mindir")
        await until(pilot, lambda: pane.current is not None and pane.current.path.endswith("net.mindir"))
        await until(pilot, lambda: "Gemm" not in screen_text(app))


@pytest.mark.parametrize(
    ("name", "code"),
    [("odd.mindir", "unsupported-op"), ("cut.mindir", "truncated"), ("enc_AES-GCM.mindir", "encrypted")],
)
async def test_a_check_shows_its_findings(tmp_path: Path, name: str, code: str) -> None:
    async with opened(tmp_path, name) as (app, _, pilot):
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        await until(pilot, lambda: code in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FindingsScreen))


async def test_a_check_of_a_good_model_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, "net.mindir") as (app, _, pilot):
        said: list[str] = []
        monkeypatch.setattr(app, "notify", lambda text, **_: said.append(text))
        await pilot.press("L")
        await until(pilot, lambda: said == ["net.mindir: nothing is wrong that MindSpore's loader would hide"])


async def test_only_a_mindir_is_checked(tmp_path: Path) -> None:
    async with opened(tmp_path, "net.onnx") as (_, pane, pilot):
        assert not pane.check_action("lint", ())
        pane.action_lint()
        await pilot.pause()
        assert not any("Check" in task.title for task in pane.context.tasks.listed)
