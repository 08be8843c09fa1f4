"""The shell's parts that need no screen: key map, signs, pace, terminal, themes, clipboard, notification, session."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from mswb.findings import MswbError, Where, make
from mswb.settings import load_settings
from mswb.ui import clip, finding_text, glyphs, keymap, notify, session, terminal, themes
from mswb.ui.pace import LOST_S, PATIENCE_S, QUESTION, TRIES, Pace
from mswb.ui.services import copied_text
from mswb.ui.widgets.header import HeaderState, header_text

# -- key map


def test_every_key_file_is_complete_and_every_id_unique() -> None:
    keys = [key for context in keymap.contexts() for key in keymap.keys_of(context)]
    assert len({key.id for key in keys}) == len(keys) > 20
    for key in keys:
        assert key.keys and key.action and key.help and key.zh, key.id


@pytest.mark.parametrize("context", keymap.contexts())
def test_no_key_that_terminals_eat(context: str) -> None:
    """Flow control, tmux, screen, and the twins of Tab, Enter and Backspace; function keys only beside another."""
    for key in keymap.keys_of(context):
        names = key.keys.split(",")
        assert not {"ctrl+s", "ctrl+q", "ctrl+b", "ctrl+a", "ctrl+i", "ctrl+m", "ctrl+h"} & set(names), key.id
        assert not all(name.startswith(("f1", "f2", "f3", "alt+")) and name != "f" for name in names), key.id


def test_letters_are_never_taken_from_an_input() -> None:
    for context in keymap.contexts():
        for key in keymap.keys_of(context):
            if key.priority:
                assert all(len(name) > 1 for name in key.keys.split(",")), key.id


def test_overrides_name_what_they_can_not_use() -> None:
    usable, problems = keymap.overrides({"app.jobs": "g", "app.none": "x", "app.help": 5})
    assert usable == {"app.jobs": "g"}
    assert len(problems) == 2 and "app.none" in problems[0] and "app.help" in problems[1]


# -- signs


@pytest.fixture
def in_ascii() -> object:
    glyphs.set_ascii(True)
    yield
    glyphs.set_ascii(False)


def test_signs_of_ascii_are_ascii(in_ascii: object) -> None:
    assert all(glyphs.glyph(name).isascii() for name in ("error", "warning", "bar", "spark") if name != "spark")
    assert glyphs.spark([0.0, 0.5, None, 1.0], 0, 1).isascii()
    assert glyphs.bar(0.5, 10) == "#####....."


def test_unknown_values_are_gaps() -> None:
    assert glyphs.spark([None, 0.0, 1.0], 0, 1) == " ▁█"
    assert glyphs.spark([3.0, 3.0], 3, 3) == "▁▁"
    assert glyphs.bar(None, 4) == "░░░░"


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), max_size=40))
def test_a_sparkline_is_one_cell_a_value(values: list[float | None]) -> None:
    assert cell_len(glyphs.spark(values, -1e3, 1e3)) == len(values)


# -- pace


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def question(column: int) -> str:
    return QUESTION.format(column=column + 1)


def test_no_frame_before_the_terminal_took_the_last() -> None:
    clock = _Clock()
    pace = Pace(clock=clock)
    assert pace.ready()
    assert pace.frame() == question(1)
    assert not pace.ready()
    pace.answered(1)
    assert pace.ready()
    assert pace.frame() == question(2)


def test_a_terminal_that_never_answers_is_not_asked_for_ever() -> None:
    clock = _Clock()
    pace = Pace(clock=clock)
    asked = []
    for _ in range(TRIES + 2):
        assert pace.ready()
        asked.append(bool(pace.frame()))
        assert pace.ready() != asked[-1]
        clock.now += PATIENCE_S + 0.1
    assert asked == [True] * TRIES + [False] * 2


def test_a_late_answer_counts_for_its_own_frame() -> None:
    clock = _Clock()
    pace = Pace(clock=clock)
    pace.frame()
    clock.now = PATIENCE_S + 0.1
    assert pace.ready()
    pace.frame()
    pace.answered(1)
    assert not pace.ready(), "the second frame is still under way"
    pace.answered(2)
    assert pace.ready()


def test_a_terminal_that_was_stopped_gets_nothing_for_long() -> None:
    clock = _Clock()
    pace = Pace(clock=clock)
    pace.frame()
    pace.answered(1)
    pace.frame()
    clock.now = PATIENCE_S + 0.1
    assert not pace.ready()
    clock.now = LOST_S + 0.1
    assert pace.ready()
    assert pace.frame() == question(3)


def test_a_limit_of_bytes_a_second() -> None:
    clock = _Clock()
    pace = Pace(1000, clock=clock)
    pace.sent_bytes += 2000
    pace.frame()
    pace.answered(1)
    clock.now = 1.9
    assert not pace.ready()
    clock.now = 2.1
    assert pace.ready()


# -- terminal


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "zh_CN.utf8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # Python's own doing
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "zh_CN.GBK"}, True),
    ],
)
def test_ascii_by_locale(env: dict[str, str], expected: bool) -> None:
    assert terminal.wants_ascii(env) is expected


@given(st.text())
def test_to_ascii_keeps_the_width(text: str) -> None:
    shown = terminal.to_ascii(text)
    assert shown.isascii()
    assert sum(cell_len(char) for char in shown if char.isprintable()) == sum(
        cell_len(char) for char in text if char.isprintable() or not char.isascii()
    )


def test_unfit_terminals() -> None:
    assert terminal.unfit({"TERM": "xterm"}, [True, True, True]) is None
    for env, ttys in (({"TERM": "dumb"}, [True] * 3), ({}, [True] * 3), ({"TERM": "xterm"}, [True, False, True])):
        problem = terminal.unfit(env, ttys)
        assert problem is not None and problem.exit_code == 2 and "mswb" in str(problem)


# -- themes


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("primary = 'nocolour'", "primary"),
        ("primary = 5", "primary"),
        ("primary = '#123456'\nwhat = 1", "what"),
        ("primary = '#123456'\ndark = 'yes'", "dark"),
        ("primary = '#123456'\nluminosity_spread = 'much'", "luminosity_spread"),
        ("primary = '#123456'\n[variables]\nx = 1", "variables"),
        ("primary = '#123456", "Expected"),
        ("\xff", ""),
    ],
)
def test_a_bad_theme_is_named_and_costs_nothing_else(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "bad.toml").write_bytes(text.encode("latin-1"))
    loaded = themes.load_themes([*themes.folders(load_settings({"HOME": str(tmp_path)}))[:1], tmp_path])
    assert "bad" not in loaded.themes and {"dark", "light"} <= set(loaded.themes)
    (problem,) = loaded.problems
    assert "bad.toml" in problem.title and word in problem.title


def test_our_themes_have_enough_contrast() -> None:
    from textual.color import Color

    loaded = themes.load_themes(themes.folders(load_settings({"HOME": "/nonexistent"}))[:1])
    assert set(loaded.themes) == {"dark", "light", "high-contrast", "colour-blind", "ansi16"} and not loaded.problems
    for name, theme in loaded.themes.items():
        if theme.ansi:
            continue
        least = 7.0 if name == "high-contrast" else 4.5
        for field in ("foreground", "error", "warning", "success", "accent"):
            assert _contrast(Color.parse(getattr(theme, field)), Color.parse(theme.background or "")) >= least, field


def _contrast(one: object, other: object) -> float:
    """The contrast of WCAG 2.1: (lighter + 0.05) / (darker + 0.05) of relative luminances."""

    def luminance(colour: object) -> float:
        parts = [part / 255 for part in colour.rgb]  # type: ignore[attr-defined]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_theme_changes_are_seen(tmp_path: Path) -> None:
    changes: list[int] = []

    def changed() -> None:
        changes.append(1)

    def cancelled() -> bool:
        if not (tmp_path / "new.toml").exists():
            (tmp_path / "new.toml").write_text("primary = '#123456'")
        return bool(changes)

    themes.watch([tmp_path], changed, cancelled)
    assert changes == [1]


# -- clipboard, notification, session


@given(st.text(max_size=200))
def test_osc52_holds_the_text(text: str) -> None:
    sequence = clip.osc52(text)
    assert sequence is not None and sequence.isascii()
    encoded = sequence.removeprefix("\x1b]52;c;").removesuffix("\x07")
    assert base64.b64decode(encoded).decode("utf-8", "replace") == text.encode("utf-8", "replace").decode()


def test_what_is_too_long_goes_to_the_file_only(tmp_path: Path) -> None:
    assert clip.osc52("x" * 60_000) is None
    path = clip.keep(load_settings({"HOME": str(tmp_path)}), "x" * 60_000)
    assert path.stat().st_size == 60_000 and path.stat().st_mode & 0o777 == 0o600


def test_a_notification_can_not_be_broken_out_of() -> None:
    assert notify.osc9("end\x07\x1b]0;evil").count("\x1b") == 1


def test_the_users_command_gets_the_report(tmp_path: Path) -> None:
    target = tmp_path / "told"
    report = {"run": "r1", "verdict": "failed", "text": "错误"}
    notify.run_command(
        f'cat > {target}; echo "$MSWB_TITLE $MSWB_RUN $MSWB_VERDICT" >> {target}', report, os.environ, "T"
    )
    first, last = target.read_text().rsplit("}", 1)
    assert json.loads(first + "}") == report and last.strip() == "T r1 failed"


def test_a_command_that_fails_is_told() -> None:
    with pytest.raises(MswbError, match="exit code 3: no mail"):
        notify.run_command("echo no mail >&2; exit 3", {"verdict": "failed"}, os.environ, "T")


def test_sessions_are_kept_by_folder_and_bounded(tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path)})
    for number in range(session.FOLDERS + 5):
        session.save(settings, session.load(settings), Path(f"/p/{number}"), "cache")
    kept = session.load(settings)
    assert len(kept.panes) == session.FOLDERS and "/p/104" in kept.panes and "/p/4" not in kept.panes
    (settings.state_dir / session.FILE).write_text("{broken")
    assert session.load(settings).panes == {}


@pytest.mark.parametrize(
    ("what", "on_clipboard", "text"),
    [
        ("row", True, "Copied the row to the clipboard and to /s/clip.txt"),
        ("3 rows", True, "Copied 3 rows to the clipboard and to /s/clip.txt"),
        ("row", False, "Copied the row (too long for the clipboard) to /s/clip.txt"),
    ],
)
def test_what_is_said_of_a_copy(what: str, on_clipboard: bool, text: str) -> None:
    assert copied_text(what, "/s/clip.txt", on_clipboard) == text


# -- texts


def test_markdown_fences_what_would_break_out() -> None:
    finding = make("config-invalid", evidence="a\n```\nb", where=Where(file="x.log", line=3))
    text = finding_text.markdown(finding)
    assert "````\na\n```\nb\n````" in text and "x.log:3" in text


@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=40), st.integers(20, 200))
def test_the_header_is_as_wide_as_the_terminal(folder: str, python: str, counters: str, width: int) -> None:
    said = Text(counters.replace("\n", "").replace("\t", ""))
    state = HeaderState(folder.replace("\n", ""), python, python[:9], counters=said)
    assert header_text(state, width).cell_len <= width
