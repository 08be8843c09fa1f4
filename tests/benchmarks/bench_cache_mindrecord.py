"""Verifying MindRecord files, and making their index again, beside one SHA-256 over the same file."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from mswb.cache.check import Options, Watch
from mswb.cache.data.mindrecord.header import Column, Header, IndexField, Schema
from mswb.cache.data.mindrecord.salvage import rebuild_index
from mswb.cache.data.mindrecord.verify import check
from mswb.cache.data.mindrecord.writer import DataWriter
from tests.benchmarks.common import Context, Row, bench, in_turn, seconds

SCHEMA = Schema({"data": Column("bytes"), "file": Column("string"), "label": Column("int32")}, ("data",), "")
MEMORY_MIB = 200


@bench
def mindrecord(context: Context) -> Iterator[Row]:
    """Rows of a picture's size and small ones, with an index of two fields."""
    for rows, size, limit in ((40_000, 12_288, 2.0), (400_000, 200, 40.0)):
        count = rows // 20 if context.quick else rows
        path = context.temp / f"{size}.mindrecord"
        _write(path, count, size)
        rebuilt = seconds(partial(rebuild_index, str(path), f"{path}.db"))
        ours, peer = in_turn(3, (partial(_verify, path, count), partial(_sha256, path)))
        what = f"{count} rows of {size} bytes ({path.stat().st_size / 1e6:.0f} MB)"
        yield Row(f"verify {what}, s", ours, limit, "sha256", peer, relative=True)
        yield Row(f"verify, µs a row of {size} bytes", ours / count * 1e6, 60)
        yield Row(f"index made again, µs a row of {size} bytes", rebuilt / count * 1e6, 120)
    code = "import sys; from tests.benchmarks.bench_cache_mindrecord import memory; memory(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    yield Row("most memory of a verification, MiB", float(done.stdout), MEMORY_MIB)


def memory(path: str) -> None:
    """Verify a file and print the most memory that this process had, in MiB."""
    check(path, Options(), Watch())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _write(path: Path, rows: int, size: int) -> None:
    index = (IndexField("file", 0), IndexField("label", 0))
    header = Header(1 << 24, 1 << 25, (SCHEMA,), (path.name,), 0, "3.0", (), index, None, 0)
    blob = os.urandom(size)
    with path.open("w+b") as file:
        writer = DataWriter(file.fileno(), header)
        for row in range(rows):
            writer.add(msgspec.msgpack.encode({"file": f"{row:08}.jpg", "label": row % 1000}), blob)
        writer.finish()


def _verify(path: Path, rows: int) -> None:
    found = check(str(path), Options(), Watch())
    assert (found.status, found.intact_records) == ("ok", rows)


def _sha256(path: Path) -> None:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while data := file.read(1 << 20):
            digest.update(data)
