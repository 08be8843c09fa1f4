"""MindRecord files for tests: real ones that MindSpore 2.10 wrote, and the sample damaged in each labelled way."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from mswb.cache.check import Checked, Options, Watch
from mswb.cache.data.mindrecord.header import Column as Kind
from mswb.cache.data.mindrecord.header import Header, IndexField, Schema
from mswb.cache.data.mindrecord.verify import check
from mswb.cache.data.mindrecord.writer import write_index
from tests.unit.inventories import DATA

REAL = Path(__file__).parents[3] / "fixtures" / "cache" / "mindrecord" / "real.zip"
GOOD = DATA / "mindrecord" / "good"
BLOB, RAW, ROWS = 16384, 49152, 60
"""Where the sample's blob page and raw page begin: rows of 208 and of 34 bytes."""

Damage = Callable[[Path], object]


def good(folder: Path, name: str = "good.mindrecord") -> Path:
    """The sample of 60 rows with its index, in a folder, under a name."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending in ("", ".db"):
        shutil.copyfile(GOOD / f"good.mindrecord{ending}", folder / f"{name}{ending}")
    return folder / name


def real(folder: Path, name: str) -> Path:
    """A folder of real files, unpacked."""
    with zipfile.ZipFile(REAL) as packed:
        members = [member for member in packed.namelist() if member.startswith(f"{name}/")]
        assert members
        packed.extractall(folder, members)
    return folder / name


def real_names() -> list[str]:
    """The real files that are whole."""
    with zipfile.ZipFile(REAL) as packed:
        names = {member.split("/")[0] for member in packed.namelist()}
    return sorted(names - {"uncommitted"})


def look(path: Path, **options: Any) -> Checked:
    """What a check says of a file."""
    return check(str(path), Options(**options), Watch())


def flip(offset: int, mask: int) -> Damage:
    """Flip bits of one byte."""

    def do(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[offset] ^= mask
        path.write_bytes(data)

    return do


def cut(size: int) -> Damage:
    """Cut the file."""
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def overwrite(offset: int, new: bytes) -> Damage:
    """Write over bytes."""

    def do(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[offset : offset + len(new)] = new
        path.write_bytes(data)

    return do


def replace(old: bytes, new: bytes) -> Damage:
    """Write over the only place of some bytes."""

    def do(path: Path) -> None:
        data = path.read_bytes()
        assert len(old) == len(new) and data.count(old) == 1
        path.write_bytes(data.replace(old, new))

    return do


def edit_header(change: Callable[[dict[str, Any]], object], path: Path) -> None:
    """Change the header's JSON."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    size = header["header_size"]
    change(header)
    body = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(body)) + body.ljust(size - 8, b"\0") + data[size:])


def sql(*statements: str) -> Damage:
    """Run statements on the index."""

    def do(path: Path) -> None:
        with closing(sqlite3.connect(f"{path}.db", isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return do


def index_bytes(change: Callable[[bytes], bytes]) -> Damage:
    """Change the index as bytes."""

    def do(path: Path) -> None:
        index = Path(f"{path}.db")
        index.write_bytes(change(index.read_bytes()))

    return do


def rename(data: str, index: str) -> Damage:
    """Give the two files other names."""

    def do(path: Path) -> None:
        path.rename(path.with_name(data))
        Path(f"{path}.db").rename(path.with_name(index))

    return do


def other_index(path: Path) -> None:
    """An index of other columns and 30 rows, with this file's name in it."""
    schema = Schema({"id": Kind("int32"), "data": Kind("bytes")}, ("data",), "other")
    header = Header(16384, 32768, (schema,), (path.name,), 0, "3.0", (), (IndexField("id", 0),), None, 0)
    Path(f"{path}.db").unlink()
    rows = (((row, 1, 16 * row, 16 * row + 16, 0, 0, 58 * row, 58 * row + 58), (row,)) for row in range(30))
    write_index(f"{path}.db", path.name, header, rows)


DAMAGES: dict[str, tuple[Damage, str, int | None, int]] = {
    "good": (lambda path: None, "ok", None, 60),
    "renamed_both": (rename("renamed.mindrecord", "renamed.mindrecord.db"), "renamed", 0, 60),
    "renamed_db_only": (rename("good.mindrecord", "x.mindrecord.db"), "index-missing", None, 60),
    "missing_db": (lambda path: Path(f"{path}.db").unlink(), "index-missing", None, 60),
    "trunc_raw_page": (cut(50052), "truncated", RAW + 26 * 34, 26),
    "trunc_blob_page": (cut(22384), "truncated", BLOB + 28 * 208, 0),
    "flip_blob_len": (flip(18464, 0x10), "corrupted", 18464, 59),
    "flip_blob_len_hi": (flip(18470, 0x10), "corrupted", 18464, 59),
    "flip_blob_data": (flip(18524, 0x10), "ok", None, 60),
    "flip_raw_len": (flip(49492, 0x10), "corrupted", 49492, 59),
    "flip_raw_msgpack": (flip(49500, 0x10), "corrupted", 49492, 59),
    "flip_raw_value": (flip(49511, 0x02), "corrupted", 49492, 59),
    "pagesize_header_changed": (replace(b'"page_size":32768', b'"page_size":65536'), "corrupted", 0, 60),
    "schema_type_changed": (replace(b"int32", b"int64"), "ok", None, 60),
    "trailing_garbage": (lambda path: path.write_bytes(path.read_bytes() + b"x" * 1000), "corrupted", 51192, 60),
    "zero_tail": (overwrite(RAW, bytes(2040)), "corrupted", RAW, 0),
    "db_empty": (index_bytes(lambda data: b""), "index-damaged", 0, 60),
    "db_garbage": (index_bytes(lambda data: b"garbage!" * 512), "index-damaged", 0, 60),
    "db_trunc": (index_bytes(lambda data: data[:6000]), "index-damaged", 6000, 60),
    "db_fewer_rows": (sql("DELETE FROM INDEXES WHERE ROW_ID >= 40"), "index-damaged", None, 60),
    "db_extra_rows": (
        sql("INSERT INTO INDEXES SELECT ROW_ID + 60, 1, 0, 34, 0, 0, 0, 208, 0, '', 0, 0 FROM INDEXES LIMIT 5"),
        "index-damaged",
        None,
        60,
    ),
    "db_bad_offset": (
        sql("UPDATE INDEXES SET PAGE_OFFSET_BLOB_END = PAGE_OFFSET_BLOB_END + 500000 WHERE ROW_ID = 10"),
        "index-damaged",
        None,
        60,
    ),
    "wrong_db": (other_index, "index-foreign", None, 60),
}
"""By the sample's name: how to make it of the good one, its status, the offset of the fault, and its intact rows."""

HEADLESS: dict[str, tuple[Damage, str]] = {
    "trunc_header": (cut(400), "truncated"),
    "empty": (cut(0), "empty"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(path.read_bytes())), "compressed"),
    "flip_header_len": (flip(0, 0x01), "corrupted"),
    "flip_header_len_hi": (flip(5, 0x10), "corrupted"),
    "flip_header_json": (flip(48, 0x10), "corrupted"),
    "version_changed": (replace(b'"3.0"', b'"9.0"'), "version-mismatch"),
}
"""Those whose header can't be read: all at offset 0."""
