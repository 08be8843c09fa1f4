"""What the last verification of a data file found is believed while the file is the same, and no longer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mswb.cache import verified
from mswb.cache.entries import UNVERIFIED, Entry
from mswb.findings import Where, make


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path / "state"


def entry(folder: Path, name: str = "a.tfrecord", status: str = UNVERIFIED) -> Entry:
    path = folder / name
    if not path.exists():
        path.write_bytes(b"ten bytes.")
    return Entry(str(path), "tfrecord", status=status)


def keep(*entries: Entry) -> None:
    verified.remember([(one, verified.stamp(one.path)) for one in entries])


def test_a_result_is_believed_while_the_file_is_the_same(tmp_path: Path) -> None:
    keep(entry(tmp_path, status="ok"))
    (found,) = verified.recalled([entry(tmp_path)])
    assert found.status == "ok" and found.more[verified.WHEN] > 0
    inode, times = os.stat(found.path).st_ino, os.stat(found.path)
    Path(found.path).write_bytes(b"TEN bytes.")
    os.utime(found.path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    assert os.stat(found.path).st_ino == inode
    assert verified.recalled([entry(tmp_path)])[0].status == UNVERIFIED


def test_another_index_beside_it_ends_that(tmp_path: Path) -> None:
    keep(entry(tmp_path, status="ok"))
    (tmp_path / "a.tfrecord.db").touch()
    assert verified.recalled([entry(tmp_path)])[0].status == UNVERIFIED


def test_the_fault_comes_back_with_its_place(tmp_path: Path) -> None:
    plain = entry(tmp_path)
    fault = make("corrupted", where=Where(file=plain.path, offset=7), values={"what": "TFRecord", "reason": "a bit"})
    keep(Entry(plain.path, "tfrecord", status="corrupted", records=5, intact_records=4, findings=(fault,)))
    (found,) = verified.recalled([plain])
    assert (found.status, found.records, found.intact_records) == ("corrupted", 5, 4)
    assert found.findings[0].title == fault.title and found.findings[0].where.offset == 7


def test_a_file_that_changed_while_it_was_read_is_not_kept(tmp_path: Path) -> None:
    one = entry(tmp_path, status="ok")
    before = verified.stamp(one.path)
    Path(one.path).write_bytes(b"longer than it was")
    verified.remember([(one, before)])
    assert verified.recalled([entry(tmp_path)])[0].status == UNVERIFIED


def test_the_oldest_go(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "MOST", 2)
    for name in ("a", "b", "c"):
        keep(entry(tmp_path, name, "ok"))
    keep(entry(tmp_path, "b", "ok"))
    assert [Path(path).name for path in json.loads((state / verified.FILE).read_text())] == ["c", "b"]


@pytest.mark.parametrize("change", ["stamp", "status", "records", "finding", "time"])
def test_a_damaged_memory_is_no_memory(tmp_path: Path, state: Path, change: str) -> None:
    keep(entry(tmp_path, status="ok"))
    content = json.loads((state / verified.FILE).read_text())
    for found in content.values():
        found[change] = {"code": 5}
    (state / verified.FILE).write_text(json.dumps(content))
    assert verified.recalled([entry(tmp_path)])[0].status == UNVERIFIED
    for text in ("[1", "[]", '{"a": 1}'):
        (state / verified.FILE).write_text(text)
        assert verified.recalled([entry(tmp_path)])[0].status == UNVERIFIED
