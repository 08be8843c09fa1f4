"""A person at a terminal with the workbench on it: what is typed, what is clicked, what the screen says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.harness import Workspace
from tests.terminal import Terminal
from tests.waiting import wait_until

ESCAPE, ENTER, BACKTAB = "\x1b", "\r", "\x1b[Z"
START, CLEAR, ALL_FLAGS = "\x12", "\x15", "\x07"
"""Ctrl+R, Ctrl+U and Ctrl+G."""
LONG = 150.0
"""Seconds that a training and a busy machine may take."""
_PRESS, _RELEASE, _UP, _DOWN = "\x1b[<0;{};{}M", "\x1b[<0;{};{}m", "\x1b[<64;{};{}M", "\x1b[<65;{};{}M"


class Desk:
    """One workbench in one terminal; closes it at the end."""

    def __init__(self, workspace: Workspace, *arguments: str, size: tuple[int, int] = (80, 24)) -> None:
        env = {**workspace.env, "LANG": "en_US.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("NO_COLOR", "LC_ALL"):
            env.pop(name, None)
        self.terminal = Terminal(workspace.command("ui", *arguments), size=size, env=env, cwd=workspace.folder)
        self.see("q Quit")

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: Any) -> None:
        self.terminal.__exit__()

    # -- the screen

    def see(self, wanted: str | Callable[[str], bool], timeout: float = LONG) -> str:
        """Wait until this is to be seen; returns the screen."""
        return self.terminal.wait_for(wanted, timeout)

    def see_row(self, *parts: str, timeout: float = LONG) -> str:
        """Wait for a row that holds all of this; returns it."""
        self.see(lambda text: _row(text, parts) is not None, timeout)
        return _row(self.terminal.text, parts) or ""

    def gone(self, text: str) -> None:
        """Wait until this is not to be seen any more."""
        self.see(lambda screen: text not in screen)

    @property
    def text(self) -> str:
        return self.terminal.text

    def row_of(self, text: str) -> int:
        """The row (from 0) of a text that is to be seen."""
        return next(number for number, line in enumerate(self.terminal.lines) if text in line)

    # -- keys

    def type(self, keys: str, then: str | Callable[[str], bool] = "") -> str:
        """Press keys, and wait for what they lead to."""
        self.terminal.type(keys)
        return self.see(then) if then else self.text

    def fill(self, line: str) -> None:
        """Open the form and fill it by its command line."""
        self.type("n", "New launch in")
        self.type(f"{BACKTAB}{CLEAR}{line}", line[-30:])

    def start(self, line: str) -> None:
        """Start this from the form."""
        self.fill(line)
        self.see(" ready: ")
        self.type(START)
        self.gone("New launch in")

    # -- the mouse

    def start_by_mouse(self, line: str) -> None:
        """Start this with clicks on what is to be seen, but for the line itself."""
        self.click("n New run")
        self.see("New launch in")
        self.click("mswb run")
        self.type(f"{CLEAR}{line}", line[-30:])
        self.see(" ready: ")
        self.click("▶ Start")
        self.gone("New launch in")

    def click(self, text: str, *, times: int = 1, row: int | None = None) -> None:
        """Click in the middle of a text (in a given row: its first one there)."""
        place = self._place(text, row)
        self.terminal.type((_PRESS.format(*place) + _RELEASE.format(*place)) * times)

    def quit_by_mouse(self) -> None:
        """Click on Quit until it has quitted: the keys at the bottom move when what is in front changes."""
        ended = self.terminal.process.poll
        while ended() is None:
            if "q Quit" not in self.text:
                self.terminal.type(ESCAPE)  # the click before met another key
            self.click("q Quit")
            try:
                wait_until(lambda: ended() is not None, 5)
            except AssertionError:
                continue
        assert ended() == 0

    def wheel(self, text: str, *, down: bool, times: int = 3) -> None:
        """Turn the wheel over a text."""
        self.terminal.type((_DOWN if down else _UP).format(*self._place(text, None)) * times)

    def _place(self, text: str, row: int | None) -> tuple[int, int]:
        self.see(text)
        row = self.row_of(text) if row is None else row
        line = self.terminal.lines[row]
        # pyte gives a wide character one place in the text of its row; nothing wide stands before what tests click on.
        return line.index(text) + len(text) // 2 + 1, row + 1


def _row(text: str, parts: tuple[str, ...]) -> str | None:
    return next((line for line in text.split("\n") if all(part in line for part in parts)), None)
