"""Verifying TFRecord files: long records against one CRC over the file, short ones against the PyPI reader; memory.

The peer ``tfrecord`` runs in an environment of its own. Its reader skips the checksums; "with its checks on" is that
reader with the function that its writer computes them by. The file is read once before anything is timed.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import google_crc32c

from mswb.cache.check import Options, Watch
from mswb.cache.data.tfrecord.verify import check
from tests.benchmarks.common import Context, Row, bench, in_turn, seconds
from tests.benchmarks.tfrecords import example, frame

_READER = """
import struct, sys, time
from tfrecord.reader import tfrecord_iterator
from tfrecord.writer import TFRecordWriter
path, checks = sys.argv[1], sys.argv[2] == "checks"
begin = time.perf_counter()
count = 0
for data in tfrecord_iterator(path):
    if checks:
        TFRecordWriter.masked_crc(struct.pack("<Q", len(data)))
        TFRecordWriter.masked_crc(bytes(data))
    count += 1
print(time.perf_counter() - begin, count)
"""


def _write(path: Path, records: Iterable[bytes], times: int) -> Path:
    block = b"".join(map(frame, records))
    with path.open("wb") as file:
        for _ in range(times):
            file.write(block)
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    return path


def _image(dice: random.Random, size: int) -> bytes:
    """A record as of an image data set: an encoded image of about this size, and what belongs to it."""
    image = dice.randbytes(size + dice.randrange(size // 8))
    return example({"image/encoded": image, "image/format": b"jpeg", "height": 480, "label": dice.randrange(1000)})


def _verify(path: Path, deep: bool = True) -> None:
    checked = check(str(path), Options(deep=deep), Watch())
    if checked.status != "ok" or checked.records != checked.intact_records:
        raise AssertionError(f"{path}: {checked}")


def _one_crc(path: Path) -> None:
    crc = 0
    with path.open("rb", buffering=0) as file:
        while data := file.read(1 << 20):
            crc = google_crc32c.extend(crc, data)


@bench
def tfrecord_long(context: Context) -> Iterator[Row]:
    """Records of 16 KB and more, parsed too: at least half as fast as one CRC-32C over the file."""
    dice = random.Random(1)
    for size in (16 << 10, 100 << 10, 2 << 20):
        count = (64 << 20) // size
        records = (_image(dice, size) for _ in range(count))
        path = _write(context.temp / f"long{size}.tfrecord", records, 1 if context.quick else 8)
        ours, peer = in_turn(9, [lambda p=path: _verify(p), lambda p=path: _one_crc(p)])  # type: ignore[misc]
        name = f"{path.stat().st_size >> 20} MiB of records of {size >> 10} KiB, s"
        yield Row(name, ours, 2, "google_crc32c of the file", peer, relative=True)
        path.unlink()


@bench
def tfrecord_short(context: Context) -> Iterator[Row]:
    """Records of some 150 bytes, parsed too: half a million a second, five times as fast as the PyPI reader."""
    dice = random.Random(2)
    records = [example({"image": dice.randbytes(dice.randrange(60, 140)), "label": n % 1000}) for n in range(20_000)]
    times = 2 if context.quick else 50
    path = _write(context.temp / "short.tfrecord", records, times)
    python = _peer(context)
    theirs: list[float] = []

    def peer() -> None:
        if python:
            ran = subprocess.run([python, "-c", _READER, path, "checks"], check=True, capture_output=True, text=True)
            took, count = ran.stdout.split()
            if int(count) != len(records) * times:
                raise AssertionError(f"the peer reads {count} records")
            theirs.append(float(took))

    ours, _ = in_turn(3, [lambda: _verify(path), peer])
    count = len(records) * times
    yield Row("short records, us each", ours / count * 1e6, 2)
    yield Row(f"{count} short records, s", ours, 0.2, "tfrecord", min(theirs, default=None), relative=True)
    yield Row("checksums alone, us each", min(_times(3, lambda: _verify(path, False))) / count * 1e6, 2)


@bench
def tfrecord_memory(context: Context) -> Iterator[Row]:
    """10 GB, of whole records and of a hole, in a process of its own."""
    dice = random.Random(3)
    size = (100 if context.quick else 5000) * 1_000_000
    block = b"".join(frame(_image(dice, 100_000)) for _ in range(100))
    path = context.temp / "huge.tfrecord"
    with path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
        file.truncate(2 * size)
    script = (
        "import sys\n"
        "from mswb.cache.check import Options, Watch\n"
        "from mswb.cache.data.tfrecord.verify import check\n"
        "assert check(sys.argv[1], Options(), Watch()).status == 'corrupted'\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True)
    yield Row(f"memory for {2 * size // 10**9} GB, MB", int(ran.stdout) * 1024 / 1e6, 200)
    path.unlink()


def _times(count: int, action: Callable[[], object]) -> list[float]:
    return [seconds(action) for _ in range(count)]


def _peer(context: Context) -> Path | None:
    """The interpreter of an environment that holds the peer, made when it isn't there yet."""
    folder = context.cache / "tfrecord"
    python = folder / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True)
        install = [python, "-m", "pip", "install", "-q", "tfrecord==1.14.6"]
        if made.returncode or subprocess.run(install, capture_output=True).returncode:
            shutil.rmtree(folder, ignore_errors=True)
            return None
    return python
