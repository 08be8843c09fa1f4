"""Text out of a log's bytes, at drawing time only: guess the file's encoding once, then show line by line."""

from __future__ import annotations

from typing import Literal

from mswb.files.follow import last_state
from mswb.files.safety import MAX_SHOWN, printable

Encoding = Literal["utf-8", "gbk"]
SAMPLE = 64 << 10
_BOM = b"\xef\xbb\xbf"
_LINES = 200


def sniff(sample: bytes) -> Encoding:
    """The encoding of a log from its first bytes (:data:`SAMPLE` are enough): GBK when more lines speak for it.

    A line speaks for UTF-8 when it is valid, and for GBK when it isn't, is valid GBK, and most of its two-byte
    characters are Chinese ones in everyday use (GB 2312 level 1: first byte B0 to D7).
    """
    if sample.startswith(_BOM):
        return "utf-8"
    votes = {"utf-8": 0, "gbk": 0}
    foreign = [line for line in sample.split(b"\n")[:-1] or [sample] if not line.isascii()]
    for line in foreign[:_LINES]:
        votes["utf-8"] += _is_valid(line, "utf-8")
        votes["gbk"] += not _is_valid(line, "utf-8") and _is_chinese(line)
    return "gbk" if votes["gbk"] > votes["utf-8"] else "utf-8"


def show(line: bytes, encoding: Encoding = "utf-8", limit: int = MAX_SHOWN) -> str:
    r"""One line as text that a terminal may see: its last state after ``\r``, bad bytes and control characters escaped.

    At most ``limit`` characters; what is cut is counted.
    """
    text = last_state(line).removesuffix(b"\n").removeprefix(_BOM)
    return printable(text.decode(encoding, "backslashreplace"), limit)


def _is_valid(line: bytes, encoding: Encoding) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_chinese(line: bytes) -> bool:
    if not _is_valid(line, "gbk"):
        return False
    pairs = [character.encode("gbk") for character in line.decode("gbk") if not character.isascii()]
    everyday = sum(0xB0 <= pair[0] <= 0xD7 for pair in pairs)
    return 2 * everyday > len(pairs)
