"""Random damage: nothing crashes, and what is called ok gives the rows that were written.

What MindSpore reads is modelled by cutting rows out where the index says, as it does. What the format can't show is
left alone here: bytes inside a blob.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mswb.cache.data.mindrecord.index import PLACES
from mswb.cache.data.mindrecord.salvage import plan
from tests.unit.cache.mindrecord.files import BLOB, RAW, ROWS, flip, good, look, real, sql

BASE = {0: BLOB, 1: RAW}


def read_as_mindspore(path: Path) -> list[Any] | None:
    """Rows as the index cuts them out; None where MindSpore ends in an error."""
    data = path.read_bytes()
    try:
        with closing(sqlite3.connect(f"file:{path}.db?mode=ro&immutable=1", uri=True)) as index:
            rows = index.execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()[:ROWS]
        result = []
        for row in rows:
            raw = data[BASE[row[1]] + row[2] + 8 : BASE[row[1]] + row[3]]
            blob = data[BASE[row[5]] + row[6] + 8 : BASE[row[5]] + row[7]]
            result.append((msgspec.msgpack.decode(raw), row[9], row[11], blob))
        return result
    except (sqlite3.Error, KeyError, TypeError, IndexError, ValueError, msgspec.DecodeError):
        return None


@contextmanager
def sample() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield good(Path(folder))


with sample() as whole:
    TRUTH = read_as_mindspore(whole)
assert TRUTH is not None and len(TRUTH) == ROWS

places = st.one_of(
    st.integers(0, 720),
    st.integers(0, ROWS - 1).flatmap(lambda row: st.integers(BLOB + 208 * row, BLOB + 208 * row + 7)),
    st.integers(RAW, RAW + 34 * ROWS - 1),
)
flips = st.lists(st.tuples(places, st.integers(1, 255)), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(flips)
@example([(RAW + 33, 1), (RAW + 67, 1)])
def test_flipped_bytes(found: list[tuple[int, int]]) -> None:
    with sample() as path:
        for offset, mask in found:
            flip(offset, mask)(path)
        checked = look(path)
        if checked.status == "ok":
            assert read_as_mindspore(path) in (TRUTH, None)
        plan(str(path), checked, None)


changes = st.lists(
    st.tuples(st.sampled_from([*PLACES, "file_name_0", "label_0"]), st.integers(0, ROWS - 1), st.integers(-3, 10**6)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=100, deadline=None)
@given(changes)
def test_edited_index(found: list[tuple[str, int, int]]) -> None:
    with sample() as path:
        try:
            sql(*(f"UPDATE INDEXES SET {name} = {new} WHERE ROW_ID = {row}" for name, row, new in found))(path)
        except sqlite3.IntegrityError:
            return
        checked = look(path)
        assert checked.status != "ok" or read_as_mindspore(path) == TRUTH


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 52000), st.integers(0, 17000))
def test_cut(size: int, index_size: int) -> None:
    with sample() as path:
        path.write_bytes(path.read_bytes()[:size])
        index = Path(f"{path}.db")
        index.write_bytes(index.read_bytes()[:index_size])
        checked = look(path)
        whole = size >= 51192 and index_size >= 16384
        assert (checked.status == "ok") is whole
        assert checked.intact_records is None or checked.intact_records == max(0, min(ROWS, (size - RAW) // 34))
        plan(str(path), checked, None)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 51000), st.integers(0, 16000))
@example(b"\x80", 719, 3696)
def test_bytes_written_over(new: bytes, offset: int, index_offset: int) -> None:
    with sample() as path:
        index = Path(f"{path}.db")
        for file, place in ((path, offset), (index, index_offset)):
            data = bytearray(file.read_bytes())
            data[place : place + len(new)] = new
            file.write_bytes(data)
        checked = look(path)
        assert checked.status
        plan(str(path), checked, None)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 350172), st.integers(1, 255))
def test_damaged_uncommitted_file(offset: int, mask: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = real(Path(folder), "uncommitted") / "uncommitted.mindrecord"
        flip(min(offset, path.stat().st_size - 1), mask)(path)
        checked = look(path)
        plan(str(path), checked, None)
