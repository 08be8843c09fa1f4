"""Files that belong together are one entry."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.unit.inventories import DATA, SAMPLES, items_of

PAIR = DATA / "mindrecord" / "good"


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    shutil.copytree(PAIR, folder)
    return folder


def test_data_and_index_are_one(pair: Path) -> None:
    os.utime(pair / "good.mindrecord.db", (4e9, 4e9))
    items = items_of(pair)
    assert list(items) == ["good.mindrecord"]
    item = items["good.mindrecord"]
    assert (item.size_bytes, item.files, item.status, item.modified) == (51192 + 16384, 2, "", 4e9)


def test_index_missing(pair: Path) -> None:
    (pair / "good.mindrecord.db").unlink()
    item = items_of(pair)["good.mindrecord"]
    assert (item.status, item.files) == ("index-missing", 1) and "no good.mindrecord.db" in item.detail


def test_index_of_another_name(pair: Path) -> None:
    (pair / "good.mindrecord.db").rename(pair / "x.mindrecord.db")
    items = items_of(pair)
    assert items["good.mindrecord"].status == "index-missing"
    assert items["x.mindrecord.db"].status == "orphan"


@pytest.mark.parametrize("content", [b"", b"garbage" * 600])
def test_index_that_is_none(pair: Path, content: bytes) -> None:
    (pair / "good.mindrecord.db").write_bytes(content)
    items = items_of(pair)
    assert list(items) == ["good.mindrecord"] and items["good.mindrecord"].status == "index-damaged"


def test_index_that_is_cut(pair: Path) -> None:
    os.truncate(pair / "good.mindrecord.db", 6000)
    items = items_of(pair)
    assert list(items) == ["good.mindrecord"] and items["good.mindrecord"].status == "index-damaged"


def test_index_alone(pair: Path) -> None:
    (pair / "good.mindrecord").unlink()
    item = items_of(pair)["good.mindrecord.db"]
    assert (item.kind, item.status) == ("mindrecord-index", "orphan") and "good.mindrecord, which" in item.detail


@pytest.mark.parametrize(("content", "status"), [(b"damaged" * 99, "corrupted"), (b"", "empty")])
def test_data_file_that_only_its_index_tells(pair: Path, content: bytes, status: str) -> None:
    (pair / "good.mindrecord").unlink()
    (pair / "good.mindrecord.db").rename(pair / "train.db")
    (pair / "train").write_bytes(content)
    items = items_of(pair)
    assert list(items) == ["train"]
    assert (items["train"].kind, items["train"].status, items["train"].files) == ("mindrecord", status, 2)


def test_compile_cache_in_any_folder(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(SAMPLES / "compile", folder)
    (folder / "readme.txt").write_text("mine")
    item = items_of(tmp_path)["kept"]
    assert (item.kind, item.files, item.status) == ("compile-cache", 2, "")
    (folder / "compile_dependency.hash").unlink()
    assert items_of(tmp_path)["kept"].status == "interrupted"
    (folder / "compile_cache_1.mindir").write_bytes(b"")
    assert items_of(tmp_path)["kept"].status == "corrupted"


def test_compile_cache_where_mindspore_puts_it(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "compile", tmp_path / "rank_0" / "graph_cache")
    items = items_of(tmp_path)
    assert {name: item.kind for name, item in items.items()} == {"rank_0/graph_cache": "compile-cache"}
    assert items["rank_0/graph_cache"].files == 2


def test_many_arrays_are_one_data_set(tmp_path: Path) -> None:
    for number in range(60):
        np.save(tmp_path / f"{number:02}.npy", np.zeros(10, np.uint8))
    broken = tmp_path / "07.npy"
    os.truncate(broken, 130)
    items = items_of(tmp_path)
    assert set(items) == {".", "07.npy"}
    assert (items["."].kind, items["."].files) == ("npy", 59) and "00.npy" in items["."].detail
    assert items["07.npy"].status == "truncated"


def test_lmdb_with_its_lock(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(bytes(16) + b"\xde\xc0\xef\xbe" + bytes(8192))
    (tmp_path / "lock.mdb").write_bytes(bytes(64))
    items = items_of(tmp_path)
    assert list(items) == ["data.mdb"] and items["data.mdb"].files == 2
