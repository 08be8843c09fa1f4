"""Bytes that were lost or inserted in the middle of a file: what lies before and behind is saved, and nothing wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.chosen import Chosen
from mswb.cache.data.mindrecord.header import read_header
from mswb.cache.data.mindrecord.layout import true_layout
from mswb.cache.data.mindrecord.salvage import plan
from tests.unit.cache.mindrecord.files import BLOB, GOOD, good, look

WHOLE = (GOOD / "good.mindrecord").read_bytes()


def chosen(path: Path, index: bool) -> dict[int, tuple[bytes, bytes]]:
    with reading.opened(str(path)) as reader:
        header = true_layout(reader, read_header(reader))
        rows = Chosen(reader, header, f"{path}.db" if index else None).rows()
        return {number: (raw, blob) for number, raw, blob in rows}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[bytes, bytes]]:
    return chosen(good(tmp_path_factory.mktemp("good")), True)


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize(
    ("begin", "end", "new", "lost"),
    [
        (25000, 25008, b"", {41}),
        (22000, 22000, b"x", {26}),
        (28705, 28769, b"", {59}),
        (24920, 24920, random.Random(1).randbytes(300), {41}),
        (20704, 20768, b"", {20, 21}),
        (40000, 40008, b"", {59}),  # between the pages: the last row before may be the one
    ],
    ids=["in 41", "before 27", "in the last", "many", "across two", "between pages"],
)
def test_all_but_the_rows_at_the_place(
    tmp_path: Path, every: dict[int, tuple[bytes, bytes]], begin: int, end: int, new: bytes, lost: set[int], index: bool
) -> None:
    path = good(tmp_path)
    path.write_bytes(WHOLE[:begin] + new + WHOLE[end:])
    assert chosen(path, index) == {number: row for number, row in every.items() if number not in lost}
    if index:
        found = look(path)
        assert (found.status, found.intact_records) == ("corrupted", 60 - len(lost))
        assert found.faults_total == 1 and found.faults[0].record == min(lost)
        assert f"{60 - len(lost)} of 60" in plan(str(path), look(path), None).plan.actions[0].detail


def test_columns_that_were_lost_come_from_the_index(tmp_path: Path, every: dict[int, tuple[bytes, bytes]]) -> None:
    path = good(tmp_path)
    path.write_bytes(WHOLE[:49500] + WHOLE[49502:])
    assert chosen(path, True) == every
    assert chosen(path, False) == {number: row for number, row in every.items() if number != 10}


def test_bytes_that_are_missing_before_the_first_row(tmp_path: Path, every: dict[int, tuple[bytes, bytes]]) -> None:
    path = good(tmp_path)
    path.write_bytes(WHOLE[:8000] + WHOLE[8008:])
    found = look(path)
    assert (found.status, found.intact_records) == ("truncated", 60)
    assert chosen(path, True) == every


def test_a_cut_file_has_lost_nothing_before_its_end(tmp_path: Path, every: dict[int, tuple[bytes, bytes]]) -> None:
    path = good(tmp_path)
    path.write_bytes(WHOLE[:25922])
    assert chosen(path, True) == {number: row for number, row in every.items() if number < 45}
    path.write_bytes((WHOLE[:25000] + WHOLE[25008:])[:28000])
    assert chosen(path, True) == {number: row for number, row in every.items() if number < 41}


@settings(max_examples=60, deadline=None)
@given(
    begin=st.integers(BLOB, len(WHOLE)),
    lost=st.sampled_from([0, 1, 2, 8, 34, 208, 300, 416]),
    new=st.one_of(st.binary(max_size=300), st.sampled_from([bytes(208), WHOLE[BLOB : BLOB + 208]])),
)
def test_no_row_is_another(
    tmp_path_factory: pytest.TempPathFactory,
    every: dict[int, tuple[bytes, bytes]],
    begin: int,
    lost: int,
    new: bytes,
) -> None:
    path = good(tmp_path_factory.mktemp("any"))
    data = WHOLE[:begin] + new + WHOLE[begin + lost :]
    if len(data) == len(WHOLE):
        return  # written over: the format has no checksum for that
    path.write_bytes(data)
    found = chosen(path, True)
    assert found == {number: every[number] for number in found}
