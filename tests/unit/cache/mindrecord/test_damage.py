"""Every labelled damage of a MindRecord: its status, where, and how many rows are still whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from mswb.cache import baseline
from mswb.cache.data.mindrecord.salvage import plan
from tests.unit.cache.mindrecord.files import (
    DAMAGES,
    HEADLESS,
    edit_header,
    flip,
    good,
    look,
    overwrite,
    real,
    replace,
    sql,
)

INDEX_FAULTS = ("index-missing", "index-damaged", "index-foreign")


def damaged(tmp_path: Path, name: str) -> Path:
    path = good(tmp_path)
    (DAMAGES.get(name) or HEADLESS[name])[0](path)
    return next(file for file in (path, tmp_path / "renamed.mindrecord") if file.exists())


@pytest.mark.parametrize("name", DAMAGES)
def test_status_and_offset(tmp_path: Path, name: str) -> None:
    _, status, offset, intact = DAMAGES[name]
    path = damaged(tmp_path, name)
    found = look(path)
    assert (found.status, found.records, found.intact_records) == (status, 60, intact), found
    assert bool(found.faults) is (status != "ok")
    if found.faults:
        fault = found.faults[0]
        assert (fault.code, fault.offset) == (status, offset)
        assert fault.file == (f"{path}.db" if status in INDEX_FAULTS else None)
        assert fault.reason
        if fault.file:
            assert fault.values["path"] == str(path), "advice would name a file that is not there"
        assert found.faults_total == (60 if name == "zero_tail" else 1)


@pytest.mark.parametrize("name", HEADLESS)
def test_header_faults(tmp_path: Path, name: str) -> None:
    found = look(damaged(tmp_path, name))
    assert found.status == HEADLESS[name][1]
    assert [(fault.code, fault.offset) for fault in found.faults] == [(found.status, 0)]


def test_record_number_and_length(tmp_path: Path) -> None:
    fault = look(damaged(tmp_path, "flip_raw_len")).faults[0]
    assert (fault.record, fault.length) == (10, 34) and "10" in fault.reason and "26" in fault.reason


def test_only_the_index_was_renamed_inside(tmp_path: Path) -> None:
    path = good(tmp_path)
    sql("UPDATE SHARD_NAME SET NAME = 'old.mindrecord'")(path)
    found = look(path)
    assert found.status == "renamed" and found.faults[0].file == f"{path}.db"
    assert "old.mindrecord" in found.faults[0].reason


def test_renamed_with_the_index_put_right(tmp_path: Path) -> None:
    path = good(tmp_path, "renamed.mindrecord")
    sql("UPDATE SHARD_NAME SET NAME = 'renamed.mindrecord'")(path)
    assert look(path).status == "renamed"


@pytest.mark.parametrize("change", ["DELETE FROM SHARD_NAME", "INSERT INTO SHARD_NAME VALUES ('b')"])
def test_index_of_no_file_or_two(tmp_path: Path, change: str) -> None:
    path = good(tmp_path)
    sql(change)(path)
    assert look(path).status == "index-damaged"


def test_odd_paths(tmp_path: Path) -> None:
    for name in ("a b?#%41.mindrecord", "\udcff.mindrecord", "数据.mindrecord"):
        path = good(tmp_path, name)
        assert look(path).status == "renamed"


def test_index_that_is_a_folder(tmp_path: Path) -> None:
    path = good(tmp_path)
    Path(f"{path}.db").unlink()
    Path(f"{path}.db").mkdir()
    assert look(path).status == "index-damaged"


def test_index_alone(tmp_path: Path) -> None:
    path = good(tmp_path)
    path.unlink()
    found = look(Path(f"{path}.db"))
    assert found.status == "orphan" and "good.mindrecord is not here" in found.faults[0].reason


def test_index_named_for_its_data(tmp_path: Path) -> None:
    assert look(Path(f"{good(tmp_path)}.db")).status == "ok"


def test_one_value_differs_between_row_and_index(tmp_path: Path) -> None:
    # The label of row 10: MindSpore takes it from the index, or from the row, depending on the columns asked for.
    path = good(tmp_path)
    flip(49152 + 10 * 34 + 33, 0x01)(path)
    found = look(path)
    assert found.status == "corrupted" and found.intact_records == 59
    assert (found.faults[0].record, found.faults[0].offset) == (10, 49492)
    assert "label is" in found.faults[0].reason


def test_index_of_another_set_with_the_same_columns(tmp_path: Path) -> None:
    path = good(tmp_path)
    sql("UPDATE INDEXES SET file_name_0 = 'x' || file_name_0")(path)
    found = look(path)
    assert (found.status, found.intact_records, found.faults_total) == ("index-foreign", 60, 1)


def test_two_damages_are_both_told(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(18464, 0x10)(path)
    flip(49500 + 5 * 34, 0x10)(path)
    found = look(path)
    assert [fault.record for fault in found.faults] == [10, 15] and found.intact_records == 58


def test_damaged_length_without_an_index(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(18464, 0x10)(path)
    Path(f"{path}.db").unlink()
    found = look(path)
    assert found.status == "corrupted" and found.intact_records == 59
    assert {(fault.code, fault.record) for fault in found.faults} == {("corrupted", 10), ("index-missing", None)}


def test_expected_count(tmp_path: Path) -> None:
    path = good(tmp_path)
    assert look(path, records=60).status == "ok"
    found = look(path, records=61)
    assert found.status == "count-mismatch" and "60 records, 61" in found.faults[0].reason


def test_shallow_check_reads_no_columns(tmp_path: Path) -> None:
    path = damaged(tmp_path, "flip_raw_msgpack")
    assert look(path, deep=False).status == "ok"
    assert look(damaged(tmp_path / "b", "flip_raw_len"), deep=False).status == "corrupted"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"<!DOCTYPE html><html>not found</html>", "not-a-record-file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs-pointer"),
        (b"\x00\x01\x02" * 3000 + b"\0\0\0\0AES-GCMENCRYPT", "encrypted"),
        (bytes(70000), "interrupted"),
        (b"\x07\0\0", "truncated"),
    ],
)
def test_what_is_no_record_file(tmp_path: Path, content: bytes, status: str) -> None:
    path = tmp_path / "a.mindrecord"
    path.write_bytes(content)
    found = look(path)
    assert found.status == status and len(found.faults) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(page_size=1),
        lambda header: header.update(header_size=1 << 40),
        lambda header: header["page"][0].update(end_row_id=10**15),
        lambda header: header["page"][0].update(page_size=40000),
        lambda header: header["page"][0].update(start_row_id=-1),
        lambda header: header["page"][1].update(row_group_ids=[{"id": 0, "offset": 1 << 60}]),
        lambda header: header["page"][1].update(row_group_ids=[]),
        lambda header: header["page"][1].update(page_id=0),
        lambda header: header.update(page=None),
        lambda header: header.update(shard_id=3),
        lambda header: header["schema"][0].update(blob_fields=[]),
        lambda header: header["schema"][0]["schema"]["label"].update(type="int8"),
        lambda header: header["index_fields"].append(header["index_fields"][0]),
        lambda header: header["index_fields"].append({"index_field": 'a";--', "schema_id": 0}),
        lambda header: header["schema"][0]["schema"].update({'a"; DROP TABLE x;--': {"type": "int32"}}),
        lambda header: header.update(schema=[]),
    ],
)
def test_headers_that_contradict_themselves(tmp_path: Path, change: object) -> None:
    path = good(tmp_path)
    edit_header(change, path)  # type: ignore[arg-type]
    assert look(path).status in {"corrupted", "index-foreign", "truncated"}


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["schema"][0]["schema"]["label"].update(type="string"),
        lambda header: header["schema"][0]["schema"]["data"].update(type="float64", shape=[3]),
    ],
)
def test_header_whose_columns_no_row_has(tmp_path: Path, change: object) -> None:
    path = good(tmp_path)
    edit_header(change, path)  # type: ignore[arg-type]
    found = look(path)
    assert (found.status, found.faults_total, found.faults[0].offset) == ("schema-changed", 1, 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"desc"', b'"d\xe5sc"'[:6]),
        (b'"desc"', b'"dasc"'),
        (b'"compression_size"', b'"compression_sise"'),
        (b'"statistics"', b'"statistixs"'),
        (b'"index_fields"', b'"index_fieldz"'),
    ],
)
def test_keys_that_mindspore_asks_for(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = good(tmp_path)
    replace(old, new)(path)
    assert look(path).status == "corrupted"


def test_pages_that_are_promised_and_not_there(tmp_path: Path) -> None:
    def promise(header: dict[str, Any]) -> None:
        size = header["page_size"]
        for number in range(1, 3000):
            page = {**header["page"][0], "page_id": 2 * number, "page_type_id": number, "page_size": size}
            rows = {"start_row_id": 60 + (number - 1) * 4000, "end_row_id": 60 + number * 4000}
            group = {"row_group_ids": [{"id": number, "offset": 0}], "page_id": 2 * number + 1, "page_size": size}
            header["page"] += [{**page, **rows}, {**header["page"][1], **group, "page_type_id": number}]
        header["header_size"] = 1 << 21

    path = good(tmp_path)
    data = path.read_bytes()
    edit_header(promise, path)
    with path.open("r+b") as file:
        file.truncate(1 << 21)
        file.seek(1 << 21)
        file.write(data[16384:])
    found = look(path)
    assert (found.status, found.intact_records, found.records) == ("truncated", 60, 60 + 2999 * 4000)
    assert (found.faults[0].record, found.faults[0].offset) == (60, path.stat().st_size)
    (warning,) = plan(str(path), found, None).plan.warnings
    assert warning == f"{path}: 11996000 rows are lost: 60-11996059"
    baseline.write(baseline.make(str(path), "mindrecord"))
    assert len(baseline.read(str(path)).pieces) == 1 + 2 * 60


def test_hostile_index_is_not_run(tmp_path: Path) -> None:
    path = good(tmp_path)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    sql("DROP TABLE SHARD_NAME", f"CREATE VIEW SHARD_NAME(NAME) AS {endless}")(path)
    found = look(path)
    assert found.status == "index-foreign" and "SHARD_NAME" in found.faults[0].reason


def test_shards(tmp_path: Path) -> None:
    folder = real(tmp_path, "shards3")
    names = sorted(path for path in folder.iterdir() if path.suffix != ".db")
    assert [look(path).status for path in names] == ["ok"] * 3
    names[1].unlink()
    found = look(names[0])
    assert found.status == "count-mismatch" and "shards3.mindrecord1" in found.faults[0].reason
    shutil.copyfile(names[0], names[1])
    assert look(names[1]).status == "renamed"


def test_damaged_names_are_shown_escaped(tmp_path: Path) -> None:
    path = good(tmp_path)
    start = path.read_bytes().index(b'["good.mindrecord"]')
    overwrite(start, b'["\\u001b[2J.mindrec"]'.ljust(20)[:19] + b"]")(path)
    assert "\x1b" not in look(path).faults[0].reason
