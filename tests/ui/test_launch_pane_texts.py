"""What the Launch pane says, without a screen: states, rows, banner, details, and which keys do something."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mswb.flows.runview import Failed
from mswb.flows.verdicts import Verdict
from mswb.jobs.spec import FirstFailure
from mswb.ui.panes.launch import speech
from mswb.ui.panes.launch import state as states
from mswb.ui.panes.launch.available import Here, available
from mswb.ui.panes.launch.diagnosis_text import details_lines
from mswb.ui.panes.launch.rows import age_words, first_failed, ordered, rank_arrays, run_arrays
from mswb.ui.panes.launch.state import Listing, OpenRun
from mswb.ui.panes.launch.timeline import timeline_lines
from mswb.ui.panes.launch.words import (
    SIGNS,
    banner_of,
    exit_text,
    list_title,
    span,
    state_colour,
    state_word,
    title_text,
    verdict_text,
)
from mswb.ui.widgets.lines import wrap
from tests.ui import launch_states as made

RANKS = ("rank", "state", "phase", "step", "loss", "errors", "exit")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0s"),
        (59.9, "59s"),
        (61, "1m01s"),
        (3661, "1h01m"),
        (90_000, "1d01h"),
        (-5, ""),
        (float("nan"), ""),
    ],
)
def test_spans_are_short(seconds: float | None, text: str) -> None:
    assert span(seconds) == text


def test_exit_codes_have_names() -> None:
    assert [exit_text(code) for code in (0, 1, -9, -200, None)] == [
        "exit code 0", "exit code 1", "ended by SIGKILL", "ended by signal 200", "exit code unknown",
    ]  # fmt: skip


def test_each_state_has_a_sign_a_word_and_the_colour_of_the_word() -> None:
    assert state_word("failed") == "✖ failed"
    assert state_colour("✖ failed") == "error"
    assert state_colour(state_word("a state of the future")) == "text-muted"


def test_title_says_state_script_and_progress() -> None:
    text = title_text(made.OPEN_RUNNING)
    for part in ("running", "train.py", "step 40/100", "loss 0.52", "350 ms/step", "ETA 21s", "1m30s"):
        assert part in text
    assert title_text(made.EMPTY) == ""
    assert "reading" in title_text(made.open_state(OpenRun(made.RUNNING.key)))
    assert "step" not in title_text(made.OPEN_COMPILING).replace("ms/step", "")


def test_title_of_an_ended_run_says_how_long_it_took() -> None:
    assert "took 1m20s" in title_text(made.OPEN_FAILED)
    assert "ETA" not in title_text(made.OPEN_FAILED)


@pytest.mark.parametrize(
    ("name", "words", "colour"),
    [
        ("failed", "rank 1 failed first: ", "error"),
        ("hang", "no progress", "warning"),
        ("lost", "lost: its supervisor died", "error"),
    ],
)
def test_banner_says_what_is_wrong(name: str, words: str, colour: str) -> None:
    banner = banner_of(made.STATES[name])
    assert banner is not None
    assert words in banner.text
    assert banner.colour == colour


@pytest.mark.parametrize("name", ["empty", "listed", "running", "compiling", "succeeded", "stopped", "foreign", "huge"])
def test_no_banner_while_all_is_well(name: str) -> None:
    assert banner_of(made.STATES[name]) is None


def test_the_first_failure_is_named_before_there_is_a_diagnosis() -> None:
    view = made.view((made.rank(0), made.rank(1)), first_failure=Failed("worker", 1, -9, made.NOW))
    run = OpenRun(made.RUNNING.key, view, diagnosing=True)
    banner = banner_of(made.open_state(run))
    assert banner is not None
    assert banner.text == "✖ rank 1 failed first: ended by SIGKILL"
    assert banner.hint.startswith("finding out")
    later = banner_of(made.open_state(replace(run, diagnosing=False)))
    assert later is not None
    assert later.hint == "D: why"


def test_silent_ranks_are_told_without_a_diagnosis() -> None:
    assert made.OPEN_HANG.open is not None
    banner = banner_of(made.open_state(replace(made.OPEN_HANG.open, diagnosis=None)))
    assert banner is not None
    assert banner.text == "▲ 4 ranks are silent for 1m02s"


@given(st.integers(20, 200))
def test_the_banner_says_why_before_it_names_keys(width: int) -> None:
    banner = banner_of(made.OPEN_FAILED)
    assert banner is not None
    row, text = banner.row(width), cell_len(banner.text)
    assert cell_len(row) == width
    assert (banner.text in row) == (text <= width)
    assert row.endswith(banner.hint) == (text + 2 + cell_len(banner.hint) <= width)
    assert row.endswith(("o: to the line", banner.hint)) == (text + 2 + len("o: to the line") <= width)


def test_rows_of_the_runs() -> None:
    arrays = run_arrays(replace(made.LISTED, results={made.FAILED.key: made.failed_diagnosis()}))
    assert arrays["state"] == [
        "▶ running", "✖ failed", "▶ foreign", "✓ succeeded", "■ stopped", "? lost", "· logs",
    ]  # fmt: skip
    assert arrays["verdict"][1].startswith("rank 1: the training script raised KeyError")
    assert arrays["verdict"][2] == "pids 4711 4712 4713, not started by mswb"
    assert arrays["age"][:2] == [60.0, 3660.0]
    assert {len(values) for values in arrays.values()} == {len(made.EVERY)}


def test_the_age_of_what_is_over_does_not_tick_each_second() -> None:
    ended = replace(made.SUCCEEDED, started=made.LISTED.listing.time - 30)
    lists = [
        replace(made.LISTED, listing=replace(made.LISTED.listing, runs=(ended,), time=made.LISTED.listing.time + later))
        for later in (0, 7, 29)
    ]
    assert {run_arrays(one)["age"][0] for one in lists} == {0.0}
    assert (age_words(0.0), age_words(7.0), age_words(120.0)) == ("<1m", "7s", "2m")


def test_hostile_names_are_escaped() -> None:
    evil = made.known("x\x1b]52;c;AAAA\x07", "failed", title="a\x1b[2J.py", cwd="/w\n[bold]")
    arrays = run_arrays(made.state(evil))
    assert "\x1b" not in "".join(str(value) for values in arrays.values() for value in values if value != evil.key)
    assert "\x1b" not in title_text(made.open_state(OpenRun(evil.key), evil)).replace(evil.key, "")


def test_ranks_worst_first_and_by_number() -> None:
    run = made.OPEN_FAILED.open
    assert run is not None
    assert [one.rank for one in ordered(run)] == [1, 0]
    assert [one.rank for one in ordered(replace(run, order="number"))] == [0, 1]
    arrays = rank_arrays(run)
    assert [[arrays[key][row] for key in RANKS] for row in (0, 1)] == [
        ["1", "✖ failed ◆1st", "", 41, 0.51, 7, 1],
        ["0", "■ killed", "", 40, 0.5, 2, -15],
    ]


def test_by_number_scheduler_and_launcher_come_last_and_ranks_count_as_numbers() -> None:
    ranks = (
        made.rank(0, role="launcher", rank=None),
        made.rank(0, role="scheduler", rank=None),
        made.rank(10),
        made.rank(9),
    )
    run = OpenRun("run:x", made.view(ranks), order="number")
    assert rank_arrays(run)["rank"] == [" 9", "10", "sched", "msrun"]


def test_the_first_failed_by_record_until_the_diagnosis_knows_better() -> None:
    assert made.OPEN_FAILED.open is not None
    run = replace(made.OPEN_FAILED.open, diagnosis=None)
    found = first_failed(run)
    assert found is not None
    assert found.rank == 1
    assert first_failed(OpenRun("run:x")) is None
    by_file = replace(made.OPEN_FAILED.open, diagnosis=made.failed_diagnosis())
    assert (first_failed(by_file) or made.rank(9)).rank == 1


def test_phases_of_ranks_that_compile() -> None:
    run = made.OPEN_COMPILING.open
    assert run is not None
    assert rank_arrays(run)["phase"][0] == "compiling 20/25 task_emit"


def test_equal_moments_give_equal_rows() -> None:
    later = replace(made.LISTED, listing=replace(made.LISTED.listing, time=made.NOW + 0.4))
    assert run_arrays(later) == run_arrays(made.LISTED)


def test_details_hold_the_root_its_chain_and_the_rest() -> None:
    lines = details_lines(made.failed_diagnosis(), 70)
    text = "\n".join(line.text for line in lines)
    for part in (
        "FAILED",
        "2 ranks",
        "KeyError: 4",
        "worker_1.log:12",
        "Consequences (1)",
        "rank 0 lost its peer",
        "Also",
    ):
        assert part in text
    assert all(cell_len(line.text) <= 70 for line in lines)
    chain = next(line for line in lines if "lost its peer" in line.text)
    assert chain.where is not None
    assert (chain.where.line, chain.finding) == (30, 1)


@given(st.integers(12, 120))
def test_details_fit_any_width(width: int) -> None:
    assert all(cell_len(line.text) <= max(width, 40) for line in details_lines(made.failed_diagnosis(), width))


def test_details_without_a_diagnosis() -> None:
    assert "D makes one" in details_lines(None, 60)[0].text
    assert "finding out" in details_lines(None, 60, waiting=True)[0].text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=80), st.integers(4, 40))
def test_wrapped_rows_fit_and_lose_nothing(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


def test_list_title() -> None:
    assert list_title(made.LISTED) == "Runs of /project"
    assert "looking" in list_title(states.LaunchState("/project"))
    everywhere = replace(made.LISTED, listing=replace(made.LISTED.listing, everywhere=True))
    assert "all folders" in list_title(everywhere)


@pytest.mark.parametrize(
    ("action", "target", "expected"),
    [
        ("stop", made.RUNNING, True),
        ("stop", made.FAILED, False),
        ("stop", made.FOREIGN, False),
        ("adopt", made.FOREIGN, True),
        ("adopt", replace(made.FOREIGN, mine=False), False),
        ("adopt", made.RUNNING, False),
        ("restart", made.FAILED, True),
        ("restart", made.FOLDER, False),
        ("attach", made.RUNNING, True),
        ("attach", made.SUCCEEDED, False),
        ("new", None, True),
        ("diagnose", None, False),
    ],
)
def test_keys_by_what_the_cursor_is_on(action: str, target: object, expected: bool) -> None:
    assert available(action, Here(made.LISTED, target, on_list=True)) is expected  # type: ignore[arg-type]


def test_read_only_refuses_what_changes() -> None:
    here = Here(replace(made.LISTED, read_only=True), made.RUNNING, on_list=True)
    assert not any(available(action, here) for action in ("new", "restart", "stop", "kill", "adopt"))
    assert available("diagnose", here)


def test_keys_of_an_open_run_do_nothing_on_the_list() -> None:
    on_list, in_run = Here(made.OPEN_FAILED, made.FAILED, True), Here(made.OPEN_FAILED, made.FAILED, False)
    for action in ("side", "jump", "maximise", "resize"):
        assert (available(action, on_list), available(action, in_run)) == (False, True)


def test_back_goes_one_level() -> None:
    run = replace(made.OPEN_FAILED, side="details", maximised="log")
    levels = [run]
    while levels[-1].level == "run":
        levels.append(states.back(levels[-1]))
    assert [(one.side, one.maximised, one.level) for one in levels] == [
        ("details", "log", "run"), ("", "log", "run"), ("", "", "run"), ("", "", "runs"),
    ]  # fmt: skip


def test_a_late_word_of_another_run_changes_nothing() -> None:
    view = made.view((made.rank(0),))
    assert states.watched(made.OPEN_FAILED, "run:other", view, 1.0) is made.OPEN_FAILED
    assert states.diagnosing(made.OPEN_FAILED, "run:other", True) is made.OPEN_FAILED


def test_a_result_is_kept_for_the_run_and_there_when_it_is_opened_again() -> None:
    state = states.diagnosed(made.LISTED, made.FAILED.key, made.failed_diagnosis())
    assert state.open is None
    opened = states.opened(state, made.FAILED.key)
    assert opened.open is not None
    assert opened.open.diagnosis is not None


def test_ends_between_two_looks() -> None:
    before = Listing((made.RUNNING, made.FAILED, made.FOREIGN), 1.0, loaded=True)
    after = Listing((replace(made.RUNNING, state="failed"), made.FAILED), 2.0, loaded=True)
    assert [one.key for one in states.ended_between(before, after)] == [made.RUNNING.key]
    assert states.ended_between(Listing(), after) == ()


def test_the_grid_has_at_least_a_row() -> None:
    assert states.resized(made.OPEN_RUNNING, -99).grid_rows == states.MIN_GRID_ROWS
    assert states.resized(made.OPEN_RUNNING, 2).grid_rows == states.GRID_ROWS + 2


def test_every_word_has_a_chinese_form_and_takes_the_same_values() -> None:
    sources = [path.read_text() for path in Path(speech.__file__).parent.glob("*.py")]
    said = {name for source in sources for name in re.findall(r'\bword\(\s*"([^"]+)"', source)}
    said |= {name for source in sources for name in re.findall(r"\bword\('([^']+)'", source)}
    said |= {name for _, name, _ in SIGNS.values()}
    known = speech.chinese()
    assert said - set(known) == set()
    for name, text in known.items():
        assert set(re.findall(r"(?<!{){(\w+)}", text)) == set(re.findall(r"(?<!{){(\w+)}", name)), name


def test_in_chinese_states_keep_their_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "language", lambda: "zh")
    assert state_word("failed") == "✖ 失败"
    assert state_colour("✖ 失败") == "error"
    banner = banner_of(made.OPEN_FAILED)
    assert banner is not None
    assert "最先失败" in banner.text
    assert "PIPELINE:1}" in timeline_lines(OpenRun("run:x", phases=()), 200)[0].text


def test_what_was_found_earlier_is_told_without_a_diagnosis() -> None:
    """In the order of how much is known: the diagnosis that was kept, the first failure, the supervisor's word."""
    first = FirstFailure(role="worker", rank=0, pid=7, exit_code=1, time=1.0)
    told = Verdict(verdict="failed", code="hang", title="a collective timed out", rank=1)
    known = replace(made.FAILED, first_failure=first)
    assert verdict_text(replace(known, told=told), None) == "rank 1: a collective timed out"
    assert (
        verdict_text(replace(known, told=Verdict(verdict="failed", title="rank 1 was killed", rank=1)), None)
        == "rank 1 was killed"
    )
    assert verdict_text(known, None) == "rank 0 failed first, exit code 1"
    lost = replace(made.FAILED, exit_code=70, problem="its supervisor died; ended: 7 python")
    assert verdict_text(lost, None) == "its supervisor died; ended: 7 python"
    assert verdict_text(replace(lost, problem=""), None) == "exit code 70"
