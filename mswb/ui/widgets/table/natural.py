"""Natural order of text, as people count: ``rank 9`` before ``rank 10``, upper and lower case alike.

:func:`natural_key` is the rule. :func:`natural_ranks` gives the same order to a million texts in a fraction of the time
and without holding the interpreter: it walks all texts token by token as arrays, a token being a number or up to eight
bytes of other text, and at each step looks only at the texts that are still equal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DIGITS = 16
"""Digits of one number; a longer run is cut, as two words of eight bytes must hold it."""
_CHUNK = 1 << 14
"""Texts looked at in one go: what is worked on stays in the processor's cache, and other threads get their turn."""
_TOKENS = re.compile(f"([0-9]{{1,{_DIGITS}}})")


def natural_key(text: str) -> tuple[str | int, ...]:
    """What to sort a text by: its parts in lower case, numbers as numbers."""
    return tuple(int(part) if index % 2 else part for index, part in enumerate(_TOKENS.split(text.lower())))


def natural_ranks(texts: Sequence[str | None]) -> npt.NDArray[np.int32]:
    """The place of each text in natural order; texts that are equal in it share a place. None gets -1."""
    import numpy as np

    known = [text for text in texts if text is not None]
    if len(known) == len(texts):
        return _ranks(known)
    ranks = np.full(len(texts), -1, np.int32)
    ranks[np.fromiter((text is not None for text in texts), bool, len(texts))] = _ranks(known)
    return ranks


def _ranks(texts: list[str]) -> npt.NDArray[np.int32]:
    import numpy as np

    count = len(texts)
    ranks = np.empty(count, np.int32)
    if not count:
        return ranks
    walk = _Walk(_joined(texts), _shared(texts))
    order = np.arange(count)
    first = np.zeros(count, bool)  # whether the text at this place differs from the one before it
    first[0] = True
    tied = order.copy()
    while len(tied):
        rows = order[tied]
        keys = walk.step(rows)
        group = np.cumsum(first)[tied]
        if ((keys[1:] != keys[:-1]) & (group[1:] == group[:-1])).any():
            turn = _by_group(group, keys)
            rows, keys = rows[turn], keys[turn]
            order[tied] = rows
            first[tied[1:]] |= (keys[1:] != keys[:-1]) & (group[1:] == group[:-1])
        alone = first & np.append(first[1:], True)
        tied = tied[~alone[tied] & (keys != 0)]  # a key of 0 is the end of the text
    ranks[order] = np.cumsum(first) - 1
    return ranks


def _by_group(group: npt.NDArray[Any], keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The permutation that sorts by key inside each group; the groups are in order already."""
    import numpy as np

    order = np.argsort(keys)
    if group[0] == group[-1]:
        return order
    step = keys[order]
    dense = np.empty(len(keys), np.int64)
    dense[order] = np.cumsum(np.append(False, step[1:] != step[:-1]))
    return np.argsort((group - group[0]) * (int(dense.max()) + 1) + dense)


def _joined(texts: list[str]) -> bytes:
    """All texts in lower case, each ended by a zero byte, and eight more to read over the end."""
    return b"".join([*map(_encoded, _chunks(texts)), bytes(8)])


def _encoded(texts: list[str]) -> bytes:
    blob = "\0".join(texts)
    if blob.count("\0") != len(texts) - 1:
        blob = "\0".join(text.replace("\0", "\1") for text in texts)
    return blob.lower().encode("utf-8", "surrogatepass") + b"\0"


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    return (texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK))


def _shared(texts: list[str]) -> int:
    """How many bytes all texts begin with, and need not be compared; a number is never cut."""
    common = os.path.commonprefix  # of characters: these are no paths
    prefix = common([common(part) for part in _chunks(texts)])
    return len(prefix.rstrip("0123456789")) if prefix.isascii() else 0


class _Walk:
    """Where each text stands, as a byte position, and what comes there, eight bytes in one number."""

    def __init__(self, blob: bytes, skip: int) -> None:
        import numpy as np

        self.words: npt.NDArray[Any] = np.ndarray((len(blob) - 7,), ">u8", blob, strides=(1,))
        ends = np.flatnonzero(np.frombuffer(blob, np.uint8)[:-8] == 0)
        self.at = np.append(0, ends[:-1] + 1) + skip

    def step(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The next token of some texts: 0 at the end, 1 + a number, or up to eight bytes, which are always more."""
        import numpy as np

        parts = [self._step(rows[start : start + _CHUNK]) for start in range(0, len(rows), _CHUNK)]
        return np.concatenate(parts)

    def _step(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        import numpy as np

        from mswb.ui.widgets.table import bytewise

        at = self.at[rows]
        words = self.words[at].astype(np.uint64)
        digits = bytewise.digits(words)
        size = bytewise.run(digits | bytewise.zeros(words))
        keys = bytewise.leading(words, size)
        number = np.flatnonzero(digits >> np.uint64(63))
        if len(number):
            keys[number], size[number] = self._numbers(at[number], words[number], digits[number])
        self.at[rows] = at + size
        return keys

    def _numbers(
        self, at: npt.NDArray[Any], words: npt.NDArray[Any], digits: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """1 + the number that starts at each place, and how many digits it has."""
        import numpy as np

        from mswb.ui.widgets.table.bytewise import TOPS, decimal, run
        from mswb.ui.widgets.table.bytewise import digits as digits_of

        size = run(~digits & TOPS)
        value = decimal(words, size)
        long = np.flatnonzero(size == 8)
        if len(long):
            more = self.words[at[long] + 8].astype(np.uint64)
            extra = run(~digits_of(more) & TOPS)
            value[long] = value[long] * np.uint64(10) ** extra.astype(np.uint64) + decimal(more, extra)
            size[long] += extra
        return value + np.uint64(1), size
