"""Rows as data, against a naive list of lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.launch.logview.rows import Chunk, Packed, Place, Range, Rows, RowSet, pack

MASKS = st.lists(st.booleans(), max_size=1500)


@given(MASKS)
def test_packed_rows_are_counted_and_found(values: list[bool]) -> None:
    packed = Packed(np.array(values, np.bool_))
    true_rows = [row for row, value in enumerate(values) if value]
    assert packed.count == len(true_rows)
    assert packed.mask().tolist() == values
    assert [packed.select(number) for number in range(len(true_rows))] == true_rows
    assert [packed.rank(row) for row in range(len(values) + 1)] == [sum(values[:row]) for row in range(len(values) + 1)]
    assert [packed.has(row) for row in range(len(values))] == values


def test_a_packed_row_takes_little_more_than_a_bit() -> None:
    size = 1 << 16
    packed = Packed(np.arange(size) % 3 == 0)
    assert packed.nbytes <= size / 8 + 4 * (size / 512 + 2)


@pytest.mark.parametrize(("values", "packed"), [([True, True], True), ([False], False), ([], True)])
def test_masks_of_one_value_take_no_room(values: list[bool], packed: bool) -> None:
    assert pack(np.array(values, np.bool_)) is packed


@given(st.lists(MASKS, max_size=5))
def test_a_set_of_rows_over_chunks_is_one_list(masks: list[list[bool]]) -> None:
    rows = RowSet([len(mask) for mask in masks], [pack(np.array(mask, np.bool_)) for mask in masks])
    joined = [value for mask in masks for value in mask]
    true_rows = [row for row, value in enumerate(joined) if value]
    assert rows.count == len(true_rows)
    assert [rows.select(number) for number in range(rows.count)] == true_rows
    assert [rows.rank(row) for row in range(len(joined) + 2)] == [sum(joined[:row]) for row in range(len(joined) + 2)]
    assert [rows.has(row) for row in range(-1, len(joined) + 1)] == [False, *joined, False]
    assert [rows.mask(number).tolist() for number in range(len(masks))] == masks


CHUNKS = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), max_size=4)


@settings(deadline=None)
@given(CHUNKS, st.randoms(use_true_random=False))
def test_every_row_is_one_line_and_every_line_has_its_row(sizes: list[list[int]], dice) -> None:  # type: ignore[no-untyped-def]
    """Three files; each chunk takes some more lines of each, in any order."""
    reached = [0, 0, 0]
    chunks: list[Chunk] = []
    expected: list[Place] = []
    shown: list[Place] = []
    kept = []
    for chunk in sizes:
        ranges = [Range(file, reached[file], reached[file] + size) for file, size in enumerate(chunk)]
        joined = [Place(one.file, line) for one in ranges for line in range(one.first, one.stop)]
        order = list(range(len(joined)))
        dice.shuffle(order)
        mask = [dice.random() < 0.5 for _ in joined]
        chunks.append(Chunk.of(ranges, np.array(order, np.uint32)))
        kept.append(pack(np.array(mask, np.bool_)))
        lines = [joined[number] for number in order]
        expected += lines
        shown += [line for line, is_kept in zip(lines, mask, strict=True) if is_kept]
        reached = [one.stop for one in ranges]
    rows = Rows.of(chunks, kept)
    assert [rows.place_at(row) for row in range(rows.total)] == expected
    assert [rows.row_of(place) for place in expected] == list(range(len(expected)))
    assert [rows.place(row) for row in range(rows.count)] == shown
    assert [rows.shown_of(place) for place in shown] == list(range(len(shown)))
    assert rows.row_of(Place(0, reached[0])) is None
    assert rows.row_of(Place(7, 0)) is None


def test_a_hidden_line_leads_to_the_next_shown_one() -> None:
    chunk = Chunk.of([Range(0, 0, 4)])
    rows = Rows.of([chunk], [pack(np.array([True, False, False, True]))])
    assert rows.shown_of(Place(0, 1)) == 1
    hidden_end = Rows.of([chunk], [pack(np.array([True, False, False, False]))])
    assert hidden_end.shown_of(Place(0, 3)) == 0
