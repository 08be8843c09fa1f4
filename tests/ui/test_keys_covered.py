"""Every key of the key map does what it says, where it says: each is pressed once, and its action runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual import actions
from textual.app import App

from mswb.flows.known_runs import Lister
from mswb.ui import keymap, tasks
from mswb.ui.screens.launch_form.screen import LaunchForm
from tests.ui.scenes.all_scenes import SCENES
from tests.ui.scenes.stage import Stage, staged
from tests.ui.sessions import LARGE, SMALL


class Place(NamedTuple):
    """Where keys are pressed: a scene, and what has the focus in it (a selector; "": what the scene leaves it with).

    A small terminal is drawn in a third of the time; the large one is for what only it shows.
    """

    scene: str
    focus: str = ""
    size: tuple[int, int] = SMALL


BESIDE = Place("inventory/profile", "DetailsPart", LARGE)
CHOICE, ENTRY = Place("form/ready", "#row-backend Choice"), Place("form/ready", "#row-worker_num Entry")
PLACES: dict[str, tuple[Place, ...]] = {
    "app": (Place("launch/listed"),),
    "ask": (Place("form/ask"),),
    "cache": (Place("caches/verifying"), Place("caches/chinese")),
    "cache_plan": (Place("caches/plan"),),
    "cache_server": (Place("caches/server"),),
    "convert": (Place("inventory/convert"),),
    "convert_fix": (Place("convert/mend"),),
    "convert_form": (Place("convert/form", "#row-verify Choice"),),
    "convert_result": (Place("convert/failed"), Place("convert/running")),
    "curves": (Place("curves/two"),),
    "devices": (Place("machine/eight"),),
    "drawer": (Place("shell/drawer"),),
    "findings": (Place("shell/findings"),),
    "form": (CHOICE,),
    "form_choice": (CHOICE,),
    "form_entry": (ENTRY,),
    "form_fields": (ENTRY,),
    "form_fold": (Place("form/ready", "Fold"),),
    "form_line": (Place("form/ready", "LineEntry"),),
    "form_path": (Place("form/ready", "#row-script PathEntry"),),
    "form_start": (Place("form/ready", "Starter"),),
    "help": (Place("shell/help"),),
    "hexview": (Place("caches/bytes"),),
    "inventory": (Place("inventory/notes"), BESIDE, Place("inventory/elsewhere")),
    "inventory_details": (BESIDE,),
    "launch": (Place("launch/listed"), Place("launch/failed"), Place("launch/foreign")),
    "launch_confirm": (Place("launch/stop"),),
    "launch_grid": (Place("launch/running"),),
    "lines": (Place("launch/failed_details"),),
    "launch_runs": (Place("launch/listed"),),
    "log": (Place("logs/plain"),),
    "log_details": (Place("logs/details"),),
    "log_prompt": (Place("logs/search_open"),),
    "overlay": (Place("shell/findings"),),
    "pick": (Place("form/pick"),),
    "table": (Place("tables/plain"),),
}
"""By context, where its keys work; together the places of a context offer all of them."""


class Pressed(NamedTuple):
    """One key of an action."""

    id: str
    key: str
    action: str


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The actions that were asked for where they exist, with their arguments."""
    done: list[tuple[str, Any]] = []
    dispatch = App._dispatch_action

    async def noted(self: App[Any], namespace: Any, name: str, arguments: Any) -> bool:
        if callable(getattr(namespace, f"action_{name}", None)):
            done.append((name, tuple(arguments)))
        return await dispatch(self, namespace, name, arguments)

    monkeypatch.setattr(App, "_dispatch_action", noted)
    return done


@pytest.fixture(autouse=True)
def defects(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is started, nobody else's runs are looked for, and no task meets an exception that nobody expected."""
    met: list[Exception] = []
    defect = tasks.defect
    monkeypatch.setattr(tasks, "defect", lambda title, problem: met.append(problem) or defect(title, problem))
    monkeypatch.setattr(LaunchForm, "_start", lambda self: None)
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: ())
    yield
    assert not met


@pytest.mark.asyncio
@pytest.mark.parametrize("context", keymap.contexts())
async def test_every_key_of(
    context: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, Any]]
) -> None:
    folders = (tmp_path / str(number) for number in count())
    left = [Pressed(key.id, name, key.action) for key in keymap.keys_of(context) for name in key.keys.split(",")]
    for place in PLACES[context]:
        waiting, left = left, []
        while waiting:
            async with at(place, next(folders), monkeypatch) as stage:
                left += await press_all(stage, waiting, ran)
    assert not left, "these keys did nothing"


@asynccontextmanager
async def at(place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """A stage where this place is."""
    folder.mkdir()
    async with staged(SCENES[place.scene], folder, place.size, monkeypatch) as stage:
        if place.focus:
            stage.app.screen.query(place.focus).first().focus()
            await stage.settled()
        yield stage


async def press_all(stage: Stage, waiting: list[Pressed], ran: list[tuple[str, Any]]) -> list[Pressed]:
    """Press keys until the place is gone, and take them off ``waiting``; returns those that did nothing."""
    home, focus = stage.app.screen, stage.app.focused
    nothing, is_fresh = [], True
    while waiting and stage.app.is_running and home in stage.app.screen_stack:
        while stage.app.screen is not home:
            stage.app.pop_screen()
        stage.app.set_focus(focus)
        await stage.pilot.pause()
        if await does(stage, waiting[0], ran):
            waiting.pop(0)
        elif is_fresh:
            nothing.append(waiting.pop(0))
        else:
            break  # what was pressed before may be why
        is_fresh = False
    return nothing


async def does(stage: Stage, pressed: Pressed, ran: list[tuple[str, Any]]) -> bool:
    """Whether the key leads to its action."""
    _, name, arguments = actions.parse(pressed.action)
    ran.clear()
    await stage.pilot.press(pressed.key)
    await stage.pilot.pause()
    return (name, tuple(arguments)) in ran
