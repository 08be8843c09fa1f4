"""Telling by a name and twenty bytes that a file is nothing of ours, without asking every sniffer.

A folder may hold a hundred thousand files of other kinds. What is not ruled out here is looked at in full.
"""

from __future__ import annotations

import os
import re

HEAD = 20
"""Bytes of the beginning that are looked at."""
OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""How a file is opened that may have become a link or a pipe."""
_ENDINGS = (
    *(".tfrecord", ".tfrecords", ".npy", ".npz", ".ckpt", ".safetensors", ".parquet", ".arrow", ".csv", ".tsv"),
    *("fusion_result.json", "analyze_fail.ir"),
)
"""Names that are reason enough for a sniffer to speak; two more are looked for in the middle of a name."""
_SOMETHING = re.compile(
    rb"\x93NUMPY|PK\x03\x04|ARROW1|PAR1|\x89HDF|SQLite|\x1f\x8b|x[\x01\x5e\x9c\xda]"
    rb"|[\x0a\x80]"  # a checkpoint's first field, a pickle's protocol
    rb"|.{5}\0\0\0.{4}"  # what may be the length of a TFRecord's frame: below 1 TiB, and four bytes of its CRC
    rb"|.{8}\{|.{16}\xde\xc0\xef\xbe",  # JSON after a length (MindRecord, safetensors), LMDB
    re.DOTALL,
)


def is_nothing(name: str, head: bytes) -> bool:
    """Whether no sniffer of caches and data files can recognise a file.

    Args:
        head: the first :data:`HEAD` bytes, or all of a shorter file.
    """
    lower = name.lower()
    named = lower.endswith(_ENDINGS) or ".mindrecord" in lower or "compile_" in lower
    return not named and _SOMETHING.match(head) is None
