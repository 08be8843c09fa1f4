"""A column of text as its different words and, for each row, which word it is: small, and quick to sort and search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, overload

from mswb.ui.widgets.table.natural import natural_key, natural_ranks

Rows: TypeAlias = Any
"""Numbers of data rows: a range, a list or an integer array."""
_CHUNK = 20_000
"""Texts that are taken in one go; in between other threads, such as the one that draws, get their turn."""
_FEW = 20_000
"""Words that are sorted by their keys; more are ranked as arrays."""


class Coded(Sequence[Any]):
    """A sequence of words (None: unknown) held once each.

    Args:
        words: the words, in any order.
        codes: for each row the index of its word, -1 for unknown; a list or an integer array.
    """

    __slots__ = ("codes", "words")

    def __init__(self, words: Sequence[str | None], codes: Sequence[int] | Any) -> None:
        self.words = words
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Coded: ...
    def __getitem__(self, index: int | slice) -> str | Coded | None:
        if isinstance(index, slice):
            return Coded(self.words, self.codes[index])
        code = self.codes[index]
        return None if code < 0 else self.words[code]

    def spread(self, by_word: Sequence[Any] | Any, unknown: Any) -> Any:
        """One value a row from one value a word (``unknown`` where the row has none), as the codes: array or list."""
        if is_array(self.codes):
            import numpy as np

            last = np.asarray([unknown])
            return np.append(np.asarray(by_word, last.dtype), last)[self.codes]  # -1 takes the last
        return [unknown if code < 0 else by_word[code] for code in self.codes]


def is_array(values: Any) -> bool:
    """Whether these are a numpy array (asked without loading numpy)."""
    return hasattr(values, "dtype")


def code(values: Iterable[Any], arrays: bool) -> Coded:
    """The coded form of a text column; values that are no text count as their ``str()``."""
    texts = _texts(values)
    if arrays and _mostly_different(texts):
        return Coded(texts, _every(len(texts)))
    words: dict[str | None, int] = {}
    for start in range(0, len(texts), _CHUNK):
        words |= dict.fromkeys(texts[start : start + _CHUNK], 0)
    words = {word: number for number, word in enumerate(words)}
    if not arrays:
        return Coded(list(words), [words[text] for text in texts])
    import numpy as np

    return Coded(list(words), np.fromiter((words[text] for text in texts), np.int32, len(texts)))


def word_ranks(words: Sequence[str | None], place_of: Callable[[str], int] | None = None) -> Any:
    """The place of each word in natural order, -1 for None; ``place_of`` goes before the order of the text."""
    if place_of is None and len(words) > _FEW:
        return natural_ranks(words)
    known = [index for index, word in enumerate(words) if word is not None]
    known.sort(key=lambda index: _place(words[index] or "", place_of))
    ranks = [-1] * len(words)
    for rank, index in enumerate(known):
        ranks[index] = rank
    return ranks


def _place(word: str, place_of: Callable[[str], int] | None) -> tuple[Any, ...]:
    return (0 if place_of is None else place_of(word), natural_key(word), word)


def _texts(values: Any) -> list[str | None]:
    listed = values.tolist() if is_array(values) else values if isinstance(values, list) else list(values)
    if set(map(type, listed)) <= {str, type(None)}:
        return listed
    return [value if value is None else _text(value) for value in listed]


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _mostly_different(texts: list[str | None]) -> bool:
    """Judged by a thousand of them: a dictionary of a million different words costs more than it saves."""
    sample = texts[:: max(1, len(texts) // 1000)]
    return len(set(sample)) > 0.9 * len(sample)


def _every(count: int) -> Any:
    import numpy as np

    return np.arange(count, dtype=np.int32)
