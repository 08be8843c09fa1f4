"""The filter line: ``text``, ``column:text``, ``column>5``, ``!term``; all terms must hold.

- ``text`` is looked for in every column as it is drawn, upper and lower case alike; quote it to keep blanks.
- ``column:text`` looks in one column. A column is named by its key or title, or the beginning of either.
- ``column>5``, ``>=``, ``<``, ``<=``, ``=``, ``!=`` compare; with units as drawn (``memory>2GiB``, ``age>5m``). Text
  compares in natural order. ``column=none`` finds what is unknown.
- ``!`` before a term turns it round.

A word with a colon or a sign whose left side names no column is plain text: ``C:\\data`` needs no quotes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mswb.ui.widgets.table.coded import Coded, Rows, is_array
from mswb.ui.widgets.table.natural import natural_key
from mswb.ui.widgets.table.units import is_missing, quantity

if TYPE_CHECKING:
    from mswb.ui.widgets.table.data import Column, TableData

Mask = Any
"""A truth value for each row: a list or a boolean array."""
_CHUNK = 10_000
"""Numbers that are drawn between two questions whether the answer is still wanted."""
_UNKNOWN = {"none", "nan", "unknown", "-"}
_TERM = re.compile(r'!?(?:[^\s"]|"[^"]*(?:"|$))+')
_PARTS = re.compile(r"(?P<column>[^:<>=!\"]+)(?P<sign>!=|<=|>=|[:<>=])(?P<text>.*)", re.DOTALL)
_NUMBER = re.compile(r"[-+.,:]*\d[-+.,:%\w ]*")
_SPACED = re.compile(r"(?P<column>[^\s:<>=!\"]+)\s*(?P<sign>!=|<=|>=|[<>=])\s*(?=[^\s<>=])")
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. ``column`` None: any column; ``sign`` is ``:`` (contains) or a comparison with ``number``."""

    text: str
    column: str | None = None
    sign: str = ":"
    number: float | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """All terms must hold. ``problem`` says what can't be used; such a term is left out."""

    terms: tuple[Term, ...] = ()
    problem: str = ""


def parse(text: str, columns: Sequence[Column]) -> Query:
    """Read a filter text. It never fails: see ``Query.problem``."""
    joined = _SPACED.sub(lambda match: _close(match, columns), text)
    terms: list[Term] = []
    problems: list[str] = []
    for word in _TERM.findall(joined):
        negated, word = word.startswith("!") and len(word) > 1, word.removeprefix("!") or word
        term, problem = _term(word, negated, columns)
        if problem:
            problems.append(problem)
        elif term.text or term.sign != ":":
            terms.append(term)
    return Query(tuple(terms), "; ".join(problems))


def find_column(name: str, columns: Sequence[Column]) -> Column | None:
    """The column a person means: by key or title, whole or (when only one fits) by its beginning."""
    wanted = _plain(name)
    whole = [column for column in columns if wanted in (_plain(column.key), _plain(column.title))]
    begun = [c for c in columns if _plain(c.key).startswith(wanted) or _plain(c.title).startswith(wanted)]
    return whole[0] if whole else begun[0] if wanted and len(begun) == 1 else None


def matching(query: Query, data: TableData, cancelled: Callable[[], bool] = lambda: False) -> Rows:
    """The rows for which all terms hold, in their own order; none when cancelled meanwhile."""
    if not query.terms:
        return data.every()
    mask: Mask = None
    for term in query.terms:
        if cancelled():
            return []
        found = _holds(term, data, cancelled)
        mask = found if mask is None else _both(mask, found)
    return _where(mask)


def _close(match: re.Match[str], columns: Sequence[Column]) -> str:
    """``step > 5`` is one term when step is a column."""
    known = find_column(match["column"], columns)
    return f"{match['column']}{match['sign']}" if known else match[0]


def _term(word: str, negated: bool, columns: Sequence[Column]) -> tuple[Term, str]:
    match = _PARTS.fullmatch(word)
    column = find_column(match["column"], columns) if match else None
    if match is None or column is None:
        return Term(word.replace('"', "").lower(), negated=negated), ""
    text, sign = match["text"].replace('"', "").lower(), match["sign"]
    if sign == ":" or not column.numeric or text in _UNKNOWN:
        return Term(text, column.key, sign, None, negated), ""
    number = quantity(column.kind, text)
    if number is None:
        return Term(""), f"{column.title} {sign} {text}: not a number" if text else ""
    return Term(text, column.key, sign, number, negated), ""


def _holds(term: Term, data: TableData, cancelled: Callable[[], bool]) -> Mask:
    if term.column is not None:
        mask = _column_holds(term, data.column(term.column), data, cancelled)
    else:
        mask = None
        for column in data.columns:
            if not cancelled() and _may_contain(column, term.text):
                found = _column_holds(term, column, data, cancelled)
                mask = found if mask is None else _either(mask, found)
    if mask is None:
        mask = _constant(False, data)
    return _not(mask) if term.negated else mask


def _may_contain(column: Column, text: str) -> bool:
    """Whether to look here for text that names no column.

    A column without a title is not for people; and among numbers only text that may be (part of) one is looked for.
    """
    if not column.title:
        return False
    return not column.numeric or column.show is not None or _NUMBER.fullmatch(text) is not None


def _column_holds(term: Term, column: Column, data: TableData, cancelled: Callable[[], bool]) -> Mask:
    if term.sign != ":" and term.text in _UNKNOWN and term.sign in ("=", "!="):
        known = _known(data, column)
        return known if term.sign == "!=" else _not(known)
    if not column.numeric:
        return _by_word(data.coded(column.key), _word_test(term, column))
    if term.number is not None:
        return _compared(data.keys(column.key), _COMPARE[term.sign], term.number)
    return _drawn_numbers(term.text, column, data, cancelled)


def _word_test(term: Term, column: Column) -> Callable[[str], bool]:
    text, compare = term.text, _COMPARE.get(term.sign)
    if compare is None:
        as_drawn = column.show is not None or column.kind == "severity"
        return lambda word: text in word.lower() or (as_drawn and text in column.text(word).lower())
    if term.sign in ("=", "!="):
        return lambda word: bool(compare(word.lower(), text))
    key = natural_key(text)
    return lambda word: bool(compare(natural_key(word), key))


def _by_word(coded: Coded, test: Callable[[str], bool]) -> Mask:
    return coded.spread([word is not None and test(word) for word in coded.words], False)


def _compared(keys: Any, compare: Callable[[Any, Any], Any], number: float) -> Mask:
    if is_array(keys):
        return compare(keys, number) & (keys == keys)
    return [value is not None and bool(compare(value, number)) for value in keys]


def _drawn_numbers(text: str, column: Column, data: TableData, cancelled: Callable[[], bool]) -> Mask:
    """Numbers by the text that is drawn for them; among very many each different one is drawn once."""
    wanted = text.replace(",", "")

    def test(value: Any) -> bool:
        return wanted in column.text(value).lower().replace(",", "")

    if not data.fast:
        return [test(value) for value in data.arrays[column.key]]
    import numpy as np

    values, which = np.unique(data.keys(column.key), return_inverse=True)
    found = np.zeros(len(values), bool)
    for start in range(0, len(values), _CHUNK):
        if cancelled():
            break
        part = values[start : start + _CHUNK].tolist()
        found[start : start + _CHUNK] = np.fromiter(map(test, part), bool, len(part))
    return found[which]


def _known(data: TableData, column: Column) -> Mask:
    keys = data.keys(column.key)
    return keys == keys if is_array(keys) else [not is_missing(value) for value in keys]


def _constant(value: bool, data: TableData) -> Mask:
    if not data.fast:
        return [value] * len(data)
    import numpy as np

    return np.full(len(data), value)


def _both(one: Mask, two: Mask) -> Mask:
    return one & two if is_array(one) else [a and b for a, b in zip(one, two, strict=True)]


def _either(one: Mask, two: Mask) -> Mask:
    return one | two if is_array(one) else [a or b for a, b in zip(one, two, strict=True)]


def _not(mask: Mask) -> Mask:
    return ~mask if is_array(mask) else [not value for value in mask]


def _where(mask: Mask) -> Rows:
    if not is_array(mask):
        return [row for row, value in enumerate(mask) if value]
    import numpy as np

    return np.flatnonzero(mask).astype(np.int32)


def _plain(name: str) -> str:
    return re.sub(r"\s+", "", name).lower()
