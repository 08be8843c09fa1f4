"""Renames that overwrite nothing and folders that are reached without links, with and without the kernel's help."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mswb.files import moves
from mswb.files.moves import exchange, folder_at, make_folders, real_place, rename_new


@pytest.fixture(params=[True, False], ids=["renameat2", "without"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the file system knows renames with flags; NFS does not."""
    if not request.param:

        def unknown(*_: object) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        monkeypatch.setattr(moves, "_renameat2", unknown)
    return bool(request.param)


def rename(folder: Path, name: str, new: str) -> None:
    with folder_at(str(folder)) as here:
        rename_new(here, name, here, new)


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_free_name(tmp_path: Path, kernel: bool, kind: str) -> None:
    make = {"file": lambda p: p.write_text("x"), "folder": lambda p: p.mkdir(), "link": lambda p: p.symlink_to("no")}
    make[kind](tmp_path / "a")
    identity = os.lstat(tmp_path / "a").st_ino
    rename(tmp_path, "a", "b")
    assert os.listdir(tmp_path) == ["b"] and os.lstat(tmp_path / "b").st_ino == identity


@pytest.mark.parametrize(
    ("one", "other"), [("file", "file"), ("folder", "folder"), ("file", "folder"), ("folder", "file")]
)
def test_a_name_that_is_taken(tmp_path: Path, kernel: bool, one: str, other: str) -> None:
    for name, kind in (("a", one), ("b", other)):
        (tmp_path / name).mkdir() if kind == "folder" else (tmp_path / name).write_text(name)
    before = {name: os.lstat(tmp_path / name).st_ino for name in "ab"}
    with pytest.raises(FileExistsError):
        rename(tmp_path, "a", "b")
    assert {name: os.lstat(tmp_path / name).st_ino for name in "ab"} == before


def test_a_folder_that_can_not_be_moved_leaves_no_empty_one(tmp_path: Path, kernel: bool) -> None:
    (tmp_path / "a").mkdir()
    with folder_at(str(tmp_path)) as here, folder_at(str(tmp_path / "a")) as inner, pytest.raises(OSError):
        rename_new(here, "a", inner, "b")
    assert os.listdir(tmp_path / "a") == []


def test_exchange(tmp_path: Path, kernel: bool) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    with folder_at(str(tmp_path)) as here:
        assert exchange(here, "a", here, "b") is kernel
    assert (tmp_path / "a").read_text() == ("b" if kernel else "a")


def test_links_on_the_way_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError), folder_at(str(tmp_path / "link" / "inner")):
        pass
    with pytest.raises(OSError):
        make_folders(str(tmp_path), "link/new/deep")
    assert os.listdir(tmp_path / "real") == ["inner"]
    assert real_place(tmp_path / "link" / "inner") == str(tmp_path.resolve() / "real" / "inner")
    assert real_place(tmp_path / "link") == str(tmp_path.resolve() / "link")
