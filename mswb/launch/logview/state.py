"""What a log view shows at one moment, as data: made by the thread that works, drawn by the one that draws."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mswb.files.levels import Level
from mswb.findings import Finding
from mswb.launch.logview.filters import NO_FILTER, Filter
from mswb.launch.logview.rows import NO_ROWS, Place, Rows, RowSet
from mswb.launch.logview.shown import ShownLine
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import Span


@dataclass(frozen=True, slots=True)
class Work:
    """What goes on in the background: ``done`` of ``total`` of some unit, and whether it has been stopped."""

    what: str
    done: float
    total: float
    stopped: bool = False

    @property
    def percent(self) -> int:
        return int(100 * self.done / self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class TailLine:
    """A line of the end of a log whose lines are not counted yet."""

    file: int
    offset: int
    line: ShownLine


@dataclass(frozen=True, eq=False)
class Folds:
    """The folded spans of one file, in order."""

    firsts: tuple[int, ...]
    spans: tuple[Span, ...]

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Folds:
        return cls(tuple(span.first for span in spans), tuple(spans))

    def holding(self, line: int) -> Span | None:
        """The folded span that holds a line."""
        at = bisect_right(self.firsts, line) - 1
        return self.spans[at] if at >= 0 and line < self.spans[at].stop else None

    def within(self, first: int, stop: int) -> Sequence[Span]:
        """The spans that have lines between ``first`` and ``stop`` (exclusive)."""
        low = max(0, bisect_right(self.firsts, first) - 1)
        return self.spans[low : bisect_right(self.firsts, stop - 1)]


NO_FOLDS = Folds((), ())


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that is drawn.

    Attributes:
        files: by number; ``generations`` tells which of them were begun anew.
        built: the rows are there; before, ``tail`` is all there is.
        passing: the rows that pass the filter, folded ones included; the search counts in these.
        hits: matching rows; None without a search.
        waiting: the chunks of rows that have not been judged yet.
        filtering: rows are still being judged.
        layout: changes when rows got other places than at the end.
    """

    files: tuple[ShownLog, ...] = ()
    generations: tuple[int, ...] = ()
    rows: Rows = NO_ROWS
    passing: RowSet = NO_ROWS.kept
    built: bool = False
    tail: tuple[TailLine, ...] = ()
    wanted: Filter = NO_FILTER
    filtering: bool = False
    search: str = ""
    hits: RowSet | None = None
    waiting: frozenset[int] = frozenset()
    folds: Mapping[int, Folds] | None = None
    counts: Mapping[Level, int] | None = None
    work: Work | None = None
    problems: tuple[Finding, ...] = ()
    layout: int = 0

    @property
    def merged(self) -> bool:
        return len(self.files) > 1

    @property
    def errors(self) -> int:
        counts = self.counts or {}
        return counts.get(Level.ERROR, 0) + counts.get(Level.CRITICAL, 0)

    @property
    def warnings(self) -> int:
        return (self.counts or {}).get(Level.WARNING, 0)

    @property
    def hits_done(self) -> bool:
        """Whether everything has been searched."""
        return not self.waiting

    def is_known(self, row: int, other: int) -> bool:
        """Whether all between two rows has been searched."""
        low, high = sorted(bisect_right(self.rows.starts, one) - 1 for one in (row, other))
        return not any(number in self.waiting for number in range(low, high + 1))

    def folded_at(self, place: Place) -> Span | None:
        """The folded span whose head stands at ``place``."""
        folds = (self.folds or {}).get(place.file, NO_FOLDS)
        span = folds.holding(place.line)
        return span if span is not None and span.first == place.line else None

    def number_of(self, path: str) -> int | None:
        """The number of a file by its path."""
        return next((number for number, log in enumerate(self.files) if log.path == path), None)
