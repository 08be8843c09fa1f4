"""The Cache pane in a real terminal: a damaged file is found, looked into byte by byte, mended, and cleaned away."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.desk import ENTER, ESCAPE, Desk
from tests.e2e.harness import Workspace
from tests.unit.inventories import DATA
from tests.waiting import wait_until

GOOD = DATA / "good.tfrecord"
FLIPPED = 1800
"""A byte in the data of record 10, whose frame begins at 1690."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "store"))
    made = Workspace(tmp_path)
    (made.folder / "data").mkdir(exist_ok=True)
    shutil.copy(GOOD, made.folder / "data" / "whole.tfrecord")
    return made


def test_from_a_damaged_file_to_a_repaired_one(workspace: Workspace) -> None:
    data = workspace.folder / "data"
    with Desk(workspace) as desk:
        desk.type("2")
        desk.see_row("whole.tfrecord", "TFRecord")
        raw = bytearray(GOOD.read_bytes())
        raw[FLIPPED] ^= 1
        (data / "new.part").write_bytes(raw)
        (data / "new.part").rename(data / "bad.tfrecord")
        desk.see_row("bad.tfrecord", "TFRecord")  # it has come by itself
        desk.type("A")
        desk.see_row("bad.tfrecord", "✖ corrupted", "50")
        desk.see_row("whole.tfrecord", "✓ ok", "50")
        desk.type("ge" if "❯ bad" not in desk.text else "")
        desk.see_row("❯ bad.tfrecord")
        desk.type("h", "record 10: length 153")
        desk.see_row("fault 1 of 1")
        desk.see_row("fault at byte 1,800 = 0x708")
        desk.type("q")
        desk.see_row("❯ bad.tfrecord")
        desk.type("F", "bad.tfrecord: this will be done")
        desk.type("a", "✓ 1 of 1 done")
        desk.type("q")
        desk.see_row("bad.tfrecord", "bad.tfrecord.", "✓ ok", "49")
        assert (data / "bad.tfrecord").read_bytes() == bytes(raw)
        desk.click("whole.tfrecord")
        desk.see_row("❯ whole.tfrecord")
        desk.type("c", "Clean: this will be done")
        desk.see_row("trash", "whole.tfrecord")
        desk.type("a", "✓ 1 of 1 done")
        wait_until(lambda: not (data / "whole.tfrecord").exists())
        desk.type("q")
        desk.gone("whole.tfrecord  ")
        desk.type("u", "Undo: this will be done")
        desk.type("a", "✓ 1 of 1 done")
        desk.type(ESCAPE)
        desk.see_row("whole.tfrecord", "✓ ok")
        assert (data / "whole.tfrecord").read_bytes() == GOOD.read_bytes()
        desk.type(ENTER, "all 50 records are whole")
        desk.type(ESCAPE, "q Quit")
        desk.type("q")
        assert desk.terminal.process.wait(30) == 0
