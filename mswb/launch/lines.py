r"""Physical lines into the pieces that mean something: numbered, located in bytes, decoded, without escape codes.

A record or a traceback may begin in mid-line, behind a progress bar (``\r``) or a print without a newline; such a line
becomes two pieces with the same number. Nothing is lost: the ``raw`` of all pieces, joined, is the input.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mswb.files.safety import decode, open_regular
from mswb.launch.records import HEAD, strip_ansi

MAX_LINE = 1 << 20
"""Bytes of one piece; a longer line goes on in further pieces of the same number."""

_ESCAPE = rb"(?:\x1b\[[0-?]{0,16}[ -/]{0,4}[@-~]){0,4}"  # bounded: a line of escapes only must not be tried from each
TRACEBACK = b"Traceback (most recent call last):"
_AFTER_PRINT = rb"|(?<=[^\s:|+])" + re.escape(TRACEBACK)
_HEAD = re.compile(HEAD + _AFTER_PRINT)
_HEAD_IN_COLOUR = re.compile(
    _ESCAPE.join((rb"\[", rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|EXCEPTION|V\d{1,6})", rb"\]", rb" "))
    + _ESCAPE
    + rb"[A-Z][A-Z_]*\(\d+[,:]"
    + _AFTER_PRINT
)
_NO_TEXT = re.compile(rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\xef\xbb\xbf|\s)*\Z")


class Line(NamedTuple):
    """A line, or a piece of one. ``number`` counts from 1, ``offset`` is in bytes; ``text`` has no line end."""

    number: int
    offset: int
    raw: bytes
    text: str


def read_lines(path: str | os.PathLike[str], start: int = 0) -> Iterator[bytes]:
    """The lines of a file from the byte ``start``, each with its newline, none above :data:`MAX_LINE` bytes.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    with open(open_regular(path), "rb") as file:
        file.seek(start)
        while raw := file.readline(MAX_LINE):
            yield raw


def cut_lines(lines: Iterable[bytes | str], number: int = 1, offset: int = 0) -> Iterator[Line]:
    """The pieces of ``lines``, which begin at this line number and byte offset of their file."""
    for line in lines:
        raw = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        for begin in range(0, len(raw), MAX_LINE):
            for piece in _pieces(raw[begin : begin + MAX_LINE]):
                yield Line(number, offset, piece, _text(piece))
                offset += len(piece)
        number += raw.endswith(b"\n")


def _pieces(raw: bytes) -> Iterator[bytes]:
    pattern = _HEAD_IN_COLOUR if b"\x1b" in raw else _HEAD
    begin = 0
    for match in pattern.finditer(raw):
        at = match.start()
        if at > begin and not (begin == 0 and _NO_TEXT.match(raw, 0, at)):
            yield raw[begin:at]
            begin = at
    yield raw[begin:]


def _text(raw: bytes) -> str:
    text = strip_ansi(decode(raw)).rstrip("\r\n")
    if "\r" not in text:
        return text
    head = text.lstrip("\r\n ")
    return head if _HEAD.match(head.encode("utf-8", "replace")) else text.rpartition("\r")[2]
