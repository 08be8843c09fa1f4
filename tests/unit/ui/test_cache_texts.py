"""What the Cache pane says of facts, places, plans and ends of verifications."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mswb.cache.entries import from_item
from mswb.files.items import Item
from mswb.plan import Action, Outcome
from mswb.ui.panes.cache.details import _fact, value_text
from mswb.ui.panes.cache.foot import line_text
from mswb.ui.panes.cache.places import place_of, short_bytes, totals
from mswb.ui.panes.cache.plan_screen import result_text, short
from mswb.ui.panes.cache.state import CacheState, Work
from mswb.ui.panes.cache.verifying import end_text


def item(kind: str, path: str, size: int = 10) -> Item:
    return Item(kind, path, size, size, 0.0, "")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("avg_load_time_ms", 12.53219, "12.53 ms"),
        ("torn_bytes", 0, "0 B"),
        ("size_bytes", 2048, "2.0 KiB (2,048 B)"),
        ("hit_rate", 0.9836, "98.4%"),
        ("hits", 12_000, "12,000"),
        ("remote", False, "False"),
        ("created", None, "-"),
        ("last_used", 1e30, "1e+30"),
        ("columns", ["a", "b"], "a, b"),
        ("many", list(range(10)), "0, 1, 2, 3, 4, 5, 6, 7 + 2"),
        ("evil", "a\x1b[31mb", r"a\x1b[31mb"),
    ],
)
def test_a_fact(name: str, value: Any, text: str) -> None:
    assert value_text(name, value) == text


def test_facts_in_a_fact_have_its_unit() -> None:
    lines = [line.text for line in _fact("load_ms", {"p50": 11, "count": 900}, 40)]
    assert lines == ["load", "  p50  11 ms", "  count  900"]


def test_every_entry_has_one_place() -> None:
    found = [
        item("tfrecord", "/p/a.tfrecord", 1),
        item("file-cache", "/home/c/x/1", 2),
        item("shared-memory", "shm:17", 4),
        item("cache-spill", "/data/spill/x", 8),
        item("download", "/home/hf", 16),
        item("tfrecord", "/project2/b.tfrecord", 32),
    ]
    assert [place_of(one, "/p", "/home/c") for one in found] == [
        "project", "store", "server", "server", "system", "system",
    ]  # fmt: skip
    assert {one.place: (one.count, one.size_bytes) for one in totals(found, "/p", "/home/c")} == {
        "project": (1, 1),
        "store": (1, 2),
        "server": (2, 12),
        "system": (2, 48),
    }


@pytest.mark.parametrize(("size", "text"), [(0, "0B"), (512, "512B"), (1536, "1.5K"), (1 << 30, "1G")])
def test_a_size_in_few_cells(size: int, text: str) -> None:
    assert short_bytes(size) == text


def test_the_line_of_a_file_cache_tells_how_it_serves() -> None:
    one = item("file-cache", "/p/store/x/1")
    known = replace(from_item(one), more={"hit_rate": 0.983, "avg_load_time_ms": 12.4}, detail="whole")
    assert line_text(one, "/p", CacheState(base={one.path: known})) == "98% hits · 12.4 ms a load · store/x · whole"
    assert line_text(one, "/p", CacheState()) == "store/x"
    assert line_text(item("npy", "/p/a.npy"), "/p", CacheState()) == ""


def test_what_came_of_a_plan() -> None:
    action = Action("trash", "/p/a", "1:2")
    assert result_text([Outcome(action, True)]) == "✓ 1 of 1 done"
    assert result_text([Outcome(action, True), Outcome(action, False, "in use")]) == "✖ 1 of 2 done: in use"
    assert short("/p/a/b", "/p") == "a/b" and short("/px/a", "/p") == "/px/a"


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (Work(1, frozenset({"/p/a"}), "done", done=1), "✓ verified: nothing is wrong with a"),
        (Work(1, frozenset({"/p/a"}), "done", done=1, bad=1), "✖ verified: a has faults"),
        (Work(1, frozenset({"/p/a", "/p/b"}), "done", done=2), "✓ verified: nothing is wrong with 2 entries"),
        (Work(1, frozenset({"/p/a", "/p/b"}), "done", done=2, bad=1), "✖ verified 2 entries: 1 with faults"),
        (Work(1, frozenset({"/p/a", "/p/b"}), "cancelled", done=1), "■ stopped after 1 of 2"),
    ],
)
def test_the_end_of_a_verification(work: Work, text: str) -> None:
    assert end_text(work) == text
