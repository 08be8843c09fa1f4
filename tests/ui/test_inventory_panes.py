"""The Cache, Profile and Convert panes: what they list, each key, each message."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from mswb.files.items import Item
from mswb.findings import make
from mswb.ui import messages
from mswb.ui.app import Workbench
from mswb.ui.panes import registry
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.details import DetailsPart, details_text, log_folder
from mswb.ui.panes.inventory.look import look
from mswb.ui.panes.inventory.pane import InventoryPane, row_for
from mswb.ui.panes.inventory.rows import Rows, folder_of, name_of, rows_of, status_text
from mswb.ui.panes.inventory.state import Found, InventoryState
from mswb.ui.panes.inventory.words import title_text
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.tasks import Ticket
from tests.ui.sessions import LARGE, SMALL, PlainPane, plain_panes, screen_text, settings_in, until, workbench
from tests.unit.inventories import DATA, MODELS, PROFILES

pytestmark = pytest.mark.asyncio
PANES = ("cache", "profile", "convert")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one of each, at home in a folder of its own; the Launch pane is a plain one."""
    real = dict(registry.PANES)
    plain_panes(monkeypatch)
    for name in PANES:
        monkeypatch.setitem(registry.PANES, name, real[name])
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "ASCEND_CACHE_PATH", "HF_HOME", "MINDNLP_CACHE", "MODELSCOPE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    shutil.copytree(DATA, root / "data")
    shutil.copytree(MODELS, root / "models")
    shutil.copytree(PROFILES, root / "prof")
    return root


@asynccontextmanager
async def opened(
    tmp_path: Path, name: str, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[Workbench, InventoryPane, Pilot[Any]]]:
    """A workbench with this pane in front and its first look finished."""
    app = workbench(tmp_path, **options)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        await app.main.show_pane(name)
        pane = app.main.pane(name)
        assert isinstance(pane, InventoryPane)
        await until(pilot, lambda: pane.state.looked)
        await until(pilot, lambda: pane.has_focus_within)
        yield app, pane, pilot


def heard(app: Workbench, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that the app gets from now on, instead of acting on them."""
    got: list[Any] = []
    handler: Callable[..., Any] = app.post_message
    kinds = (messages.Copy, messages.OpenPath)
    monkeypatch.setattr(app, "post_message", lambda one: got.append(one) if isinstance(one, kinds) else handler(one))
    return got


def names(pane: InventoryPane) -> set[str]:
    return {os.path.basename(item.path) for item in pane.state.found.rows.items}


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("name", "expected", "words"),
    [
        ("cache", {"good.tfrecord", "good.mindrecord", "net.ckpt", "net.safetensors"}, "h shows the bytes"),
        (
            "profile",
            {"node1_6906_20261130040509433_ascend_ms", "profiler_config.json"},
            "Timeline, operators and waits",
        ),
        ("convert", {"net.onnx", "net.mindir", "enc_AES-GCM.mindir"}, "d looks into it"),
    ],
)
async def test_what_is_listed(
    tmp_path: Path, project: Path, name: str, expected: set[str], words: str, size: tuple[int, int]
) -> None:
    async with opened(tmp_path, name, size) as (app, pane, pilot):
        assert expected <= names(pane)
        await pilot.pause()
        text = screen_text(app)
        assert f"entries {len(pane.state.found.rows.items)}" in text
        assert words.lower() in text.lower()
        assert len(text.splitlines()) <= size[1] and max(map(len, text.splitlines())) <= size[0]


async def test_sizes_kinds_and_signs(tmp_path: Path, project: Path) -> None:
    os.utime(project / "data" / "good.tfrecord", (1e9, 1e9))
    async with opened(tmp_path, "cache") as (app, pane, pilot):
        pane.table.set_filter("name:good.tfrecord")
        await pilot.pause()
        line = next(line for line in screen_text(app).splitlines() if "good.tfrecord " in line)
        assert "TFRecord" in line and "8.3 KiB" in line and line.rstrip().endswith("d")
        pane.table.set_filter("status:corrupted")
        await pilot.pause()
        assert "✖ corrupted" in screen_text(app)


@pytest.mark.parametrize("name", PANES)
async def test_details_over_the_list(tmp_path: Path, project: Path, name: str) -> None:
    async with opened(tmp_path, name) as (app, pane, pilot):
        enter = "d" if name == "convert" else "enter"
        for key, back in ((enter, "escape"), (enter, "q"), ("d", "d")):
            await pilot.press(key)
            await until(pilot, lambda: pane.details.region.area > 0 and pane.details.has_focus)
            assert pane.current is not None and pane.current.kind
            assert pane.details.region.height > 10
            # what comes first in the other panes is what a model holds, and what is wrong with a file
            assert ("Recognised by" in screen_text(app)) == (name == "profile") or name == "convert"
            await pilot.press(back)
            await until(pilot, lambda: pane.table.has_focus_within)
            assert "Recognised by" not in screen_text(app)


async def test_details_beside_the_list(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert", LARGE) as (app, pane, pilot):
        shown = []
        for _ in range(3):
            await pilot.pause()
            text = screen_text(app)
            assert pane.current is not None and os.path.basename(pane.current.path) in text
            assert "Recognised by" in text
            shown.append(pane.query_one(DetailsPart)._shown[0])
            await pilot.press("j")
        assert len(set(shown)) == 3
        for back in ("d", "q", "escape"):
            await pilot.press("d")
            assert pane.details.has_focus
            await pilot.press(back)
            assert pane.table.has_focus_within
        await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: not pane.has_class("-beside"))
        await pilot.pause()
        assert "Recognised by" not in screen_text(app)


async def test_moving_in_the_details(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "profile", (80, 12)) as (_, pane, pilot):
        await pilot.press("d")
        await until(pilot, lambda: pane.details.max_scroll_y > 3)
        for key, where in (("j", 1), ("down", 2), ("k", 1), ("up", 0), ("G", pane.details.max_scroll_y), ("g", 0)):
            await pilot.press(key)
            await until(pilot, lambda where=where: pane.details.scroll_y == where)
        await pilot.press("space")
        await until(pilot, lambda: pane.details.scroll_y > 2)
        await pilot.press("b")
        await until(pilot, lambda: pane.details.scroll_y == 0)


async def test_copying(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        got = heard(app, monkeypatch)
        assert pane.current is not None
        path = pane.current.path
        await pilot.press("y")
        await until(pilot, lambda: got)
        assert (got[-1].text, got[-1].what) == (path, "path")
        await pilot.press("Y")
        await until(pilot, lambda: len(got) == 2)
        assert path in got[-1].text and "Recognised by" in got[-1].text
        await pilot.press("space", "space", "y")
        await until(pilot, lambda: len(got) == 3)
        assert got[-1].text.count("\n") == 1 and got[-1].what == "2 paths"
        await pilot.press("escape", "d", "y")
        await until(pilot, lambda: len(got) == 4)
        assert got[-1].what == "path"


async def test_opening(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, "profile") as (app, pane, pilot):
        got = heard(app, monkeypatch)
        rows = pane.state.found.rows.items
        whole = next(row for row, item in enumerate(rows) if item.kind == "mindspore-profile")
        assert pane.table.move_to(whole)
        await pilot.press("o")
        await until(pilot, lambda: got)
        assert got[-1].path == Path(rows[whole].path) / "logs"
        assert pane.table.move_to(next(row for row, item in enumerate(rows) if item.kind == "profiler-config"))
        await pilot.press("o")
        await until(pilot, lambda: len(got) == 2)
        assert got[-1].text.endswith("profiler_config.json")


async def test_the_logs_of_a_profile_open_in_launch(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "profile") as (app, pane, pilot):
        rows = pane.state.found.rows.items
        assert pane.table.move_to(next(row for row, item in enumerate(rows) if item.kind == "mindspore-profile"))
        assert pane.current is not None
        await pilot.press("o")
        await until(pilot, lambda: app.main.front == "launch")
        launch = app.main.pane("launch")
        assert isinstance(launch, PlainPane)
        await until(pilot, lambda: Path(pane.current.path) / "logs" in launch.told)


@pytest.mark.parametrize("name", PANES)
async def test_looking_again(tmp_path: Path, project: Path, name: str) -> None:
    async with opened(tmp_path, name) as (_, pane, pilot):
        before = len(pane.state.found.rows.items)
        shutil.copy(MODELS / "net.onnx", project / "new.onnx")
        shutil.copy(DATA / "good.tfrecord", project / "new.tfrecord")
        shutil.copytree(PROFILES / "killed_run", project / "new_run")
        await pilot.press("R")
        await until(pilot, lambda: len(pane.state.found.rows.items) == before + 1)
        assert pane.state.looked and not pane.state.looking


async def test_all_places(tmp_path: Path, project: Path) -> None:
    (tmp_path / ".mindspore").mkdir()
    (tmp_path / ".mindspore" / "weights").write_bytes(bytes(1000))
    async with opened(tmp_path, "cache") as (app, pane, pilot):
        assert ".mindspore" not in names(pane)
        await pilot.press("v")
        await until(pilot, lambda: ".mindspore" in names(pane))
        await pilot.pause()
        assert "all places" in screen_text(app)
        await pilot.press("v")
        await until(pilot, lambda: ".mindspore" not in names(pane))
    async with opened(tmp_path, "convert") as (_, pane, pilot):
        await pilot.press("v")
        await pilot.pause()
        assert not pane.state.everywhere


async def test_groups(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "MindIR model (4)" in screen_text(app))
        await pilot.press("t")
        await until(pilot, lambda: "models (5)" in screen_text(app))
        await pilot.press("t")
        await until(pilot, lambda: pane.state.group is None and not pane.table.view.groups)


async def test_sort_and_filter(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        await pilot.press("s")
        await until(pilot, lambda: pane.table.shape.sort == "name")
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"onnx")
        await until(pilot, lambda: len(pane.table.view.rows) == 1)
        await pilot.press("enter")
        assert pane.current is not None and pane.current.kind == "onnx"
        await pilot.press("escape")
        await until(pilot, lambda: len(pane.table.view.rows) == 5)


async def test_notes(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "private").mkdir()
    real = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("private"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    async with opened(tmp_path, "cache") as (app, pane, pilot):
        assert len(pane.state.found.notes) == 1
        await pilot.pause()
        assert "1 note: w shows it" in screen_text(app)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        assert "Permission denied" in screen_text(app)


@pytest.mark.parametrize("name", PANES)
async def test_an_empty_folder(tmp_path: Path, project: Path, name: str) -> None:
    shutil.rmtree(project)
    async with opened(tmp_path, name) as (app, pane, pilot):
        await pilot.pause()
        text = screen_text(app)
        assert "entries 0" in text and "R  looks again" in text
        assert ("v  looks at the places outside" in text) is (name == "cache")
        await pilot.press("d", "o", "y", "Y", "t", "R")  # nothing to act on
        await until(pilot, lambda: pane.state.looked and not pane.state.looking)


async def test_results_survive_a_switch(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        found = pane.state.found
        await app.main.show_pane("launch")
        await app.main.show_pane("convert")
        await pilot.pause()
        assert pane.state.found is found and not pane.state.looking


async def test_opening_a_path(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        assert pane.open_path(project / "models" / "net.onnx")
        await until(pilot, lambda: pane.current is not None and pane.current.path.endswith("net.onnx"))
        await until(pilot, lambda: "ONNX model" in screen_text(app))
        outside = tmp_path / "outside"
        shutil.copytree(MODELS, outside)
        assert pane.open_path(outside / "net.mindir")
        await until(pilot, lambda: pane.state.looked and pane.state.root == str(outside.resolve()))
        await until(pilot, lambda: pane.current is not None and pane.current.path.endswith("outside/net.mindir"))
        assert str(outside.resolve()) in title_text(pane.state)
        await until(pilot, lambda: pane.table.has_focus_within)
        await pilot.press("escape")
        await until(pilot, lambda: pane.state.looked and pane.state.root == str(project.resolve()))


async def test_opening_what_a_look_leaves_out(tmp_path: Path, project: Path) -> None:
    hidden = project / "node_modules"
    shutil.copytree(MODELS, hidden)
    async with opened(tmp_path, "convert") as (_, pane, pilot):
        pane.open_path(hidden / "net.onnx")
        pane.action_look()
        await until(pilot, lambda: pane.current is not None and pane.current.path == str(hidden.resolve() / "net.onnx"))
        pane.open_path(hidden / "absent.onnx")
        pane.action_look()
        await until(pilot, lambda: pane.state.wanted is None and not pane.state.looking)
        assert not pane.state.details


async def test_a_model_named_on_the_command_line(tmp_path: Path, project: Path) -> None:
    app = workbench(tmp_path, target=project / "models" / "net.mindir")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front == "convert")
        pane = app.main.pane("convert")
        assert isinstance(pane, InventoryPane)
        await until(pilot, lambda: pane.current is not None and pane.current.path.endswith("net.mindir"))


async def test_hostile_names(tmp_path: Path, project: Path) -> None:
    name = os.path.join(os.fsencode(project), b"\x1b]52;c;AAAA\x07[bold red]\xff.onnx")
    with open(name, "wb") as file:
        file.write((MODELS / "net.onnx").read_bytes())
    async with opened(tmp_path, "convert", LARGE) as (app, pane, pilot):
        row = next(row for row, item in enumerate(pane.state.found.rows.items) if "bold" in item.path)
        pane.table.move_to(row)
        await pilot.press("d")
        await pilot.pause()
        text = screen_text(app)
        assert "\x1b" not in text and "\x07" not in text and r"\x1b]52" in text and "[bold" in text


async def test_a_failed_look_is_told(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Found:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr("mswb.ui.panes.inventory.pane.look", fail)
    async with opened(tmp_path, "convert") as (app, pane, pilot):
        assert pane.state.problem is not None
        await pilot.pause()
        assert "disk is on fire" in screen_text(app) or pane.state.problem.title[:20] in screen_text(app)


# -- states from literals

ITEM = Item("onnx", "/w/a/net.onnx", 1000, 4096, 50.0, "opset 17", "", "its fields", 2, ("w.bin",))
BAD = Item("mindir", "/w/b.mindir", 10, 4096, 40.0, "cut", "truncated", "its fields")


def literal(**changes: Any) -> InventoryState:
    found = Found(rows_of([ITEM, BAD], "/w", 100.0), (), 3, 7)
    return replace(states.new_state("/w"), found=found, looked=True, **changes)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_state_is_all_it_takes(tmp_path: Path, project: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, "convert", size) as (app, pane, pilot):
        pane.show(literal())
        await until(pilot, lambda: "entries 2" in screen_text(app))
        text = screen_text(app)
        assert text.index("b.mindir") < text.index("net.onnx")  # the damaged one first
        assert "✖ truncated" in text and "1010 B / 2 places" in text
        pane.show(literal(looking=True, seen=12345))
        await until(pilot, lambda: "looking … 12,345" in screen_text(app))
        pane.show(literal(details=True))
        await until(pilot, lambda: "Recognised by" in screen_text(app))


async def test_pieces_are_shown_until_a_list_is_complete() -> None:
    state = states.started(states.new_state("/w"))
    some = Found(rows_of([ITEM], "/w", 100.0), files=5)
    every = Found(rows_of([ITEM, BAD], "/w", 100.0), files=9)
    state = states.received(state, some)
    assert state.found is some and state.looking and not state.looked
    state = states.finished(state, every)
    assert state.found is every and not state.looking
    again = states.received(states.started(state), some)
    assert again.found is every and again.seen == 5  # the old list stays until the new one is complete
    assert states.failed(again, make("workbench-defect")).found is every
    assert states.rooted(state, "/x").found.rows.items == ()


async def test_the_cursor_stays_on_top_until_it_is_moved(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path, "convert") as (_, pane, pilot):
        others = [replace(ITEM, path=f"/w/{number}.onnx", size_bytes=5 + number) for number in range(3)]
        pieces = [Found(rows_of(found, "/w", 100.0)) for found in (others[:1], others[:2], [*others, BAD])]
        pane.show(states.started(states.new_state("/w")))
        for piece in pieces[:2]:
            pane.show(states.received(pane.state, piece))
            await pilot.pause()
            assert pane.table.cursor_row == 0
        await pilot.press("j")
        chosen = pane.current
        assert chosen is not None and pane.table.cursor_row == 1
        pane.show(states.received(pane.state, pieces[2]))
        await pilot.pause()
        assert pane.current == chosen and pane.table.cursor_row == 3


async def test_rows() -> None:
    rows = rows_of([ITEM, BAD], "/w", 100.0)
    assert [item.path for item in rows.items] == ["/w/b.mindir", "/w/a/net.onnx"]
    assert rows.arrays["age"] == [60.0, 50.0] and rows.arrays["folder"] == [".", "a"]
    assert (rows.size_bytes, rows.places) == (1010, 2)
    assert name_of(ITEM, "/w/a/net.onnx") == "." and folder_of(ITEM, "/other") == "/w/a"
    assert status_text("error truncated") == "✖ truncated" and status_text("") == "-"
    assert isinstance(rows_of([], "/w", 0.0), Rows)


async def test_which_row_a_path_means() -> None:
    items = (BAD, ITEM, replace(ITEM, path="/w/prof"))
    assert row_for(items, "/w/b.mindir") == 0
    assert row_for(items, "/w/prof/trace.json") == 2  # part of it
    assert row_for(items, "/w/a") == 1  # in it
    assert row_for(items, "/w/absent") is None


async def test_details_and_logs_of_an_entry() -> None:
    text = details_text(ITEM).plain
    for words in ("ONNX model", "opset 17", "not checked", "/w/a/net.onnx", "1000 B", "its fields", "w.bin"):
        assert words in text
    assert log_folder(ITEM) is None
    assert log_folder(replace(ITEM, kind="mindspore-profile", path="/p")) == "/p/logs"


async def test_a_look_sends_pieces(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mswb.flows.inventory.PIECE_S", 0.0)
    sent: list[Found] = []
    found = look(Ticket(sent.append), str(project), "cache", settings_in(tmp_path), False, send_s=0.0)
    assert len(sent) > 2 and sent[-1] == found
    counts = [len(one.rows.items) for one in sent]
    assert counts == sorted(counts) and counts[0] < counts[-1]
