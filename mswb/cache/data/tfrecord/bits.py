"""Which single bit has flipped, where that is all the damage: a CRC tells it, since each bit changes it differently."""

from __future__ import annotations

from mswb.cache.crc import mask, unmask, value

_POLYNOMIAL = 0x82F63B78
LIMIT = 1 << 15
"""Bytes of data that are searched: a bit a step, in Python."""


def flipped_byte(data: bytes, stored: int) -> int | None:
    """The byte, from the start of the data on, that holds the flipped bit; None if it was not one bit.

    It is behind the data where the bit is one of the stored CRC itself.

    Args:
        stored: the masked CRC that follows the data.
    """
    computed = value(data)
    in_crc = mask(computed) ^ stored
    if in_crc.bit_count() == 1:
        return len(data) + (in_crc.bit_length() - 1) // 8
    wanted = unmask(stored) ^ computed
    effect = _POLYNOMIAL  # of the highest bit of the last byte; that of the bit before it takes one step more
    for step in range(8 * len(data) if len(data) <= LIMIT else 0):
        if effect == wanted:
            return len(data) - 1 - step // 8
        effect = effect >> 1 ^ (_POLYNOMIAL if effect & 1 else 0)
    return None
