"""CRC-32C (Castagnoli) as TFRecord frames hold it: masked, so that a CRC of data that holds CRCs is still a good one.

``mask(c) = (c rotated right by 15) + 0xA282EAD8`` modulo 2**32. Over data it is google-crc32c, in hardware; over many
eight-byte lengths at once it is a few table look-ups for all of them together, since a CRC is linear in its bits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from google_crc32c import extend, value
from numpy.typing import NDArray

__all__ = ["crcs_of_rows", "extend", "mask", "masked_array", "masked_lengths", "unmask", "unmasked_array", "value"]

_DELTA = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78
_WORDS = 8
"""16-bit words of the longest row."""


def mask(crc: int) -> int:
    """A CRC as a frame holds it."""
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """A CRC out of what a frame holds."""
    rotated = masked - _DELTA & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def unmasked_array(masked: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Many CRCs out of what frames hold."""
    rotated = masked - np.uint32(_DELTA)
    return rotated >> np.uint32(17) | rotated << np.uint32(15)


def masked_array(crcs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Many CRCs as frames hold them."""
    return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_DELTA)


def masked_lengths(lengths: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The masked CRC of each length as eight bytes, little-endian."""
    return masked_array(crcs_of_rows(lengths.astype("<u8", copy=False).view("<u2").reshape(-1, 4)))


def crcs_of_rows(words: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """The CRC of each row of at most eight little-endian 16-bit words."""
    count = words.shape[1]
    tables, of_zeros = _tables()
    crcs = np.full(len(words), of_zeros[count], np.uint32)
    for column in range(count):
        column_words = words[:, column]
        if column_words.any():
            crcs ^= tables[column - count].take(column_words)
    return crcs


@lru_cache(maxsize=1)
def _tables() -> tuple[tuple[NDArray[np.uint32], ...], tuple[int, ...]]:
    """What each 16-bit word adds to the CRC of a row, by its place from the end; and the CRCs of rows of zeros."""
    step = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        step = step >> np.uint32(1) ^ np.where(step & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    rows = [step]  # of the last byte; each byte before it passes one zero byte more
    for _ in range(2 * _WORDS - 1):
        rows.append(step[rows[-1] & np.uint32(0xFF)] ^ rows[-1] >> np.uint32(8))
    rows.reverse()
    words = tuple((rows[2 * at + 1][:, None] ^ rows[2 * at][None, :]).ravel() for at in range(_WORDS))
    return words, tuple(value(bytes(2 * count)) for count in range(_WORDS + 1))
