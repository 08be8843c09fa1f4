"""Readers beside a writer, and a writer that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mswb.inside.store import InvalidCacheFile, StoreReader, StoreWriter
from tests.unit.inside.store.common import FIXED, KEY, fixed, make, same

ROOT = str(Path(__file__).parents[4])


def test_a_reader_sees_what_is_acknowledged_and_no_more(tmp_path: Path) -> None:
    with StoreWriter(str(tmp_path), FIXED, KEY, sync_records=10, shard_bytes=1 << 40) as writer:
        reader = StoreReader(str(tmp_path))
        seen = []
        for sample_id in range(35):
            writer.append(sample_id, fixed(sample_id))
            seen.append(reader.refresh())
        assert seen == [count // 10 * 10 for count in range(1, 36)]
        assert same(reader.get(25), fixed(25))
        early = reader.get(0)
        writer.sync()
        writer.seal()
        assert reader.refresh() == 35 and reader.is_sealed
        writer.append(35, fixed(35))
        writer.sync()
        assert reader.refresh() == 36 and not reader.is_sealed
        assert same(reader.get(35), fixed(35)) and same(early, fixed(0))


def test_a_shard_that_has_no_header_yet_is_none(tmp_path: Path) -> None:
    folder = make(tmp_path, 8, per_shard=8)
    Path(folder, "0001.shard.part").touch()
    assert len(StoreReader(folder)) == 8


def test_an_index_that_is_being_written_is_read_up_to_its_last_whole_row(tmp_path: Path) -> None:
    folder = make(tmp_path, 5, seal=False)
    index = Path(folder, "0000.idx.part")
    index.write_bytes(index.read_bytes()[:-7])
    assert StoreReader(folder).ids().tolist() == [0, 1, 2, 3]
    index.write_bytes(index.read_bytes()[: 64 + 4 * 32] + bytes(64))
    assert StoreReader(folder).ids().tolist() == [0, 1, 2, 3]


def test_threads_share_a_reader(tmp_path: Path) -> None:
    problems: list[object] = []
    with StoreWriter(str(tmp_path), FIXED, KEY, sync_records=3, shard_bytes=20_000) as writer:
        reader = StoreReader(str(tmp_path))
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                count = reader.refresh()
                for sample_id in range(max(0, count - 20), count):
                    if not same(reader.get(sample_id), fixed(sample_id)):
                        problems.append(sample_id)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for sample_id in range(200):
            writer.append(sample_id, fixed(sample_id))
        writer.sync()
        done.set()
        for thread in threads:
            thread.join()
    assert not problems and reader.refresh() == 200


def test_one_damaged_record_leaves_the_others(tmp_path: Path) -> None:
    folder = make(tmp_path, 20, per_shard=8)
    shard = os.path.join(folder, "0001.shard")
    os.chmod(shard, 0o600)
    with open(shard, "r+b") as file:
        file.seek(4096 + 64)
        file.write(b"\x99")
    for mmap in (True, False):
        reader = StoreReader(folder, mmap=mmap)
        text = rf"Invalid cache file format: {shard} at byte 4096: the payload's hash"
        with pytest.raises(InvalidCacheFile, match=text) as caught:
            reader.get(8)
        assert (caught.value.path, caught.value.offset, caught.value.status) == (shard, 4096, "corrupted")
        assert all(same(reader.get(sample_id), fixed(sample_id)) for sample_id in (*range(8), *range(9, 20)))
        # Without verification the damage comes through: that is what the checksum is for.
        assert not same(StoreReader(folder, verify=False, mmap=mmap).get(8), fixed(8))


@pytest.mark.parametrize("mmap", [True, False])
def test_an_unfinished_shard_may_be_cut_in_the_padding_of_its_last_record(tmp_path: Path, mmap: bool) -> None:
    folder = make(tmp_path, 3, seal=False)
    os.truncate(os.path.join(folder, "0000.shard.part"), 4096 + 3 * 192 - 5)
    reader = StoreReader(folder, mmap=mmap)
    assert [same(reader.get(number), fixed(number)) for number in range(3)] == [True] * 3
    os.truncate(os.path.join(folder, "0000.shard.part"), 4096 + 2 * 192 + 70)
    reader = StoreReader(folder, mmap=mmap)
    assert reader.ids().tolist() == [0, 1] and same(reader.get(1), fixed(1))


def test_an_unfinished_shard_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    folder = make(tmp_path, 3, seal=False)
    reader = StoreReader(folder)
    path, size = os.path.join(folder, "0000.shard.part"), 4096 + 2 * 192 + 70
    os.truncate(path, size)
    with pytest.raises(InvalidCacheFile) as caught:
        reader.get(2)
    assert str(caught.value) == f"Invalid cache file format: {path} at byte {size}: the record is cut"
    assert same(reader.get(1), fixed(1))


def test_a_shard_of_another_cache_is_not_served(tmp_path: Path) -> None:
    folder, other = make(tmp_path), tmp_path / "other"
    with StoreWriter(str(other), FIXED, "ab" * 32) as writer:
        writer.append(0, fixed(7))
        writer.seal()
    for name in ("0000.shard", "0000.idx"):
        os.replace(other / name, os.path.join(folder, name))
    reason = f"Invalid cache file format: {folder}/0000.shard at byte 24: its key is that of another cache"
    with pytest.raises(InvalidCacheFile) as caught:
        StoreReader(folder)
    assert str(caught.value) == reason


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        StoreReader(str(tmp_path / "none"))
    assert len(StoreReader(str(tmp_path))) == 0


@pytest.mark.parametrize("module", ["cache_kill", "cache_soak"])
def test_processes(module: str) -> None:
    """Fifty writers killed at random moments; eight readers beside a writer."""
    options = {"cache_kill": ["--times", "50", "--seed", str(os.getpid())], "cache_soak": ["--samples", "1500"]}[module]
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
