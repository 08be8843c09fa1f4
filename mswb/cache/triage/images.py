"""Whether an image file is what its name says, by its head, its end and its lengths; nothing is decoded."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from mswb.files.safety import open_regular

DAMAGED = "image-damaged"
HEAD_BYTES, TAIL_BYTES = 512, 64 << 10
MAX_SEGMENTS = 4096
"""Segments of a JPEG in front of its data that are followed; real ones have a few dozen at most."""
_LFS = b"version https://git-lfs.github.com/spec/"
_PAGE = re.compile(rb"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)
_NAMED = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".png": "PNG", ".bmp": "BMP", ".gif": "GIF", ".webp": "WebP",
}  # fmt: skip
_PNG_END = b"IEND\xaeB`\x82"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image file is.

    Attributes:
        form: by its content, else by its name ("JPEG").
        code: the finding it is worth; empty when head and end are as they should be.
        reason: what exactly is wrong.
    """

    form: str
    code: str
    reason: str


def look(path: str) -> Image | None:
    """Look at a file; None when neither its name nor its head is that of an image.

    Ends are those of ISO/IEC 10918-1 (EOI), of the PNG specification (IEND), of GIF89a (the trailer); BMP and RIFF say
    their length in their headers.

    Raises:
        MswbError: it can't be read, or is no regular file.
    """
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        head = os.pread(descriptor, HEAD_BYTES, 0)
        named = _NAMED.get(os.path.splitext(path.lower())[1], "")
        form = next((form for form, begins in _BEGINS.items() if begins(head)), "")
        if form:
            reason = _ENDS[form](descriptor, head, size)
            return Image(form, DAMAGED if reason else "", reason)
        return Image(named, *_foreign(named, head)) if named else None
    finally:
        os.close(descriptor)


def _foreign(named: str, head: bytes) -> tuple[str, str]:
    """Code and reason of a file that only its name calls an image."""
    if not head:
        return DAMAGED, "it is empty (0 bytes)"
    if head.startswith(_LFS):
        return "lfs-pointer", "a pointer of git-lfs"
    if _PAGE.match(head):
        return DAMAGED, f"it is named {named} and is a web page: a download that failed"
    if not any(head):
        return DAMAGED, f"it begins with {len(head)} zero bytes"
    return DAMAGED, f"it is named {named} and does not begin as an image of any kind known here"


def _jpeg(descriptor: int, head: bytes, size: int) -> str:
    """A JPEG's segments by their lengths up to the first scan, then its end marker behind that.

    In coded data FF is followed by 00 or a restart marker, so that FF D9 is the end and nothing else; what programs
    put behind it does not matter.
    """
    place = 2
    for _ in range(MAX_SEGMENTS):
        start = os.pread(descriptor, 4, place)
        if len(start) < 4:
            return f"it ends at byte {size}, within its headers"
        if start[0] != 0xFF or start[1] == 0xD9:
            return f"its headers break off at byte {place}"
        if start[1] in (0xFF, 0x01):  # a filling byte, or a marker without a length
            place += 1 if start[1] == 0xFF else 2
            continue
        place += 2 + int.from_bytes(start[2:], "big")
        if start[1] == 0xDA:
            break
    begin = max(place, size - TAIL_BYTES)
    tail = os.pread(descriptor, TAIL_BYTES, begin) if begin < size else b""
    return "" if b"\xff\xd9" in tail else f"its {size} bytes end without the end marker of a JPEG"


def _png(descriptor: int, head: bytes, size: int) -> str:
    return "" if _PNG_END in _tail(descriptor, size) else f"its {size} bytes end without the IEND of a PNG"


def _gif(descriptor: int, head: bytes, size: int) -> str:
    ended = _tail(descriptor, size).rstrip(b"\0").endswith(b";")
    return "" if ended else f"its {size} bytes end without the trailer of a GIF"


def _bmp(descriptor: int, head: bytes, size: int) -> str:
    return _shorter(size, struct.unpack_from("<I", head.ljust(6, b"\0"), 2)[0])


def _webp(descriptor: int, head: bytes, size: int) -> str:
    return _shorter(size, 8 + struct.unpack_from("<I", head, 4)[0])


def _shorter(size: int, wanted: int) -> str:
    return f"it has {size} bytes, and its header says {wanted}" if size < wanted else ""


def _tail(descriptor: int, size: int) -> bytes:
    return os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))


_BEGINS: dict[str, Callable[[bytes], bool]] = {
    "JPEG": lambda head: head.startswith(b"\xff\xd8\xff"),
    "PNG": lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"),
    "GIF": lambda head: head.startswith((b"GIF87a", b"GIF89a")),
    "BMP": lambda head: head.startswith(b"BM") and head[6:10] == b"\0" * 4,
    "WebP": lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP",
}
_ENDS: dict[str, Callable[[int, bytes, int], str]] = {
    "JPEG": _jpeg, "PNG": _png, "GIF": _gif, "BMP": _bmp, "WebP": _webp,
}  # fmt: skip
