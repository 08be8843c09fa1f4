"""Reading a gzip file that may be cut off or damaged: what can be unpacked comes out, then the end."""

from __future__ import annotations

import io
import zlib
from typing import BinaryIO

_STEP = 1 << 20


class Unpacked(io.RawIOBase):
    """The content of a gzip file of one or more members, as far as it can be unpacked."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(31)
        self._left = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; fewer only at the end."""
        parts: list[bytes] = []
        wanted = size if size >= 0 else 1 << 62
        while wanted > 0 and not self._ended:
            part = self._some(min(wanted, _STEP))
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _some(self, most: int) -> bytes:
        if not self._left:
            self._left = self._file.read(_STEP)
            if not self._left:
                self._ended = True
                return b""
        try:
            part = self._inflate.decompress(self._left, most)
        except zlib.error:
            self._ended = True
            return b""
        self._left = self._inflate.unconsumed_tail
        if self._inflate.eof:
            self._left = self._inflate.unused_data
            rest = self._left or self._file.read(_STEP)
            self._ended = not rest.startswith(b"\x1f\x8b")  # what follows a member is another one, or padding
            self._left = rest
            if not self._ended:
                self._inflate = zlib.decompressobj(31)
        return part
