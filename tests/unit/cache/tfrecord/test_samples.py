"""The labelled damaged files, each with the status it must get and where its fault begins; and each one saved."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from mswb.cache import baseline
from mswb.cache.check import findings_of
from mswb.cache.data.tfrecord import salvage
from mswb.plan import apply
from tests.unit.cache.tfrecord.files import RECORDS, SAMPLES, SIZE, verified

TABLE = [
    # name, status, offset of the record, byte of the fault (None: not told), records, whole ones, saved ones
    ("good.tfrecord", "ok", None, None, 50, 50, None),
    ("trunc_in_data.tfrecord", "truncated", 5070, None, 31, 30, 30),
    ("trunc_in_header.tfrecord", "truncated", 5070, None, 31, 30, 30),
    ("trunc_at_boundary.tfrecord", "ok", None, None, 30, 30, None),
    ("flip_length.tfrecord", "corrupted", 1690, None, 50, 49, 49),
    ("flip_length_high.tfrecord", "corrupted", 1690, None, 50, 49, 49),
    ("flip_length_crc.tfrecord", "corrupted", 1690, None, 50, 49, 49),
    ("flip_data.tfrecord", "corrupted", 1690, 1762, 50, 49, 49),
    ("flip_data_crc.tfrecord", "corrupted", 1690, 1857, 50, 49, 49),
    ("flip_first_length_crc.tfrecord", "corrupted", 0, None, 50, 49, 49),
    ("flip_first_data.tfrecord", "corrupted", 0, 72, 50, 49, 49),
    ("flip_proto_tag_valid_crc.tfrecord", "corrupted", 1690, 1702, 50, 49, 49),
    ("empty.tfrecord", "empty", 0, None, 0, 0, None),
    ("good.tfrecord.gz", "compressed", 0, None, 50, 50, None),
    ("gzip_named_plain.tfrecord", "compressed", 0, None, 50, 50, None),
    ("zlib.tfrecord", "compressed", 0, None, 50, 50, None),
    ("garbage.tfrecord", "not-a-record-file", 0, None, None, None, None),
    ("zero_filled_tail.tfrecord", "corrupted", 5070, None, 31, 30, 30),
    ("missing_feature.tfrecord", "schema-changed", 1690, None, 50, 49, 49),
    ("concatenated_partial_middle.tfrecord", "corrupted", 3380, None, 46, 45, 45),
    ("crlf_ftp_ascii.tfrecord", "corrupted", 0, None, 2, 0, None),
]


def test_the_table_is_complete() -> None:
    assert sorted(row[0] for row in TABLE) == sorted(file.name for file in SAMPLES.iterdir())


@pytest.mark.parametrize(("name", "status", "offset", "byte", "records", "whole", "saved"), TABLE)
def test_sample(
    tmp_path: Path,
    name: str,
    status: str,
    offset: int | None,
    byte: int | None,
    records: int | None,
    whole: int | None,
    saved: int | None,
) -> None:
    path = Path(shutil.copy(SAMPLES / name, tmp_path))
    checked = verified(path)
    assert (checked.status, checked.records, checked.intact_records) == (status, records, whole)
    findings = findings_of(str(path), "TFRecord", checked)
    assert len(findings) == checked.faults_total
    if offset is None:
        assert not findings
    else:
        assert (findings[0].code, findings[0].where.offset, checked.faults[0].byte) == (status, offset, byte)

    repair = salvage.plan(str(path), checked, None)
    outcomes = apply(repair.plan, repair.kinds)
    if saved is None:
        assert not outcomes and repair.plan.warnings
        return
    assert outcomes[0].done, outcomes[0].reason
    assert path.read_bytes() == (SAMPLES / name).read_bytes()
    new = tmp_path / f"{name}.repaired"
    assert verified(new).status == "ok"
    content = new.read_bytes()
    assert len(content) == saved * SIZE
    assert [content[at : at + SIZE] in RECORDS for at in range(0, len(content), SIZE)] == [True] * saved
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, new.name])


def test_a_copy_as_text_is_told() -> None:
    checked = verified(SAMPLES / "crlf_ftp_ascii.tfrecord")
    assert checked.faults[0].values["fault"] == "crlf" and "copied as text" in checked.faults[0].reason


def test_a_cut_at_a_boundary_shows_by_a_count_and_by_a_baseline(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLES / "good.tfrecord", tmp_path))
    baseline.write(baseline.make(str(path), "tfrecord"))
    assert verified(path).status == "ok"
    path.write_bytes((SAMPLES / "trunc_at_boundary.tfrecord").read_bytes())
    assert verified(path, baseline=False).status == "ok"
    assert verified(path, baseline=False, records=50).status == "count-mismatch"
    by_baseline = verified(path)
    assert by_baseline.status == "count-mismatch"
    assert by_baseline.faults[0].values == {"count": 30, "expected": 50}


def test_a_record_written_anew_shows_by_a_baseline(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLES / "good.tfrecord", tmp_path))
    baseline.write(baseline.make(str(path), "tfrecord"))
    path.write_bytes(b"".join((*RECORDS[:7], RECORDS[8], *RECORDS[8:])))
    checked = verified(path)
    assert (checked.status, checked.intact_records, checked.faults_total) == ("payload-changed", 50, 1)
    assert (checked.faults[0].record, checked.faults[0].offset) == (7, 7 * SIZE)


def test_a_damaged_record_is_told_once_with_a_baseline(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLES / "good.tfrecord", tmp_path))
    baseline.write(baseline.make(str(path), "tfrecord"))
    path.write_bytes((SAMPLES / "flip_data.tfrecord").read_bytes())
    checked = verified(path)
    assert [(fault.code, fault.record) for fault in checked.faults] == [("corrupted", 10)]


def test_damage_inside_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "packed.tfrecord.gz"
    path.write_bytes(gzip.compress((SAMPLES / "flip_data.tfrecord").read_bytes()))
    checked = verified(path)
    assert (checked.status, checked.intact_records) == ("corrupted", 49)
    damaged = next(fault for fault in checked.faults if fault.code == "corrupted")
    assert damaged.offset is None and damaged.values["inner_offset"] == 1690
    repair = salvage.plan(str(path), checked, None)
    assert apply(repair.plan, repair.kinds)[0].done
    assert (tmp_path / "packed.tfrecord.gz.repaired").read_bytes() == b"".join(RECORDS[:10] + RECORDS[11:])
