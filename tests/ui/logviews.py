"""A log panel on its own in an app, for tests: files, keys, and what is on the screen as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from mswb.launch.logview.rows import Place
from mswb.launch.logview.source import ShownLog
from mswb.settings import load_settings
from mswb.ui.context import Context, Options
from mswb.ui.messages import Copy
from mswb.ui.tasks import Tasks
from mswb.ui.widgets.log import LogPanel
from mswb.ui.widgets.log.body import LogBody
from mswb.ui.widgets.log.status import LogState
from mswb.ui.widgets.log.view import LogView

SMALL, LARGE = (80, 24), (160, 45)


class LogApp(App[None]):
    """One panel, and the messages it sent."""

    def __init__(self, folder: Path, options: Options) -> None:
        super().__init__()
        tasks = Tasks(self._deliver)
        settings = load_settings({"HOME": str(folder), "MSWB_STATE_DIR": str(folder / "state")})
        self.panel = LogPanel(Context(settings, folder, tasks, options), id="log")
        self.told: list[Message] = []

    def _deliver(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.call_later, call)

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_mount(self) -> None:
        self.panel.front.focus()

    def on_log_panel_position(self, event: LogPanel.Position) -> None:
        self.told.append(event)

    def on_copy(self, event: Copy) -> None:
        self.told.append(event)


class Shown:
    """A running panel: presses keys, waits for conditions, reads the screen."""

    def __init__(self, app: LogApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def body(self) -> LogBody:
        assert self.app.panel.body is not None
        return self.app.panel.body

    @property
    def view(self) -> LogView:
        return self.body.view

    @property
    def state(self) -> LogState:
        return self.body.status.state

    @property
    def place(self) -> Place | None:
        return self.view.place

    @property
    def line(self) -> int:
        """The line under the cursor, from 1."""
        place = self.place
        assert place is not None
        return place.line + 1

    def rows(self) -> list[str]:
        """What the lines of the view show."""
        return [
            "".join(segment.text for segment in self.view.render_line(y)).rstrip() for y in range(self.view.size.height)
        ]

    def screen(self) -> str:
        return "\n".join(self.rows())

    def notices(self) -> list[str]:
        return [notice.message for notice in self.app._notifications]

    async def until(self, condition: Callable[[], object]) -> None:
        """Let the app work until the condition holds."""
        for _ in range(2000):
            await self.pilot.pause()
            if condition():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never came true; the screen:\n{self.screen()}\n{self.state}\n{self.notices()}")

    async def press(self, *keys: str) -> None:
        """Press keys and let their questions be answered."""
        await self.pilot.press(*keys)
        answered: list[bool] = []
        self.body.engine.ask(lambda model, ground, cancelled: True, answered.append)
        await self.until(lambda: bool(answered))
        await self.quiet()

    async def type(self, text: str) -> None:
        """Give a text to the open line for text, and enter."""
        prompt = self.app.focused
        assert isinstance(prompt, Input)
        prompt.value = prompt.value + text
        await self.press("enter")

    async def quiet(self) -> None:
        """Wait until nothing is left to do and all of it is drawn."""
        engine = self.body.engine
        await self.until(
            lambda: (
                engine.snapshot.work is None
                and engine.snapshot.hits_done
                and self.view.snapshot is engine.snapshot
                and all(line.row.line is not None for line in self.view._frame)
            )
        )

    async def open(self, *logs: ShownLog, title: str = "") -> None:
        self.app.panel.open(logs, title=title)
        await self.until(lambda: self.app.panel.body is not None)
        await self.until(
            lambda: (
                self.body.engine.snapshot.built and self.body.engine.snapshot.files == logs and self.view.size.height
            )
        )
        await self.quiet()


def ranks(paths: Sequence[Path]) -> list[ShownLog]:
    """These files as ranks 0, 1, …"""
    return [ShownLog(str(path), "worker", rank) for rank, path in enumerate(paths)]


@asynccontextmanager
async def shown(
    *paths: Path, size: tuple[int, int] = SMALL, options: Options | None = None, folder: Path | None = None
) -> AsyncIterator[Shown]:
    """A panel that shows these files."""
    app = LogApp(folder or paths[0].parent, options or Options())
    async with app.run_test(size=size) as pilot:
        one = Shown(app, pilot)
        if paths:
            await one.open(*ranks(paths))
        yield one
