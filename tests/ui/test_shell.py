"""The shell: panes, keys, overlays, themes, leaving; with panes that need nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, Static

from mswb.findings import Where, make
from mswb.ui import messages
from mswb.ui.commands import place
from mswb.ui.glyphs import glyph
from mswb.ui.screens.drawer import DrawerScreen
from mswb.ui.screens.findings import FindingsScreen
from mswb.ui.screens.help import HelpScreen, help_text
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.tabbar import TabBar
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_panes(monkeypatch)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_first_frame_and_panes(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        assert "this is pane-launch" in screen_text(app)
        assert app.main.pane("cache") is None  # composed only when it is shown
        for key, name in (("2", "cache"), ("3", "profile"), ("4", "convert"), ("1", "launch")):
            app.set_focus(None)
            await pilot.press(key)
            await until(pilot, lambda name=name: app.main.front == name)
            assert f"this is pane-{name}" in screen_text(app)
        assert app.main.pane("launch").told == ["shown", "hidden", "shown"]  # type: ignore[union-attr]


async def test_focus_stays_with_its_pane(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        assert app.focused is not None and app.focused.id == "pane-launch-input"
        await pilot.press("tab")
        assert app.focused.id == "pane-launch-other"
        await pilot.press("1", "2", "q")  # letters and numbers type
        assert app.query_one("#pane-launch-other", Input).value == "12q"
        await pilot.press("shift+tab")
        assert app.focused.id == "pane-launch-input"
        await pilot.press("tab")
        await app.main.show_pane("cache")
        await app.main.show_pane("launch")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "pane-launch-other")


async def test_tabs_by_mouse(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front == "launch")
        await pilot.click(TabBar, offset=(14, 0))
        await until(pilot, lambda: app.main.front == "cache")


async def test_keys_by_mouse(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)
        await pilot.pause()
        bar = app.main.query_one(KeyBar)
        where = bar.render().plain.index("J Jobs")
        await pilot.click(KeyBar, offset=(where, 0))
        await until(pilot, lambda: isinstance(app.screen, DrawerScreen))


async def test_help_lists_the_keys_of_here_and_filters(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "app.palette" in screen_text(app)
        await pilot.press("slash", *"suspend")
        await pilot.pause()
        shown = screen_text(app)
        assert "app.suspend" in shown and "app.jobs" not in shown
        await pilot.press("enter", "escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_help_scrolls_to_its_ends_and_names_what_every_list_does_last(tmp_path: Path) -> None:
    text = help_text(["table", "launch", "app"], {}, "").plain.splitlines()
    assert text.index("launch") < text.index("app") < text.index("table") < text.index("ask")
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        scroll = app.screen.query_one(VerticalScroll)
        await until(pilot, lambda: scroll.max_scroll_y > 0)
        await pilot.press("G")
        await until(pilot, lambda: scroll.scroll_y == scroll.max_scroll_y)
        await pilot.press("g")
        await until(pilot, lambda: scroll.scroll_y == 0)


async def test_the_palette_begins_with_what_is_special_to_the_pane() -> None:
    def binding(name: str, show: bool = False) -> Binding:
        return Binding("x", "x", id=name, show=show)

    names = [binding("table.down"), binding("app.jobs", True), binding("launch.curves"), binding("launch.new", True)]
    names += [binding("", True), binding("app.help")]
    ordered = [one.id for one in sorted(names, key=place)]
    assert ordered == ["launch.new", "launch.curves", "app.jobs", "app.help", "", "table.down"]


async def test_a_key_of_the_users(tmp_path: Path) -> None:
    app = workbench(tmp_path, '[keys]\n"app.jobs" = "g"\n"app.nothing" = "x"\n')
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        await until(pilot, lambda: any("app.nothing" in note.message for note in app._notifications))
        app.set_focus(None)
        await pilot.press("J")
        assert app.screen is app.main
        await pilot.press("g")
        await until(pilot, lambda: isinstance(app.screen, DrawerScreen))


async def test_drawer_shows_cancels_and_explains(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)

        def endless(ticket: Any) -> None:
            ticket.report(1, 4, "files", "counting")
            while not ticket.wait(0.01):
                pass

        def broken(ticket: Any) -> None:
            raise ValueError("nobody knows")

        task = app.context.tasks.start("Endless work", endless, lambda done: None)
        app.context.tasks.start("Broken work", broken, lambda done: None)
        await until(pilot, lambda: app.context.tasks.running == 1)
        await pilot.pause()
        assert "1 at work" in screen_text(app)
        await pilot.press("J")
        await until(pilot, lambda: "Endless work" in screen_text(app))
        assert "25%" in screen_text(app) and "counting" in screen_text(app)
        assert "nobody knows" in screen_text(app)
        await until(pilot, lambda: f"{glyph('cursor')} {glyph('error')}" in screen_text(app))
        await pilot.press("j")
        await until(pilot, lambda: f"{glyph('cursor')} {glyph('running')}" in screen_text(app))
        assert f"{glyph('cursor')} {glyph('error')}" not in screen_text(app)
        await pilot.press("k", "enter")  # the newest first: the broken one
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        await pilot.press("escape", "j", "x")
        await until(pilot, lambda: task.state == "cancelled")
        await pilot.press("enter")  # a task without an error tells its whole line
        await until(pilot, lambda: any("Endless work" in note.message for note in app._notifications))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)


async def test_findings_view(tmp_path: Path) -> None:
    findings = [
        make("killed-by-signal", where=Where(file="/logs/launch/worker_1.log", line=7), values={"signal": "SIGKILL"}),
        make("config-invalid", values={"name": "[bold]x[/bold]", "reason": "\x1b[31mred"}),
    ]
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.post_message(messages.ShowFindings(findings, "Two things"))
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        assert "Two things" in screen_text(app) and "worker_1.log:7" in screen_text(app)
        await pilot.press("j")
        await pilot.pause()
        assert "[bold]x[/bold]" in screen_text(app) and "\x1b" not in screen_text(app)
        await pilot.press("o")  # it names no file
        assert isinstance(app.screen, FindingsScreen)
        await pilot.press("G", "g", "k", "enter")
        assert not app.screen.query_one(OptionList).display
        await pilot.press("escape", "Y")
        await until(pilot, lambda: (tmp_path / "state" / "clip.txt").exists())
        assert "SIGKILL" in (tmp_path / "state" / "clip.txt").read_text()
        await pilot.press("o")
        await until(pilot, lambda: app.screen is app.main)
        pane: Any = app.main.pane("launch")
        await until(pilot, lambda: findings[0].where in pane.told)


async def test_open_path_goes_to_the_pane_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mswb.flows.open_path.kind_of", lambda path: "model", raising=False)
    app = workbench(tmp_path, target=tmp_path / "some.onnx")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front == "convert")
        app.post_message(messages.OpenPath(tmp_path / "unknown.bin"))
        await until(pilot, lambda: any("unknown.bin" in note.message for note in app._notifications))
        app.post_message(messages.OpenPlace(Where(file="nowhere")))
        await until(pilot, lambda: any("nowhere" in note.message for note in app._notifications))


async def test_themes_by_key_and_from_palette(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        assert app.theme == "dark"
        assert set(app.theme_names) >= {"dark", "light", "high-contrast", "colour-blind", "ansi16"}
        app.set_focus(None)
        await pilot.press("ctrl+t")
        assert app.theme == "high-contrast"
        await pilot.press("colon", *"theme light")
        await until(pilot, lambda: "Theme: light" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.theme == "light")


async def test_a_bad_theme_costs_one_message_and_is_read_again(tmp_path: Path) -> None:
    app = workbench(tmp_path, "theme = 'mine'")
    mine = tmp_path / "config" / "themes" / "mine.toml"
    mine.parent.mkdir()
    mine.write_text("primary = 'no colour'")
    app = workbench(tmp_path, "theme = 'mine'")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        assert app.theme == "dark"
        assert sum("mine.toml" in note.message for note in app._notifications) == 1
        for colour in ("#123456", "#0000ff"):
            mine.write_text(f"primary = '{colour}'")
            app.reload_themes()
            app.choose_theme("mine")
            await until(pilot, lambda colour=colour: app.theme_variables["primary"].lower() == colour)


async def test_explain_a_code_from_the_palette(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)
        await pilot.press("ctrl+p", *"Explain: port-in-use")
        await until(pilot, lambda: "Explain: port-in-use" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, FindingsScreen))
        assert "port-in-use" in app.screen.query_one("#findings-title", Static).render().plain  # type: ignore[union-attr]


async def test_leaving_keeps_the_pane(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        await app.main.show_pane("profile")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "pane-profile-input")
        app.set_focus(None)
        await pilot.press("q")
    assert app.return_code == 0
    kept = json.loads((tmp_path / "state" / "workbench.json").read_text())
    assert kept["panes"] == {str(tmp_path / "project"): "profile"}
    again = workbench(tmp_path)
    async with again.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: again.main.front == "profile")


async def test_ctrl_c_twice(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.focused is not None)
        app.set_focus(None)
        await pilot.press("ctrl+c")
        assert app.is_running and "again to quit" in [*app._notifications][-1].message
        await pilot.press("ctrl+c")
    assert app.return_code == 0
