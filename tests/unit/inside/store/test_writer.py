"""Recovery after a cut at any byte, sealing, and disks that are full."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.inside.store import Column, InvalidCacheFile, StoreReader, StoreWriter, WriteFailed
from mswb.inside.store import writer as module
from tests.unit.inside.store.common import FIXED, KEY, fixed, make, same

PART = "0000.shard.part"
RECORD = 64 + 64 + 64
"""Bytes of a record of FIXED: header, 60 bytes of x and the 8 of y on the grid."""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4096 + 6 * RECORD), st.booleans(), st.binary(max_size=300))
def test_a_shard_that_is_cut_anywhere_is_continued(cut: int, index: bool, garbage: bytes) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = make(Path(home), 6, seal=False, per_shard=100, named=False)
        part = os.path.join(folder, PART)
        with open(part, "r+b") as file:
            file.truncate(cut)
            file.seek(cut)
            file.write(garbage if cut > 4096 else b"")
        if not index:
            os.unlink(os.path.join(folder, "0000.idx.part"))
        whole = max(0, (cut - 4096) // RECORD)
        with StoreWriter(folder, FIXED, KEY) as writer:
            writer.append(9, fixed(9))
            writer.seal()
        with StoreReader(folder) as reader:
            ids = reader.ids().tolist()
            assert ids[:-1] == list(range(len(ids) - 1)) and ids[-1] == 9
            # Garbage may only ever complete the zeros behind the last payload.
            assert whole <= len(ids) - 1 <= whole + 1
            assert all(same(reader.get(sample_id), fixed(sample_id)) for sample_id in ids)


def test_what_a_recovery_found_is_told(tmp_path: Path) -> None:
    folder = make(tmp_path, 6, seal=False, per_shard=100)
    part = os.path.join(folder, PART)
    with open(part, "r+b") as file:
        file.seek(4096 + 2 * RECORD + 70)
        file.write(b"\xff")
        file.seek(0, os.SEEK_END)
        file.write(b"MSWR torn")
    with StoreWriter(folder, FIXED, KEY) as writer:
        offsets = [(one.offset, one.status) for one in writer.recovered]
        writer.append(2, fixed(2))
    assert offsets == [(4096 + 2 * RECORD, "corrupted"), (4096 + 6 * RECORD, "truncated")]
    assert [int(StoreReader(folder).get(sample_id)[1]) for sample_id in range(6)] == list(range(6))


def test_a_shard_of_another_schema_is_not_continued(tmp_path: Path) -> None:
    folder = make(tmp_path, 3, seal=False)
    with pytest.raises(InvalidCacheFile) as caught:
        StoreWriter(folder, [Column("x", "<f4", (3, 5))], KEY)
    assert caught.value.status == "schema-changed"


def test_sealed_shards_are_read_only_and_complete(tmp_path: Path) -> None:
    folder = make(tmp_path, 20, per_shard=8)
    assert sorted(os.listdir(folder)) == sorted(
        ["manifest.json", *(f"000{number}.{kind}" for number in range(3) for kind in ("idx", "shard"))]
    )
    modes = {stat.S_IMODE(os.stat(os.path.join(folder, f"0000.{kind}")).st_mode) & 0o222 for kind in ("idx", "shard")}
    assert modes == {0}
    assert StoreReader(folder).is_sealed


def test_sealing_nothing_leaves_nothing(tmp_path: Path) -> None:
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer:
        writer.seal()
        writer.seal()
    assert os.listdir(tmp_path) == []


def test_a_kill_between_the_two_renames_of_a_seal(tmp_path: Path) -> None:
    folder = make(tmp_path, 5)
    os.rename(os.path.join(folder, "0000.shard"), os.path.join(folder, PART))
    os.chmod(os.path.join(folder, PART), 0o600)
    assert len(StoreReader(folder)) == 5
    with StoreWriter(folder, FIXED, KEY) as writer:
        writer.append(5, fixed(5))
        writer.seal()
    assert StoreReader(folder).ids().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A disk with so many bytes left, its only element: a write takes what fits and then fails."""
    left = [1 << 40]
    write = module._write

    def full(descriptor: int, data: Any, offset: int) -> None:
        raw = memoryview(data).cast("B")
        fits = min(len(raw), left[0])
        write(descriptor, raw[:fits], offset)
        left[0] -= fits
        if fits < len(raw):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    yield left


@pytest.mark.parametrize("room", [0, 1, 63, 64, 200, 900, 1000, 1900, 2000, 2100])
def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path, disk: list[int], room: int) -> None:
    writer = StoreWriter(str(tmp_path), FIXED, KEY, sync_records=4)
    for sample_id in range(4):
        writer.append(sample_id, fixed(sample_id))
    disk[0] = room
    with pytest.raises(WriteFailed, match="the disk is full") as caught:
        for sample_id in range(4, 100):
            writer.append(sample_id, fixed(sample_id))
    safe = caught.value.acknowledged
    assert safe == 4 + 4 * (room // (4 * RECORD + 4 * 32))
    assert list(caught.value.lost) == list(range(safe, safe + 4)) and f"{safe} records are safe" in str(caught.value)
    with pytest.raises(WriteFailed):
        writer.append(0, fixed(0))
    writer.close()
    assert StoreReader(str(tmp_path)).ids().tolist() == list(range(safe))
    disk[0] = 1 << 40
    with StoreWriter(str(tmp_path), FIXED, KEY) as again:
        assert not again.recovered
        for sample_id in range(safe, 12):
            again.append(sample_id, fixed(sample_id))
        again.seal()
    reader = StoreReader(str(tmp_path))
    assert all(same(reader.get(sample_id), fixed(sample_id)) for sample_id in range(12))


def test_a_sync_that_fails_acknowledges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = StoreWriter(str(tmp_path), FIXED, KEY)
    writer.append(0, fixed(0))
    writer.sync()
    writer.append(1, fixed(1))

    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fails)
        with pytest.raises(WriteFailed, match="writing failed"):
            writer.sync()
    writer.close()
    assert StoreReader(str(tmp_path)).ids().tolist() == [0]


CHILD = """
import resource, sys
import numpy as np
from mswb.inside.store import Column, StoreWriter, WriteFailed
folder, limit = sys.argv[1], int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
writer = StoreWriter(folder, [Column("x", "<i8", (500,))], "e1" * 32, sync_records=10)
try:
    for i in range(10_000):
        writer.append(i, (np.full(500, i),))
except WriteFailed as problem:
    print(problem.acknowledged, problem)
"""


def _until_full(folder: Path, limit: int) -> int:
    root = str(Path(__file__).parents[4])
    command = [sys.executable, "-c", CHILD, str(folder), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    assert "the disk is full" in done.stdout, done.stdout + done.stderr
    return int(done.stdout.split()[0])


def _check_all(folder: Path, safe: int) -> None:
    with StoreReader(str(folder)) as reader:
        assert safe and reader.ids().tolist() == list(range(safe))
        assert all((reader.get(sample_id)[0] == sample_id).all() for sample_id in range(safe))


def test_a_limit_on_the_file_size(tmp_path: Path) -> None:
    safe = _until_full(tmp_path, 300_000)
    _check_all(tmp_path, safe)


def test_a_real_full_disk(tmp_path: Path) -> None:
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mounted)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system can't be mounted here")
    try:
        safe = _until_full(mounted / "cache", 0)
        _check_all(mounted / "cache", safe)
        # The space of what was dropped is free again: the index of what is there fits, and so does its seal.
        with StoreWriter(str(mounted / "cache"), [Column("x", "<i8", (500,))], "e1" * 32) as writer:
            writer.seal()
        _check_all(mounted / "cache", safe)
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_ids_that_are_no_numbers_of_64_bits(tmp_path: Path) -> None:
    with StoreWriter(str(tmp_path), [Column("x", "|u1", (1,))], KEY) as writer:
        for wrong in (-1, 1 << 64):
            with pytest.raises(ValueError, match="sample id"):
                writer.append(wrong, (np.zeros(1, "|u1"),))


def test_a_shard_has_no_more_records_than_an_index_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 5)
    with StoreWriter(str(tmp_path), FIXED, KEY) as writer:
        for sample_id in range(12):
            writer.append(sample_id, fixed(sample_id))
    sizes = [os.path.getsize(tmp_path / name) for name in ("0000.idx", "0001.idx", "0002.idx.part")]
    assert sizes == [64 + 32 * 5, 64 + 32 * 5, 64 + 32 * 2]
    os.truncate(tmp_path / "0002.idx.part", 1 << 40)
    assert len(StoreReader(str(tmp_path))) == 12, "an index without end is left aside, not read"
