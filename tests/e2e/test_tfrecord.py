"""What MindSpore makes of damaged TFRecord files, and of what was saved of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cache.tfrecord.files import RECORDS, SAMPLES, frame

pytestmark = pytest.mark.mindspore

_READ = """
import json, sys
import mindspore.dataset as ds
def rows(path):
    try:
        data = ds.TFRecordDataset(path, shuffle=False, num_parallel_workers=1)
        return len(list(data.create_dict_iterator(num_epochs=1, output_numpy=True)))
    except RuntimeError:
        return None
print("rows", json.dumps([rows(path) for path in sys.argv[1:]]))
"""
DAMAGED = ("flip_data", "flip_length", "trunc_in_data", "zero_filled_tail", "flip_proto_tag_valid_crc")


def mswb(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mswb", "cache", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    """Verify says what is damaged, repair saves the rest, and MindSpore reads all of that."""
    for name in DAMAGED:
        shutil.copy(SAMPLES / f"{name}.tfrecord", tmp_path)
    # one that two faults of different kinds meet, and that MindSpore reads wrong without a word
    (tmp_path / "two.tfrecord").write_bytes(RECORDS[0] + RECORDS[1][:-1] + b"?" + RECORDS[2] + frame(b"\xff"))
    names = sorted(file.name for file in tmp_path.iterdir())
    verified = mswb(tmp_path, "verify", ".", "--format", "json")
    assert verified.returncode == 1, verified.stderr
    entries = {entry["name"]: entry for entry in json.loads(verified.stdout)["entries"]}
    assert {name: entries[name]["status"] for name in names} == {
        **dict.fromkeys(names, "corrupted"),
        "trunc_in_data.tfrecord": "truncated",
    }
    repaired = mswb(tmp_path, "repair", ".", "--force", "--format", "json")
    report = json.loads(repaired.stdout)
    assert all(action["done"] for action in report["actions"]), report
    new = [f"{name}.repaired" for name in names]
    command = [sys.executable, "-c", _READ, *names, *new]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    line = next(line for line in ran.stdout.splitlines() if line.startswith("rows "))
    rows = json.loads(line.removeprefix("rows "))
    assert rows[len(names) :] == [entries[name]["intact_records"] for name in names]
    before = dict(zip(names, rows, strict=False))
    assert before["flip_data.tfrecord"] == 50  # changed data, and not a word
    assert before["flip_length.tfrecord"] is None
