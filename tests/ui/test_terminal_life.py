"""The real program in a terminal: what it draws on, what it refuses, and how it ends when the terminal goes."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import Terminal
from tests.waiting import wait_until

MSWB = [sys.executable, "-m", "mswb"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM", "LC_ALL")}
    (tmp_path / "project").mkdir()
    return kept | {
        "MSWB_STATE_DIR": str(tmp_path / "state"),
        "MSWB_CONFIG": str(tmp_path / "config.toml"),
        "MSWB_PYTHON": sys.executable,
        "MSWB_LANG": "en",
        "LANG": "en_US.UTF-8",
        "TERM": "xterm-256color",
    }


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    return tmp_path / "project"


@pytest.fixture
def terminal(env: dict[str, str], project: Path) -> Iterator[Terminal]:
    with Terminal(MSWB, env=env, cwd=project) as opened:
        opened.wait_for("1 Launch")
        yield opened


def test_mswb_alone_opens_the_workbench_and_q_leaves_a_clean_terminal(terminal: Terminal) -> None:
    terminal.wait_for("ms 2.10")
    terminal.wait_for("mem ")
    terminal.wait_for("q Quit")
    terminal.type("q")
    assert terminal.process.wait(20) == 0
    end = bytes(terminal.received)
    for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l"):  # main screen, cursor, mouse as before
        assert sequence in end


@pytest.mark.parametrize("ignored", [False, True], ids=["SIGHUP as usual", "SIGHUP ignored"])
def test_it_ends_when_the_terminal_goes(env: dict[str, str], project: Path, tmp_path: Path, ignored: bool) -> None:
    command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *MSWB] if ignored else MSWB
    with Terminal(command, env=env, cwd=project) as terminal:
        terminal.wait_for("q Quit")
        terminal.close()
        assert terminal.process.wait(20) == 0
    assert (tmp_path / "state" / "workbench.json").exists()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_it_well(terminal: Terminal, tmp_path: Path, number: int) -> None:
    terminal.wait_for("q Quit")
    terminal.process.send_signal(number)
    assert terminal.process.wait(20) == 0
    assert b"\x1b[?1049l" in terminal.received
    assert (tmp_path / "state" / "workbench.json").exists()


def test_ctrl_z_suspends_and_fg_draws_again(terminal: Terminal) -> None:
    terminal.wait_for("q Quit")
    terminal.type("\x1a")

    def state() -> str:
        return Path(f"/proc/{terminal.process.pid}/stat").read_text().rpartition(")")[2].split()[0]

    wait_until(lambda: state() == "T")
    before = len(terminal.received)
    terminal.process.send_signal(signal.SIGCONT)
    wait_until(lambda: b"\x1b[?1049h" in terminal.received[before:])
    terminal.wait_for("q Quit")
    terminal.type("q")
    assert terminal.process.wait(20) == 0


def test_a_dumb_terminal_is_refused_with_a_way_on(env: dict[str, str], project: Path) -> None:
    with Terminal([*MSWB, "ui"], env=env | {"TERM": "dumb"}, cwd=project) as terminal:
        assert terminal.process.wait(20) == 2
        shown = " ".join(terminal.wait_for("TERM is dumb").split())
        assert "mswb logs latest -f" in shown and "\x1b" not in bytes(terminal.received).decode()


def test_an_unknown_theme_is_refused_by_name(env: dict[str, str], project: Path) -> None:
    with Terminal([*MSWB, "ui", "--theme", "pink"], env=env, cwd=project) as terminal:
        assert terminal.process.wait(20) == 2
        assert "colour-blind" in " ".join(terminal.wait_for("no theme named pink").split())


def test_lang_c_gets_nothing_but_ascii(env: dict[str, str], project: Path) -> None:
    with Terminal(MSWB, env=env | {"LANG": "C"}, cwd=project) as terminal:
        terminal.wait_for("q Quit")
        terminal.type("?")
        terminal.wait_for("launch.new")
        assert bytes(terminal.received).isascii()


def test_no_color_sends_no_hue(env: dict[str, str], project: Path) -> None:
    with Terminal(MSWB, env=env | {"NO_COLOR": "1", "COLORTERM": "truecolor"}, cwd=project) as terminal:
        terminal.wait_for("q Quit")
        colours = re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", bytes(terminal.received))
        assert all(red == green == blue for red, green, blue in colours)


def test_sixteen_colours(env: dict[str, str], project: Path) -> None:
    with Terminal([*MSWB, "ui", "--theme", "ansi16"], env=env | {"TERM": "xterm"}, cwd=project) as terminal:
        terminal.wait_for("q Quit")
        assert not re.search(rb"[34]8;[25];", bytes(terminal.received))


SCREENS = {
    "M": ("Machine  ", " memory ", " cores "),
    "J": ("Jobs ", "esc Close"),
    "?": ("Help", "launch.new"),
    ":": ("Search for commands", "launch.new"),
    "n": ("New launch in", "its arguments"),
}


@pytest.mark.parametrize("key", SCREENS)
def test_every_screen_draws_on_a_real_terminal(terminal: Terminal, key: str) -> None:
    terminal.wait_for("q Quit")
    terminal.type(key)
    terminal.wait_for(lambda text: all(words in text for words in SCREENS[key]))


def test_resizing_again_and_again(terminal: Terminal) -> None:
    terminal.wait_for("q Quit")
    for size in ((200, 50), (80, 24), (60, 15), (120, 40), (20, 5), (160, 45), (80, 24)) * 3:
        terminal.resize(*size)
    terminal.wait_for(lambda text: "1 Launch" in text and "q Quit" in text)
    terminal.type("q")
    assert terminal.process.wait(20) == 0


def test_the_terminal_knows_its_size_better_than_the_environment(env: dict[str, str], project: Path) -> None:
    left_over = {"COLUMNS": "80", "LINES": "24"}
    with Terminal(MSWB, size=(132, 40), env=env | left_over, cwd=project) as terminal:
        terminal.wait_for(lambda text: "q Quit" in text.split("\n")[39])


BROKEN_PANE = """
import sys
from types import ModuleType
from mswb.ui.panes import registry
from mswb.ui.panes.base import Pane
class Broken(Pane):
    def on_pane_shown(self):
        password = "hunter2"
        raise ValueError("nobody knows")
module = ModuleType("broken")
module.Broken = Broken
sys.modules["broken"] = module
registry.PANES["launch"] = registry.PANES["launch"]._replace(target="broken:Broken")
from mswb.__main__ import main
main()
"""


def test_a_defect_ends_with_one_line_and_a_file(env: dict[str, str], project: Path, tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", BROKEN_PANE], env=env, cwd=project) as terminal:
        assert terminal.process.wait(20) == 70
        shown = terminal.wait_for("a defect ended the workbench")
        assert "nobody knows" in shown and "Traceback" not in shown
    trace = (tmp_path / "state" / "crash.txt").read_text()
    assert "on_pane_shown" in trace and "hunter2" not in trace.replace('password = "hunter2"', "")


@pytest.mark.parametrize("answers", [True, False])
def test_terminals_that_answer_and_those_that_do_not(env: dict[str, str], project: Path, answers: bool) -> None:
    with Terminal(MSWB, env=env, cwd=project, answers=answers) as terminal:
        terminal.wait_for("q Quit")
        terminal.type("?")
        terminal.wait_for("launch.new")
        terminal.type("\x1b")
        terminal.wait_for(lambda text: "launch.new" not in text and "q Quit" in text)  # else it becomes Alt+J
        terminal.type("J")
        terminal.wait_for("Jobs ")
