"""The lines of a hex view: which bytes are where, and how the damaged ones are marked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.bytesview import Mark
from mswb.findings import Where, make
from mswb.ui.screens.hexview.lines import hex_row, layout, names_text, next_place
from mswb.ui.screens.hexview.screen import offset_of, place_of, place_text

MARKS = (Mark(20, 28, "record 1: length 4"), Mark(28, 36, "data"), Mark(30, 33, "the fault", fault=True))


def test_names_stand_over_the_row_they_begin_in() -> None:
    shown = layout(64, MARKS)
    assert [shown.at(line) for line in range(shown.height)] == [
        (0, False), (16, True), (16, False), (32, False), (48, False),
    ]  # fmt: skip
    assert shown.line_of(20) == 2 and shown.line_of(40) == 3
    assert names_text(shown, 16) == ("+4 record 1: length 4 · +c data · ✖ +e the fault", True)


@given(
    size=st.integers(0, 1 << 45),
    starts=st.lists(st.integers(0, 1 << 45), max_size=20),
    wanted=st.integers(0, 1 << 45),
)
def test_every_byte_has_a_line_of_its_own(size: int, starts: list[int], wanted: int) -> None:
    shown = layout(size, [Mark(start, start + 1, "m") for start in starts])
    place = min(wanted, max(0, size - 1))
    line = shown.line_of(place)
    assert 0 <= line < shown.height
    assert shown.at(line) == (place // 16 * 16, False)
    if line:
        before, named = shown.at(line - 1)
        assert (named and before == place // 16 * 16) or before == place // 16 * 16 - 16


def test_damaged_bytes_stand_in_brackets() -> None:
    shown = layout(64, MARKS)
    row = hex_row(shown, 16, bytes(range(16, 32)))
    assert row.offset == "000010"
    assert row.hexes == " 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d[1e 1f]"
    assert hex_row(shown, 32, b"A\x00B" + bytes(13)).hexes.startswith("[41]00")
    assert row.bad == {14, 15}


def test_the_last_row_may_be_short() -> None:
    row = hex_row(layout(3, ()), 0, b"ab\n")
    assert row.hexes.strip() == "61 62 0a" and row.text == "ab.".ljust(16)


def test_control_characters_never_reach_the_terminal() -> None:
    assert hex_row(layout(256, ()), 0, bytes(range(256))[:16]).text.isprintable()
    assert all(hex_row(layout(256, ()), at, bytes(range(at, at + 16))).text.isprintable() for at in range(0, 256, 16))


def test_the_next_place_is_the_nearest() -> None:
    assert [next_place((5, 9, 2), 5, step) for step in (1, -1)] == [9, 2]
    assert next_place((5,), 5, 1) is None


@pytest.mark.parametrize(
    ("text", "offset"), [("0x10", 16), (" 1,690 ", 1690), ("1_000", 1000), ("-1", None), ("ten", None), ("", None)]
)
def test_an_offset_that_is_typed(text: str, offset: int | None) -> None:
    assert offset_of(text) == offset


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (None, "byte 16 = 0x10  record 1: length 4 · data"),
        (30, "fault at byte 30 = 0x1e  data"),
        (60, "byte 16 = 0x10 · fault at byte 60 = 0x3c  record 1: length 4 · data"),
    ],
)
def test_where_a_row_is_and_where_the_fault(fault: int | None, text: str) -> None:
    assert place_text(layout(64, MARKS), 16, fault) == text


def test_the_place_of_a_finding_is_its_damaged_byte() -> None:
    found = make("corrupted", where=Where(file="/a", offset=16), values={"what": "TFRecord", "reason": "r"})
    assert place_of(found) == 16
    assert place_of(replace(found, values={**found.values, "byte": 30})) == 30
