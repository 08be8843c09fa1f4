"""Arrays and tables in files: NumPy, Arrow, Parquet, HDF5, LMDB, CSV. Only headers are read."""

from __future__ import annotations

import re

from mswb.files.items import Guess
from mswb.files.peek import UNKNOWN_SIZE, Peek

_DESCR = re.compile(rb"'descr': '([^']{1,32})'")
_SHAPE = re.compile(rb"'shape': \(([0-9, ]{0,200})\)")
_LMDB_MAGIC = b"\xde\xc0\xef\xbe"
_WIDTH = re.compile(r"[<>|=]?[a-zA-Z](\d{1,4})$")
_SEPARATORS = (",", "\t", ";")


def npy(peek: Peek) -> Guess | None:
    """A NumPy array: magic, version, and a header that is a literal dictionary."""
    if not peek.head.startswith(b"\x93NUMPY"):
        return None
    reason = "the magic \\x93NUMPY"
    descr, shape = _DESCR.search(peek.head), _SHAPE.search(peek.head)
    if descr is None or shape is None:
        pickled = b"'|O'" in peek.head or b"'O'" in peek.head
        return Guess("npy", "objects (pickled); never opened here" if pickled else "a structured array", reason)
    dtype, dims = descr.group(1).decode("latin-1"), shape.group(1).decode("ascii").strip()
    detail = f"{dtype} ({dims})"
    if dtype.endswith("O"):
        return Guess("npy", f"{detail} of objects (pickled); never opened here", reason)
    least = _npy_bytes(peek.head, dtype, dims)
    if peek.size != UNKNOWN_SIZE and least > peek.size:
        return Guess("npy", f"{detail} needs {least} bytes", reason, "truncated")
    return Guess("npy", detail, reason)


def archive(peek: Peek) -> Guess | None:
    """A zip that holds arrays (.npz) or a PyTorch checkpoint, by the name of its first member."""
    if not peek.head.startswith(b"PK\x03\x04"):
        return None
    length = int.from_bytes(peek.head[26:28], "little")
    first = peek.head[30 : 30 + length]
    if first.endswith(b".npy"):
        return _whole_zip(peek, "npz", "an archive of arrays", "a zip whose first member is an array")
    if first.endswith((b"/data.pkl", b"/.format_version", b"/version", b"/.data/serialization_id")):
        return _whole_zip(peek, "torch", "weights in a zip; never unpickled here", "a zip that holds data.pkl")
    return None


def columnar(peek: Peek) -> Guess | None:
    """Arrow, Feather, Parquet, HDF5 and LMDB by their magic numbers."""
    if peek.head.startswith(b"ARROW1\0\0"):
        whole = peek.size == UNKNOWN_SIZE or peek.tail(6) == b"ARROW1"
        return Guess("arrow", "Arrow IPC file", "the magic ARROW1", "" if whole else "truncated")
    if peek.head.startswith(b"PAR1") and peek.size > 12:
        whole = peek.size == UNKNOWN_SIZE or peek.tail(4) in (b"PAR1", b"PARE")
        return Guess("parquet", "Parquet", "the magic PAR1", "" if whole else "truncated")
    if peek.head.startswith(b"\x89HDF\r\n\x1a\n"):
        return Guess("hdf5", "HDF5", "the magic \\x89HDF")
    if peek.head[16:20] == _LMDB_MAGIC and peek.size >= 8192:
        return Guess("lmdb", "LMDB data file", "the magic 0xBEEFC0DE at byte 16")
    return None


def csv(peek: Peek) -> Guess | None:
    """A table in text, by its name and by lines that all have the same number of separators."""
    if not peek.lower.endswith((".csv", ".tsv")) or not peek.head or b"\0" in peek.head:
        return None
    lines = peek.head.decode("utf-8", "replace").splitlines()
    lines = [line for line in (lines[:-1] if peek.size > len(peek.head) else lines) if line.strip()][:20]
    counts = {mark: {line.count(mark) for line in lines if '"' not in line} for mark in _SEPARATORS}
    fitting = [mark for mark, seen in counts.items() if len(seen) == 1 and 0 not in seen]
    if not fitting or not lines:
        return None
    columns = next(iter(counts[fitting[0]])) + 1
    return Guess("csv", f"{columns} columns", f"its name, and {len(lines)} lines of {columns} columns")


def _npy_bytes(head: bytes, dtype: str, dims: str) -> int:
    """Bytes of the whole file by its own words; 0 when they can't be told."""
    width = _WIDTH.match(dtype)
    if width is None or len(head) < 12:
        return 0
    wide = head[6] >= 2
    header = int.from_bytes(head[8:12], "little") + 12 if wide else int.from_bytes(head[8:10], "little") + 10
    count = 1
    for part in dims.split(","):
        count *= int(part) if part.strip() else 1
    return header + count * int(width.group(1)) * (4 if "U" in dtype else 1)


def _whole_zip(peek: Peek, kind: str, detail: str, reason: str) -> Guess:
    """A zip ends with its directory; without it nothing can be found in it."""
    if peek.size == UNKNOWN_SIZE or b"PK\x05\x06" in peek.tail(4096):
        return Guess(kind, detail, reason)
    return Guess(kind, f"{detail}; the directory at its end is missing", reason, "truncated")
