"""The level of a log record from its first eight bytes, for many lines at once.

Grammar: ``[DEBUG|INFO|WARNING|ERROR|CRITICAL|EXCEPTION|V12902] `` at the very start of a line (MindSpore's C++ and
Python loggers). Eight bytes tell them apart; a user's own ``[Epoch 3]`` or ``[INFO]:`` is no record.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

PREFIX_BYTES = 8
Levels = npt.NDArray[np.uint8]


class Level(IntEnum):
    """Levels in rising order; NONE is everything that is no record (continuations, tracebacks, prints)."""

    NONE = 0
    VERBOSE = 1
    DEBUG = 2
    INFO = 3
    WARNING = 4
    ERROR = 5
    CRITICAL = 6


_PREFIXES = {
    b"[WARNING": Level.WARNING,
    b"[INFO] ": Level.INFO,
    b"[DEBUG] ": Level.DEBUG,
    b"[ERROR] ": Level.ERROR,
    b"[CRITICA": Level.CRITICAL,
    b"[EXCEPTI": Level.CRITICAL,
}


def _word(prefix: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(prefix.ljust(PREFIX_BYTES, b"\0"), "little"))


_TABLE = [(_word(b"\xff" * len(prefix)), _word(prefix), np.uint8(level)) for prefix, level in _PREFIXES.items()]
_VERBOSE_MASK, _VERBOSE = _word(b"\xff\xff"), _word(b"[V")
_DIGIT_SHIFT, _BYTE = np.uint64(16), np.uint64(0xFF)
_ZERO, _TEN = np.uint64(ord("0")), np.uint64(10)


def levels_at(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> Levels:
    """The level of each line that starts at ``starts`` in ``data``, which has :data:`PREFIX_BYTES` to spare behind."""
    # One 64-bit word at every byte position, without a copy.
    words: npt.NDArray[np.uint64] = np.ndarray((len(data) - PREFIX_BYTES + 1,), "<u8", data, strides=(1,))
    return levels_of_words(words[starts])


def levels_of_words(first: npt.NDArray[np.uint64]) -> Levels:
    """The levels of lines given by their first eight bytes, as little-endian words."""
    levels = np.zeros(len(first), np.uint8)
    for mask, word, level in _TABLE:
        levels += (first & mask == word).view(np.uint8) * level
    verbose = first & _VERBOSE_MASK == _VERBOSE
    if verbose.any():  # "[V" and a digit
        digit = ((first >> _DIGIT_SHIFT) & _BYTE) - _ZERO
        levels += (verbose & (digit < _TEN)).view(np.uint8) * np.uint8(Level.VERBOSE)
    return levels


def level_of_line(line: bytes) -> Level:
    """The level of one line."""
    word = np.array([_word(line[:PREFIX_BYTES])])
    return Level(int(levels_of_words(word)[0]))
