"""Mending: what the plan says, what is there afterwards, and that the old files are in the trash."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mswb.cache.check import Watch
from mswb.cache.data.mindrecord import index as indexes
from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.chosen import Chosen
from mswb.cache.data.mindrecord.header import read_header
from mswb.cache.data.mindrecord.salvage import plan
from mswb.cache.data.mindrecord.uncommitted import survey
from mswb.cache.repair import Repair
from mswb.plan import Outcome, apply
from tests.unit.cache.mindrecord.files import (
    DAMAGES,
    HEADLESS,
    Damage,
    cut,
    edit_header,
    flip,
    good,
    look,
    overwrite,
    real,
)

INDEX = [name for name, row in DAMAGES.items() if row[1].startswith("index-")]
SAVED = {
    "trunc_raw_page": set(range(60)),
    "trunc_blob_page": set(range(28)),
    "zero_tail": set(range(60)),
    "trailing_garbage": set(range(60)),
    "pagesize_header_changed": set(range(60)),
    "flip_header_len": set(range(60)),
    "flip_header_len_hi": set(range(60)),
    "flip_header_json": set(range(60)),
    **dict.fromkeys(
        ("flip_raw_msgpack", "flip_raw_value"),
        set(range(60)) - {10},
    ),
    # MindSpore reads by the index alone, which has these rows where they are.
    "flip_blob_len": set(range(60)),
    "flip_blob_len_hi": set(range(60)),
    "flip_raw_len": set(range(60)),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))


def planned(path: Path, out: str | None = None) -> Repair:
    return plan(str(path), look(path), out)


def mended(path: Path, out: str | None = None) -> list[Outcome]:
    repair = planned(path, out)
    return apply(repair.plan, repair.kinds)


def rows(path: Path) -> list[tuple[bytes, bytes]]:
    with reading.opened(str(path)) as reader:
        return [(raw, blob) for _, raw, blob in Chosen(reader, read_header(reader), None).rows()]


@pytest.mark.parametrize("name", INDEX)
def test_index_is_made_again(tmp_path: Path, name: str) -> None:
    path = good(tmp_path / "data")
    DAMAGES[name][0](path)
    old = Path(f"{path}.db").read_bytes() if Path(f"{path}.db").exists() else None
    (outcome,) = mended(path)
    assert outcome.done, outcome.reason
    assert look(path).status == "ok"
    if old is not None:
        kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file != Path(f"{path}.db")]
        assert old in kept, "the old index is in no trash"


@pytest.mark.parametrize("name", SAVED)
def test_whole_rows_are_saved(tmp_path: Path, name: str) -> None:
    path = good(tmp_path)
    every = rows(path)
    (DAMAGES.get(name) or HEADLESS[name])[0](path)
    before = path.read_bytes()
    (outcome,) = mended(path)
    assert outcome.done, outcome.reason
    new = Path(f"{path}.repaired")
    found = look(new)
    assert (found.status, found.records) == ("ok", len(SAVED[name]))
    assert rows(new) == [row for number, row in enumerate(every) if number in SAVED[name]]
    assert path.read_bytes() == before


def test_lost_rows_are_named(tmp_path: Path) -> None:
    path = good(tmp_path)
    for row in (10, 11, 40):
        flip(49500 + 34 * (row - 10), 0x10)(path)
    repair = planned(path)
    assert repair.plan.warnings == (f"{path}: 3 rows are lost: 10-11, 40",)
    assert "57 of 60" in repair.plan.actions[0].detail


def test_a_row_whose_value_differs_from_the_index_is_not_kept(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(49152 + 10 * 34 + 33, 0x01)(path)
    assert planned(path).plan.warnings == (f"{path}: 1 row is lost: 10",)


def test_a_wrong_length_is_told(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(49492, 0x10)(path)
    repair = planned(path)
    assert "60 of 60" in repair.plan.actions[0].detail
    assert [one.partition(": ")[2] for one in repair.plan.warnings] == [
        "1 row has a wrong length: saved with the right one, since index and content agree"
    ]


@pytest.mark.parametrize(
    "damage",
    [
        overwrite(18464, bytes(8)),
        overwrite(18464, b"\xff\xff"),
        overwrite(49492, b"\x1b"),
    ],
)
def test_more_than_a_wrong_length_is_not_kept(tmp_path: Path, damage: Damage) -> None:
    path = good(tmp_path)
    damage(path)
    if path.read_bytes()[49492] == 0x1B:
        flip(49500, 0x10)(path)
    assert planned(path).plan.warnings == (f"{path}: 1 row is lost: 10",)


def test_renamed_without_its_index(tmp_path: Path) -> None:
    path = good(tmp_path, "other.mindrecord")
    Path(f"{path}.db").unlink()
    assert look(path).status == "index-missing"
    repair = planned(path)
    assert "its index made anew" in repair.plan.actions[0].detail
    assert apply(repair.plan, repair.kinds)[0].done and look(path).status == "ok"


def test_what_a_cut_loses_and_what_the_index_saves(tmp_path: Path) -> None:
    path = good(tmp_path)
    cut(50052)(path)
    (fault,) = look(path).faults
    assert fault.reason.endswith("of 60 records 34 are not whole; a repair saves all, by the index")
    assert fault.values["lost"] == 0
    Path(f"{path}.db").unlink()
    fault = next(one for one in look(path).faults if one.code == "truncated")
    assert fault.reason.endswith("34 of 60 records are lost") and fault.values["lost"] == 34


def test_renamed(tmp_path: Path) -> None:
    path = good(tmp_path / "data", "other.mindrecord")
    old = path.read_bytes()
    (outcome,) = mended(path)
    assert outcome.done, outcome.reason
    assert look(path).status == "ok" and len(rows(path)) == 60
    assert old in [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file != path]


def test_shards_renamed_alike(tmp_path: Path) -> None:
    folder = real(tmp_path, "shards3")
    for file in sorted(folder.iterdir()):
        file.rename(file.with_name(file.name.replace("shards3", "new")))
    for number in range(3):
        (outcome,) = mended(folder / f"new.mindrecord{number}")
        assert outcome.done, outcome.reason
    assert [look(folder / f"new.mindrecord{number}").status for number in range(3)] == ["ok"] * 3


def test_one_shard_renamed_alone(tmp_path: Path) -> None:
    folder = real(tmp_path, "shards3")
    for ending in ("", ".db"):
        (folder / f"shards3.mindrecord1{ending}").rename(folder / f"x{ending}")
    repair = planned(folder / "x")
    assert not repair.plan.actions and "old name shards3.mindrecord1" in repair.plan.warnings[0]


def test_a_name_that_a_header_cannot_hold(tmp_path: Path) -> None:
    repair = planned(good(tmp_path, "\udcff.mindrecord"))
    assert not repair.plan.actions and "no UTF-8" in repair.plan.warnings[0]


@pytest.mark.parametrize("name", ["empty", "gzip", "version_changed", "trunc_header"])
def test_what_nobody_can_mend(tmp_path: Path, name: str) -> None:
    path = good(tmp_path)
    HEADLESS[name][0](path)
    repair = planned(path)
    assert not repair.plan.actions and str(path) in repair.plan.warnings[0]


def test_orphan(tmp_path: Path) -> None:
    path = good(tmp_path)
    path.unlink()
    repair = planned(Path(f"{path}.db"))
    assert not repair.plan.actions and "clean" in repair.plan.warnings[0]


def test_another_place(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(18464, 0x10)(path)
    (outcome,) = mended(path, str(tmp_path / "saved.mindrecord"))
    assert outcome.done and look(tmp_path / "saved.mindrecord").records == 60
    assert not Path(f"{path}.repaired").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(18464, 0x10)(path)
    repair = planned(path)
    Path(f"{path}.repaired").write_text("mine")
    assert not planned(path).plan.actions
    (outcome,) = apply(repair.plan, repair.kinds)
    assert not outcome.done and Path(f"{path}.repaired").read_text() == "mine"
    assert not [file.name for file in tmp_path.iterdir() if file.name.endswith("mswb-part")]


def test_a_file_that_was_swapped_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = good(tmp_path)
    flip(18464, 0x10)(path)
    repair = planned(path)
    path.rename(tmp_path / "old")
    good(tmp_path)
    (outcome,) = apply(repair.plan, repair.kinds)
    assert not outcome.done and "another file" in outcome.reason


def test_uncommitted(tmp_path: Path) -> None:
    folder = real(tmp_path, "uncommitted")
    path = folder / "uncommitted.mindrecord"
    assert look(path).status == "interrupted" and look(path).records == 117
    (outcome,) = mended(path)
    assert outcome.done, outcome.reason
    new = folder / "uncommitted.mindrecord.repaired"
    assert look(new).status == "ok"
    saved = rows(new)
    # Each blob begins with the number of its row, so that a raw part at a wrong blob part shows.
    assert [int(blob.split()[0]) for _, blob in saved] == list(range(117))
    assert [int.from_bytes(raw[7:8], "big") for raw, _ in saved[:100]] == list(range(100))


def test_uncommitted_before_the_first_columns(tmp_path: Path) -> None:
    path = real(tmp_path, "uncommitted") / "uncommitted.mindrecord"
    with reading.opened(str(path)) as reader:
        found = survey(reader, Watch())
    assert found is not None
    first = next(page.base for page in found.pages if page.raw)
    cut(first)(path)
    told = look(path)
    assert (told.status, told.records) == ("interrupted", 0)
    assert "no row is whole, so none can be saved" in told.detail
    repair = planned(path)
    assert not repair.plan.actions and "no row with both of its parts" in repair.plan.warnings[0]


def test_uncommitted_takes_the_columns_of_a_finished_file(tmp_path: Path) -> None:
    folder = real(tmp_path, "uncommitted")
    for file in real(tmp_path, "pages").iterdir():
        file.rename(folder / file.name)
    path = folder / "uncommitted.mindrecord"
    assert "columns as in pages.mindrecord" in planned(path).plan.warnings[0]
    mended(path)
    with reading.opened(f"{path}.repaired") as reader:
        assert read_header(reader).columns["label"].type == "int32"


def test_changed_columns_are_taken_from_the_rows(tmp_path: Path) -> None:
    path = good(tmp_path)
    every = rows(path)
    edit_header(lambda header: header["schema"][0]["schema"]["label"].update(type="string"), path)
    assert "label int64" in planned(path).plan.warnings[0]
    mended(path)
    assert rows(Path(f"{path}.repaired")) == every


def test_several_shards_saved_as_one(tmp_path: Path) -> None:
    path = real(tmp_path, "shards3") / "shards3.mindrecord1"
    edit_header(lambda header: None, path)
    flip(16384, 0x40)(path)
    repair = planned(path)
    assert any("stands alone" in warning for warning in repair.plan.warnings)
    apply(repair.plan, repair.kinds)
    assert look(Path(f"{path}.repaired")).status == "ok"


def hot_journal(path: Path) -> Path:
    """Break off a change of an index as a crash would, and leave its journal."""
    index = Path(f"{path}.db")
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE INDEXES SET ROW_ID = ROW_ID + 1000")
        connection.execute("PRAGMA cache_spill = 1")
        kept = Path(f"{index}-journal").read_bytes()
        connection.execute("ROLLBACK")
    side = Path(f"{index}-journal")
    side.write_bytes(indexes._JOURNAL + kept[8:])
    return side


def open_wal(path: Path) -> Path:
    """Leave changes of an index in its log."""
    index = Path(f"{path}.db")
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE SHARD_NAME SET NAME = 'x'")
        kept = Path(f"{index}-wal").read_bytes()
        connection.execute("UPDATE SHARD_NAME SET NAME = ?", (path.name,))
    side = Path(f"{index}-wal")
    side.write_bytes(kept)
    return side


def fifo(path: Path) -> Path:
    side = Path(f"{path}.db-wal")
    os.mkfifo(side)
    return side


@pytest.mark.parametrize("leave", [hot_journal, open_wal, fifo])
def test_a_change_of_the_index_that_was_never_ended(tmp_path: Path, leave: Callable[[Path], Path]) -> None:
    path = good(tmp_path / "data")
    side = leave(path)
    found = look(path)
    assert (found.status, found.intact_records) == ("index-damaged", 60)
    assert found.faults[0].file == str(side) and side.name in found.faults[0].reason
    if leave is fifo:
        return  # what is no file goes to no trash
    kept = side.read_bytes()
    (outcome,) = mended(path)
    assert outcome.done, outcome.reason
    assert not side.exists() and look(path).status == "ok"
    assert kept in [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("name", ["-journal", "-wal"])
def test_files_beside_an_index_that_change_nothing(tmp_path: Path, name: str) -> None:
    path = good(tmp_path)
    Path(f"{path}.db{name}").write_bytes(b"" if name == "-wal" else bytes(512))
    assert look(path).status == "ok"
