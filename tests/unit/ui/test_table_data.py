"""The table's data without a screen: order, filter, groups; as lists and as arrays, with the same answers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.ui.widgets.table import grouping
from mswb.ui.widgets.table.coded import Coded, code, word_ranks
from mswb.ui.widgets.table.data import Column, TableData
from mswb.ui.widgets.table.grouping import TooManyGroupsError
from mswb.ui.widgets.table.view import Shape, build

COLUMNS = (
    Column("name", "Name"),
    Column("rank", "Rank", "number", total=False),
    Column("memory", "Device memory", "bytes"),
    Column("state", "State", "severity"),
    Column("age", "Age", "age"),
)
ROWS: dict[str, list[Any]] = {
    "name": ["rank10", "rank9", None, "Rank9b", "节点 7", "C:\\data"],
    "rank": [3, None, 1, 2, float("nan"), 3],
    "memory": [2**31, 5, None, 2**30, 2**20, 0],
    "state": ["ok", "failed", "running", None, "warning", "failed"],
    "age": [5.0, 400.0, 10_000.0, 90_000.0, None, 0.0],
}


def table(arrays: bool = False, **changes: Any) -> TableData:
    rows: dict[str, Any] = ROWS | changes
    if arrays:
        rows |= {key: np.array([np.nan if v is None else v for v in rows[key]], float) for key in ("rank", "memory")}
    return TableData(COLUMNS, rows)


def listed(rows: Any) -> list[int]:
    return [int(row) for row in rows]


def texts() -> st.SearchStrategy[str]:
    return st.text(st.sampled_from("aB 0129_é中"), max_size=40)


both = pytest.mark.parametrize("arrays", [False, True])


@both
@pytest.mark.parametrize(
    ("key", "up", "down"),
    [
        ("name", [5, 1, 3, 0, 4, 2], [4, 0, 3, 1, 5, 2]),
        ("rank", [2, 3, 0, 5, 1, 4], [0, 5, 3, 2, 1, 4]),
        ("memory", [5, 1, 4, 3, 0, 2], [0, 3, 4, 1, 5, 2]),
        ("state", [1, 5, 4, 2, 0, 3], [0, 2, 4, 1, 5, 3]),
    ],
)
def test_sorting_is_stable_and_puts_the_unknown_last(arrays: bool, key: str, up: list[int], down: list[int]) -> None:
    data = table(arrays)
    assert listed(data.sort(key)) == up
    assert listed(data.sort(key, reverse=True)) == down


@both
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("rank", [0, 1, 3]),
        ("RANK9", [1, 3]),
        ("name:节点", [4]),
        ('"节点 7"', [4]),
        ("!rank", [2, 4, 5]),
        ("rank>1", [0, 3, 5]),
        ("rank >= 2 rank<3", [3]),
        ("rank=3", [0, 5]),
        ("rank!=3", [2, 3]),
        ("rank=none", [1, 4]),
        ("name!=none rank=none", [1, 4]),
        ("memory>=1GiB", [0, 3]),
        ("device>1.5g", [0]),
        ("devicememory<1k", [1, 5]),
        ("age>5m", [1, 2, 3]),
        ("age<=5s", [0, 5]),
        ("state:fail", [1, 5]),
        ("state=failed age>1s", [1]),
        ("name>rank9", [0, 3, 4]),
        ("name=rank10", [0]),
        ("C:\\data", [5]),
        ("1.0", [3, 4]),
        ("memory:gib", [0, 3]),
        ("nosuch:thing", []),
        ("!", []),
        ("rank>", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_filters(arrays: bool, text: str, rows: list[int]) -> None:
    assert listed(table(arrays).filter(text)) == rows


def test_a_comparison_with_no_number_is_named_and_left_out() -> None:
    query = table().query("rank>many state:ok")
    assert query.problem == "Rank > many: not a number"
    assert listed(table().filter("rank>many state:ok")) == [0]


def test_a_column_without_a_title_is_searched_only_by_its_key() -> None:
    data = TableData((Column("id", ""), Column("n", "N")), {"id": ["abc"], "n": ["x"], "extra": [1]})
    assert listed(data.filter("abc")) == [] and listed(data.filter("id:abc")) == [0]
    assert data.value(0, "extra") == 1


def test_a_cancelled_filter_ends() -> None:
    assert listed(table().filter("rank", cancelled=lambda: True)) == []


@both
def test_groups_have_counts_and_sums(arrays: bool) -> None:
    data = table(arrays)
    rows, groups = data.group("state", data.every())
    assert listed(rows) == [1, 5, 4, 2, 0, 3]
    assert [(group.value, group.start, group.count) for group in groups] == [
        ("failed", 0, 2),
        ("warning", 2, 1),
        ("running", 3, 1),
        ("ok", 4, 1),
        (None, 5, 1),
    ]
    assert [group.sums for group in groups] == [{"memory": v} for v in (5, 2**20, None, 2**31, 2**30)]


@both
def test_groups_by_a_number_with_unknown_values(arrays: bool) -> None:
    data = table(arrays)
    _, groups = data.group("rank", data.every())
    assert [(group.value, group.count) for group in groups] == [(1, 1), (2, 1), (3, 2), (None, 2)]


@both
def test_groups_in_the_order_of_the_sum(arrays: bool) -> None:
    view = build(table(arrays), Shape(sort="memory", reverse=True, group="state"))
    assert [group.value for group in view.groups] == ["ok", None, "warning", "failed", "running"]
    assert listed(view.rows) == [0, 3, 4, 1, 5, 2]


def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_GROUPS", 3)
    with pytest.raises(TooManyGroupsError):
        table().group("name", range(6))
    view = build(table(), Shape(group="name"))
    assert not view.groups
    assert view.problem == "Name: 6 groups are too many"


def test_no_rows_at_all() -> None:
    for rows in ({"name": [], "n": []}, {"name": [], "n": np.array([])}):
        data = TableData((Column("name", "Name"), Column("n", "N", "number")), rows)
        for key in ("name", "n"):
            view = build(data, Shape(key, True, "1 name:x n>3", key))
            assert view.height == 0 and view.groups == ()


def test_arrays_must_fit_the_columns() -> None:
    with pytest.raises(ValueError, match="rank"):
        table(rank=[1, 2])
    with pytest.raises(ValueError, match="missing"):
        TableData(COLUMNS, {"name": []})


@both
def test_lines_of_a_grouped_view(arrays: bool) -> None:
    view = build(table(arrays), Shape(group="state"))
    lines = [view.at(line) for line in range(view.height)]
    assert [line for line in lines if isinstance(line, int)] == [1, 5, 4, 2, 0, 3]
    assert all(view.line_of(line) == place for place, line in enumerate(lines) if isinstance(line, int))
    folded = view.fold(frozenset({"failed"}))
    assert folded.height == view.height - 2
    assert folded.line_of(5) == 0
    assert folded.line_of(4) == 2


def test_a_row_that_is_filtered_away_has_no_line() -> None:
    assert build(table(), Shape(filter="rank9")).line_of(0) is None
    assert build(table(True), Shape(filter="rank9")).line_of(0) is None


@given(st.lists(st.one_of(st.none(), texts()), max_size=60))
def test_many_texts_sort_as_few_do(values: list[str | None]) -> None:
    few = TableData((Column("t", "T"),), {"t": values})
    many = TableData((Column("t", "T"), Column("n", "N", "number")), {"t": values, "n": np.zeros(len(values))})
    for reverse in (False, True):
        assert [values[row] for row in few.sort("t", reverse)] == [values[row] for row in many.sort("t", reverse)]


@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5), st.floats(width=16)), max_size=40),
    st.booleans(),
    st.sampled_from(["n>1", "n<=0", "!n>1", "n=none", "n!=2"]),
)
def test_arrays_and_lists_agree_on_numbers(values: list[float | None], reverse: bool, text: str) -> None:
    column = (Column("n", "N", "number"),)
    few = TableData(column, {"n": values})
    many = TableData(column, {"n": np.array([np.nan if value is None else value for value in values], float)})
    assert listed(few.sort("n", reverse)) == listed(many.sort("n", reverse))
    assert listed(few.filter(text)) == listed(many.filter(text))
    assert [group.count for group in few.group("n", few.every())[1]] == [
        group.count for group in many.group("n", many.every())[1]
    ]


@given(st.text(max_size=40))
def test_no_filter_text_breaks_it(text: str) -> None:
    for data in (table(), table(True)):
        data.query(text)
        assert set(listed(data.filter(text))) <= set(range(6))


def test_integers_keep_their_size() -> None:
    data = TableData((Column("n", "N", "number"),), {"n": np.array([2**62 + 1, 2**62, -(2**63)], np.int64)})
    assert listed(data.sort("n", reverse=True)) == [0, 1, 2]
    unsigned = TableData((Column("n", "N", "number"),), {"n": np.array([0, 2**64 - 1], np.uint64)})
    assert listed(unsigned.sort("n", reverse=True)) == [1, 0]


@both
def test_words_with_codes_are_a_column(arrays: bool) -> None:
    codes: Any = [2, -1, 0, 1, 0, 2]
    words = Coded(["b", "a10", "a9"], np.array(codes) if arrays else codes)
    data = table(name=words)
    assert listed(data.sort("name")) == [0, 5, 3, 2, 4, 1]
    assert listed(data.filter("name:a")) == [0, 3, 5]
    assert data.value(1, "name") is None and data.value(3, "name") == "a10"
    assert [group.count for group in data.group("name", data.every())[1]] == [2, 1, 2, 1]
    assert list(words[1:3]) == [None, "b"]


def test_arrays_of_text_and_odd_values() -> None:
    data = TableData(
        (Column("u", "U"), Column("o", "O"), Column("n", "N", "number")),
        {"u": np.array(["b", "a"]), "o": [b"\xff", 3], "n": ["5", True]},
    )
    assert listed(data.sort("u")) == [1, 0]
    assert listed(data.filter("o:3")) == [1]
    assert listed(data.sort("n")) == [1, 0]
    assert data.value(0, "u") == "b"


def test_shown_words_are_found_as_they_are_and_as_they_are_drawn() -> None:
    share = Column("x", "X", "number", show=lambda value: f"{value:.0%}")
    word = Column("w", "W", show={"a": "alpha"}.__getitem__)
    for half in ([0.5, None, 0.25], np.array([0.5, np.nan, 0.25])):
        data = TableData((share, word), {"x": half, "w": ["a", None, "a"]})
        assert listed(data.filter("50%")) == [0]
        assert listed(data.filter("x>0.3")) == [0]
        assert listed(data.filter("alpha")) == listed(data.filter("w=a")) == [0, 2]
    assert listed(table().filter("state:✖")) == [1, 5]


def test_codes_of_many_different_texts_are_not_made_twice() -> None:
    texts = [f"op{number}" for number in range(3000)]
    coded = code(texts, True)
    assert coded.words is texts and len(coded) == 3000
    repeated = code(["x", "y"] * 1500, True)
    assert list(repeated.words) == ["x", "y"]


def test_ranks_by_arrays_are_ranks_by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["a01", "a1", None, "A2", "a10", "", "9" * 40, "x\0y"]
    by_key = list(word_ranks(words))
    monkeypatch.setattr("mswb.ui.widgets.table.coded._FEW", 0)
    by_array = list(word_ranks(words))
    assert by_array[2] == by_key[2] == -1
    assert by_array[0] == by_array[1]  # equal in natural order
    order = [word for _, word in sorted(zip(by_array, words, strict=True), key=lambda pair: pair[0])]
    assert order[1:3] == ["", "9" * 40] and order[-1] == "x\0y"


def test_small_tables_do_not_load_numpy() -> None:
    script = (
        "import sys\n"
        "import mswb.ui.widgets.table.widget\n"
        "from mswb.ui.widgets.table.data import Column, TableData\n"
        "from mswb.ui.widgets.table.view import Shape, build\n"
        "data = TableData([Column('a', 'A'), Column('n', 'N', 'number')], {'a': ['x'] * 9, 'n': [1] * 9})\n"
        "build(data, Shape('a', True, 'x n>0', 'n'))\n"
        "sys.exit('numpy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
