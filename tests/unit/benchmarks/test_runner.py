"""The benchmark runner's own arithmetic."""

from __future__ import annotations

import pytest

from tests.benchmarks.__main__ import chosen, load
from tests.benchmarks.common import REGISTRY, Row, percentile, table


@pytest.mark.parametrize(
    ("row", "ratio", "ok"),
    [
        (Row("a", 5, 10), None, True),
        (Row("a", 11, 10), None, False),
        (Row("a", 1, 0.9, "peer", 2, relative=True), 0.5, True),
        (Row("a", 2, 0.9, "peer", 2, relative=True), 1.0, False),
        (Row("a", 2, 0.9, "peer", None, relative=True), None, None),
        (Row("a", 2, 10, "peer", None), None, True),
    ],
)
def test_a_row_and_its_bar(row: Row, ratio: float | None, ok: bool | None) -> None:
    assert (row.ratio, row.ok) == (ratio, ok)


def test_a_missing_peer_is_shown_as_missing() -> None:
    text = "\n".join(table([("index", Row("time, s", 1.25, 0.9, "lnav", None, relative=True))]))
    assert "missing" in text and "1.25" in text and "?" in text


def test_names_are_benchmarks_or_modules() -> None:
    modules = load()
    assert set(modules["follow"]) == {"follow_one", "follow_sixteen"}
    assert chosen(["follow", "tail"], modules) == ["follow_one", "follow_sixteen", "tail"]
    assert chosen([], modules) == list(REGISTRY)
    with pytest.raises(SystemExit, match="nonsense"):
        chosen(["nonsense"], modules)


def test_percentile() -> None:
    assert percentile(list(range(100)), 0.95) == 95
    assert percentile([7], 0.95) == 7
