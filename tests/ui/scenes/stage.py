"""The stage of a scene: a workbench that looks at nothing by itself, on a machine that is always the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from mswb.findings import choose_language
from mswb.ui.app import Workbench
from mswb.ui.context import Options
from mswb.ui.glyphs import set_ascii
from mswb.ui.panes import registry
from mswb.ui.panes.base import Pane
from mswb.ui.panes.inventory.pane import InventoryPane
from mswb.ui.panes.launch.follow import Follow
from mswb.ui.tasks import Task
from mswb.ui.widgets.log.body import LogBody
from tests.ui.pictures import picture
from tests.ui.sessions import LARGE, SMALL, settings_in

PROJECT = Path("/home/anna/resnet")
INTERPRETER, INTERPRETER_SHORT = "Python 3.11.9, MindSpore 2.10.0", "py 3.11 ms 2.10"
STORE = "/home/anna/.mindspore/cache"
NOW = 1_796_000_000.0
"""The time on every machine, where ages are told."""
COUNTERS = "no device cpu 23% mem 12/64G"


class EmptyPane(Pane):
    """A pane for one widget."""


class Stage:
    """A running workbench."""

    def __init__(self, app: Workbench, pilot: Pilot[Any], folder: Path) -> None:
        self.app, self.pilot, self.folder = app, pilot, folder

    @property
    def pane(self) -> Any:
        """The pane in front."""
        return self.app.main.pane(self.app.main.front)

    async def press(self, *keys: str) -> None:
        """Press keys, each answered before the next."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()
            await self.until(self._resting)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Let the app work until something holds.

        Raises:
            AssertionError: it never did.
        """
        for _ in range(3000):
            if condition():
                return
            await self.pilot.pause()
            await asyncio.sleep(0.002)
        raise AssertionError(f"never held: {condition}\n{picture(self.app)}")

    async def settled(self) -> None:
        """Wait until nothing is left to do and all of it is drawn."""
        same, before = 0, None
        while same < 2:
            await self.pilot.pause()
            await self.until(self._resting)
            now = self.app.screen._compositor.render_strips()
            same, before = (same + 1 if now == before else 0), now

    def _resting(self) -> bool:
        working = any(task.state == "running" for task in self.app.context.tasks._all)
        working |= any(not worker.is_finished for worker in self.app.workers)  # of the command palette
        return not working and all(_read(body) for body in self.app.screen.query(LogBody).results(LogBody))

    async def show(self, widget: Widget) -> None:
        """Put a widget into the empty pane, with the focus in it."""
        await self.pane.mount(widget)
        widget.focus()
        await self.settled()

    def header(self, counters: Text | str = COUNTERS) -> None:
        """Say in the top row what it says on every machine."""
        self.app.show_header(
            folder="~/resnet",
            interpreter=INTERPRETER,
            interpreter_short=INTERPRETER_SHORT,
            counters=Text(counters) if isinstance(counters, str) else counters,
        )


def _read(body: LogBody) -> bool:
    """Whether a log view has read and drawn all of it."""
    snapshot = body.engine.snapshot
    drawn = body.view.snapshot is snapshot and all(line.row.line is not None for line in body.view._frame)
    return not snapshot.files or (snapshot.built and snapshot.work is None and snapshot.hits_done and drawn)


@dataclass(frozen=True)
class Scene:
    """How a state is reached.

    Attributes:
        play: what to do on the stage.
        options: of the session, see :class:`mswb.ui.context.Options`.
        config: of the user's config.toml.
        pane: the one in front; "" for the empty one.
        environ: variables that are set meanwhile.
        toasts: whether notices are drawn.
        anew: play it again for the large screen; else the small one grows.
        small: the small screen alone, since the large one tells nothing that another scene does not.
    """

    play: Callable[[Stage], Awaitable[None]]
    options: Mapping[str, Any] = field(default_factory=dict)
    config: str = ""
    pane: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    toasts: bool = False
    anew: bool = False
    small: bool = False


async def pictures(scene: Scene, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], str]:
    """What a scene shows on a small and on a large terminal."""
    shown = {}
    async with staged(scene, folder, SMALL, monkeypatch) as stage:
        shown[SMALL] = picture(stage.app)
        if not (scene.anew or scene.small):
            await stage.pilot.resize_terminal(*LARGE)
            await stage.settled()
            shown[LARGE] = picture(stage.app)
    if scene.anew:
        again = folder / "again"
        again.mkdir()
        async with staged(scene, again, LARGE, monkeypatch) as stage:
            shown[LARGE] = picture(stage.app)
    return shown


@asynccontextmanager
async def staged(
    scene: Scene, folder: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    """Play a scene; its workbench is there until the end of the block."""
    _quiet(monkeypatch, folder, scene)
    settings = settings_in(folder, scene.config or 'lang = "en"\n')
    app = Workbench(settings, PROJECT, options=Options(**{"theme": "dark"} | dict(scene.options)))
    try:
        async with app.run_test(size=size, notifications=scene.toasts) as pilot:
            stage = Stage(app, pilot, folder)
            await stage.until(lambda: app.main.front)
            stage.header()
            if scene.pane:
                await app.main.show_pane(scene.pane)
            await stage.settled()
            await scene.play(stage)
            await stage.settled()
            yield stage
    finally:
        set_ascii(False)
        choose_language("en")
        monkeypatch.delenv("TZ")
        time.tzset()


def _quiet(monkeypatch: pytest.MonkeyPatch, folder: Path, scene: Scene) -> None:
    """Nothing looks at this machine, its clock or its environment, and no cursor blinks."""
    for name in ("NO_COLOR", "COLORTERM", "GLOG_v", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TZ": "UTC", **scene.environ}.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    monkeypatch.chdir(folder)  # paths of logs are relative to it
    monkeypatch.setattr("mswb.ui.services.start_services", lambda app: None)
    monkeypatch.setattr(Follow, "shown", lambda self: None)
    monkeypatch.setattr(InventoryPane, "action_look", lambda self: None)
    monkeypatch.setattr("mswb.ui.panes.cache.pane.now", lambda: NOW)
    monkeypatch.setattr("mswb.flows.cache_facts.closer", lambda item: {"holders": []})
    monkeypatch.setenv("MSWB_CACHE_ROOT", STORE)
    monkeypatch.setattr("mswb.ui.screens.devices.host_name", lambda: "node-0")
    monkeypatch.setattr(Task, "elapsed_s", property(lambda task: 12.0))
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    if not scene.pane:
        entry = registry.PANES["launch"]
        monkeypatch.setitem(registry.PANES, "launch", entry._replace(target=f"{__name__}:EmptyPane"))
