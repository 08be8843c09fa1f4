"""Small words of the Launch pane: why a key does nothing, what is marked, what is not followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui import launch_states as made
from tests.ui.sessions import LARGE, screen_text, until
from tests.ui.test_launch_pane_list import alone, launch
from tests.ui.test_launch_pane_run import focus_in, logs, shown

__all__ = ["alone", "logs"]


def toasts(pilot: Pilot[Any]) -> list[str]:
    return [one.message for one in pilot.app._notifications]


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["x", "X", "n", "ctrl+r", "r"])
async def test_in_a_read_only_session_a_key_says_why_nothing_happens(tmp_path: Path, logs: Path, key: str) -> None:
    async with launch(tmp_path, read_only=True) as (pane, pilot):
        await shown(pane, pilot, replace(made.OPEN_RUNNING, read_only=True), logs)
        await pilot.press(key)
        await until(pilot, lambda: any("read-only" in one for one in toasts(pilot)))
        assert pilot.app.screen is pane.screen


@pytest.mark.asyncio
async def test_keys_of_the_log_say_where_they_work(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("m")
        await until(pilot, lambda: any("m is a key of the log" in one for one in toasts(pilot)))


@pytest.mark.asyncio
async def test_marks_say_only_how_many(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_COMPILING, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("space")
        await until(pilot, lambda: "1 marked" in screen_text(pilot.app))
        row = next(row for row in screen_text(pilot.app).split("\n") if "1 marked" in row)
        assert row.strip() == "1 marked"


@pytest.mark.asyncio
async def test_an_ended_run_is_shown_to_its_end_and_not_followed(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_SUCCEEDED, logs)
        await until(pilot, lambda: "line 40" in screen_text(pilot.app))
        await until(pilot, lambda: part.log_panel.body is not None and not part.log_panel.body.view.following)
        assert "rank 1 line 40" in screen_text(pilot.app)
        assert "following" not in screen_text(pilot.app)


@pytest.mark.asyncio
async def test_what_happened_is_seen_beside_an_open_run(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path, LARGE) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        assert "What happened" in screen_text(pilot.app)
