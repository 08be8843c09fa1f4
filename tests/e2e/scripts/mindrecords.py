"""Writes MindRecord files of many shapes with MindSpore, then reads the ones that stdin names; one JSON line each.

Asked with a path (or a list of them) it answers with a digest of each row, in the order of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import dataset
from mindspore.mindrecord import FileWriter

HEADER, PAGE = 1 << 15, 1 << 15
PICTURES = {"label": {"type": "int32"}, "txt": {"type": "string"}, "data": {"type": "bytes"}}
ARRAYS = {
    "a": {"type": "bytes"},
    "b": {"type": "float32", "shape": [-1]},
    "c": {"type": "int64", "shape": [2, 3]},
    "d": {"type": "int32", "shape": [-1]},
    "e": {"type": "float64", "shape": [2, -1]},
    "k": {"type": "int64"},
}
NUMBERS = {
    "i": {"type": "int32"},
    "j": {"type": "int64"},
    "f": {"type": "float32"},
    "g": {"type": "float64"},
    "s": {"type": "string"},
}
Row = Mapping[str, Any]


def pictures(count: int, text: int, data: int) -> list[Row]:
    """Rows whose parts are up to ``text`` and ``data`` bytes long; each blob begins with the row's number."""
    pick = random.Random(count + text + data)
    return [
        {"label": row, "txt": "é" * pick.randrange(text), "data": b"%d " % row + pick.randbytes(pick.randrange(data))}
        for row in range(count)
    ]


def arrays(count: int) -> Iterator[Row]:
    for row in range(count):
        yield {
            "a": b"xyz" * row,
            "b": np.arange(row + 1, dtype=np.float32),
            "c": np.arange(6).reshape(2, 3) * 7**row % (1 << 62),
            "d": np.array([row, -row, 1 << 20, -(1 << 30)], np.int32)[: row % 4 + 1],
            "e": np.ones((2, row + 1)),
            "k": row - 5,
        }


def numbers(count: int) -> Iterator[Row]:
    for row in range(count):
        yield {"i": -row, "j": row << 40, "f": float(np.float32(row / 3)), "g": row / 7, "s": f"{row}\0'\"\U0001f600"}


def write(
    path: Path,
    schema: Mapping[str, Any],
    rows: Sequence[Row],
    shards: int = 1,
    index: Sequence[str] = (),
    parts: int = 1,
) -> FileWriter:
    """Everything but the commit; ``parts`` calls of write_raw_data."""
    writer = FileWriter(str(path), shard_num=shards)
    writer.set_header_size(HEADER)
    writer.set_page_size(PAGE)
    writer.add_schema(schema, "test")
    if index:
        writer.add_index(list(index))
    step = -(-len(rows) // parts)
    for begin in range(0, len(rows), step):
        writer.write_raw_data([dict(row) for row in rows[begin : begin + step]])
    return writer


def write_all(folder: Path) -> None:
    write(folder / "pages", PICTURES, pictures(300, 300, 3000), index=["label"], parts=7).commit()
    write(folder / "texts", PICTURES, pictures(200, 3000, 50), parts=9).commit()
    write(folder / "both", PICTURES, pictures(150, 3000, 8000), parts=11).commit()
    write(folder / "shards", PICTURES, pictures(100, 90, 2000), shards=3, parts=3).commit()
    write(folder / "arrays", ARRAYS, list(arrays(60)), index=["k"]).commit()
    write(folder / "numbers", NUMBERS, list(numbers(80))).commit()
    write(folder / "one", {"x": {"type": "bytes"}}, [{"x": b"1"}]).commit()
    write(
        folder / "whole", {"x": {"type": "int64", "shape": [2]}}, [{"x": np.array([row, -row])} for row in range(9)]
    ).commit()
    write(folder / "grown", PICTURES, pictures(30, 900, 900)).commit()
    grown = FileWriter.open_for_append(str(folder / "grown"))
    grown.write_raw_data([dict(row) for row in pictures(40, 900, 900)])
    grown.commit()
    killed = os.fork()
    if not killed:
        write(folder / "killed", PICTURES, pictures(150, 1500, 3000), parts=11)
        os._exit(0)
    os.waitpid(killed, 0)


def read(source: str | list[str]) -> list[str]:
    """A digest of each row."""
    rows = dataset.MindDataset(source, shuffle=False, num_parallel_workers=1)
    return [_digest(row) for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True)]


def _digest(row: Mapping[str, Any]) -> str:
    parts = [(name, str(value.dtype), value.tobytes().hex()) for name, value in sorted(row.items())]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    write_all(Path(sys.argv[1]))
    print("written", file=answers, flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(read(json.loads(line))), file=answers, flush=True)
        except Exception as problem:
            print(json.dumps(str(problem)), file=answers, flush=True)


if __name__ == "__main__":
    main()
