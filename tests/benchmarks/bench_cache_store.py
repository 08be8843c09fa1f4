"""The file cache against Arrow IPC, LMDB, MindRecord and decoding the JPEGs: writes and random reads of 12 KB samples.

Peers need ``pip install pyarrow==19.0.1 lmdb`` (a newer pyarrow wants a newer numpy than MindSpore has), and MindSpore
for MindRecord. All figures are microseconds for one sample, so a bar of 1 x the peer's means as fast as it.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mswb.inside.store import Column, StoreReader, StoreWriter
from tests.benchmarks.common import Context, Row, bench, in_turn, seconds

SHAPE = (64, 64, 3)
KEY = "ab" * 32
_ROUNDS = 5
_MINDRECORD = """
import sys, time
import numpy as np
from mindspore.mindrecord import FileWriter
rows, path = int(sys.argv[1]), sys.argv[2]
data = np.random.default_rng(0).integers(0, 256, (rows, 12288), dtype=np.uint8)
begin = time.perf_counter()
writer = FileWriter(path, 1)
writer.add_schema({"id": {"type": "int64"}, "x": {"type": "bytes"}}, "x")
for first in range(0, rows, 1000):
    writer.write_raw_data([{"id": i, "x": data[i].tobytes()} for i in range(first, min(first + 1000, rows))])
writer.commit()
with open(path, "rb") as file:
    import os
    os.fsync(file.fileno())
print("SECONDS", time.perf_counter() - begin)
"""


@bench
def cache_store(context: Context) -> Iterator[Row]:
    """Writing with a final sync, random reads as views with one byte touched, verified reads."""
    rows = 2_000 if context.quick else 20_000
    data = np.random.default_rng(0).integers(0, 256, (rows, *SHAPE), dtype=np.uint8)
    order = np.random.default_rng(1).permutation(rows).tolist()
    writers = {"ours": _write_ours, **_peers(_WRITERS)}
    places = {name: str(context.temp / name) for name in writers}
    per_sample = _by_turns(
        {name: lambda w=write, n=name: w(_empty(places[n]), data) for name, write in writers.items()}
    )
    us = {name: value / rows * 1e6 for name, value in per_sample.items()}
    yield Row("write, us a sample of 12 KB", us["ours"], 1.0, "Arrow IPC", us.get("arrow"), relative=True)
    record = _mindrecord_s(context, rows)
    peer = None if record is None else record / rows * 1e6
    yield Row("write, us a sample of 12 KB", us["ours"], 1 / 3, "MindRecord", peer, relative=True)
    yield from _reads(places, order)
    for size in (64, 224):
        reference = _decode_us(size, 200 if context.quick else 500)
        view = _get_us(places["ours"], order[: rows // 2], verify=True)
        what = f"verified read of 12 KB, us; a JPEG of {size} x {size}"
        yield Row(what, view, 0.1, "PIL decode", reference, relative=True)


def _reads(places: dict[str, str], order: list[int]) -> Iterator[Row]:
    readers = {"ours": _read_ours, **_peers(_READERS)}
    opened = {name: read(places[name]) for name, read in readers.items()}
    taken = _by_turns({name: lambda touch=touch: _touch_all(touch, order) for name, touch in opened.items()})
    us = {name: value / len(order) * 1e6 for name, value in taken.items()}
    yield Row("random view, us", us["ours"], 1.0, "Arrow IPC", us.get("arrow"), relative=True)
    yield Row("random view, us", us["ours"], 2.0, "LMDB", us.get("lmdb"), relative=True)
    # Of the processor alone: the bar is a figure, not a ratio, and other users of the machine would decide it.
    verified = min(_get_us(places["ours"], order, verify=True, clock=time.process_time) for _ in range(_ROUNDS))
    yield Row("verified read of 12 KB, us of CPU (10 = 100,000 a second)", verified, 10.0)


def _by_turns(actions: dict[str, Callable[[], object]]) -> dict[str, float]:
    return dict(zip(actions, in_turn(_ROUNDS, list(actions.values())), strict=True))


def _touch_all(touch: Callable[[int], int], order: list[int]) -> int:
    return sum([touch(i) for i in order])


def _get_us(folder: str, order: list[int], *, verify: bool, clock: Callable[[], float] = time.perf_counter) -> float:
    """Every record is read for the first time by this reader, so each one is verified."""
    reader = StoreReader(folder, verify=verify)
    begin = clock()
    for sample_id in order:
        reader.get(sample_id)
    return (clock() - begin) / len(order) * 1e6


def _empty(path: str) -> str:
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def _synced(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _write_ours(folder: str, data: np.ndarray[Any, Any]) -> None:
    with StoreWriter(folder, [Column("x", "|u1", SHAPE)], KEY) as writer:
        for i in range(len(data)):
            writer.append(i, (data[i],))
        writer.seal()


def _write_arrow(folder: str, data: np.ndarray[Any, Any]) -> None:
    import pyarrow as pa

    schema = pa.schema([("id", pa.int64()), ("x", pa.binary(int(np.prod(SHAPE))))])
    path = os.path.join(folder, "x.arrow")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for first in range(0, len(data), 500):
            raw = [data[i].tobytes() for i in range(first, min(first + 500, len(data)))]
            writer.write_batch(pa.record_batch([list(range(first, first + len(raw))), raw], schema=schema))
    _synced(path)


def _write_lmdb(folder: str, data: np.ndarray[Any, Any]) -> None:
    import lmdb

    with lmdb.open(folder, map_size=8 * data.nbytes + (1 << 26), sync=False) as env:
        for first in range(0, len(data), 1000):
            with env.begin(write=True) as transaction:
                for i in range(first, min(first + 1000, len(data))):
                    transaction.put(i.to_bytes(8, "big"), data[i].tobytes(), append=True)
        env.sync(True)


def _read_ours(folder: str) -> Callable[[int], int]:
    reader = StoreReader(folder, verify=False)
    return lambda i: int(reader.get(i)[0][0, 0, 0])


def _read_arrow(folder: str) -> Callable[[int], int]:
    import pyarrow as pa

    reader = pa.ipc.open_file(pa.memory_map(os.path.join(folder, "x.arrow")))
    columns = [reader.get_batch(i).column(1) for i in range(reader.num_record_batches)]

    def touch(i: int) -> int:
        buffer = columns[i // 500][i % 500].as_buffer()
        return int(np.frombuffer(buffer, np.uint8).reshape(SHAPE)[0, 0, 0])

    return touch


def _read_lmdb(folder: str) -> Callable[[int], int]:
    import lmdb

    env = lmdb.open(folder, readonly=True, lock=False)
    transaction = env.begin(buffers=True)
    return lambda i: int(np.frombuffer(transaction.get(i.to_bytes(8, "big")), np.uint8).reshape(SHAPE)[0, 0, 0])


_WRITERS = {"arrow": ("pyarrow", _write_arrow), "lmdb": ("lmdb", _write_lmdb)}
_READERS = {"arrow": ("pyarrow", _read_arrow), "lmdb": ("lmdb", _read_lmdb)}


def _peers(table: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """Those whose package is installed."""
    from importlib.util import find_spec

    return {name: function for name, (package, function) in table.items() if find_spec(package) is not None}


def _mindrecord_s(context: Context, rows: int) -> float | None:
    path = Path(_empty(str(context.temp / "mindrecord"))) / "x.mindrecord"
    command = [sys.executable, "-c", _MINDRECORD, str(rows), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=context.temp)
    found = [line for line in done.stdout.splitlines() if line.startswith("SECONDS")]
    return float(found[0].split()[1]) if found else None


def _decode_us(size: int, times: int) -> float | None:
    """Decoding a JPEG of smooth noise in one thread."""
    try:
        from PIL import Image
    except ImportError:
        return None
    small = np.random.default_rng(2).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    packed = io.BytesIO()
    Image.fromarray(small).resize((size, size)).save(packed, "JPEG", quality=90)
    raw = packed.getvalue()
    return seconds(lambda: [np.asarray(Image.open(io.BytesIO(raw))) for _ in range(times)]) / times * 1e6
