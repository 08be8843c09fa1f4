"""Searching: the same lines as Python's re, whichever way is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mswb.files import patterns
from mswb.files import search as searching
from mswb.files.literals import required_words
from mswb.files.logindex import LogIndex
from mswb.files.patterns import compile_pattern
from mswb.files.search import matching_lines, search
from mswb.findings import MswbError

LOG = b"""[INFO] PIPELINE(1,7f,python): start
[ERROR] DEVICE(1,7f,python): Launch failed, retry(119/1200).
epoch: 1 step: 1, loss is 2.302585
Traceback (most recent call last):
not an [ERROR] at the start
\r\n
error in lower case
[WARNING] unfinished"""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LogIndex]:
    path = tmp_path / "log"
    path.write_bytes(LOG)
    made = LogIndex(path)
    made.extend()
    yield made
    made.close()


def expected(data: bytes, pattern: str, flags: int = 0) -> list[int]:
    compiled = re.compile(pattern.encode(), re.MULTILINE | flags)
    lines = data.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    return [number for number, line in enumerate(lines) if compiled.search(line)]


@pytest.mark.parametrize(
    "pattern",
    [
        "ERROR",
        r"^\[ERROR\]",
        r"^\[\w+\] DEVICE\(",
        r"^epoch.* step: 1",
        r"retry\(1[0-9]+9/1200",
        "ERROR|CRITICAL|Traceback",
        "^$",
        ".",
        "",
        "unfinished$",
        r"loss is [0-9.]+$",
        "(?:a|e)rror",
        "^(?:e|E)rror",
        "x*",
        "zzz",
        r"\d{3}",
        "[^E]RROR",
        "^not.*start$",
        r"\[",
        "^",
    ],
)
@pytest.mark.parametrize("fold", [False, True])
def test_the_same_lines_as_python(index: LogIndex, pattern: str, fold: bool) -> None:
    found = matching_lines(index, compile_pattern(pattern, ignore_case=fold)).tolist()
    assert found == expected(LOG, pattern, re.IGNORECASE if fold else 0)


ATOMS = st.sampled_from(["a", "b", "ab", "E", "k", ".", "[ab]", "[^a]", r"\[", r"\d", r"\b", "^", "$", "é", "(?:a|b)"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,1}", "{1,}"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=8,
)
TEXTS = st.lists(st.sampled_from(["a", "b", "A", "E", "k", "[", "1", " ", "é", "\n", "\n", "\r"]), max_size=60).map(
    "".join
)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, TEXTS, st.booleans(), st.booleans(), st.sampled_from([0, 10**6]))
def test_any_pattern_finds_what_python_finds(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, text: str, fold: bool, dense: bool, rare: int
) -> None:
    path = tmp_path_factory.mktemp("search") / "log"
    path.write_bytes(text.encode())
    index = LogIndex(path)
    index.extend()
    compiled = re.compile(pattern, re.MULTILINE | (re.IGNORECASE if fold else 0) | re.ASCII)
    lines = text.split("\n")
    wanted = [n for n, line in enumerate(lines if lines[-1] else lines[:-1]) if compiled.search(line)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "_DENSE_PER_MIB", -1 if dense else 10**12)
        patch.setattr(searching, "_RARE", rare)
        patch.setattr(searching, "PIECE", 16)
        assert matching_lines(index, compile_pattern(pattern, ignore_case=fold)).tolist() == wanted
    index.close()


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, TEXTS, st.booleans())
def test_every_match_holds_the_required_words(pattern: str, text: str, fold: bool) -> None:
    words = required_words(pattern, ignore_case=fold)
    assume(words.exact or words.options)
    compiled = re.compile(pattern, re.MULTILINE | (re.IGNORECASE if fold else 0))
    for line in text.split("\n"):
        for match in compiled.finditer(line):
            shown = match.group().lower() if fold else match.group()
            for option in (*words.options, *([words.exact] if words.exact else [])):
                assert any((word.lower() if fold else word) in shown for word in option)


@pytest.mark.parametrize(
    ("pattern", "exact", "best"),
    [
        ("ERROR", ("ERROR",), ("ERROR",)),
        ("ERROR|Traceback", ("ERROR", "Traceback"), ("ERROR", "Traceback")),
        (r"retry\(1[0-9]+9/1200", (), ("retry(1",)),
        ("ab*c", (), ("a",)),
        ("(?:foo|bar)+x", (), ("foo", "bar")),
        ("a|", (), ()),
        (".", (), ()),
        (r"\Qa|b\E", (), ()),
        ("(?i)a", (), ()),
        ("[[:alpha:]]xy", (), ("xy",)),
        ("(" * 100, (), ()),
    ],
)
def test_required_words(pattern: str, exact: tuple[str, ...], best: tuple[str, ...]) -> None:
    words = required_words(pattern)
    assert (words.exact, words.best) == (exact, best)


def test_case_is_ignored_beyond_ascii(tmp_path: Path) -> None:
    """RE2 takes the Kelvin sign for a k: a word with k must not hide that line."""
    path = tmp_path / "log"
    path.write_text("10 \u212a\nTASK\n", encoding="utf-8")
    index = LogIndex(path)
    index.extend()
    assert matching_lines(index, compile_pattern("(?i)k")).tolist() == [0, 1]
    index.close()


def test_a_literal_is_no_expression(index: LogIndex) -> None:
    assert matching_lines(index, compile_pattern("retry(119/1200).", literal=True)).tolist() == [1]


@pytest.mark.parametrize("pattern", ["错误", "^错", "错.*找", "不存在|找不到"])
def test_a_file_in_gbk(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "log"
    text = "信息：开始\n错误：文件找不到\n"
    path.write_bytes(text.encode("gbk"))
    index = LogIndex(path)
    index.extend()
    wanted = [number for number, line in enumerate(text.splitlines()) if re.search(pattern, line)]
    assert matching_lines(index, compile_pattern(pattern, encoding="gbk")).tolist() == wanted
    index.close()


@pytest.mark.parametrize(
    "pattern",
    ["(", "[a", "a{2,1}", "*", r"(a)\1", "(?=a)", "(?<!x)y", "a" * 20_000, "\udcff", "\\"],
)
def test_an_invalid_pattern_is_one_clear_error(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MswbError) as caught:
        compile_pattern(pattern)
    assert caught.value.finding.code == "search-pattern"
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_set_of_chinese_characters_in_gbk_is_refused() -> None:
    with pytest.raises(MswbError):
        compile_pattern("[错误]", encoding="gbk")


def test_patterns_that_hang_others(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 50_000 + b"!\n" + b"x" * 5000 + b"\n")
    index = LogIndex(path)
    index.extend()
    assert matching_lines(index, compile_pattern(r"^(a|a?)+$|(x+x+)+y")).tolist() == []
    index.close()


def test_without_re2s_inner_call(index: LogIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_finder", patterns._public_finder)
    assert matching_lines(index, compile_pattern("l[a-z]st|loss.*5$")).tolist() == [2, 3]


def test_cancelled_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PIECE", 100)
    path = tmp_path / "log"
    path.write_bytes(b"[ERROR] x\n" * 1000)
    index = LogIndex(path)
    index.extend()
    seen = []
    for hits in search(index, compile_pattern("ERROR"), cancelled=lambda: len(seen) >= 3):
        seen.append(hits)
    assert [hits.searched_bytes for hits in seen] == [100, 200, 300]
    assert [line for hits in seen for line in hits.lines] == list(range(30))
    assert {hits.total_bytes for hits in seen} == {10_000}
    index.close()


def test_going_on_where_a_search_ended(index: LogIndex) -> None:
    found = [line for hits in search(index, compile_pattern("ERROR"), first_line=2) for line in hits.lines]
    assert found == [4]


def test_lines_longer_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PIECE", 64)
    path = tmp_path / "log"
    path.write_bytes(b"short\n" + b"x" * 1000 + b"needle\n" + b"needle\n")
    index = LogIndex(path)
    index.extend()
    assert matching_lines(index, compile_pattern("needle")).tolist() == [1, 2]
    assert matching_lines(index, compile_pattern("ne+dle$")).tolist() == [1, 2]
    index.close()


@given(st.lists(st.booleans(), max_size=50), st.sampled_from([0, 16, 10**6]))
def test_places_of_true_values(bits: list[bool], sparse: int) -> None:
    mask = np.array(bits + [False] * 200, bool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "_SPARSE", sparse)
        assert searching._true_places(mask).tolist() == np.flatnonzero(mask).tolist()


def test_pieces_are_whole_lines_and_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PIECE", 100)
    path = tmp_path / "log"
    data = b"".join(b"x" * (number % 37) + b"\n" for number in range(500)) + b"y" * 250 + b"\nend"
    path.write_bytes(data)
    index = LogIndex(path)
    index.extend()
    pieces = list(searching._pieces(index, 0, index.size))
    assert b"".join(data[piece.offset : piece.end] for piece in pieces) == data
    assert [piece.end - piece.offset for piece in pieces if piece.end - piece.offset > 100] == [251]
    assert sum(len(piece.starts) for piece in pieces) == index.line_count
    index.close()
