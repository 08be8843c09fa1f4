"""Damage of every kind is found with its offset, and a repair keeps every sample that is whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.check import Checked, Options, Watch
from mswb.cache.filecache import check, plan
from mswb.cache.filecache.mend import write_sound
from mswb.cache.staleness import look
from mswb.cache.trash.moves import restore
from mswb.cache.trash.store import items
from mswb.inside.cached import lease
from mswb.inside.cached.files import LIST, digest, list_files, render
from mswb.inside.store import Column, Manifest, StoreReader, StoreWriter, layout, read_manifest, write_manifest
from mswb.plan import apply, path_identity
from tests.unit.inside.store.common import FIXED, KEY, fixed, make, same

RECORD = 192
START = 4096
"""Where the first record of a shard begins."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path))
    for name in ("fsync", "fdatasync"):  # they cost most of the time and change nothing that a test sees
        monkeypatch.setattr(os, name, lambda descriptor: None)


def examined(folder: str, **options: int) -> Checked:
    return check(folder, Options(**options), Watch())


def flip(folder: str, name: str, at: int, mask: int = 0x10) -> None:
    path = os.path.join(folder, name)
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))


def cut(folder: str, name: str, size: int) -> None:
    os.chmod(os.path.join(folder, name), 0o600)
    os.truncate(os.path.join(folder, name), size)


def grow(folder: str, name: str, data: bytes) -> None:
    os.chmod(os.path.join(folder, name), 0o600)
    with open(os.path.join(folder, name), "ab") as file:
        file.write(data)


def swap(folder: str, name: str, other: str) -> None:
    os.chmod(os.path.join(folder, name), 0o600)
    shutil.copyfile(os.path.join(folder, other), os.path.join(folder, name))


class Case(NamedTuple):
    """What is done to a file of a cache of 20 samples in shards of 8, and what is found: ``intact`` samples stay."""

    how: Callable[..., object]
    file: str
    arguments: tuple[Any, ...]
    status: str
    offset: int
    record: int | None
    intact: int


def edit(folder: str, name: str, old: bytes, new: bytes) -> None:
    path = Path(folder, name)
    path.write_bytes(path.read_bytes().replace(old, new))


def unlink(folder: str, name: str) -> None:
    os.unlink(os.path.join(folder, name))


def doubled(folder: str, name: str) -> None:
    """One shard, with its index, under the name of another."""
    swap(folder, "0001.shard", "0000.shard")
    swap(folder, name, "0000.idx")


def _header(at: int, mask: int = 0x10) -> Case:
    """A byte of the header of record 1 of the first shard."""
    return Case(flip, "0000.shard", (START + RECORD + at, mask), "corrupted", START + RECORD, 1, 20)


THIRD = START + 2 * RECORD
CUT = START + 3 * RECORD
CASES = {
    "payload": Case(flip, "0001.shard", (THIRD + 70,), "corrupted", THIRD, 10, 19),
    "padding between columns": Case(flip, "0001.shard", (START + 64 + 61,), "corrupted", START, 8, 19),
    "padding after a record": Case(flip, "0001.shard", (START + 64 + 72,), "corrupted", START, 8, 20),
    "record magic": _header(0),
    "record flags": _header(4),
    "sample id": _header(8),
    "payload length": _header(16),
    "huge payload length": _header(23, 0xFF),
    "payload hash": _header(25),
    "header CRC": _header(33),
    "header padding": _header(50),
    "shard magic": Case(flip, "0002.shard", (3,), "corrupted", 0, None, 20),
    "shard JSON": Case(flip, "0002.shard", (40,), "corrupted", 0, None, 20),
    "shard header's zeros": Case(flip, "0002.shard", (4000,), "corrupted", 0, None, 20),
    "shard header's length": Case(flip, "0002.shard", (13, 0x20), "corrupted", 0, None, 20),
    "shard version": Case(flip, "0002.shard", (8, 3), "version-mismatch", 0, None, 16),
    "index magic": Case(flip, "0001.idx", (0,), "index-damaged", 0, None, 20),
    "index row": Case(flip, "0001.idx", (64 + 3 * 32 + 9,), "index-damaged", 64 + 3 * 32, 3, 20),
    "index cut": Case(cut, "0001.idx", (64 + 100,), "index-damaged", 64 + 96, 3, 20),
    "index gone": Case(unlink, "0001.idx", (), "index-missing", 0, None, 20),
    "index of another": Case(swap, "0000.idx", ("0001.idx",), "index-foreign", 12, None, 20),
    "cut in a record": Case(cut, "0001.shard", (CUT + 80,), "truncated", CUT, 3, 15),
    "cut at a boundary": Case(cut, "0001.shard", (CUT,), "truncated", CUT, 3, 15),
    "cut in the header": Case(cut, "0001.shard", (1000,), "truncated", 0, None, 12),
    "emptied": Case(cut, "0001.shard", (0,), "empty", 0, None, 12),
    "shard gone": Case(unlink, "0001.shard", (), "truncated", 0, None, 12),
    "bytes behind": Case(grow, "0001.shard", (b"x" * 64,), "corrupted", START + 8 * RECORD, None, 20),
    "shard under another number": Case(doubled, "0001.idx", (), "index-foreign", 12, None, 12),
    "manifest no JSON": Case(flip, "manifest.json", (0,), "corrupted", 0, None, 20),
    "manifest's version": Case(
        edit, "manifest.json", (b'"version": 1', b'"version": 2'), "version-mismatch", 0, None, 20
    ),
    "manifest's text": Case(edit, "manifest.json", (b'"images"', b'"imagfs"'), "corrupted", 0, None, 20),
}


@pytest.mark.parametrize("name", CASES)
def test_damage_is_found_where_it_is_and_mended(tmp_path: Path, name: str) -> None:
    how, file, arguments, status, offset, record, intact = CASES[name]
    folder = make(tmp_path, 20)
    assert examined(folder).status == "ok"
    how(folder, file, *arguments)
    found = examined(folder)
    first = next(fault for fault in found.faults if fault.code == status)
    assert (found.status, found.intact_records) == (status, intact)
    assert (os.path.basename(first.file or ""), first.offset) == (file, offset)
    if record is not None:
        assert first.record == record
    repair = plan(folder, found, None)
    if status == "version-mismatch":
        assert not repair.plan.actions and repair.plan.warnings
        return
    outcomes = apply(repair.plan, repair.kinds)
    assert [(one.done, one.reason) for one in outcomes] == [(True, "")]
    after = examined(folder)
    assert (after.status, after.intact_records) == ("ok", intact)
    reader = StoreReader(folder)
    assert len(reader) == intact
    assert all(same(reader.get(int(sample_id)), fixed(int(sample_id))) for sample_id in reader.ids())


@settings(max_examples=100, deadline=None)
@given(st.data(), st.booleans())
def test_any_flipped_bit_of_a_shard_or_index_is_found_and_costs_one_sample(data: st.DataObject, seal: bool) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = make(Path(home), 12, seal=seal)
        name = data.draw(st.sampled_from(sorted(os.listdir(folder))).filter(lambda one: one != "manifest.json"))
        size = os.path.getsize(os.path.join(folder, name))
        places = st.integers(0, size - 1) | st.integers(0, 80) | st.integers(max(0, size - 400), size - 1)
        flip(folder, name, data.draw(places), 1 << data.draw(st.integers(0, 7)))
        found = examined(folder)
        # The index of an unfinished shard is only a help; without it the cache is just what it was: interrupted.
        is_help = name.endswith(".idx.part")
        assert found.status not in ("ok", "building") and found.faults
        assert found.status != "interrupted" or is_help
        mended = f"{folder}.new"
        os.mkdir(mended)
        assert write_sound(folder, mended) == found.intact_records
        assert (found.intact_records or 0) >= 11 or found.status == "version-mismatch"
        reader = StoreReader(mended)
        assert all(same(reader.get(int(one)), fixed(int(one))) for one in reader.ids())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 6000), st.sampled_from(["0000.shard", "0000.idx", "manifest.json"]))
def test_files_of_any_content_end_in_a_status(content: bytes, at: int, name: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = make(Path(home), 6)
        path = Path(folder, name)
        whole = path.read_bytes()
        path.chmod(0o600)
        path.write_bytes(whole[:at] + content)
        found = examined(folder)
        assert found.status != "ok" or path.read_bytes().split() == whole.split()  # JSON may be set otherwise
        assert 0 <= (found.intact_records or 0) <= 6


def test_an_unfinished_cache_is_interrupted_and_sealed_by_a_repair(tmp_path: Path) -> None:
    folder = make(tmp_path, 10, seal=False, per_shard=100)
    grow(folder, "0000.shard.part", b"MSWR" + bytes(100))
    found = examined(folder)
    assert (found.status, found.records, found.intact_records) == ("interrupted", 10, 10)
    assert found.more["torn_bytes"] == 104 and "104 bytes" in found.faults[0].reason
    repair = plan(folder, found, None)
    assert apply(repair.plan, repair.kinds)[0].done
    assert examined(folder).status == "ok" and StoreReader(folder).is_sealed


def test_a_shard_of_another_cache_is_none_of_this_one(tmp_path: Path) -> None:
    folder, other = make(tmp_path, 20), str(tmp_path / "other")
    with StoreWriter(other, FIXED, "ab" * 32) as writer:
        for sample_id in range(8):
            writer.append(sample_id, fixed(sample_id + 100))
        writer.seal()
    for name in ("0000.shard", "0000.idx"):
        os.replace(os.path.join(other, name), os.path.join(folder, name))
    found = examined(folder)
    assert (found.status, found.records, found.intact_records) == ("corrupted", 20, 12)
    assert found.faults[0].reason == "its key is that of another cache"
    assert found.faults[0].file == os.path.join(folder, "0000.shard")
    repair = plan(folder, found, None)
    assert apply(repair.plan, repair.kinds)[0].done
    assert StoreReader(folder).ids().tolist() == list(range(8, 20))


def test_acknowledged_records_that_are_gone_are_missed(tmp_path: Path) -> None:
    folder = make(tmp_path, 13, seal=False, per_shard=8)
    cut(folder, "0001.shard.part", START + 2 * RECORD + 7)
    found = examined(folder)
    assert (found.status, found.records, found.intact_records) == ("truncated", 13, 10)
    assert "3 records" in found.faults[0].reason


def test_whole_records_beyond_the_last_sync_are_kept(tmp_path: Path) -> None:
    folder = make(tmp_path, 10, seal=False, per_shard=100)
    cut(folder, "0000.idx.part", 64 + 4 * 32)
    assert len(StoreReader(folder)) == 4
    assert examined(folder).intact_records == 10
    repair = plan(folder, examined(folder), None)
    apply(repair.plan, repair.kinds)
    assert len(StoreReader(folder)) == 10


def test_a_cache_that_is_written_is_building_and_not_mended(tmp_path: Path) -> None:
    folder = str(tmp_path / "images" / KEY[:16])
    with StoreWriter(folder, FIXED, KEY, sync_records=3) as writer:
        held = lease.take(folder)
        write_manifest(folder, Manifest("images", KEY, schema=FIXED))
        for sample_id in range(5):
            writer.append(sample_id, fixed(sample_id))
        found = examined(folder)
        assert (found.status, found.intact_records, found.faults) == ("building", 3, ())
        repair = plan(folder, found, None)
        assert not repair.plan.actions and "a process is writing it" in repair.plan.warnings[0]
        held.release()
    assert examined(folder).status == "interrupted"


def test_counts_are_compared_with_the_source_and_with_what_a_person_says(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    assert examined(folder, records=20).status == "ok"
    found = examined(folder, records=25)
    assert found.status == "count-mismatch" and found.faults[0].values == {
        "expected": 25,
        "records": 20,
        "path": folder,
    }
    for kind in ("shard", "idx"):
        os.unlink(f"{folder}/0002.{kind}")
    found = examined(folder)
    assert (found.status, found.records) == ("count-mismatch", 16)


def test_a_changed_source_is_named_file_by_file(tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    for name in "abc":
        (source / name).write_text(name)
    folder = make(tmp_path / "root", 5)
    Path(folder, LIST).write_bytes(render(list_files([str(source)])))
    assert examined(folder).status == "ok"
    (source / "a").unlink()
    (source / "b").write_text("longer")
    (source / "d").write_text("new")
    found = examined(folder)
    assert found.status == "stale-source" and found.faults[0].reason.startswith("+1 -1 ~1")
    values = found.faults[0].values
    assert [values[name] for name in ("added", "removed", "changed")] == [
        [str(source / name)] for name in ("d", "a", "b")
    ]
    repair = plan(folder, found, None)
    assert not repair.plan.actions and "stale-source" in repair.plan.warnings[0]


def test_notes_of_training_are_passed_on(tmp_path: Path) -> None:
    folder = make(tmp_path, 5)
    Path(folder, "stats.json").write_text(json.dumps({"notes": {"lock-unsafe": "on nfs3", "no-such-code": "x"}}))
    found = examined(folder)
    assert [(fault.code, fault.reason) for fault in found.faults] == [("lock-unsafe", "on nfs3")]


def test_a_repair_can_be_undone(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    flip(folder, "0001.shard", START + 70)
    before = path_identity(folder)
    repair = plan(folder, examined(folder), None)
    apply(repair.plan, repair.kinds)
    assert read_manifest(folder).num_samples is None, "the next training fills in what is missing"
    assert os.path.samefile(f"{folder}/0000.shard", items()[0].data + "/0000.shard"), "sound shards are linked"
    restore(items()[0])
    assert path_identity(folder) == before and examined(folder).status == "corrupted"


def test_a_writer_that_came_after_the_plan_is_not_disturbed(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    flip(folder, "0001.shard", START + 70)
    repair = plan(folder, examined(folder), None)
    held = lease.take(folder)
    outcome = apply(repair.plan, repair.kinds)[0]
    assert not outcome.done and "writing it" in outcome.reason
    held.release()
    assert apply(repair.plan, repair.kinds)[0].done
    assert "LOCK" not in os.listdir(folder) and "LOCK" not in os.listdir(items()[0].data)


def test_a_repair_into_another_folder_leaves_the_cache(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    flip(folder, "0001.shard", START + 70)
    out = str(tmp_path / "saved")
    repair = plan(folder, examined(folder), out)
    assert apply(repair.plan, repair.kinds)[0].done
    assert len(StoreReader(out)) == 19 and examined(folder).status == "corrupted"
    assert not plan(folder, examined(folder), out).plan.actions, "it is never written over"


def test_a_repair_refuses_a_folder_that_was_exchanged(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    flip(folder, "0001.shard", START + 70)
    repair = plan(folder, examined(folder), None)
    os.rename(folder, folder + ".old")
    shutil.copytree(folder + ".old", folder)
    outcome = apply(repair.plan, repair.kinds)[0]
    assert not outcome.done and "another folder" in outcome.reason
    assert sorted(os.listdir(os.path.dirname(folder))) == sorted([KEY[:16], KEY[:16] + ".old"])


def test_a_cache_with_nothing_whole_is_not_mended(tmp_path: Path) -> None:
    folder = make(tmp_path, 1)
    flip(folder, "0000.shard", START + 70)
    repair = plan(folder, examined(folder), None)
    assert not repair.plan.actions and "no sample in it is whole" in repair.plan.warnings[0]


def test_a_hostile_index_is_no_work_without_end(tmp_path: Path) -> None:
    folder = make(tmp_path, 8)
    rows = np.zeros(50_000, dtype=layout.ROW)
    rows["offset"], rows["length"] = START, 1400
    os.chmod(f"{folder}/0000.idx", 0o600)
    digest = layout.hash_function("xxh3_64")(rows.tobytes())
    size = os.path.getsize(f"{folder}/0000.shard")
    head = layout.IndexHeader(0, "xxh3_64", len(rows), size, digest, is_open=False)
    Path(folder, "0000.idx").write_bytes(layout.pack_index_header(head) + rows.tobytes())
    flip(folder, "0000.shard", START)
    found = examined(folder)
    assert found.status == "index-damaged" and found.intact_records == 7


def test_a_record_of_another_cache_in_a_payload_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    inner = Path(make(tmp_path / "inner", 4), "0000.shard").read_bytes()
    columns = (Column("x", "|u1", (len(inner),)),)
    folder, key = str(tmp_path / "outer" / "ab" / ("77" * 8)), "77" * 32
    with StoreWriter(folder, columns, key) as writer:
        for sample_id in range(3):
            writer.append(sample_id, (np.frombuffer(inner, "|u1"),))
        writer.seal()
    write_manifest(folder, Manifest("ab", key, schema=columns))
    os.unlink(f"{folder}/0000.idx")
    flip(folder, "0000.shard", START)
    found = examined(folder)
    assert found.intact_records == 2
    assert [fault.offset for fault in found.faults if fault.code == "corrupted"] == [START]


def test_progress_and_cancelling(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    told: list[tuple[int, int | None, str]] = []
    check(folder, Options(), Watch(report=lambda *step: told.append(step)))
    assert told and all(done <= (whole or 0) and unit == "bytes" for done, whole, unit in told)
    assert check(folder, Options(), Watch(cancelled=lambda: True)).records == 0


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("damage", ["emptied", "deleted", "flipped"])
def test_a_damaged_list_of_the_source_is_told_from_a_changed_source(tmp_path: Path, damage: str, changed: bool) -> None:
    source = tmp_path / "data"
    source.mkdir()
    (source / "a").write_text("a")
    folder = make(tmp_path / "caches", 20)
    files = list_files([str(source)])
    known = {"digest": digest(files, strict=False), "strict": False, "files": 1, "roots": [str(source)]}
    write_manifest(folder, replace(read_manifest(folder), source=known))
    where = Path(folder, LIST)
    where.write_bytes(render(files))
    assert examined(folder).status == "ok"
    if damage == "deleted":
        where.unlink()
    else:
        line = where.read_bytes()
        at = line.index(b"\n") + 1
        where.write_bytes(b"" if damage == "emptied" else line[:at] + b"7" + line[at + 1 :])
    if changed:
        (source / "a").write_text("other")
    found = examined(folder)
    told = {fault.code: fault for fault in found.faults}
    assert set(told) == ({"corrupted", "stale-source"} if changed else {"corrupted"})
    assert told["corrupted"].file == str(where) and LIST in told["corrupted"].reason
    if damage == "flipped":
        assert look(folder).status == "corrupted"  # type: ignore[union-attr]
