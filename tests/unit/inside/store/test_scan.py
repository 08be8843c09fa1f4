"""A scan finds the same whatever its block, and payloads that lie about themselves are refused."""

from __future__ import annotations

import os
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.inside.store import Column, InvalidCacheFile, StoreReader, StoreWriter
from mswb.inside.store.columns import Codec
from mswb.inside.store.layout import ShardHeader, seed_of, up
from mswb.inside.store.scan import Seen, scan
from tests.unit.inside.store.common import KEY, VARYING, make

START = 4096


def scanned(path: Path, block: int) -> list[Seen]:
    header = ShardHeader(VARYING, KEY, "xxh3_64", 0, START, seed_of(KEY, 0))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return list(scan(descriptor, header, START, os.fstat(descriptor).st_size, block))
    finally:
        os.close(descriptor)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 20_000), st.binary(min_size=1, max_size=90)), max_size=4),
    st.sampled_from([64, 128, 192, 1000, 4096, 5000]),
    st.integers(0, 200),
)
def test_the_block_changes_nothing(sizes: list[int], damage: list[tuple[int, bytes]], block: int, missing: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with StoreWriter(folder, VARYING, KEY) as writer:
            for sample_id, size in enumerate(sizes):
                # A payload that looks like headers, so that a search meets many false ones.
                writer.append(sample_id, (b"MSWR" * (size // 8), "", np.frombuffer(b"MSWR" * (size // 4), "|u1")))
        path = Path(folder, "0000.shard.part")
        raw = bytearray(path.read_bytes())
        for at, content in damage:
            raw[START + at : START + at + len(content)] = content[: max(0, len(raw) - START - at)]
        path.write_bytes(raw[: max(START, len(raw) - missing)])
        large = scanned(path, 1 << 20)
        assert scanned(path, block) == large
        assert [one.offset for one in large] == sorted({one.offset for one in large})
        assert sum(one.size for one in large) <= up(max(0, len(raw) - START))
        untouched = [] if damage or missing else list(range(len(sizes)))
        if untouched:
            assert [one.sample_id for one in large if one.intact] == untouched


PAIR = struct.Struct("<QQ")
HOSTILE = {
    "more bytes than there are": PAIR.pack(1 << 40, 0),
    "dimensions without end": PAIR.pack(0, 1 << 60),
    "33 dimensions": PAIR.pack(0, 33) + bytes(8 * 33),
    "a shape that is not its length": PAIR.pack(8, 1) + struct.pack("<Q", 9),
    "a product that wraps": PAIR.pack(0, 2) + struct.pack("<QQ", 1 << 32, 1 << 32),
    "a huge dimension beside none": PAIR.pack(0, 2) + struct.pack("<QQ", (1 << 64) - 1, 0),
    "bytes behind the last column": PAIR.pack(1, 1) + struct.pack("<Q", 1) + bytes(200),
    "no table": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_payloads_that_can_not_be_true(name: str) -> None:
    payload = HOSTILE[name]
    with pytest.raises(ValueError):
        Codec([Column("x", "|u1", None)]).views(payload, 0, len(payload))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_payload_is_values_or_a_value_error(payload: bytes) -> None:
    codec = Codec([Column("a", "<f4", None), Column("b", "str", None), Column("c", "<i2", (2,))])
    try:
        values = codec.views(payload, 0, len(payload))
    except ValueError:
        return
    assert len(values) == 3


def test_an_index_that_fits_no_payload_is_told_when_it_is_opened(tmp_path: Path) -> None:
    folder = make(tmp_path, 4, seal=False)
    index = Path(folder, "0000.idx.part")
    raw = bytearray(index.read_bytes())
    raw[64 + 8] ^= 1
    index.write_bytes(raw)
    with pytest.raises(InvalidCacheFile, match="where the columns take"):
        StoreReader(folder)


def test_sealed_shards_that_nobody_reads_cost_no_descriptors(tmp_path: Path) -> None:
    folder = make(tmp_path, 60, per_shard=2)
    before = len(os.listdir("/proc/self/fd"))
    reader = StoreReader(folder)
    assert len(reader) == 60 and len(os.listdir("/proc/self/fd")) == before
    reader.get(0)
    assert len(os.listdir("/proc/self/fd")) == before + 1
