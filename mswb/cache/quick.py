"""Telling by a name and twenty bytes that a file is nothing of ours, without asking every sniffer.

A folder may hold a hundred thousand files of other kinds. What is not ruled out here is looked at in full.
"""

from __future__ import annotations

import os
import re

HEAD = 20
"""Bytes of the beginning that are looked at."""
_NAMED = re.compile(
    r"compile_cache_|compile_dependency|\.mindrecord|fusion_result\.json|analyze_fail\.ir"
    r"|\.(?:tfrecords?|npy|npz|ckpt|safetensors|parquet|arrow|csv|tsv)$",
    re.IGNORECASE,
)
"""Names that are reason enough for a sniffer to speak."""
_MAGIC = (
    *(b"\x93NUMPY", b"PK\x03\x04", b"ARROW1", b"PAR1", b"\x89HDF", b"SQLite", b"\x1f\x8b"),
    *(b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
    *(b"\x0a", b"\x80"),  # a checkpoint's first field, a pickle's protocol
)
_LMDB = b"\xde\xc0\xef\xbe"
_LONGEST = 1 << 40
"""A TFRecord that is this long is longer than any file system holds: the bytes are no length."""


def is_nothing(name: str, head: bytes) -> bool:
    """Whether no sniffer of caches and data files can recognise a file.

    Args:
        head: the first :data:`HEAD` bytes, or all of a shorter file.
    """
    if head.startswith(_MAGIC) or head[8:9] == b"{" or head[16:20] == _LMDB:
        return False
    if len(head) >= 12 and int.from_bytes(head[:8], "little") < _LONGEST:
        return False
    return _NAMED.search(name) is None


def head_of(folder: int, name: str) -> bytes:
    """The first bytes of a regular file in an open folder; a link is not followed, a pipe not waited for.

    Raises:
        OSError: it can't be opened or read.
    """
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=folder)
    try:
        return os.pread(descriptor, HEAD, 0)
    finally:
        os.close(descriptor)
