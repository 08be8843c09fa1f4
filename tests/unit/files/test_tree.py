"""Listings and sums of folders."""

from __future__ import annotations

import os
from pathlib import Path

from mswb.files.tree import facts, listing, total


def _tree(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "one").write_bytes(b"1" * 1000)
    (root / "a" / "two").write_bytes(b"2" * 500)
    (root / "a" / "b" / "three").write_bytes(b"")
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")


def test_links_and_pipes_are_left_out(tmp_path: Path) -> None:
    _tree(tmp_path)
    here = listing(str(tmp_path))
    assert (here.folders, here.files, here.problem) == (("a",), ("one",), "")
    assert here.names == ("a", "one")
    assert facts(str(tmp_path), "out") is None and facts(str(tmp_path), "pipe") is None


def test_sum(tmp_path: Path) -> None:
    _tree(tmp_path)
    os.utime(tmp_path / "a" / "two", (5e8, 4e9))
    counted = total(str(tmp_path))
    assert (counted.size_bytes, counted.files, counted.modified, counted.whole) == (1500, 3, 4e9, True)


def test_holes_count_what_they_occupy(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(50 << 20)
    counted = total(str(tmp_path))
    assert counted.size_bytes == 50 << 20 and counted.disk_bytes < 1 << 20


def test_sum_of_some_names(tmp_path: Path) -> None:
    for name in ("sem.mp-1", "psm_2", "other"):
        (tmp_path / name).write_bytes(b"x" * 10)
    assert total(str(tmp_path), ("sem.mp-", "psm_")).files == 2


def test_limits(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / str(number)).write_bytes(b"x")
    assert total(str(tmp_path), limit=10).files == 10
    assert not total(str(tmp_path), limit=10).whole
    assert not total(str(tmp_path), cancelled=lambda: True).whole


def test_a_folder_with_too_many_entries(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_bytes(b"x")
    here = listing(str(tmp_path), limit=10)
    assert len(here.files) == 10 and "more than 10 entries" in here.problem


def test_an_absent_folder() -> None:
    assert listing("/nonexistent/folder").problem
    assert total("/nonexistent/folder").unreadable == 1
