"""MindRecord: a data file that begins with ``u64 length, JSON header``, and beside it an SQLite index ``NAME.db``.

There is no magic number. What tells it from safetensors, which begins alike, are the header's keys.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mswb.files.items import FileFacts, Guess, Item
from mswb.files.peek import UNKNOWN_SIZE, Peek

VERSION = "3.0"
NAMED = re.compile(r"\.mindrecord\d*$")
"""What people call data files, and what MindSpore calls shards: X.mindrecord0, X.mindrecord1 ..."""
UNREADABLE = frozenset({"renamed", "interrupted", "compressed"})
"""Statuses that are errors here, though less of other kinds of files: MindSpore fails, or reads the neighbour."""
_SQLITE = b"SQLite format 3\0"
_SHARDS = re.compile(r'"shard_addresses":\[([^\]]*)\]')
_ENCRYPTED_END = b"ENCRYPT"


def sniff(peek: Peek) -> Guess | None:
    """The data file, by its header's keys; one that was never committed, by its NULs and its name."""
    if peek.head[8:10] == b'{"':
        start = peek.start()
        if b'"header_size"' in start and (
            b'"page_size"' in start or b'"schema"' in start or b'"index_fields"' in start
        ):
            return _by_header(peek, start)
    if NAMED.search(peek.lower) and peek.size:
        return _by_name(peek)
    return None


def sniff_index(peek: Peek) -> Guess | None:
    """The index, by the tables that its first page creates."""
    if not peek.head.startswith(_SQLITE) or b"SHARD_NAME" not in peek.head or b"INDEXES" not in peek.head:
        return None
    page = int.from_bytes(peek.head[16:18], "big")
    pages = int.from_bytes(peek.head[28:32], "big")
    reason = "an SQLite file that creates the tables SHARD_NAME and INDEXES"
    if page > 1 and pages * page > peek.size:
        return Guess("mindrecord-index", f"cut: {pages} pages of {page} bytes were written", reason, "index-damaged")
    return Guess("mindrecord-index", "index of a MindRecord", reason)


def join(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """Data file and index as one entry. ``files`` are all regular files of the folder, by path."""
    items = [*items, *_by_index(items, files)]
    by_path = {item.path: item for item in items}
    absorbed: set[str] = set()
    result: list[Item] = []
    for item in items:
        if item.kind == "mindrecord":
            item = _with_index(item, by_path, files)
            absorbed.add(item.path + ".db")
        result.append(item)
    alone = [_alone(item, by_path) if item.kind == "mindrecord-index" else item for item in result]
    return [item for item in alone if item.path not in absorbed]


def _by_index(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """Data files that nothing but the index beside them tells: they may have any name, and their header is damaged."""
    known = {item.path for item in items}
    indexes = (item.path for item in items if item.kind == "mindrecord-index")
    paths = (path.removesuffix(".db") for path in indexes if path.endswith(".db"))
    status, detail = "corrupted", "its header can't be read; the index beside it is one of a MindRecord"
    return [
        files[path].item(
            Guess("mindrecord", detail, "the index beside it", status if files[path].size_bytes else "empty")
        )
        for path in paths
        if path in files and path not in known
    ]


def _by_header(peek: Peek, start: bytes) -> Guess:
    length = struct.unpack_from("<Q", start)[0]
    reason = 'after eight bytes of length comes a JSON header with "header_size" and "schema"'
    body = start[8 : 8 + length] if length <= len(start) - 8 else start[8:]
    header, problem = _parsed(body)
    if header is None and length > peek.size - 8:
        _, problem = _parsed(start[8:].rstrip(b"\0 "))
        cut = peek.size <= len(start)
        status = "truncated" if cut and not problem.startswith("Extra") else "corrupted"
        return Guess("mindrecord", f"the header should be {length} bytes long, more than the file", reason, status)
    if header is None and len(body) < length:
        return Guess("mindrecord", f"a header of {length} bytes, not read to its end", reason)
    if header is None:
        return Guess("mindrecord", f"the header is no JSON: {problem}", reason, "corrupted")
    return _described(peek, header, reason)


def _parsed(body: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        header = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as problem:
        return None, f"byte {problem.start} is not UTF-8"
    except (ValueError, RecursionError) as problem:
        return None, str(problem) or type(problem).__name__
    return (header, "") if isinstance(header, dict) else (None, "it is no object")


def _described(peek: Peek, header: Mapping[str, Any], reason: str) -> Guess:
    rows, columns = _rows(header), _columns(header)
    detail = ", ".join(part for part in (rows, columns) if part) or "MindRecord"
    if not _indexes_known(header):
        return Guess("mindrecord", f"the header's index fields are not its columns; {detail}", reason, "corrupted")
    version = header.get("version")
    if version != VERSION:
        return Guess("mindrecord", f"version {version!r}, known is {VERSION}; {detail}", reason, "version-mismatch")
    least = _least_size(header)
    if peek.size != UNKNOWN_SIZE and least > peek.size:
        return Guess(
            "mindrecord", f"its pages need {least} bytes, and it has {peek.size}; {detail}", reason, "truncated"
        )
    addresses = header.get("shard_addresses")
    named = [name for name in addresses if isinstance(name, str)] if isinstance(addresses, list) else []
    if named and peek.name not in named:
        return Guess("mindrecord", f"the header names {named[0]}; {detail}", reason, "renamed")
    shards = f" of {len(named)} shards" if len(named) > 1 else ""
    return Guess("mindrecord", detail + shards, reason)


def _pages(header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    pages = header.get("page")
    return [page for page in pages if isinstance(page, dict)] if isinstance(pages, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


def _rows(header: Mapping[str, Any]) -> str:
    rows = max((_number(page.get("end_row_id")) for page in _pages(header)), default=0)
    return f"{rows} rows" if rows else ""


def _schema(header: Mapping[str, Any]) -> Mapping[str, Any]:
    schemas = header.get("schema")
    first = schemas[0] if isinstance(schemas, list) and schemas else None
    columns = first.get("schema") if isinstance(first, dict) else None
    return columns if isinstance(columns, dict) else {}


def _columns(header: Mapping[str, Any]) -> str:
    columns = list(_schema(header))
    return "columns " + ", ".join(columns[:8]) if columns else ""


def _indexes_known(header: Mapping[str, Any]) -> bool:
    """Whether each index field is a column: a flipped bit in a name shows here, and MindSpore aborts on it."""
    fields, columns = header.get("index_fields"), _schema(header)
    named = [field.get("index_field") if isinstance(field, dict) else None for field in fields or ()]
    return all(isinstance(name, str) and name in columns for name in named) if isinstance(fields, list) else not fields


def _least_size(header: Mapping[str, Any]) -> int:
    """Bytes up to the end of the last page that the header tells of."""
    page_size, base = _number(header.get("page_size")), _number(header.get("header_size"))
    ends = (base + _number(page.get("page_id")) * page_size + _number(page.get("page_size")) for page in _pages(header))
    return max(ends, default=0)


def _by_name(peek: Peek) -> Guess | None:
    """What is called MindRecord and begins with NULs (never committed), or ends in the mark of the encrypted form."""
    if not peek.head.strip(b"\0"):
        return Guess("mindrecord", "the header was never written", "its name, and a header of NULs", "interrupted")
    if peek.tail(16).endswith(_ENCRYPTED_END):
        return Guess("mindrecord", "encrypted", "its name, and the word ENCRYPT at its end", "encrypted")
    return None


def _with_index(item: Item, by_path: Mapping[str, Item], files: Mapping[str, FileFacts]) -> Item:
    index = files.get(item.path + ".db")
    if index is None:
        missing = f"no {os.path.basename(item.path)}.db beside it; {item.detail}"
        return replace(item, detail=missing, status=item.status or "index-missing")
    known = by_path.get(index.path)
    status, detail = item.status, item.detail
    if known is None or known.kind != "mindrecord-index":
        status, detail = status or "index-damaged", f"its .db is no MindRecord index; {detail}"
    elif known.status:
        status, detail = status or known.status, f"its .db: {known.detail}; {detail}"
    return replace(
        item,
        size_bytes=item.size_bytes + index.size_bytes,
        disk_bytes=item.disk_bytes + index.disk_bytes,
        modified=max(item.modified, index.modified),
        detail=detail,
        status=status,
        files=2,
    )


def _alone(index: Item, by_path: Mapping[str, Item]) -> Item:
    data = index.path.removesuffix(".db")
    if data in by_path and by_path[data].kind == "mindrecord":
        return index
    words = f"index of {os.path.basename(data)}, which is not here"
    return replace(index, detail=words, status="orphan")
