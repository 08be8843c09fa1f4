"""Which rows of each chunk pass the filter, are shown, and match the search: computed chunk by chunk, last ones first.

A chunk that grows is judged again at once, but only its new lines are searched. When a filter, a fold or the search
changes, everything is judged anew, as many chunks at a time as there is time for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain

import numpy as np

from mswb.files.encoding import Encoding
from mswb.files.logindex import LogIndex
from mswb.files.patterns import Pattern
from mswb.launch.logview.filters import (
    NO_FILTER,
    Filter,
    Mask,
    Matcher,
    RememberedMatches,
    kept_lines,
    matcher,
    smart_pattern,
    tests_of,
)
from mswb.launch.logview.rows import Bits, Chunk, Range, Rows, RowSet, pack
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.state import NO_FOLDS, Folds


@dataclass(frozen=True, slots=True)
class Judged:
    """A file as far as its lines are judged."""

    log: ShownLog
    index: LogIndex
    encoding: Encoding
    spans: Folds


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every line. ``search`` is empty without a search."""

    wanted: Filter = NO_FILTER
    search: str = ""
    folds: Mapping[int, Folds] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.wanted or self.search or self.folds)


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of one chunk that pass the filter, that are shown too when folded, and that match the search."""

    passing: Bits
    shown: Bits
    hits: Bits


_NOTHING, _ALL = Answer(False, False, False), Answer(True, True, False)


class Answers:
    """The answers for all chunks. One thread works on them."""

    def __init__(self) -> None:
        self.question = Question()
        self.focus = 0
        """The chunk where a person is; those near it matter most."""
        self._found: list[Answer | None] = []
        self._stale: list[bool] = []
        self._remembered: dict[tuple[int, int], RememberedMatches] = {}

    def ask(self, question: Question) -> None:
        """Judge everything anew. What was found so far stands until it is."""
        if (question.wanted, question.search) != (self.question.wanted, self.question.search):
            self._found = [None] * len(self._found)
            self._remembered.clear()
        self._stale = [True] * len(self._found)
        self.question = question

    def chunks_changed(self, first: int, count: int) -> None:
        """The chunks from ``first`` on are other ones now, and there are ``count``."""
        kept = min(first, len(self._found))
        self._found = self._found[:kept] + [None] * (count - kept)
        self._stale = self._stale[:kept] + [True] * (count - kept)

    def chunk_sorted(self, number: int) -> None:
        """The rows of one chunk have been put in another order."""
        self._found[number], self._stale[number] = None, True

    def judge_again(self, number: int) -> None:
        """Something that matters for this chunk has become known."""
        self._stale[number] = True

    def reset(self) -> None:
        """There are no chunks any more."""
        self._found, self._stale = [], []
        self._remembered.clear()

    @property
    def waiting(self) -> int:
        """Chunks to be judged."""
        return sum(self._stale)

    def next(self) -> int | None:
        """The chunk to judge next: the last one first, then from where a person is to the end, then back to the top."""
        count = len(self._stale)
        focus = min(self.focus, count)
        order = chain(range(count - 1, count - 2, -1), range(focus, count), range(focus - 1, -1, -1))
        return next((number for number in order if number >= 0 and self._stale[number]), None)

    @property
    def waiting_chunks(self) -> frozenset[int]:
        """The chunks that are still to be judged."""
        return frozenset(number for number, stale in enumerate(self._stale) if stale)

    def judge(self, number: int, chunk: Chunk, files: Sequence[Judged | None], *, grows: bool) -> None:
        """Judge one chunk. ``grows``: it will be judged again with more lines, so its matches are remembered."""
        if grows:
            here = {(one.file, one.first) for one in chunk.ranges}
            self._remembered = {key: one for key, one in self._remembered.items() if key in here}
        if not self.question:
            self._found[number] = _ALL
        else:
            passing = [self._passing(one, files, grows) for one in chunk.ranges]
            self._found[number] = self._answer(chunk, passing, files, grows)
        self._stale[number] = False

    def _answer(self, chunk: Chunk, passing: list[Mask], files: Sequence[Judged | None], grows: bool) -> Answer:
        folds = self.question.folds
        passes = pack(chunk.in_rows(passing))
        shown: Bits = passes
        if any(one.file in folds for one in chunk.ranges):
            pairs = zip(passing, chunk.ranges, strict=True)
            shown = pack(chunk.in_rows([_folded(mask, one, folds.get(one.file, NO_FOLDS)) for mask, one in pairs]))
        if not self.question.search or passes is False:
            return Answer(passes, shown, False)
        pairs = zip(passing, chunk.ranges, strict=True)
        hits = [mask & self._matches(one, files, grows) for mask, one in pairs]
        return Answer(passes, shown, pack(chunk.in_rows(hits)))

    def _passing(self, one: Range, files: Sequence[Judged | None], grows: bool) -> Mask:
        file, wanted = files[one.file], self.question.wanted
        if not wanted:
            return np.ones(one.size, np.bool_)
        if file is None or not wanted.wants_file(file.log):
            return np.zeros(one.size, np.bool_)
        if not replace(wanted, ranks=frozenset(), roles=frozenset()):
            return np.ones(one.size, np.bool_)
        spans = file.spans.within(one.first, one.stop) if wanted.by_record else ()
        tests = tests_of(wanted, file.encoding)
        return kept_lines(tests, file.index, one.first, one.stop, spans, self._matcher(one, file, grows))

    def _matches(self, one: Range, files: Sequence[Judged | None], grows: bool) -> Mask:
        file = files[one.file]
        if file is None:
            return np.zeros(one.size, np.bool_)
        pattern = search_pattern(self.question.search, file.encoding)
        return self._matcher(one, file, grows)(pattern, one.first, one.stop)

    def _matcher(self, one: Range, file: Judged, grows: bool) -> Matcher:
        if not grows:
            return matcher(file.index)
        key = (one.file, one.first)
        return self._remembered.setdefault(key, RememberedMatches(file.index, one.first))

    def rows(self, chunks: Sequence[Chunk]) -> tuple[Rows, RowSet, RowSet | None]:
        """What is shown, what passes, and what matches, of all that has been judged; the rest is left out."""
        sizes = [chunk.size for chunk in chunks]
        unknown = _NOTHING if self.question else _ALL
        answers = [one if one is not None else unknown for one in self._found]
        shown = Rows.of(chunks, [one.shown for one in answers])
        passing = RowSet(sizes, [one.passing for one in answers]) if self.question.folds else shown.kept
        return shown, passing, RowSet(sizes, [one.hits for one in answers]) if self.question.search else None


@lru_cache(maxsize=8)
def search_pattern(text: str, encoding: Encoding) -> Pattern:
    """The search, made ready for files of one encoding."""
    return smart_pattern(text, encoding)


def _folded(mask: Mask, one: Range, folds: Folds) -> Mask:
    """The lines without those that are folded behind a shown head."""
    shown = mask.copy()
    for span in folds.within(one.first, one.stop):
        head = span.first - one.first
        if head < 0 or mask[head]:
            shown[max(0, head + 1) : max(0, span.stop - one.first)] = False
    return shown
