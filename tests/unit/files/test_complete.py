"""Completion of paths: what a shell would offer, and nothing a terminal must not see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.files.complete import complete, folders_only, scripts_only


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train.py", "train_big.py", "notes.txt", ".hidden.py", "训练.py", "evil\x1b.py"):
        (tmp_path / name).touch()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "run.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    "typed, text, candidates",
    [
        ("", "", ("train.py", "train_big.py", "训练.py", "tools/")),
        ("tr", "train", ("train.py", "train_big.py")),
        ("train_", "train_big.py", ("train_big.py",)),
        ("to", "tools/", ("tools/",)),
        ("tools/", "tools/run.py", ("tools/run.py",)),
        ("训", "训练.py", ("训练.py",)),
        (".h", ".hidden.py", (".hidden.py",)),
        ("no", "no", ()),
        ("absent/x", "absent/x", ()),
        ("train.py/", "train.py/", ()),
    ],
)
def test_scripts_of_a_folder(typed: str, text: str, candidates: tuple[str, ...], folder: Path) -> None:
    found = complete(typed, folder, scripts_only)
    assert (found.text, found.candidates) == (text, candidates)


def test_folders_alone_and_all_files(folder: Path) -> None:
    assert complete("", folder, folders_only).candidates == ("tools/",)
    assert "notes.txt" in complete("", folder).candidates


def test_absolute_paths_and_the_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert complete(f"{folder}/not", Path("/"), lambda name: True).text == f"{folder}/notes.txt"
    assert complete("~/train_", Path("/"), scripts_only).text == "~/train_big.py"


def test_a_folder_that_cannot_be_read_has_no_entries(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert complete("pipe/", tmp_path).candidates == ()
