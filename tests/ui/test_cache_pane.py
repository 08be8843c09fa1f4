"""The Cache pane: verify, stop, faults and their bytes, repair, clean, undo, baselines; a list that is kept true."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.cache import baseline
from mswb.cache.trash import store as trashes
from mswb.cache.worker import Answer
from mswb.flows import cache_checks
from mswb.flows.cache_checks import Step, checked_entry
from mswb.ui.app import Workbench
from mswb.ui.panes import registry
from mswb.ui.panes.cache.pane import CachePane
from mswb.ui.panes.cache.places import PlacesBar
from mswb.ui.panes.cache.plan_screen import PlanScreen
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.screens.hexview.screen import HexScreen
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench
from tests.unit.inventories import DATA

pytestmark = pytest.mark.asyncio
GOOD, BAD, CUT = "good.tfrecord", "bad.tfrecord", "cut.tfrecord"
FLIPPED = 1800
"""A byte in the data of record 10."""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good file and a damaged one, at home in a folder of its own."""
    real = registry.PANES["cache"]
    plain_panes(monkeypatch)
    monkeypatch.setitem(registry.PANES, "cache", real)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "store"))
    root = tmp_path / "project"
    root.mkdir()
    shutil.copy(DATA / GOOD, root / GOOD)
    raw = bytearray((DATA / GOOD).read_bytes())
    raw[FLIPPED] ^= 1
    (root / BAD).write_bytes(raw)
    return root


@asynccontextmanager
async def opened(
    tmp_path: Path, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[Workbench, CachePane, Pilot[Any]]]:
    """A workbench with the pane in front and its first look finished."""
    app = workbench(tmp_path, **options)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        await app.main.show_pane("cache")
        pane = app.main.pane("cache")
        assert isinstance(pane, CachePane)
        await until(pilot, lambda: pane.state.looked and pane.has_focus_within)
        yield app, pane, pilot


def cut(path: Path) -> None:
    """A file that ends within a record."""
    path.write_bytes((DATA / GOOD).read_bytes()[:5100])


def status(pane: CachePane, name: str) -> str:
    """What the table says of an entry."""
    row = next(row for row, item in enumerate(pane.rows.items) if os.path.basename(item.path) == name)
    return str(pane.table.data.value(row, "status"))


def on(pane: CachePane, name: str) -> None:
    """Put the cursor on an entry."""
    row = next(row for row, item in enumerate(pane.rows.items) if os.path.basename(item.path) == name)
    assert pane.table.move_to(row)


def unfolded(app: Workbench) -> str:
    """The screen with what is too long for one row put together again."""
    return "".join(line.strip() for line in screen_text(app).splitlines())


def listed(pane: CachePane) -> list[str]:
    return [os.path.basename(item.path) for item in pane.rows.items]


async def verified(pane: CachePane, pilot: Pilot[Any]) -> None:
    """Everything listed has been verified."""
    await pilot.press("A")
    await until(pilot, lambda: pane.caches.works and not pane.caches.running, 3000)


async def test_a_damaged_file_is_found_seen_byte_by_byte_and_mended(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        assert status(pane, BAD) == ""
        await verified(pane, pilot)
        assert status(pane, BAD) == "error corrupted" and status(pane, GOOD) == "ok ok"
        assert listed(pane)[0] == BAD  # the worst one is on top
        on(pane, BAD)
        await pilot.press("enter")
        await until(pilot, lambda: "49 of 50 records are whole" in screen_text(app))
        assert "at byte 1,690 (0x69a) · record 10" in screen_text(app)
        await pilot.press("n", "enter")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HexScreen))
        await until(pilot, lambda: "record 10: length 153" in screen_text(app))
        assert "fault 1 of 1" in screen_text(app)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        screen = app.screen
        assert isinstance(screen, PlanScreen) and screen.plan.actions
        assert not list(tmp_path.rglob("*.repaired*"))  # nothing is done before it is agreed to
        await pilot.press("enter")  # all of the action; nothing is done by it
        await until(pilot, lambda: screen.is_whole and screen.plan.actions[0].target in unfolded(app))
        await pilot.press("a", "question_mark")
        await until(pilot, lambda: "cache_plan.apply" in screen_text(app))
        await pilot.press("q", "q")
        await until(pilot, lambda: app.screen is screen and not screen.is_whole)
        assert not list(tmp_path.rglob("*.repaired*"))
        await pilot.press("a")
        await until(pilot, lambda: screen.outcomes is not None, 3000)
        assert "✓ 1 of 1 done" in screen_text(app)
        await pilot.press("q")
        new = os.path.basename(screen.plan.actions[0].target)
        await until(pilot, lambda: new in listed(pane) and status(pane, new) == "ok ok", 3000)
        assert pane.current is not None and os.path.basename(pane.current.path) == new


async def test_marked_entries_are_verified_and_no_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, pane, pilot):
        on(pane, GOOD)
        await pilot.press("space", "V")
        await until(pilot, lambda: pane.caches.works and not pane.caches.running, 3000)
        assert status(pane, GOOD) == "ok ok" and status(pane, BAD) == ""


class Slow:
    """A verification that goes on until it is told to end, or cancelled."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.cancelled = 0

    def verify(self, entries: Any, *, cancelled: Any, told: Any) -> Iterator[Any]:
        told(Step(0, len(entries), entries[0].path, 43, 100, "bytes"))
        while not self.go_on.wait(0.01):
            if cancelled():
                self.cancelled += 1
                return
        for index, entry in enumerate(entries):
            yield index, checked_entry(entry, Answer(problem="it is gone")), None


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(cache_checks, "verify", made.verify)
    return made


async def test_progress_survives_another_pane_and_ends_with_what_could_not_be_read(tmp_path: Path, slow: Slow) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        on(pane, GOOD)
        await pilot.press("V")
        await until(pilot, lambda: "▶ 43%" in screen_text(app) and "verifying 0 of 1" in screen_text(app))
        await pilot.press("1")
        await until(pilot, lambda: app.main.front == "launch")
        assert pane.caches.running
        await app.main.show_pane("cache")
        await until(pilot, lambda: "▶ 43%" in screen_text(app))
        pane.action_look()  # a look at the disk meanwhile
        await until(pilot, lambda: not pane.state.looking)
        assert status(pane, GOOD).startswith("running")
        slow.go_on.set()
        await until(pilot, lambda: not pane.caches.running)
        assert status(pane, GOOD) == "error cache-unreadable"


async def test_two_verifications_at_once_and_x_stops_the_one_under_the_cursor(tmp_path: Path, slow: Slow) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        for name in (GOOD, BAD):
            on(pane, name)
            await pilot.press("V")
            await until(pilot, lambda: "running 43%" in map(str, pane.table.data.arrays["status"]))
        await until(pilot, lambda: status(pane, GOOD) == status(pane, BAD) == "running 43%")
        assert len(pane.caches.running) == 2
        on(pane, GOOD)
        await pilot.press("V")  # it is verified already
        assert len(pane.caches.running) == 2
        await pilot.press("x")
        await until(pilot, lambda: len(pane.caches.running) == 1 and status(pane, GOOD) == "")
        assert status(pane, BAD) == "running 43%"
        await until(pilot, lambda: slow.cancelled == 1)
        app.context.tasks.listed[0].cancel()  # as the job drawer does
        await until(pilot, lambda: not pane.caches.running and status(pane, BAD) == "")


async def test_clean_and_undo(tmp_path: Path, project: Path) -> None:
    before = (project / BAD).read_bytes()
    async with opened(tmp_path) as (app, pane, pilot):
        on(pane, BAD)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.main)
        assert (project / BAD).exists()
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        await pilot.press("a")
        await until(pilot, lambda: listed(pane) == [GOOD])
        assert not (project / BAD).exists() and len(trashes.items()) == 1
        await pilot.press("q", "u")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        await pilot.press("a")
        await until(pilot, lambda: BAD in listed(pane))
        assert (project / BAD).read_bytes() == before


async def test_undo_puts_nothing_over_what_has_come_since(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        said: list[str] = []
        app.notify = lambda text, **_: said.append(text)  # type: ignore[method-assign]
        on(pane, BAD)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        await pilot.press("a")
        await until(pilot, lambda: listed(pane) == [GOOD])
        (project / BAD).write_bytes(b"new")
        await pilot.press("q", "u")
        await until(pilot, lambda: any("not taken back" in text for text in said))
        assert app.screen is app.main and (project / BAD).read_bytes() == b"new" and len(trashes.items()) == 1


async def test_a_baseline_is_of_what_is_whole(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path) as (app, _, pilot):
        said: list[str] = []
        app.notify = lambda text, **_: said.append(text)  # type: ignore[method-assign]
        await pilot.press("asterisk", "B")
        await until(pilot, lambda: said, 3000)
        assert said[-1] == "✓ baseline written for 1 files"
        assert baseline.exists(str(project / GOOD)) and not baseline.exists(str(project / BAD))


async def test_read_only_changes_nothing(tmp_path: Path, project: Path) -> None:
    cut(project / CUT)
    async with opened(tmp_path, read_only=True) as (app, pane, pilot):
        said: list[str] = []
        app.notify = lambda text, **_: said.append(text)  # type: ignore[method-assign]
        on(pane, CUT)
        await pilot.press("F", "c", "u", "B")
        await pilot.pause()
        assert said == ["read-only: nothing is changed"] * 4
        assert sorted(os.listdir(project)) == [BAD, CUT, GOOD]


async def test_the_next_damaged_one_and_the_bytes_of_a_good_one(tmp_path: Path, project: Path) -> None:
    cut(project / CUT)
    cut(project / "other.tfrecord")
    async with opened(tmp_path, LARGE) as (app, pane, pilot):
        assert status(pane, CUT) == "error truncated"  # a glance tells it
        await pilot.press("g", "e")
        assert pane.current is not None and os.path.basename(pane.current.path) == "other.tfrecord"
        await pilot.press("e", "E")
        assert os.path.basename(pane.current.path) == CUT
        on(pane, GOOD)
        await pilot.press("h")
        await until(pilot, lambda: isinstance(app.screen, HexScreen))
        await until(pilot, lambda: "000000  99 00 00 00 00 00 00 00" in screen_text(app))
        await pilot.press("slash", *"0x1000", "enter")
        await until(pilot, lambda: "byte 4,096 = 0x1000" in screen_text(app))
        await pilot.press("G")
        await until(pilot, lambda: "byte 8,448" in screen_text(app))


async def test_places_by_key_and_by_click(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    shutil.copy(DATA / GOOD, store / "elsewhere.tfrecord")
    async with opened(tmp_path) as (app, pane, pilot):
        assert len(listed(pane)) == 3 and "File caches 1" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: sorted(listed(pane)) == [BAD, GOOD])
        await pilot.press("p")
        await until(pilot, lambda: listed(pane) == ["elsewhere.tfrecord"])
        await pilot.press("p")
        await until(pilot, lambda: len(listed(pane)) == 3)
        bar = pane.query_one(PlacesBar)
        before = sum(len(text) for place, text in bar.parts() if place in ("", "project"))
        await pilot.click(PlacesBar, offset=(before + 3, 0))
        await until(pilot, lambda: listed(pane) == ["elsewhere.tfrecord"])


async def test_what_changes_on_the_disk_is_listed_without_a_key(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path) as (app, pane, pilot):
        await verified(pane, pilot)
        shutil.copy(project / GOOD, project / "new.tfrecord")
        await until(pilot, lambda: "new.tfrecord" in listed(pane), 3000)
        with (project / BAD).open("ab") as file:  # what was told of it holds no more
            file.write((project / GOOD).read_bytes())
        await until(pilot, lambda: status(pane, BAD) == "", 3000)
        await pilot.press("1")
        await until(pilot, lambda: pane._live is None)
        os.unlink(project / "new.tfrecord")
        await app.main.show_pane("cache")
        await until(pilot, lambda: "new.tfrecord" not in listed(pane), 3000)


async def test_a_path_that_is_opened_is_shown_in_all_places(tmp_path: Path, project: Path) -> None:
    async with opened(tmp_path) as (_, pane, pilot):
        assert pane.open_path(project / GOOD)
        await until(pilot, lambda: pane.state.details and pane.current is not None)
        assert pane.current is not None and os.path.basename(pane.current.path) == GOOD
