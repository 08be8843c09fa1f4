"""What is typed while the app is busy arrives where it was meant to, in the order it was typed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from mswb.ui import typeahead
from mswb.ui.typeahead import Typeahead
from tests.terminal import Terminal
from tests.ui.test_terminal_life import MSWB, env, project

__all__ = ["env", "project"]


class Dialog(ModalScreen["str | None"]):
    """Asks for a text, after a while."""

    BINDINGS = [Binding("escape", "dismiss", "")]  # noqa: RUF012

    async def on_mount(self) -> None:
        await asyncio.sleep(0.2)
        await self.mount(Input(id="asked"))
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)


class Slow(App[None]):
    """Two fields; Enter goes from one to the other, F2 opens the dialog. Everything takes its time."""

    BINDINGS = [Binding("f2", "ask", ""), Binding("ctrl+c", "note", "", priority=True)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[str | None] = []
        self.notes = 0

    def compose(self) -> ComposeResult:
        yield Vertical(Input(id="first"), Vertical(Input(id="second")))

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        await asyncio.sleep(0.2)
        self.query_one("#second", Input).focus()

    def action_ask(self) -> None:
        self.push_screen(Dialog(), self.answers.append)

    def action_note(self) -> None:
        self.notes += 1

    def values(self) -> list[str]:
        return [self.query_one(name, Input).value for name in ("#first", "#second")]


def keys(text: str) -> Iterator[events.Key]:
    """Keys as a terminal gives them; ``\\r`` is Enter, ``^`` F2, ``!`` Ctrl+C."""
    named = {"\r": "enter", "^": "f2", "!": "ctrl+c", "\x1b": "escape"}
    for letter in text:
        yield events.Key(named[letter], None) if letter in named else events.Key(letter, letter)


async def typed(app: Slow, pilot: Any, text: str) -> None:
    """Type all of it at once and wait until it was handed over."""
    ahead = Typeahead(app)
    for key in keys(text):
        key.set_sender(app)
        ahead.put(key)
    while ahead.busy:
        await pilot.pause(0.01)
    await pilot.pause()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "values", "answers"),
    [
        ("ab\rcd", ["ab", "cd"], []),
        ("a^xyz\rb", ["ab", ""], ["xyz"]),
        ("^\x1bno", ["no", ""], [None]),
        ("^one\r^two\r\rthree", ["", "three"], ["one", "two"]),
    ],
)
async def test_keys_reach_what_they_were_meant_for(text: str, values: list[str], answers: list[str | None]) -> None:
    app = Slow()
    async with app.run_test() as pilot:
        await typed(app, pilot, text)
        assert app.values() == values
        assert app.answers == answers


@pytest.mark.asyncio
async def test_ctrl_c_waits_for_nobody_and_forgets_what_was_typed() -> None:
    app = Slow()
    async with app.run_test() as pilot:
        await typed(app, pilot, "a\rbcdef!")
        assert app.notes == 1
        assert app.values()[1] == ""


@pytest.mark.asyncio
async def test_a_part_that_never_answers_keeps_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typeahead, "PATIENCE_S", 0.05)
    app = Slow()
    async with app.run_test() as pilot:
        freed = asyncio.Event()
        app.query_one("#second").focus()
        await pilot.pause()
        app.query_one("#second").call_later(freed.wait)
        ahead = Typeahead(app)
        for key in keys("ab"):
            ahead.put(key)
        while ahead.busy:
            await asyncio.sleep(0.01)
        freed.set()
        await pilot.pause()
        assert app.values() == ["", "ab"]


def test_a_whole_launch_typed_in_one_piece(env: dict[str, str], project: Path) -> None:
    (project / "train.py").write_text("print('so far so good')\n")
    with Terminal(MSWB, env=env, cwd=project) as terminal:
        terminal.wait_for("1 Launch")  # the list of runs is still to come, and the form has to be loaded
        terminal.type("ntrain.py\r--epochs 3\r2\r2\x07master_port\r8765")
        terminal.wait_for("--worker_num 2 --local_worker_num 2 --master_port 8765 tr")


def test_a_search_typed_in_one_piece(env: dict[str, str], project: Path) -> None:
    log = project / "worker_0.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    with Terminal([*MSWB, "ui", str(log)], env=env, cwd=project) as terminal:
        terminal.wait_for("line 999")
        terminal.type("/line 77\r")
        terminal.wait_for("/line 77 1 of 11")
