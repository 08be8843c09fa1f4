"""What a file is that is called a TFRecord and is none, by its first bytes."""

from __future__ import annotations

from mswb.cache.check import Fault

_LFS = b"version https://git-lfs.github.com/spec/"
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd, which MindSpore does not read"),
    (b"BZh", "packed with bzip2, which MindSpore does not read"),
    (b"\xfd7zXZ\0", "packed with xz, which MindSpore does not read"),
    (b"\x04\x22\x4d\x18", "packed with lz4, which MindSpore does not read"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")


def foreign(head: bytes) -> Fault | None:
    """The fault of a file whose first bytes are those of something else."""
    if head.startswith(_LFS):
        return Fault("lfs-pointer", "a pointer of git-lfs", offset=0)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower().startswith(_MARKUP):
        return Fault("not-a-record-file", "it is a web page, perhaps of a download that failed", offset=0)
    if head[8:10] == b'{"':
        return Fault("not-a-record-file", "it begins like a MindRecord or a safetensors file", offset=0)
    what = next((words for magic, words in _KINDS if head.startswith(magic)), None)
    return None if what is None else Fault("not-a-record-file", f"it is {what}", offset=0)
