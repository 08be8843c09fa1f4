"""Workbenches for tests: a folder and a state of their own, and panes that need nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from mswb.findings import Where
from mswb.settings import Settings, load_settings
from mswb.ui.app import Workbench
from mswb.ui.context import Options
from mswb.ui.panes import registry
from mswb.ui.panes.base import Pane

SMALL, LARGE = (80, 24), (160, 45)


class PlainPane(Pane):
    """A pane that remembers what it was asked."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.told: list[Any] = []

    def compose(self) -> ComposeResult:
        yield Static(f"this is {self.id}", markup=False)
        yield Input(id=f"{self.id}-input")
        yield Input(id=f"{self.id}-other")

    def on_pane_shown(self) -> None:
        self.told.append("shown")

    def on_pane_hidden(self) -> None:
        self.told.append("hidden")

    def open_place(self, where: Where) -> bool:
        self.told.append(where)
        return bool(where.file and self.id and self.id.removeprefix("pane-") in where.file)

    def open_path(self, path: Path) -> bool:
        self.told.append(path)
        return "unknown" not in path.name


def plain_panes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the workbench use plain panes, and no services beside them."""
    module = ModuleType("mswb_plain_panes")
    module.__dict__["PlainPane"] = PlainPane
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    for name, entry in registry.PANES.items():
        monkeypatch.setitem(registry.PANES, name, entry._replace(target=f"{module.__name__}:PlainPane"))
    monkeypatch.setattr("mswb.ui.services.start_services", lambda app: None)


def settings_in(folder: Path, config: str = "") -> Settings:
    """Settings whose state and configuration lie in a folder of the test."""
    file = folder / "config" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(config, encoding="utf-8")
    return load_settings({"HOME": str(folder), "MSWB_STATE_DIR": str(folder / "state"), "MSWB_CONFIG": str(file)})


def workbench(folder: Path, config: str = "", *, target: Path | None = None, **options: Any) -> Workbench:
    """A workbench on a folder of the test."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    return Workbench(settings_in(folder, config), project, target=target, options=Options(**options))


async def until(pilot: Pilot[Any], condition: Callable[[], Any], pauses: int = 400) -> None:
    """Let the app work until something holds.

    Raises:
        AssertionError: it never did.
    """
    for _ in range(pauses):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"never held: {condition}\n{screen_text(pilot.app)}")


def screen_text(app: Workbench | Any) -> str:
    """What the screen shows, one text a row."""
    height = app.size.height
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips[:height])
