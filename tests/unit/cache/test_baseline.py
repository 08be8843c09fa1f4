"""Baselines: what they show that a format can't, and where."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mswb.cache import baseline
from mswb.cache.check import Checked, Watch, findings_of
from mswb.findings import MswbError
from mswb.flows.cache_baselines import missing
from tests.unit.cache.mindrecord.files import RAW, cut, edit_header, flip, good, look


def kept(path: Path, form: str = "mindrecord") -> baseline.Baseline:
    made = baseline.make(str(path), form)
    baseline.write(made)
    return made


def test_round_trip(tmp_path: Path) -> None:
    path = good(tmp_path)
    made = kept(path)
    assert baseline.read(str(path)) == made
    assert (made.count, made.size, len(made.pieces)) == (60, 51192, 121)
    assert json.loads((tmp_path / "good.mindrecord.mswb.json").read_text())["format"] == "mswb.baseline/1"
    assert look(path).status == "ok"


def test_flipped_byte_in_a_blob(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    flip(18524, 0x20)(path)
    found = look(path)
    assert (found.status, found.faults_total, found.intact_records) == ("payload-changed", 1, 59)
    fault = found.faults[0]
    assert (fault.record, fault.offset) == (10, 18464)
    assert look(path, baseline=False).status == "ok"


def test_both_parts_of_a_row_are_one_change(tmp_path: Path) -> None:
    path = good(tmp_path)
    made = kept(path)
    flip(18524, 1)(path)
    flip(RAW + 10 * 34 + 33, 1)(path)
    faults, total = baseline.compare(str(path), "mindrecord")
    assert total == 1 and [fault.record for fault in faults] == [10] and made.count == 60


def test_changed_header(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    edit_header(lambda header: header["schema"][0]["schema"]["label"].update(type="int64"), path)
    found = look(path)
    assert found.status == "payload-changed" and found.faults[0].record is None and found.faults[0].offset == 0


def test_bytes_that_belong_to_no_record(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    flip(16000, 0xFF)(path)
    found = look(path)
    assert found.status == "payload-changed" and "no record" in found.faults[0].reason
    assert found.intact_records == 60


def test_touched_but_not_changed(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    os.utime(path, (1, 1))
    assert look(path).status == "ok"


def test_other_number_of_records(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    made = baseline.read(str(path))
    fewer = baseline.Baseline(made.path, "mindrecord", 59, made.size, 0.0, "0" * 64, made.checks[:-8])
    baseline.write(fewer)
    faults, total = baseline.compare(str(path), "mindrecord")
    assert faults[0].code == "count-mismatch" and "60 records, the baseline has 59" in faults[0].reason
    assert (faults[0].values["count"], faults[0].values["expected"]) == (60, 59)
    assert [fault.record for fault in faults[1:]] == [59] and total == 2


def test_damage_that_the_format_shows_is_told_once(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    flip(18464, 0x10)(path)
    found = look(path)
    assert found.status == "corrupted" and [fault.code for fault in found.faults] == ["corrupted"]


def test_a_cut_file_is_told_as_cut(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    cut(50052)(path)
    assert [fault.code for fault in look(path).faults] == ["truncated"]


def test_files_of_other_kinds_are_cut_into_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(bytes(range(256)) * 12000)
    made = kept(path, "npy")
    assert made.count is None and len(made.pieces) == 3
    flip(2_000_000, 1)(path)
    (fault,), total = baseline.compare(str(path), "npy")
    assert (fault.code, fault.offset, total) == ("payload-changed", 1 << 20, 1)
    cut(1000)(path)
    faults, _ = baseline.compare(str(path), "npy")
    assert faults[0].code == "count-mismatch" and "1000 bytes" in faults[0].reason


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    assert baseline.compare(str(good(tmp_path)), "mindrecord") == ([], 0)
    with pytest.raises(MswbError, match="can't be used"):
        baseline.read(str(tmp_path / "x"))


@pytest.mark.parametrize("text", ["", "{}", "[" * 100000, '{"format": 1}', "\0", '{"format":"mswb.baseline/9"}'])
def test_damaged_baselines(tmp_path: Path, text: str) -> None:
    path = good(tmp_path)
    (tmp_path / "good.mindrecord.mswb.json").write_text(text)
    found = look(path)
    assert found.status == "ok"
    assert [(fault.code, fault.file) for fault in found.faults] == [("baseline-unreadable", baseline.place(str(path)))]


def test_damaged_checksums(tmp_path: Path) -> None:
    path = good(tmp_path)
    kept(path)
    place = tmp_path / "good.mindrecord.mswb.json"
    stored = json.loads(place.read_text())
    for checks in (stored["crc32"][:-3], "\x7f" + stored["crc32"]):
        place.write_text(json.dumps({**stored, "crc32": checks}))
        with pytest.raises(MswbError, match="checksums"):
            baseline.read(str(path))


def test_cancelled(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cancelled"):
        baseline.make(str(good(tmp_path)), "mindrecord", Watch(cancelled=lambda: True))


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = good(tmp_path, "\udcff.mindrecord")
    baseline.make_set([kept(path)], str(tmp_path))
    assert list(baseline.read_set(str(tmp_path))) == ["\udcff.mindrecord"]
    assert baseline.compare_set(str(tmp_path)) == []


def test_missing_file_of_a_set(tmp_path: Path) -> None:
    first, second = good(tmp_path), good(tmp_path / "sub", "other.mindrecord")
    baseline.make_set([kept(first), kept(second)], str(tmp_path))
    assert baseline.compare_set(str(tmp_path)) == []
    assert list(baseline.read_set(str(tmp_path))) == ["good.mindrecord", "sub/other.mindrecord"]
    second.unlink()
    (fault,) = baseline.compare_set(str(tmp_path))
    assert (fault.code, fault.file) == ("file-missing", str(second)) and "51192 bytes" in fault.reason
    shutil.rmtree(tmp_path / "sub")
    assert len(baseline.compare_set(str(tmp_path))) == 1
    assert baseline.compare_set(str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize("kind", ["{}", "fifo", "folder", "nowhere"])
def test_what_is_no_baseline_is_an_error_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"data")
    for name in (f"{path}{baseline.SUFFIX}", tmp_path / baseline.SET_NAME):
        if kind == "fifo":
            os.mkfifo(name)
        elif kind == "folder":
            Path(name).mkdir()
        elif kind == "nowhere":
            Path(name).symlink_to(tmp_path / "gone")
        else:
            Path(name).write_text(kind)
    (fault,), total = baseline.compare(str(path), "other")
    assert (fault.code, total, fault.file) == ("baseline-unreadable", 1, f"{path}{baseline.SUFFIX}")
    (finding,) = findings_of(str(path), "x", Checked("ok", faults=(fault,), faults_total=1))
    assert finding.severity == "error"
    (other,) = missing([str(tmp_path)], [])
    assert (other.code, other.severity) == ("baseline-unreadable", "error")
