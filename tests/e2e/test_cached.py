"""A real training through file caches, under ``mswb run``: misses, then hits, true load times, and what has changed."""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

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


def train(workspace: Workspace, epochs: int = 1, ranks: int = 1) -> tuple[list[dict[str, Any]], str]:
    """What the script has seen, epoch by epoch and rank by rank, and all that its ranks have logged."""
    numbers = ("--worker_num", str(ranks), "--local_worker_num", str(ranks), "--master_port", str(free_port()))
    done = workspace.mswb(
        "run", "--format", "json", "--backend", "direct", *numbers, "train.py", "dataset/train", str(epochs)
    )
    text = "".join(workspace.text_of(f"worker_{rank}.log") for rank in range(ranks))
    assert done.code == 0, (done.report, text, done.stderr)
    return [json.loads(line) for line in re.findall(r"SEEN (\{.*\})", text)], text


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


def test_a_training_hits_its_cache_and_sees_what_has_changed(workspace: Workspace) -> None:
    seen, log = train(workspace, epochs=2)
    assert [(one["pixels"], one["images"], one["numbers"]) for one in seen] == [(pixels(2), IMAGES, 45)] * 2
    assert "imagenet_train: 6 samples cached" in log
    (images,), (numbers,) = caches(workspace, "imagenet_train"), caches(workspace, "numbers")
    assert (stats(images)["misses"], stats(images)["hits"]) == (IMAGES, 2 * IMAGES)
    assert (stats(numbers)["misses"], stats(numbers)["hits"]) == (10, 10)
    for folder, count in ((images, 2 * IMAGES), (numbers, 10)):
        times = stats(folder)["load_ms"]
        assert times["count"] == count and 0 < times["p50"] <= times["p95"] <= times["p99"] <= times["max"]
        assert times["mean"] <= times["max"]

    added = workspace.folder / "dataset/train/a/6.png"
    png(added, 60)
    before = listed(workspace)
    assert before[str(images)]["status"] == "stale-source" and before[str(numbers)]["status"] == "ok"
    assert before[str(numbers)]["hit_rate"] == 0.5
    (workspace.folder / "train.py").write_text((workspace.folder / "train.py").read_text() + "# another text\n")
    seen, log = train(workspace)
    assert [(one["pixels"], one["images"]) for one in seen] == [(pixels(2, range(7)), 7)]
    assert "made again, since stale-source: +1 -0 ~0 (6.png)" in log
    assert (stats(numbers)["misses"], stats(numbers)["hits"]) == (10, 20), "nothing of it has changed"

    (workspace.folder / "transform.py").write_text(TRANSFORM.format(4))
    seen, log = train(workspace)
    assert [one["pixels"] for one in seen] == [pixels(4, range(7))]
    assert "made again, since stale-code: transform:scaled changed" in log
    _, second, third = caches(workspace, "imagenet_train")
    after = listed(workspace)
    assert {after[str(second)]["status"], after[str(third)]["status"]} == {"stale-code", "ok"}


def test_ranks_share_one_cache_and_divide_its_samples(workspace: Workspace) -> None:
    seen, _ = train(workspace, epochs=2, ranks=2)
    assert len(seen) == 4
    for epoch in (0, 1):
        own = [one for one in seen if one["epoch"] == epoch]
        assert sum(one["images"] for one in own) == IMAGES and sum(one["pixels"] for one in own) == pixels(2)
        assert sum(one["numbers"] for one in own) == 45
    (images,), (numbers,) = caches(workspace, "imagenet_train"), caches(workspace, "numbers")
    assert (stats(images)["misses"], stats(images)["hits"]) == (IMAGES, 2 * IMAGES)
    assert (stats(numbers)["misses"], stats(numbers)["hits"]) == (10, 20)
    assert len(stats(images)["readers"]) == 2
