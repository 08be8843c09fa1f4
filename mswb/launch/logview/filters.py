"""Which lines a person wants to see, as data and as marks on many lines at once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.files.patterns import Pattern, compile_pattern
from mswb.files.search import search
from mswb.findings import MswbError, stop
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import Span
from mswb.launch.noise import ALWAYS, HARMLESS, NEVER, NOISE

Mask = npt.NDArray[np.bool_]
Matcher = Callable[[Pattern, int, int], Mask]
"""(pattern, first, stop) → which of these lines match."""

_SPOKEN_LEVELS = {"DEBUG": Level.DEBUG, "INFO": Level.INFO, "WARNING": Level.WARNING, "WARN": Level.WARNING,
                  "ERROR": Level.ERROR, "CRITICAL": Level.CRITICAL}  # fmt: skip
MAX_RANKS = 100_000


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown. Empty parts mean all.

    Attributes:
        level: records of at least this level, with what belongs to them; tracebacks count as errors.
        modules: MindSpore's modules, in capitals.
        keep: expressions of which a line must match each.
        drop: expressions of which a line must match none.
        routine: show the records that every good run writes by the dozen, too (:mod:`mswb.launch.noise`).
    """

    level: Level = Level.NONE
    modules: frozenset[str] = frozenset()
    pids: frozenset[int] = frozenset()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    ranks: frozenset[int] = frozenset()
    roles: frozenset[str] = frozenset()
    routine: bool = True

    def __bool__(self) -> bool:
        return self != NO_FILTER

    @property
    def by_record(self) -> bool:
        """Whether it asks for something that only a record has, so that blocks matter."""
        return bool(self.level or self.modules or self.pids)

    def wants_file(self, log: ShownLog) -> bool:
        """By the choice of ranks and roles, either of which is enough."""
        return not (self.ranks or self.roles) or log.rank in self.ranks or log.role in self.roles


NO_FILTER = Filter()


def parse_filter(text: str) -> Filter:
    """A filter as people type it: ``level:warning rank:0-3 module:DEVICE pid:12 role:scheduler words !dropped``.

    Raises:
        MswbError: ``log-filter`` or ``search-pattern``, with the word that can't be understood.
    """
    found = Filter()
    for word in _words(text):
        key, separator, value = word.partition(":")
        reader = _READERS.get(key.lower()) if separator and value else None
        if reader is not None:
            found = reader(found, value)
        elif word.startswith("!") and len(word) > 1:
            found = replace(found, drop=(*found.drop, _checked(word[1:])))
        else:
            found = replace(found, keep=(*found.keep, _checked(word)))
    return found


def format_filter(wanted: Filter) -> str:
    """The text that :func:`parse_filter` reads."""
    parts = [f"level:{wanted.level.name.lower()}"] if wanted.level else []
    parts += [f"rank:{_numbers(wanted.ranks)}"] if wanted.ranks else []
    parts += [f"role:{','.join(sorted(wanted.roles))}"] if wanted.roles else []
    parts += [f"module:{','.join(sorted(wanted.modules))}"] if wanted.modules else []
    parts += [f"pid:{','.join(map(str, sorted(wanted.pids)))}"] if wanted.pids else []
    parts += [] if wanted.routine else ["routine:no"]
    parts += [_quoted(word) for word in wanted.keep]
    parts += [_quoted(f"!{word}") for word in wanted.drop]
    return " ".join(parts)


def smart_pattern(text: str, encoding: str = "utf-8") -> Pattern:
    """An expression in which small letters alone mean both cases; what is none is searched as it stands.

    Raises:
        MswbError: ``search-pattern``: it is too long, or can't be said in the file's encoding.
    """
    fold = text == text.lower()
    try:
        return compile_pattern(text, ignore_case=fold, encoding=encoding)
    except MswbError:
        return compile_pattern(text, ignore_case=fold, literal=True, encoding=encoding)


@dataclass(frozen=True, slots=True)
class Tests:
    """A filter made ready for files of one encoding."""

    wanted: Filter
    heads: tuple[Pattern, ...]
    keep: tuple[Pattern, ...]
    drop: tuple[Pattern, ...]


@lru_cache(maxsize=32)
def tests_of(wanted: Filter, encoding: str) -> Tests:
    """Compile a filter."""
    heads = []
    if wanted.modules:
        heads.append(compile_pattern(rf"^\[\w+\] (?:{'|'.join(map(re.escape, sorted(wanted.modules)))})\("))
    if wanted.pids:
        heads.append(compile_pattern(rf"^\[\w+\] [A-Z_]+\((?:{'|'.join(map(str, sorted(wanted.pids)))})[,:)]"))
    keep, drop = (tuple(smart_pattern(text, encoding) for text in part) for part in (wanted.keep, wanted.drop))
    return Tests(wanted, tuple(heads), keep, drop)


def kept_lines(tests: Tests, index: LogIndex, first: int, stop: int, spans: Sequence[Span], match: Matcher) -> Mask:
    """Which of the lines ``first`` to ``stop`` (exclusive) pass."""
    wanted = tests.wanted
    mask = np.ones(stop - first, np.bool_)
    if wanted.by_record:
        mask &= index.levels(first, stop) >= max(wanted.level, Level.VERBOSE)
        for head in tests.heads:
            mask &= match(head, first, stop)
        _widen(mask, first, spans, wanted, only_level=not tests.heads)
    if not wanted.routine:
        mask &= ~_routine(index, first, stop, match)
    for pattern in tests.keep:
        mask &= match(pattern, first, stop)
    for pattern in tests.drop:
        mask &= ~match(pattern, first, stop)
    return mask


def _routine(index: LogIndex, first: int, stop: int, match: Matcher) -> Mask:
    """Which lines are routine records, as :func:`mswb.launch.noise.is_noise` tells of one."""
    noise, never, harmless, always = (_routine_pattern(text) for text in (NOISE, NEVER, HARMLESS, ALWAYS))
    levels = index.levels(first, stop)
    quiet: Mask = (levels != Level.NONE) & (levels <= Level.WARNING) & match(noise, first, stop)
    if not quiet.any():
        return quiet
    worth = (match(never, first, stop) & ~match(harmless, first, stop)) | match(always, first, stop)
    routine: Mask = quiet & ~worth
    return routine


@lru_cache(maxsize=4)
def _routine_pattern(text: str) -> Pattern:
    return compile_pattern(text)


def matcher(index: LogIndex) -> Matcher:
    """Matching by searching the file."""

    def match(pattern: Pattern, first: int, stop: int) -> Mask:
        mask = np.zeros(stop - first, np.bool_)
        for hits in search(index, pattern, first_line=first, stop_line=stop):
            mask[hits.lines - first] = True
        return mask

    return match


@dataclass
class RememberedMatches:
    """Matching in a range that grows at its end: only what is new is searched, and the line that was unfinished."""

    index: LogIndex
    first: int
    _known: dict[int, _Remembered] = field(default_factory=dict)

    def __call__(self, pattern: Pattern, first: int, stop: int) -> Mask:
        search_again = matcher(self.index)
        if first != self.first:
            return search_again(pattern, first, stop)
        known = self._known.get(id(pattern), _Remembered(pattern, np.zeros(0, np.bool_), 0))
        end = self.index.span(stop, stop)[0]
        if len(known.mask) != stop - first or known.end != end:
            done = max(0, min(len(known.mask) - 1, stop - first))
            mask = np.concatenate([known.mask[:done], search_again(pattern, first + done, stop)])
            known = self._known[id(pattern)] = _Remembered(pattern, mask, end)
        return known.mask


class _Remembered(NamedTuple):
    """The pattern is held so that its identity stays its own; ``end`` is the byte behind the range."""

    pattern: Pattern
    mask: Mask
    end: int


def _widen(mask: Mask, first: int, spans: Sequence[Span], wanted: Filter, *, only_level: bool) -> None:
    """What belongs to a record that passes, passes too; tracebacks as errors where only levels are asked."""
    size = len(mask)
    for span in spans:
        begin, end = max(0, span.first - first), min(size, span.stop - first)
        if span.level == Level.NONE or begin >= end:
            continue
        head = bool(mask[begin]) if span.first >= first else False
        if head or (only_level and span.level >= wanted.level):
            mask[begin:end] = True


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    try:
        return list(lexer)
    except ValueError:
        raise _wrong(text, "a quotation mark has no partner") from None


def _quoted(word: str) -> str:
    if not any(sign in word for sign in " \t\"'"):
        return word
    return f'"{word}"' if '"' not in word else f"'{word}'"


def _checked(text: str) -> str:
    smart_pattern(text)
    return text


def _with_level(found: Filter, value: str) -> Filter:
    level = _SPOKEN_LEVELS.get(value.upper())
    if level is None:
        raise _wrong(f"level:{value}", f"a level is one of {', '.join(_SPOKEN_LEVELS)}")
    return replace(found, level=level)


def _with_modules(found: Filter, value: str) -> Filter:
    return replace(found, modules=found.modules | frozenset(value.upper().split(",")))


def _with_pids(found: Filter, value: str) -> Filter:
    return replace(found, pids=found.pids | _parse_numbers("pid", value))


def _with_ranks(found: Filter, value: str) -> Filter:
    return replace(found, ranks=found.ranks | _parse_numbers("rank", value))


def _with_roles(found: Filter, value: str) -> Filter:
    return replace(found, roles=found.roles | frozenset(value.lower().split(",")))


def _with_routine(found: Filter, value: str) -> Filter:
    if value.lower() not in ("yes", "no"):
        raise _wrong(f"routine:{value}", "it is yes or no")
    return replace(found, routine=value.lower() == "yes")


_READERS: Mapping[str, Callable[[Filter, str], Filter]] = {
    "level": _with_level,
    "module": _with_modules,
    "pid": _with_pids,
    "rank": _with_ranks,
    "role": _with_roles,
    "routine": _with_routine,
}


def _parse_numbers(key: str, text: str) -> frozenset[int]:
    """``0,3-5`` as 0, 3, 4, 5."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", part.strip())
        if match is None:
            raise _wrong(f"{key}:{text}", "numbers are written as 0,3-5")
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        found.update(range(first, min(last, first + MAX_RANKS) + 1))
    return frozenset(found)


def _numbers(values: frozenset[int]) -> str:
    """0, 3, 4, 5 as ``0,3-5``."""
    parts: list[list[int]] = []
    for value in sorted(values):
        if parts and parts[-1][1] == value - 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _wrong(text: str, reason: str) -> MswbError:
    return stop("log-filter", values={"text": text, "reason": reason})
