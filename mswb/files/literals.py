"""Which plain words every match of a regular expression must contain, so that most lines need no expression at all.

A small reader of RE2's syntax. It is careful, not clever: what it does not know makes it say "nothing is known", which
costs time and never a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

MAX_WORDS = 16
_PLAIN_ESCAPES = {"t": "\t", "f": "\f", "v": "\v", "a": "\a", "r": "\r"}
_ZERO_WIDTH = frozenset("bBAz")
_SETS = frozenset("dDsSwWC")
# In a case-insensitive search these also match letters beyond ASCII: the Kelvin sign and the long s.
_FOLDS_BEYOND_ASCII = frozenset("kKsS")


class _Unknown(Exception):
    """The expression holds something this reader does not know."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is known of a (part of an) expression.

    Attributes:
        exact: it matches exactly one of these and nothing else; empty when that isn't so.
        options: each is a set of words of which every match contains at least one.
        at_start: it can match at the start of a line only; ``exact`` holds apart from that.
    """

    exact: tuple[str, ...] = ()
    options: tuple[tuple[str, ...], ...] = ()
    at_start: bool = False

    @property
    def best(self) -> tuple[str, ...]:
        """The option whose shortest word is longest; () when nothing is known."""
        every = [self.exact, *self.options] if self.exact else list(self.options)
        return max(every, key=lambda words: min(map(len, words)), default=())


def required_words(pattern: str, *, ignore_case: bool = False) -> Words:
    """What every match of ``pattern`` (RE2 syntax) contains. An invalid pattern may get any answer."""
    try:
        words = _Reader(pattern, ignore_case).alternatives(0)
    except (_Unknown, IndexError):
        return Words()
    return _usable(words)


def _usable(words: Words) -> Words:
    """Drop empty words: they are in every line."""
    exact = words.exact if all(words.exact) else ()
    return replace(words, exact=exact, options=tuple(option for option in words.options if option and all(option)))


class _Reader:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._pattern = pattern
        self._ignore_case = ignore_case
        self._at = 0

    def alternatives(self, depth: int) -> Words:
        """``a|b|c`` up to the closing parenthesis or the end."""
        if depth > 50:
            raise _Unknown
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence(depth))
        if depth == 0 and self._at < len(self._pattern):
            raise _Unknown
        return branches[0] if len(branches) == 1 else _either(branches)

    def _sequence(self, depth: int) -> Words:
        parts: list[Words] = []
        start = self._at
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(depth))
        anchored = self._pattern.startswith("^", start) and self._pattern[start + 1 : start + 2] not in tuple("*+?{")
        return _one_after_another(parts[1:] if anchored else parts, anchored)

    def _repeated(self, depth: int) -> Words:
        """One atom and its quantifier."""
        part = self._atom(depth)
        least, quantified = 1, False
        while (mark := self._peek()) and mark in "*+?{":
            if mark == "{":
                low, quantified_here = self._braces()
                if not quantified_here:
                    break
                least = min(least, low)
            else:
                self._at += 1
                least = min(least, 0 if mark in "*?" and not quantified else least)
            quantified = True
        if not quantified:
            return part
        return Words() if least == 0 else Words(options=(part.best,) if part.best else ())

    def _braces(self) -> tuple[int, bool]:
        """The least count of ``{n}``, ``{n,}`` or ``{n,m}``; anything else is a literal brace, which we don't judge."""
        end = self._pattern.find("}", self._at)
        counts = self._pattern[self._at + 1 : end].split(",") if end > 0 else []
        if not (1 <= len(counts) <= 2 and counts[0].isdecimal() and (not counts[-1] or counts[-1].isdecimal())):
            raise _Unknown
        self._at = end + 1
        return int(counts[0]), True

    def _atom(self, depth: int) -> Words:
        mark = self._next()
        if mark == "(":
            return self._group(depth)
        if mark == "[":
            return self._set()
        if mark == "\\":
            return self._escape()
        if mark in "^$.":
            return Words()
        if mark in "*+?{\n":
            raise _Unknown
        return self._literal(mark)

    def _literal(self, character: str) -> Words:
        if self._ignore_case and (not character.isascii() or character in _FOLDS_BEYOND_ASCII):
            return Words()
        return Words(exact=(character,))

    def _group(self, depth: int) -> Words:
        if self._peek() == "?":
            self._group_head()
        inside = self.alternatives(depth + 1)
        if self._next() != ")":
            raise _Unknown
        return Words(options=(inside.best,) if inside.best else ()) if inside.at_start else inside

    def _group_head(self) -> None:
        """``?:``, ``?P<name>`` and ``?<name>``; flags change what the rest means."""
        rest = self._pattern[self._at :]
        if rest.startswith("?:"):
            self._at += 2
        elif rest.startswith(("?P<", "?<")):
            self._at = self._pattern.index(">", self._at) + 1 if ">" in rest else len(self._pattern)
        else:
            raise _Unknown

    def _set(self) -> Words:
        """``[…]``: skipped."""
        if self._peek() == "^":
            self._at += 1
        first = True
        while (mark := self._next()) != "]" or first:
            first = False
            if mark == "\\":
                self._at += 1
            elif mark == "[" and self._peek() == ":":
                self._at = self._pattern.index(":]", self._at) + 2 if ":]" in self._pattern[self._at :] else self._at
        return Words()

    def _escape(self) -> Words:
        mark = self._next()
        if mark in _ZERO_WIDTH or mark in _SETS:
            return Words()
        if mark in _PLAIN_ESCAPES:
            return self._literal(_PLAIN_ESCAPES[mark])
        if mark.isalnum():  # \p{Greek}, \x41, \101, \Q…\E
            raise _Unknown
        return self._literal(mark)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        mark = self._pattern[self._at]
        self._at += 1
        return mark


def _either(branches: Sequence[Words]) -> Words:
    """Any of the branches: a match contains a word of one of them."""
    bests = [branch.best for branch in branches]
    if not all(bests) or sum(map(len, bests)) > MAX_WORDS:
        return Words()
    words = tuple(dict.fromkeys(word for best in bests for word in best))
    if all(branch.exact and not branch.at_start for branch in branches):
        return Words(exact=words)
    return Words(options=(words,))


def _one_after_another(parts: Sequence[Words], at_start: bool) -> Words:
    """Neighbouring single words join."""
    if all(len(part.exact) == 1 and not part.at_start for part in parts):
        return Words(exact=("".join(part.exact[0] for part in parts),), at_start=at_start)
    if len(parts) == 1 and not parts[0].at_start:
        return replace(parts[0], at_start=at_start)
    options: list[tuple[str, ...]] = []
    run = ""
    for part in parts:
        if len(part.exact) == 1 and not part.at_start:
            run += part.exact[0]
            continue
        options += [(run,)] if run else []
        options += [part.exact] if part.exact else []
        options += part.options
        run = ""
    options += [(run,)] if run else []
    return Words(options=tuple(options), at_start=at_start)
