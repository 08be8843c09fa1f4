"""A real training through file caches, under ``mswb run``: misses, then hits, true load times, and what has changed."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import mswb.inside
from tests.e2e.harness import Workspace, free_port

pytestmark = pytest.mark.mindspore
TRANSFORM = "def scaled(image):\n    return (image / {}).astype('float32')\n"
IMAGES = 6


def png(path: Path, value: int) -> None:
    """A grey picture of 8 x 8 pixels; every pixel is ``value``."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([value] * 24)) * 8
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.env["MSWB_CACHE_ROOT"] = str(tmp_path / "root")
    for number in range(IMAGES):
        folder = tmp_path / "dataset/train" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        png(folder / f"{number}.png", 10 * number)
    script = Path(made.script("train_cached.py")).read_text()
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "transform.py").write_text(TRANSFORM.format(2))
    return made


def seen_in(text: str) -> list[dict[str, Any]]:
    """What the script has seen, epoch by epoch and rank by rank."""
    return [json.loads(line) for line in re.findall(r"SEEN (\{.*\})", text)]


def train_two_ranks(workspace: Workspace) -> list[dict[str, Any]]:
    """Two epochs on two ranks under ``mswb run``."""
    numbers = ("--worker_num", "2", "--local_worker_num", "2", "--master_port", str(free_port()))
    done = workspace.mswb("run", "--format", "json", "--backend", "direct", *numbers, "train.py", "dataset/train", "2")
    text = "".join(workspace.text_of(f"worker_{rank}.log") for rank in (0, 1))
    assert done.code == 0, (done.report, text)
    assert "imagenet_train: 6 samples cached" in text
    return seen_in(text)


def train(workspace: Workspace) -> tuple[list[dict[str, Any]], str]:
    """One epoch in one process that has what ``mswb run`` gives to every one; what it has seen and said."""
    site = str(Path(mswb.inside.__file__).parent / "site")
    done = subprocess.run(
        [sys.executable, "train.py", "dataset/train", "1"],
        cwd=workspace.folder,
        env={**workspace.env, "PYTHONPATH": site},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return seen_in(done.stdout), done.stderr


def caches(workspace: Workspace, name: str) -> list[Path]:
    """The folders of a cache, the oldest first."""
    return sorted(
        (workspace.folder / "root" / name).iterdir(), key=lambda path: os.stat(path / "manifest.json").st_mtime
    )


def stats(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "stats.json").read_text())
    return found


def listed(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """The entries of ``mswb cache list`` by path."""
    report = workspace.mswb("cache", "list", "--path", str(workspace.folder / "root"), "--format", "json").report
    return {entry["path"]: entry for entry in report["entries"]}


def pixels(divisor: int, numbers: range = range(IMAGES)) -> float:
    return sum(48 * 10 * number / divisor for number in numbers)


def test_ranks_share_caches_and_a_later_run_sees_what_has_changed(workspace: Workspace) -> None:
    seen = train_two_ranks(workspace)
    assert len(seen) == 4
    for epoch in (0, 1):
        own = [one for one in seen if one["epoch"] == epoch]
        assert sum(one["images"] for one in own) == IMAGES and sum(one["pixels"] for one in own) == pixels(2)
        assert sum(one["numbers"] for one in own) == 45
    (images,), (numbers,) = caches(workspace, "imagenet_train"), caches(workspace, "numbers")
    for folder, misses, hits in ((images, IMAGES, 2 * IMAGES), (numbers, 10, 20)):
        found = stats(folder)
        assert (found["misses"], found["hits"], len(found["readers"])) == (misses, hits, 2)
        times = found["load_ms"]
        assert times["count"] == hits and 0 < times["p50"] <= times["p95"] <= times["p99"] <= times["max"]
        assert times["mean"] <= times["max"]

    png(workspace.folder / "dataset/train/a/6.png", 60)
    before = listed(workspace)
    assert before[str(images)]["status"] == "stale-source" and before[str(numbers)]["status"] == "ok"
    assert before[str(numbers)]["hit_rate"] == pytest.approx(20 / 30, abs=1e-3)
    (workspace.folder / "train.py").write_text((workspace.folder / "train.py").read_text() + "# another text\n")
    seen, log = train(workspace)
    assert [(one["pixels"], one["images"]) for one in seen] == [(pixels(2, range(7)), 7)]
    assert "made again, since stale-source: +1 -0 ~0 (6.png)" in log
    assert (stats(numbers)["misses"], stats(numbers)["hits"]) == (10, 30), "nothing of it has changed"

    (workspace.folder / "transform.py").write_text(TRANSFORM.format(4))
    seen, log = train(workspace)
    assert [one["pixels"] for one in seen] == [pixels(4, range(7))]
    assert "made again, since stale-code: transform:scaled changed" in log
    _, second, third = caches(workspace, "imagenet_train")
    after = listed(workspace)
    assert (after[str(second)]["status"], after[str(third)]["status"]) == ("stale-code", "ok")


def test_pipelines_of_all_kinds(workspace: Workspace) -> None:
    (workspace.folder / "work").mkdir()
    done = subprocess.run(
        [sys.executable, workspace.script("cached_cases.py"), "dataset/train", "work"],
        cwd=workspace.folder,
        env=workspace.env,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    labels = [0, 0, 0, 1, 1, 1]
    refusals = {
        "random operation": "CannotCache: RandomCrop draws at random",
        "random inside": "CannotCache: RandomApply draws at random",
        "random function": "CannotCache: cache 'refused': __main__:noisy uses numpy.random.rand",
        "shuffle": "CannotCache: shuffle() gives another order in each epoch",
        "batch of shuffled": "CannotCache: ImageFolderDataset is shuffled and its rows are then put together",
        "unhashable": "Unhashable: the global 'TABLE', which __main__:looked_up uses, holds a _io.TextIOWrapper",
    }
    assert "6 samples in it, 5 in its source now (stale-source: +0 -1 ~0 (" in found.pop("strict")
    for name, beginning in refusals.items():
        assert found.pop(name).startswith(beginning), name
    assert found == {
        "types": [["image", "label"], ["float32", "int32"], 6],
        "shuffled": [labels, labels],
        "same cache": [2, labels],
        "damaged": True,
        "twice": labels,
        "mindrecord": [8, True, 4],
        "generator": list(range(5)),
        "sequence": list(range(12)),
        "slices": list(range(5)),
        "batched": [0, 0, 1] * 2,
        "zipped": [0, 2],
        "subset": [0, 1],
        "concatenated": [0, 1, 2, 0],
        "filtered": [[2, 3, 4], [3, 4], [0]],
        "workers": [True, 1],
        "large": [[0, 2, 4, 6, 8, 10]] * 2,
    }
