"""Filters: as people type them, and which lines pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.files.levels import Level
from mswb.findings import MswbError
from mswb.launch.logview.filters import (
    Filter,
    RememberedMatches,
    format_filter,
    kept_lines,
    matcher,
    parse_filter,
    smart_pattern,
    tests_of,
)
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import scan
from mswb.launch.noise import is_noise
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, indexed, write
from tests.unit.launch.samples import LAUNCH

tests_of.__test__ = False  # type: ignore[attr-defined]

EXAMPLES = [
    ("", Filter()),
    ("level:warning", Filter(level=Level.WARNING)),
    ("LEVEL:Warn", Filter(level=Level.WARNING)),
    ("rank:0,3-5 role:scheduler", Filter(ranks=frozenset({0, 3, 4, 5}), roles=frozenset({"scheduler"}))),
    ("module:me,device pid:12", Filter(modules=frozenset({"ME", "DEVICE"}), pids=frozenset({12}))),
    ('loss "two words" !retry', Filter(keep=("loss", "two words"), drop=("retry",))),
    ("http://x !", Filter(keep=("http://x", "!"))),
    (r"retry\(\d+", Filter(keep=(r"retry\(\d+",))),
    ("ratio:", Filter(keep=("ratio:",))),
    ("routine:no routine:yes routine:no", Filter(routine=False)),
]


@pytest.mark.parametrize(("text", "wanted"), EXAMPLES)
def test_a_filter_is_read_as_it_is_typed(text: str, wanted: Filter) -> None:
    assert parse_filter(text) == wanted
    assert parse_filter(format_filter(wanted)) == wanted


@pytest.mark.parametrize("text", ["level:loud", "routine:maybe", "rank:one", "pid:1-", '"open', "rank:1,,2"])
def test_a_filter_that_means_nothing_says_which_word(text: str) -> None:
    with pytest.raises(MswbError) as caught:
        parse_filter(text)
    assert caught.value.finding.code == "log-filter"
    assert text.strip('"') in str(caught.value)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\"'", exclude_categories=["C", "Z"]), min_size=1)


@settings(deadline=None)
@given(
    st.builds(
        Filter,
        level=st.sampled_from([Level.NONE, Level.INFO, Level.ERROR]),
        pids=st.frozensets(st.integers(0, 1000)),
        ranks=st.frozensets(st.integers(0, 1000)),
        keep=st.lists(WORDS.filter(lambda word: word[0] != "!" and ":" not in word), max_size=3).map(tuple),
        drop=st.lists(WORDS, max_size=2).map(tuple),
    )
)
def test_every_filter_can_be_typed(wanted: Filter) -> None:
    assert parse_filter(format_filter(wanted)) == wanted


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    try:
        parse_filter(text)
    except MswbError as problem:
        assert problem.finding.code in ("log-filter", "search-pattern")


def test_small_letters_mean_both_cases_and_what_is_no_expression_is_plain() -> None:
    assert smart_pattern("error").ignore_case
    assert not smart_pattern("Error").ignore_case
    assert smart_pattern("retry(").find(b"x retry( y", 0, 10) == 2


@pytest.mark.parametrize(
    ("wanted", "log", "answer"),
    [
        (Filter(), ShownLog("x"), True),
        (Filter(ranks=frozenset({1})), ShownLog("x", "worker", 1), True),
        (Filter(ranks=frozenset({1})), ShownLog("x", "worker", 2), False),
        (Filter(ranks=frozenset({1})), ShownLog("x", "scheduler"), False),
        (Filter(ranks=frozenset({1}), roles=frozenset({"scheduler"})), ShownLog("x", "scheduler"), True),
    ],
)
def test_files_are_chosen_by_rank_or_role(wanted: Filter, log: ShownLog, answer: bool) -> None:
    assert wanted.wants_file(log) is answer


LOG = (
    cpp(1, "a", "INFO", pid=5, module="ME")
    + "print\n"
    + cpp(2, "b:", "WARNING", pid=6, module="DEVICE")
    + "  goes on\n"
    + TRACEBACK
    + cpp(3, "retry(1/9)", "ERROR", pid=6)
    + "text of the error\n"
    + cpp(4, "c", "V12902", pid=5, module="KERNEL")
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", list(range(11))),
        ("level:info", [0, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("level:warning", [2, 3, 4, 5, 6, 7, 8, 9]),
        ("level:error", [4, 5, 6, 7, 8, 9]),
        ("level:critical", []),
        ("module:DEVICE", [2, 3]),
        ("module:kernel", [10]),
        ("pid:5", [0, 10]),
        ("pid:6 level:error", [8, 9]),
        ("goes", [3]),
        ("!print !line", [0, 2, 3, 4, 6, 7, 8, 9, 10]),
        ("level:warning retry", [8]),
    ],
)
def test_what_passes(tmp_path: Path, text: str, lines: list[int]) -> None:
    with indexed(write(tmp_path / "log", LOG)) as index:
        spans = scan(index, 0, index.line_count)
        tests = tests_of(parse_filter(text), "utf-8")
        mask = kept_lines(tests, index, 0, index.line_count, spans, matcher(index))
        assert [line for line, passes in enumerate(mask.tolist()) if passes] == lines


@pytest.mark.parametrize("name", ["ok", "exc_one_rank", "port_in_use", "glog1"])
def test_routine_lines_are_those_of_the_command_line(name: str) -> None:
    for path in sorted((LAUNCH / name / "msrun_log").glob("*.log")):
        with indexed(path) as index:
            tests = tests_of(parse_filter("routine:no"), "utf-8")
            mask = kept_lines(tests, index, 0, index.line_count, [], matcher(index))
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[: index.line_count]
            assert mask.tolist() == [not is_noise(line) for line in lines]


def test_gbk_is_searched_in_its_own_bytes(tmp_path: Path) -> None:
    with indexed(write(tmp_path / "log", "训练开始\nloss 1\n训练结束\n".encode("gbk"))) as index:
        tests = tests_of(parse_filter("结束"), "gbk")
        assert kept_lines(tests, index, 0, 3, [], matcher(index)).tolist() == [False, False, True]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.sampled_from(["ab", "a", "b", "x\n", "\n", "ab\nab\n"]), max_size=15),
    first=st.integers(0, 4),
    pattern=st.sampled_from(["ab", "^a", "b$", "x|b", "^$"]),
)
def test_remembered_matches_are_those_of_a_new_search(
    tmp_path: Path, pieces: list[str], first: int, pattern: str
) -> None:
    path = write(tmp_path / "log", "")
    compiled = smart_pattern(pattern)
    with indexed(path) as index:
        remembered = RememberedMatches(index, first)
        content = ""
        for piece in pieces:
            append(path, piece)
            content += piece
            index.extend()
            lines = content.split("\n") if not content.endswith("\n") else content.split("\n")[:-1]
            stop = len(lines)
            if stop < first:
                continue
            expected = [re.search(pattern, line) is not None for line in lines[first:]]
            assert remembered(compiled, first, stop).tolist() == expected
            assert matcher(index)(compiled, first, stop).tolist() == expected
