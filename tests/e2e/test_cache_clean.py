"""A cache that a real training is writing: nothing touches it while the training lives; once it is killed, it goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.harness import Workspace

pytestmark = pytest.mark.mindspore

SCRIPT = """
import sys
import numpy as np
from mswb.cache import cached

class Source:
    def __len__(self):
        return 400
    def __getitem__(self, index):
        return (np.full(1000, index, "f4"),)

rows = cached(Source(), name="imagenet_train", cache_size=64, column_names=["x"]).create_tuple_iterator(num_epochs=1)
for _ in range(20):
    next(rows)
print("READY", flush=True)
sys.stdin.read()
"""


def test_a_cache_stays_while_its_training_lives(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.env["MSWB_CACHE_ROOT"] = str(tmp_path / "root")
    (tmp_path / "train.py").write_text(SCRIPT)
    training = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env={**workspace.env, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert training.stdout is not None
        assert any("READY" in line for line in training.stdout)
        (entry,) = workspace.mswb("cache", "list", "--format", "json").report["entries"]
        assert (entry["name"], entry["status"]) == ("imagenet_train", "building")
        kept = workspace.mswb("cache", "clean", "--all", "--force", "--format", "json").report
        assert kept["actions"] == []
        assert f"process {training.pid} (" in kept["warnings"][0]
    finally:
        training.kill()
        training.communicate()
    (entry,) = workspace.mswb("cache", "list", "--format", "json").report["entries"]
    assert entry["status"] == "interrupted"
    folder = Path(entry["path"])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    taken = workspace.mswb("cache", "clean", "--force", "--format", "json").report
    assert [(action["target"], action["done"]) for action in taken["actions"]] == [(str(folder), True)]
    assert "its writer is dead" in taken["warnings"][0] and not folder.exists()
    assert workspace.mswb("cache", "undo", "--force").code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
