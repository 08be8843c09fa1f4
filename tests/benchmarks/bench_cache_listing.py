"""Listing a folder of 100,000 files, against ``du`` on the same folder.

The files are those of data sets: images by the thousand, files that only their content tells, and record files among
them. Everything is in the page cache before anything is timed, and both are processes of their own, so that ours counts
its start too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench, in_turn
from tests.benchmarks.tfrecords import example, frame

_FOLDERS = 100


@bench
def cache_listing(context: Context) -> Iterator[Row]:
    """``mswb cache list FOLDER --format json`` and ``du -s FOLDER``."""
    count = 10_000 if context.quick else 100_000
    image = ("jpg", b"\xff\xd8\xff" + bytes(200))
    record = ("tfrecord", frame(example({"image": bytes(100), "label": 3})))
    mixes = {
        "seven in ten are images": [image] * 7 + [("bin", b"some words and numbers")] * 3,
        "one in a hundred is of records": [image] * 99 + [record],
    }
    du = shutil.which("du")
    for name, mix in mixes.items():
        folder = context.temp / "many"
        _fill(folder, count, mix)
        command = [sys.executable, "-m", "mswb", "cache", "list", "--path", str(folder), "--format", "json"]
        listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        if len([row for row in listed["entries"] if row["kind"] == "tfrecord"]) != sum(
            suffix == "tfrecord" for suffix, _ in mix
        ) * (count // len(mix)):
            raise AssertionError(f"{name}: {len(listed['entries'])} entries")
        ours, peer = in_turn(
            3,
            [
                lambda c=command: subprocess.run(c, check=True, capture_output=True),  # type: ignore[misc]
                lambda f=folder: subprocess.run([du or "true", "-s", f], check=True, capture_output=True),  # type: ignore[misc]
            ],
        )
        yield Row(f"list {count} files: {name}, s", ours, 4, "du -s", peer if du else None, relative=True)
        shutil.rmtree(folder)


def _fill(folder: Path, count: int, mix: list[tuple[str, bytes]]) -> None:
    for number in range(_FOLDERS):
        place = folder / f"part{number:03}"
        place.mkdir(parents=True)
        for index in range(count // _FOLDERS):
            suffix, data = mix[index % len(mix)]
            (place / (f"{index:06}.{suffix}" if suffix else f"{index:06}")).write_bytes(data)
