"""What is written comes back: any columns, shapes, texts and ids, mapped or read, with either checksum."""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.inside.store import Column, MissingHash, StoreReader, StoreWriter
from tests.unit.inside.store.common import FIXED, KEY, VARYING, fixed, make, same

DTYPES = ("|u1", "|b1", "<i2", "<f4", ">f8", "<c8", "<f2", "<U3", "|S4", "<M8[s]", "<m8[ns]")
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def column(draw: st.DrawFn, number: int) -> Column:
    dtype = draw(st.sampled_from((*DTYPES, "bytes", "str")))
    shape = None if dtype in ("bytes", "str") else draw(st.none() | SHAPES)
    return Column(f"c{number}", dtype, shape)


@st.composite
def value(draw: st.DrawFn, one: Column) -> Any:
    if one.dtype == "bytes":
        return draw(st.binary(max_size=200))
    if one.dtype == "str":
        return draw(st.text(max_size=50))
    shape = one.shape if one.shape is not None else draw(SHAPES)
    item = np.dtype(one.dtype).itemsize
    seed = draw(st.integers(0, 1 << 16))
    raw = np.random.default_rng(seed).integers(0, 2, int(np.prod(shape)) * item, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), np.dtype(one.dtype)).reshape(shape)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[Column], dict[int, list[Any]]]:
    columns = [draw(column(number)) for number in range(draw(st.integers(1, 4)))]
    ids = draw(st.lists(st.integers(0, 40) | st.integers(0, (1 << 64) - 1), unique=True, max_size=12))
    return columns, {sample_id: [draw(value(one)) for one in columns] for sample_id in ids}


@settings(max_examples=60, deadline=None)
@given(samples(), st.booleans(), st.booleans(), st.sampled_from(("crc32", "xxh3_64")), st.integers(1, 5))
def test_samples_come_back(
    given_: tuple[list[Column], dict[int, list[Any]]], mmap: bool, seal: bool, hash_name: str, sync: int
) -> None:
    columns, content = given_
    with tempfile.TemporaryDirectory() as folder:
        writer = StoreWriter(folder, columns, KEY, sync_records=sync, shard_bytes=5000, hash_name=hash_name)
        for sample_id, values in content.items():
            writer.append(sample_id, values)
        assert writer.sync() == len(content)
        if seal:
            writer.seal()
        writer.close()
        with StoreReader(folder, mmap=mmap) as reader:
            assert reader.ids().tolist() == sorted(content)
            assert len(reader) == len(content)
            for sample_id, values in content.items():
                assert same(reader.get(sample_id), values)
                assert sample_id in reader
            assert reader.verified == len(content)


def test_views_are_aligned_read_only_and_outlive_the_reader(tmp_path: Path) -> None:
    reader = StoreReader(make(tmp_path))
    x, y = reader.get(7)
    reader.close()
    assert x.ctypes.data % 64 == 0 and y.ctypes.data % 64 == 0
    assert not x.flags.writeable
    assert x[0, 0] == 7 and y == 7


def test_arrays_may_change_after_they_were_appended(tmp_path: Path) -> None:
    x, y = fixed(1)
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer:
        writer.append(1, (x, y))
        x[:] = 99
    assert StoreReader(str(tmp_path)).get(1)[0][0, 0] == 1


def test_arrays_that_are_not_contiguous_are_stored_as_they_read(tmp_path: Path) -> None:
    x = np.arange(30, dtype="<f4").reshape(5, 6)[:, ::2].T
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer:
        writer.append(0, (x, np.array(0)))
    assert StoreReader(str(tmp_path)).get(0)[0].tolist() == x.tolist()


def test_records_longer_than_the_buffer(tmp_path: Path) -> None:
    big = np.arange(3 << 20, dtype="<i8").view("|u1")
    with StoreWriter(str(tmp_path), VARYING, KEY) as writer:
        for sample_id, part in enumerate((big[:10], big, big[:20])):
            writer.append(sample_id, (b"a" * sample_id, "中", part))
    reader = StoreReader(str(tmp_path))
    assert same(reader.get(1), (b"a", "中", big))
    assert same(reader.get(2), (b"aa", "中", big[:20]))


def test_a_later_record_replaces_an_earlier_one(tmp_path: Path) -> None:
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer:
        writer.append(3, fixed(1))
        writer.append(3, fixed(2))
    reader = StoreReader(str(tmp_path))
    assert len(reader) == 1 and reader.get(3)[1] == 2


@pytest.mark.parametrize("missing", [20, -1, 1 << 70, 10**6])
def test_samples_that_are_not_there(tmp_path: Path, missing: int) -> None:
    reader = StoreReader(make(tmp_path))
    with pytest.raises(KeyError):
        reader.get(missing)
    assert missing not in reader


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((np.zeros((3, 5), "<f8"), np.array(0)), "column 'x' takes <f4"),
        ((np.zeros((5, 3), "<f4"), np.array(0)), r"\(3, 5\)"),
        ((np.zeros((3, 5), "<f4"),), "1 values for 2 columns"),
        (([1.0], np.array(0)), "a value is list"),
    ],
)
def test_values_that_do_not_fit_are_refused(tmp_path: Path, values: Any, reason: str) -> None:
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer, pytest.raises(ValueError, match=reason):
        writer.append(0, values)
    assert len(StoreReader(str(tmp_path))) == 0


@pytest.mark.parametrize("dtype", ["|O", "O", "<i4,<f4", "{'x': 'i4'}", "|V8", "<i999", ""])
def test_dtypes_that_are_no_plain_arrays_are_refused(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(ValueError):
        StoreWriter(str(tmp_path), [Column("x", dtype, (1,))], KEY)


def test_a_reader_can_be_sent_to_another_process(tmp_path: Path) -> None:
    reader = pickle.loads(pickle.dumps(StoreReader(make(tmp_path), mmap=False)))
    assert not reader.mmap and same(reader.get(5), fixed(5))


def test_without_xxhash_crc32_is_written_and_xxh3_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = make(tmp_path / "with")
    monkeypatch.setitem(sys.modules, "xxhash", None)
    here = make(tmp_path / "without")
    assert same(StoreReader(here).get(3), fixed(3))
    with pytest.raises(MissingHash, match="pip install xxhash"):
        StoreReader(there)
