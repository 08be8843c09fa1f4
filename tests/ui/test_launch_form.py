"""The launch form: fields and command line as one, every flag by keys, what would start, and the start itself."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from mswb.jobs.runs import Run, find_run
from mswb.launch import form, presets
from mswb.launch.form import LINE, SCRIPT, SCRIPT_ARGUMENTS
from mswb.ui import keymap
from mswb.ui.messages import Copy
from mswb.ui.screens.ask import Ask
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.screens.help import HelpScreen
from mswb.ui.screens.launch_form.screen import LaunchForm, Preview
from mswb.ui.screens.launch_form.work import age
from mswb.ui.screens.pick import Pick
from mswb.ui.widgets.form.fields import Choice, Entry, FieldRow, Fold
from mswb.ui.widgets.form.starter import Starter
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench
from tests.waiting import wait_until

pytestmark = pytest.mark.asyncio
DIRECT = ("--worker_num", "1", "--backend", "direct", "train.py")


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_panes(monkeypatch)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "MS_SIMULATION_LEVEL", "RANK_TABLE_FILE", "GLOG_v"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter without MindSpore, whatever the tests run in."""
    program = tmp_path / "plain" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n')
    program.chmod(0o755)
    return program


class Session:
    """A form on the screen of a workbench, and what it said at its end."""

    def __init__(self, app: Any, pilot: Pilot[Any], folder: Path) -> None:
        self.app, self.pilot, self.folder = app, pilot, folder
        self.result: list[Run | None] = []
        self.copied: list[str] = []

    @property
    def form(self) -> LaunchForm:
        found = next(one for one in self.app.screen_stack if isinstance(one, LaunchForm))
        assert isinstance(found, LaunchForm)
        return found

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def line(self) -> str:
        return self.editor(LINE).value

    @property
    def focus(self) -> str:
        """The field in focus, or the name of the widget's class."""
        focused = self.form.focused
        row = focused.parent if focused is not None else None
        return row.field if isinstance(row, FieldRow) else type(focused).__name__

    @property
    def folder_state(self) -> Path:
        state: Path = self.app.context.settings.state_dir
        return state

    def editor(self, name: str) -> Entry | Choice:
        return self.form.query_one(f"#row-{name}", FieldRow).editor

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def write(self, name: str, text: str) -> None:
        """Put the focus into a field, empty it, type."""
        self.editor(name).focus()
        await self.press("end", "ctrl+u", *text)

    async def checked(self) -> None:
        await until(self.pilot, lambda: self.form.state.is_checked)
        await self.pilot.pause()

    async def until(self, condition: Any) -> None:
        await until(self.pilot, condition)


@asynccontextmanager
async def session(
    folder: Path,
    python: Path,
    arguments: Sequence[str] | None = None,
    size: tuple[int, int] = LARGE,
    **options: Any,
) -> AsyncIterator[Session]:
    app = workbench(folder, f'python = "{python}"\n', **options)
    project = app.context.folder
    if not (project / "train.py").exists():
        (project / "train.py").write_text("print('trained')\n")
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        made = Session(app, pilot, project)
        screen = LaunchForm(app.context, arguments)
        app.push_screen(screen, made.result.append)
        await until(pilot, lambda: len(screen.query(Fold)) == len(form.groups()))
        await until(pilot, lambda: all(fold.virtual_region.height for fold in screen.query(Fold)))
        yield made


def squeezed(text: str) -> str:
    """``text`` without spaces and line ends: long words are broken where a row ends."""
    return "".join(text.split())


# What is shown


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_command_checks_and_environment_are_shown(tmp_path: Path, python: Path, size: tuple[int, int]) -> None:
    async with session(tmp_path, python, [*DIRECT, "--lr", "a b"], size) as one:
        await one.checked()
        assert "Start" in one.text and "ready: 1 worker here, direct" in one.text
        shown = "\n".join(line.text for line in one.form.query_one(Preview).lines)
        assert squeezed(f"{python} train.py --lr 'a b'") in squeezed(shown)
        assert "RANK_ID=0" in shown and "PYTHONFAULTHANDLER" in shown and "needed by mswb" in shown
        assert "Checks" in one.text


async def test_the_real_command_of_msrun_is_shown(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "--log_dir", "logs", "train.py"]) as one:
        await one.checked()
        shown = " ".join(line.text for line in one.form.query_one(Preview).lines)
        assert squeezed(f"{python} -m mindspore.parallel.cluster.run --worker_num=2") in squeezed(shown)
        assert f"--log_dir={one.folder}/logs/RUN" in squeezed(shown)


async def test_findings_open_with_enter_and_by_mouse(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "train.py"]) as one:
        await one.checked()
        await one.press("f6")
        preview = one.form.query_one(Preview)
        row = next(index for index, line in enumerate(preview.lines) if line.finding is not None)
        assert "ERROR" in preview.lines[row].text
        preview.move_to(row)
        await one.press("enter")
        assert isinstance(one.app.screen, FindingsScreen)
        await one.press("escape")
        await one.pilot.click(preview, offset=(4, row))
        await one.until(lambda: isinstance(one.app.screen, FindingsScreen) and "Why" in one.text)


async def test_what_files_and_environment_hold_is_only_text(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCCL_SOCKET_IFNAME", "\x1b]0;evil\x07[red]markup[/red]")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mswb.toml").write_text('[presets."[bold]x\\u001b[2J"]\nargs = ["[blink]t.py"]\n')
    async with session(tmp_path, python, DIRECT) as one:
        await one.checked()
        await one.press("ctrl+l")
        assert "[bold]x\\x1b[2J: '[blink]t.py'" in one.text and "\x1b" not in one.text
        await one.press("escape", "f6", "G")
        shown = "\n".join(line.text for line in one.form.query_one(Preview).lines)
        assert "\\x1b]0;evil\\x07[red]markup[/red]" in shown and "\x1b" not in shown


async def test_chinese_words(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = workbench(tmp_path, f'python = "{python}"\nlang = "zh"\n')
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        screen = LaunchForm(app.context, ["训练.py"])
        app.push_screen(screen)
        await until(pilot, lambda: screen.state.checked is not None and screen.is_current)
        await pilot.pause()
        assert "没有这个脚本" in screen_text(app) and "新的启动" in screen_text(app)
        screen.query_one("#row-worker_num", FieldRow).editor.focus()
        await pilot.pause()
        assert "worker 总数" in screen_text(app)
    from mswb.findings import choose_language

    choose_language("")


# Two views of one launch


async def test_a_look_that_comes_between_two_keys_moves_nothing(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        await one.write(SCRIPT, "tra")
        entry = one.editor(SCRIPT)
        assert isinstance(entry, Entry)
        entry.insert_text_at_cursor("i")
        one.form.changed()  # before the form has heard of the last key
        entry.insert_text_at_cursor("n.py")
        await one.pilot.pause()
        assert (entry.value, entry.cursor_position, one.line) == ("train.py", 8, "train.py")


async def test_fields_write_the_line(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        await one.write(SCRIPT, "train.py")
        await one.write(SCRIPT_ARGUMENTS, "--lr 0.1 'a b'")
        await one.write("worker_num", "4")
        await one.write("env", "A=1 B='2 3'")
        one.editor("backend").focus()
        await one.press("right")
        assert one.line == "--worker_num 4 --backend direct --env A=1 --env 'B=2 3' train.py --lr 0.1 'a b'"
        assert one.editor("env").value == "A=1 B='2 3'"  # as it was typed
        await one.write("worker_num", "")
        assert "--worker_num" not in one.line


async def test_the_line_writes_the_fields(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        await one.write(LINE, "--worker_num 2 --backend direct --log_level=3 --detach train.py -v 'x y'")
        assert one.editor("worker_num").value == "2"
        assert one.editor("backend").value == "direct"
        assert (one.editor(SCRIPT).value, one.editor(SCRIPT_ARGUMENTS).value) == ("train.py", "-v 'x y'")
        one.form.query_one("#fold-start", Fold).is_open = True
        await one.until(lambda: one.form.query("#row-detach"))
        assert one.editor("detach").value == "true"
        assert one.line == "--worker_num 2 --backend direct --log_level=3 --detach train.py -v 'x y'"
        one.editor("detach").focus()
        await one.press("space")
        assert one.form.state.arguments == (
            "--worker_num", "2", "--log_level", "3", "--backend", "direct", "train.py", "-v", "x y",
        )  # fmt: skip


async def test_a_pasted_control_character_never_gets_in(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        one.editor(SCRIPT).focus()
        one.editor(SCRIPT).value = "a\x1b]52;c;eA==\x07\tb"
        await one.pilot.pause()
        assert one.editor(SCRIPT).value == "a]52;c;eA== b"


# Errors


@pytest.mark.parametrize(
    "name, text, sentence",
    [
        ("worker_num", "two", "takes a whole number, not 'two'"),
        ("worker_num", "0", "must be 1 or more"),
        ("local_worker_num", "9", "is more than --worker_num"),
        ("env", "A", "takes NAME=VALUE"),
        ("env", "'A=1", "a quote is opened"),
        (SCRIPT, "tran.py", "no such script"),
        ("log_dir", "train.py", "is not a folder"),
    ],
)
async def test_one_sentence_beside_the_field(name: str, text: str, sentence: str, tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "train.py"], SMALL) as one:
        await one.checked()
        await one.write(name, text)
        await one.until(lambda: name in one.form.state.problems())
        await one.pilot.pause()
        row = next(line for line in one.text.splitlines() if line.startswith("  ✖"))
        assert sentence in row
        assert sentence in one.form.query_one(Starter).sentence
        one.form.query_one(Starter).focus()
        await one.press("enter")
        assert one.focus == name and not one.form.state.starting  # the way back to what is wrong


async def test_a_script_that_is_not_there_yet_is_no_error(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, [], SMALL) as one:
        assert "no script to start yet" in one.text and "✖" not in one.text
        one.editor("backend").focus()
        await one.press("ctrl+r")
        assert one.focus == SCRIPT and not one.form.state.starting


async def test_a_wrong_line_starts_nothing(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.checked()
        await one.write(LINE, "--worker_num 2 --nope 3 train.py")
        assert "there is no flag --nope" in one.form.query_one(Starter).sentence
        assert one.editor("worker_num").value == "2"  # as far as it was one
        await one.press("ctrl+r")
        assert one.focus == LINE and not one.form.state.starting
        await one.write(SCRIPT, "train.py")
        assert one.line == "--worker_num 2 train.py"


async def test_a_blocked_launch_does_not_start_and_says_why(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "train.py"]) as one:
        await one.checked()
        assert "1 error in the way" in one.form.query_one(Starter).sentence
        await one.press("ctrl+r")
        await one.until(lambda: isinstance(one.app.screen, FindingsScreen) and "Why" in one.text)
        assert not one.result and not (tmp_path / "state" / "runs").exists()


async def test_what_blocks_only_at_the_start_is_said_too(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "train.py"]) as one:
        await one.press("ctrl+r")  # before this host was looked at
        await one.until(lambda: isinstance(one.app.screen, FindingsScreen) and "Why" in one.text)
        assert not one.form.state.starting and not one.result


async def test_skip_check_starts_all_the_same(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "--skip_check", "train.py"]) as one:
        await one.checked()
        assert "ready" in one.form.query_one(Starter).sentence and "error" not in one.form.query_one(Starter).sentence
        assert "ERROR" in "".join(line.text for line in one.form.query_one(Preview).lines)


async def test_read_only_starts_nothing(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, read_only=True) as one:
        await one.checked()
        await one.press("ctrl+r")
        assert "read-only" in one.form.query_one(Starter).sentence
        assert not one.form.state.starting and not (tmp_path / "state" / "runs").exists()
        await one.press("ctrl+n")
        assert not isinstance(one.app.screen, Ask)


async def test_read_only_deletes_nothing(tmp_path: Path, python: Path) -> None:
    (tmp_path / "project").mkdir()
    presets.save_preset(tmp_path / "state", tmp_path / "project", "kept", DIRECT)
    async with session(tmp_path, python, DIRECT, read_only=True) as one:
        await one.until(lambda: one.form.state.launches.presets)
        await one.press("ctrl+l", "d")
        assert isinstance(one.app.screen, Pick)


# The start


@pytest.mark.parametrize("how", ["key", "enter", "mouse"])
async def test_a_start_gives_the_run(how: str, tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.checked()
        if how == "key":
            await one.press("ctrl+r")
        elif how == "enter":
            one.form.query_one(Starter).focus()
            await one.press("enter")
        else:
            await one.pilot.click(Starter)
        await one.until(lambda: one.result)
        run = one.result[0]
        assert run is not None
        wait_until(lambda: (status := run.reload().status) is not None and status.state == "ended")
        status = find_run(one.app.context.settings, run.id).status
        assert status is not None and status.exit_code == 0
        assert (one.folder / "ms_run_log" / run.id / "worker_0.log").read_text() == "trained\n"
        assert [kept.arguments for kept in presets.load(one.folder_state, one.folder).history] == [DIRECT]


async def test_a_start_that_fails_is_said_and_the_form_stays(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mswb.findings import stop

    def fail(*arguments: Any) -> None:
        raise stop("path-unwritable", values={"path": "/logs", "reason": "disk full"})

    monkeypatch.setattr("mswb.flows.run.start", fail)
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("ctrl+r")
        await one.until(lambda: "disk full" in one.text)
        assert isinstance(one.app.screen, FindingsScreen)
        await one.press("escape")
        assert not one.form.state.starting and not one.result


async def test_leaving_while_it_starts_leaves_the_run(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from mswb.flows import run as flow

    go, begin = threading.Event(), flow.start

    def slow(*arguments: Any) -> Run:
        assert go.wait(20)
        return begin(*arguments)

    monkeypatch.setattr(flow, "start", slow)
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("ctrl+r")
        await one.until(lambda: one.form.state.starting)
        await one.press("ctrl+r")  # a second press is no second run
        await one.press("escape")
        await one.until(lambda: one.result == [None])
        go.set()
        await one.until(lambda: one.app.context.tasks.running == 0)
        assert len(list((tmp_path / "state" / "runs").iterdir())) == 1
        wait_until(lambda: not find_live(one.app))


def find_live(app: Any) -> bool:
    from mswb.jobs.runs import is_live, list_runs

    return any(is_live(run) for run in list_runs(app.context.settings))


# All flags


async def test_every_flag_is_reached_by_keys(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, SMALL) as one:
        reached = []
        one.editor(LINE).focus()
        await one.press("tab")
        while one.focus != "Preview":
            reached.append(one.focus)
            if one.focus == "Fold":
                await one.press("right")
                await one.pilot.pause()
            elif one.focus in form.fields():
                assert f"--{one.focus}" in one.text  # its help
            assert one.form.focused is not None and one.form.focused.region.y < SMALL[1] - 4
            await one.press("down")
        assert {name for name in reached if name in form.fields()} == set(form.fields())


async def test_groups_open_and_close(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, SMALL) as one:
        fold = one.form.query_one("#fold-logs", Fold)
        assert not one.form.query("#row-trace_kernels")  # made when it is first wanted
        fold.focus()
        for key, is_open in (
            ("enter", True),
            ("space", False),
            ("right", True),
            ("left", False),
            ("l", True),
            ("h", False),
        ):
            await one.press(key)
            await one.until(lambda: one.form.query("#row-trace_kernels"))
            await one.pilot.pause()
            assert (fold.is_open, one.form.query_one("#row-trace_kernels").display) == (is_open, is_open)
        await one.pilot.click(fold)
        assert fold.is_open


async def test_the_filter_shows_what_it_matches_and_esc_clears_it(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        one.form.query_one("#fold-logs", Fold).focus()
        await one.press("slash")
        assert one.focus == "filter"
        await one.press(*"ssl")
        await one.until(lambda: one.form.query("#row-ssl_key_path"))
        await one.pilot.pause()
        shown = {row.field for row in one.form.query(FieldRow) if row.display}
        assert {"enable_ssl", "ssl_ca_path", "ssl_strict_host"} <= shown
        assert not shown & {"worker_num", "log_dir", "detach"}
        assert [fold.key for fold in one.form.query(Fold) if fold.display] == ["security"]
        await one.press("enter")
        assert one.focus == "enable_ssl"
        await one.press("escape")
        await one.pilot.pause()
        assert not one.result and one.form.query_one("#row-worker_num").display
        assert not one.form.query_one("#row-ssl_key_path").display


async def test_down_in_the_filter_goes_to_the_first_match(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, size=SMALL) as one:
        await one.press("ctrl+g", *"ssl_key")
        await one.until(lambda: one.form.query("#row-ssl_key_path"))
        await one.pilot.pause()
        await one.press("down", "x")
        assert one.focus == "ssl_key_path"
        assert one.editor("ssl_key_path").value == "x"


async def test_down_in_an_empty_filter_goes_on(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("ctrl+g", "down")
        assert one.focus == "Fold"


async def test_the_default_of_local_workers_follows_the_workers(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--worker_num", "2", "--backend", "direct", "train.py"]) as one:
        await one.checked()
        local = one.editor("local_worker_num")
        assert isinstance(local, Entry)
        assert local.placeholder == "2"
        local.focus()
        await one.until(lambda: "Empty: 2." in one.text)
        await one.write("worker_num", "3")
        await one.checked()
        assert local.placeholder == "3"


async def test_a_long_line_is_seen_from_its_beginning_with_a_mark(tmp_path: Path, python: Path) -> None:
    words = "--worker_num 2 --local_worker_num 2 --backend direct train.py --epochs 2 --steps 30"
    async with session(tmp_path, python, words.split(), size=SMALL) as one:
        row = next(row for row in one.text.split("\n") if "mswb run" in row)
        assert row.split("mswb run")[1].lstrip().startswith("--worker_num 2 --local_worker_num 2")
        assert row.rstrip().endswith("…")
        one.editor(LINE).focus()
        await one.press("end")
        row = next(row for row in one.text.split("\n") if "mswb run" in row)
        assert row.rstrip().endswith("--steps 30")
        assert row.split("mswb run")[1].lstrip().startswith("…")
        await one.press("tab")
        row = next(row for row in one.text.split("\n") if "mswb run" in row)
        assert row.split("mswb run")[1].lstrip().startswith("--worker_num 2")
        await one.write(SCRIPT_ARGUMENTS, "")
        await one.write("local_worker_num", "")
        row = next(row for row in one.text.split("\n") if "mswb run" in row)
        assert row.rstrip().endswith("--worker_num 2 --backend direct train.py")


async def test_a_refused_flag_in_a_closed_group_is_shown(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["--node_rank", "-4", "--worker_num", "2", "train.py"]) as one:
        await one.until(lambda: "node_rank" in one.form.state.problems())
        await one.press("ctrl+r")
        await one.until(lambda: one.focus == "node_rank")
        assert "must be 0 or more" in one.text


# Choices


async def test_choices_by_keys_and_mouse(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, ["train.py"]) as one:
        choice = one.editor("log_level")
        choice.focus()
        for key, value in (
            ("right", "DEBUG"), ("space", "INFO"), ("enter", "WARNING"), ("l", "ERROR"), ("left", "WARNING"),
            ("h", "INFO"), ("c", "CRITICAL"), ("right", ""), ("left", "CRITICAL"),
        ):  # fmt: skip
            await one.press(key)
            assert choice.value == value
        await one.pilot.click(choice, offset=(5, 0))
        assert choice.value == "" and "as GLOG_v is" in one.text
        await one.pilot.click(choice, offset=(0, 0))
        assert choice.value == "CRITICAL"
        assert one.line == "--log_level CRITICAL train.py"


# Presets and history


def keep(folder: Path, *launches: Sequence[str]) -> None:
    (folder / "project").mkdir(exist_ok=True)
    for when, argv in enumerate(launches):
        presets.remember(folder / "state", folder / "project", argv, 1000.0 + when)


async def test_the_form_begins_with_the_last_launch(tmp_path: Path, python: Path) -> None:
    keep(tmp_path, ["older.py"], DIRECT)
    async with session(tmp_path, python) as one:
        await one.until(lambda: one.line)
        assert one.line == shlex.join(DIRECT)
        await one.press("escape")  # nothing was changed, so nothing is asked
        assert one.result == [None]


async def test_up_and_down_recall_launches(tmp_path: Path, python: Path) -> None:
    keep(tmp_path, ["a.py"], ["b.py"])
    async with session(tmp_path, python, []) as one:
        await one.until(lambda: one.form.state.launches.history)
        await one.write(LINE, "c.py")
        for key, line in (
            ("up", "b.py"),
            ("up", "a.py"),
            ("up", "a.py"),
            ("down", "b.py"),
            ("down", "c.py"),
            ("down", "c.py"),
        ):
            await one.press(key)
            assert one.line == line
        assert one.focus == LINE


async def test_a_preset_is_saved_taken_and_deleted(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("ctrl+n")
        assert isinstance(one.app.screen, Ask)
        await one.press(*"[my] one", "enter")
        await one.until(lambda: one.form.state.launches.presets)
        assert "[my] one" in one.text
        await one.write("worker_num", "7")
        await one.press("ctrl+l")
        await one.until(lambda: isinstance(one.app.screen, Pick))
        assert "preset" in one.text and "[my] one: --worker_num 1" in one.text
        await one.press("enter")
        assert one.line == shlex.join(DIRECT)
        await one.press("ctrl+n")
        assert "replaces the preset" in one.text
        await one.press("escape", "ctrl+l", "d")
        await one.until(lambda: not one.form.state.launches.presets)
        assert not presets.load(one.folder_state, one.folder).presets


async def test_a_bad_name_is_said(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("ctrl+n", "space", "enter")
        await one.until(lambda: any("cannot be the name" in note.message for note in one.app._notifications))


async def test_a_preset_of_the_project_keeps_the_script_and_stays(tmp_path: Path, python: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mswb.toml").write_text('[presets.eight]\nargs = ["--worker_num", "8"]\n')
    async with session(tmp_path, python, DIRECT) as one:
        await one.until(lambda: one.form.state.launches.presets)
        await one.press("ctrl+l", "d")
        assert isinstance(one.app.screen, Pick)  # nothing to delete here
        await one.press("enter")
        assert one.line == "--worker_num 8 train.py"
        assert "eight" in one.text


async def test_secrets_are_asked_for_again(tmp_path: Path, python: Path) -> None:
    keep(tmp_path, ["--env", "HF_TOKEN=abc", *DIRECT])
    async with session(tmp_path, python) as one:
        await one.checked()
        assert "set HF_TOKEN again" in one.form.query_one(Starter).sentence
        await one.write("env", "HF_TOKEN=x")
        await one.checked()
        assert "ready" in one.form.query_one(Starter).sentence


async def test_what_cannot_be_shown_is_not_taken(tmp_path: Path, python: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mswb.toml").write_text('[presets.evil]\nargs = ["t.py", "\\u001b[2J"]\n')
    async with session(tmp_path, python, DIRECT) as one:
        await one.until(lambda: one.form.state.launches.presets)
        await one.press("ctrl+l", "enter")
        assert one.line == shlex.join(DIRECT)
        assert any("control characters" in note.message for note in one.app._notifications)


async def test_a_broken_project_file_is_said_once(tmp_path: Path, python: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mswb.toml").write_text("[presets\n")
    async with session(tmp_path, python, DIRECT) as one:
        await one.until(lambda: any("mswb.toml" in note.message for note in one.app._notifications))


async def test_nothing_to_pick_is_said(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        await one.press("ctrl+l")
        assert isinstance(one.app.screen, LaunchForm)
        assert any("Nothing yet" in note.message for note in one.app._notifications)


@pytest.mark.parametrize("seconds, words", [(-5, "now"), (59, "now"), (61, "1 min"), (7300, "2 h"), (200_000, "2 d")])
async def test_ages_have_one_number(seconds: float, words: str) -> None:
    assert age(seconds) == words


async def test_the_list_of_launches_by_keys(tmp_path: Path, python: Path) -> None:
    keep(tmp_path, ["a.py"], ["b.py"], ["c.py"])
    async with session(tmp_path, python, []) as one:
        await one.until(lambda: one.form.state.launches.history)
        for keys, line in (
            (("j", "enter"), "b.py"),
            (("G", "k", "enter"), "b.py"),
            (("G", "g", "enter"), "c.py"),
            (("G", "q"), "c.py"),
        ):
            await one.press("ctrl+l", *keys)
            assert one.line == line


# Paths and interpreters


async def test_tab_completes_the_script(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        (one.folder / "tune.py").touch()
        (one.folder / "tools").mkdir()
        one.editor(SCRIPT).focus()
        await one.press("tab")
        await one.until(lambda: "train.py  tune.py  tools/" in one.text)
        assert one.editor(SCRIPT).value == "t"
        await one.press("r", "tab")
        await one.until(lambda: one.editor(SCRIPT).value == "train.py")
        await one.press("tab")
        await one.until(lambda: one.focus == SCRIPT_ARGUMENTS)
        await one.press("shift+tab")
        assert one.focus == SCRIPT


async def test_tab_takes_the_only_script(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        (one.folder / "ms_run_log").mkdir()
        await one.press("tab")
        await one.until(lambda: one.editor(SCRIPT).value == "train.py")
        assert one.line == "train.py"


async def test_tab_goes_on_from_an_empty_path(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        one.editor("log_dir").focus()
        await one.press("tab")
        assert one.focus == "backend"


async def test_interpreters_are_offered(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        one.editor("python").focus()
        await one.press("ctrl+o")
        await one.until(lambda: isinstance(one.app.screen, Pick))
        await one.until(lambda: str(python) in one.text)
        assert "no MindSpore" in one.text
        await one.press("enter")
        assert one.editor("python").value == str(python)
        assert one.line.startswith(f"--backend direct --python {python}") or f"--python {python}" in one.line


async def test_scripts_are_offered(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, []) as one:
        one.editor(SCRIPT).focus()
        await one.press("ctrl+o")
        await one.until(lambda: isinstance(one.app.screen, Pick))
        await one.press("enter")
        assert one.editor(SCRIPT).value == "train.py"


# Moving and leaving


async def test_moving_between_fields(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        assert one.focus == SCRIPT
        for key, name in (
            ("down", SCRIPT_ARGUMENTS), ("enter", "worker_num"), ("tab", "local_worker_num"), ("up", "worker_num"),
            ("down", "local_worker_num"), ("down", "log_dir"), ("down", "backend"), ("j", "python"), ("up", "backend"),
            ("k", "log_dir"), ("down", "backend"), ("G", "filter"), ("up", "env"), ("up", "log_level"), ("g", LINE),
            ("enter", "Starter"), ("shift+tab", "Preview"), ("f6", "Preview"),
        ):  # fmt: skip
            await one.press(key)
            assert one.focus == name, key


async def test_into_the_preview_and_back(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, SMALL) as one:
        await one.checked()
        one.editor("backend").focus()
        await one.press("p")
        assert one.focus == "Preview" and one.form.query_one(Preview).size.height > 9
        await one.press("p")
        assert one.focus == "backend" and one.form.query_one(Preview).size.height == 7


async def test_pages(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT, SMALL) as one:
        fields = one.form.query_one("#form-fields")
        await one.press("pagedown")
        await one.until(lambda: fields.scroll_offset.y > 0)
        await one.press("pageup")
        await one.until(lambda: fields.scroll_offset.y == 0)


async def test_the_command_is_copied(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        copied: list[str] = []
        posted = one.app.post_message
        monkeypatch.setattr(
            one.app, "post_message", lambda m: (copied.append(m.text), True)[1] if isinstance(m, Copy) else posted(m)
        )
        await one.press("ctrl+y")
        one.editor("backend").focus()
        await one.press("y")
        await one.checked()
        await one.press("p", "ctrl+y")  # from the preview: what is really started
        assert copied == [*[f"mswb run {shlex.join(DIRECT)}"] * 2, f"{python} train.py"]


async def test_esc_leaves_and_warns_of_a_loss(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.write("worker_num", "3")
        await one.press("escape")
        assert not one.result
        assert any("Esc again" in note.message for note in one.app._notifications)
        await one.press("escape")
        assert one.result == [None]


async def test_q_types_in_a_field_and_leaves_elsewhere(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.write(SCRIPT_ARGUMENTS, "q?/pyjkgG")
        assert one.editor(SCRIPT_ARGUMENTS).value == "q?/pyjkgG"
        await one.write(SCRIPT_ARGUMENTS, "")
        one.editor("backend").focus()
        await one.press("q")
        assert one.result == [None]


async def test_help_lists_the_keys_of_the_form(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.press("f1")
        assert isinstance(one.app.screen, HelpScreen) and "form.start" in one.text
        await one.press("escape")
        one.editor("backend").focus()
        await one.press("question_mark")
        assert isinstance(one.app.screen, HelpScreen)


async def test_labels_take_a_click(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        await one.pilot.click("#row-log_dir", offset=(3, 0))
        assert one.focus == "log_dir"


async def test_nothing_blinks(tmp_path: Path, python: Path) -> None:
    async with session(tmp_path, python, DIRECT) as one:
        assert not any(entry.cursor_blink for entry in one.form.query(Input))


async def test_every_action_of_the_key_files_exists() -> None:
    owners = {
        "form": LaunchForm, "form_entry": Entry, "form_choice": Choice, "form_fold": Fold, "form_start": Starter,
        "pick": Pick, "ask": Ask,
    }  # fmt: skip
    for context, owner in owners.items():
        for key in keymap.keys_of(context):
            action = key.action.partition("(")[0]
            target: Any = App if action.startswith("app.") else owner
            name = action.removeprefix("app.")
            assert hasattr(target, f"action_{name}") or name == "keys", key.id
