"""A log view's work, in small steps: index the files, order their lines, judge the rows, find what folds.

One thread owns a model. It calls :meth:`LogModel.step` until there is nothing left to do, then again when files have
changed; between two steps it may ask for other things. What is drawn comes out as a :class:`Snapshot`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mswb.files.encoding import SAMPLE, Encoding, sniff
from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.findings import Finding, MswbError
from mswb.launch.logview.bits import Answers, Judged, Question
from mswb.launch.logview.filters import NO_FILTER, Filter
from mswb.launch.logview.order import Order, Source
from mswb.launch.logview.rows import NO_ROWS, Place
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import Span, SpanScan, span_at
from mswb.launch.logview.state import NO_FOLDS, Folds, Snapshot, TailLine, Work
from mswb.launch.logview.tailing import tail_of

SLICE_S = 0.05
"""Seconds one step works on something long before it comes back."""
JUDGE_S = 2.0
"""Seconds between two judgements of rows while the spans of long files become known."""


@dataclass
class File:
    """One file of the view as it is known so far."""

    log: ShownLog
    index: LogIndex | None = None
    generation: int = 0
    encoding: Encoding = "utf-8"
    scan: SpanScan = field(default_factory=SpanScan)
    spans: Folds = NO_FOLDS
    problem: Finding | None = None
    dirty: bool = True

    def source(self) -> Source | None:
        return None if self.index is None else Source(self.index, self.log.offset_us)

    def judged(self) -> Judged | None:
        return None if self.index is None else Judged(self.log, self.index, self.encoding, self.spans)


class LogModel:
    """All that is known of the files of one view.

    Args:
        budget: how many files may be held open; more are opened for each read.
        forget: told of a file and the first of its lines that may read otherwise than before.
    """

    def __init__(
        self,
        logs: Sequence[ShownLog] = (),
        budget: int = 256,
        forget: Callable[[int, int], None] = lambda file, line: None,
    ) -> None:
        self.files = [File(log) for log in logs]
        self.order = Order()
        self.answers = Answers()
        self.wanted, self.search = NO_FILTER, ""
        self._budget, self._forget = budget, forget
        self._fold_all = False
        self._folded: dict[Place, Span] = {}
        self._unfolded: set[Place] = set()
        self._folds: dict[int, Folds] = {}
        self._scanned: dict[int, int] = {}  # files with spans that the rows don't know yet, and from which line on
        self._spans_judged = 0.0
        self._build: Iterator[float] | None = None
        self._built = False
        self._tail: tuple[TailLine, ...] = ()
        self._work: Work | None = None
        self._layout = 0
        self.stopped = False
        """A person stopped the indexing; :meth:`resume` goes on."""

    def close(self) -> None:
        """Give all descriptors back."""
        for file in self.files:
            if file.index is not None:
                file.index.close()

    def add(self, logs: Sequence[ShownLog]) -> None:
        """Show these files too."""
        known = {file.log.path for file in self.files}
        self.files += [File(log) for log in logs if log.path not in known]

    @property
    def is_built(self) -> bool:
        """Whether all lines have their rows; until then the ends of the files are all there is."""
        return self._built

    def show_tail(self) -> None:
        """Look at the ends of the files, which need no index."""
        self._tail = tail_of([file.log for file in self.files])
        self._layout += 1

    def changed(self, path: str) -> None:
        """A file may have grown."""
        for file in self.files:
            if file.log.path == path:
                file.dirty = True

    def ask(self, wanted: Filter, search: str, here: Place | None = None) -> None:
        """Show what passes this filter, and mark what matches this search, beginning near a line."""
        self.wanted, self.search = wanted, search
        holds = (at for at, chunk in enumerate(self.order.chunks) if here and chunk.row_of(here) is not None)
        self.answers.focus = next(holds, len(self.order.chunks))
        self._ask()

    def stop(self) -> None:
        """Index no further; the ends of the files are all that is shown then."""
        self.stopped = not self._built

    def resume(self) -> None:
        """Go on with the indexing that was stopped."""
        self.stopped = False

    def step(self, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Do some of what is to be done. Returns whether there is more."""
        deadline = time.monotonic() + SLICE_S

        def late() -> bool:
            return cancelled() or time.monotonic() > deadline

        self._work = None
        if self.stopped and not self._built:
            self._work = Work("indexing", self.bytes_indexed, 0, stopped=True)
            self.show_tail()
            return False
        if not self._index(cancelled if self._built else late) or not self._arrange(late):
            return True
        while not late():
            if not (self._judge_one() or self._sort_one() or self._scan_one()):
                self._work = None
                return False
        self._tell()
        return True

    def _index(self, cancelled: Callable[[], bool]) -> bool:
        """Extend the indexes of the files that changed. Returns whether their ends were reached."""
        for number, file in enumerate(self.files):
            if file.dirty:
                file.dirty = not self._extend(number, file, cancelled)
                if cancelled():
                    return False
        return True

    def _extend(self, number: int, file: File, cancelled: Callable[[], bool]) -> bool:
        try:
            if file.index is None:
                file.index = LogIndex(file.log.path, hold=number < self._budget)
                file.encoding = _sniffed(file.index)
            lines = file.index.line_count
            whole = file.index.extend(cancelled, lambda done, total: self._indexing(done, total))
            file.problem = None
        except MswbError as problem:
            file.problem = problem.finding
            return True
        if file.index.generation != file.generation:
            self._begun_anew(file)
        elif self._built:
            self._forget(number, max(0, lines - 1))
        return whole or file.index.is_full

    def _begun_anew(self, file: File) -> None:
        """The file was cut or replaced: nothing known of its lines is true any more."""
        assert file.index is not None
        file.generation, file.encoding = file.index.generation, _sniffed(file.index)
        file.scan, file.spans = SpanScan(runs=self._fold_all), NO_FOLDS
        number = self.files.index(file)
        self._folded = {place: span for place, span in self._folded.items() if place.file != number}
        self._unfolded = {place for place in self._unfolded if place.file != number}
        self._built, self._build = False, None
        self._forget(number, 0)

    def _arrange(self, late: Callable[[], bool]) -> bool:
        """Bring the order up to date. Returns whether it is."""
        if self._built and not self.order.fits(self._sources()):
            self._built, self._build = False, None
        if not self._built or self._build is not None or self.order.is_behind(self._sources()):
            return self._take_in(late)
        changed = self.order.grow(self._sources())
        if changed is not None:
            self.answers.chunks_changed(changed, len(self.order.chunks))
            for number in range(changed, len(self.order.chunks)):
                late()
                self._judge(number)
        return True

    def _take_in(self, late: Callable[[], bool]) -> bool:
        """Put everything, or very much that is new, in order. Returns whether it is."""
        if self._build is None:
            begin = self.order.catch_up if self._built else self.order.build
            self._build = begin(self._sources())
        for share in self._build:
            self._work = Work("ordering", share, 1.0)
            if late():
                return False
        if not self._built:
            self.answers.reset()
            self._ask()
        self._build, self._built, self._tail = None, True, ()
        self._layout += 1
        self.answers.chunks_changed(self.order.changed, len(self.order.chunks))
        self._judge(len(self.order.chunks) - 1)
        return True

    def _judge_one(self) -> bool:
        number = self.answers.next()
        if number is None:
            return False
        self._judge(number)
        return True

    def _judge(self, number: int) -> None:
        last = number == len(self.order.chunks) - 1
        if not last and self.answers.question:
            self._layout += 1
        self.answers.judge(number, self.order.chunks[number], [file.judged() for file in self.files], grows=last)

    def _sort_one(self) -> bool:
        number = self.order.sort_next(self._sources())
        if number is None:
            return False
        self.answers.chunk_sorted(number)
        self._judge(number)
        self._layout += 1
        return True

    def _scan_one(self) -> bool:
        """Look for spans in one more piece of a file, if somebody needs to know them."""
        if not (self._fold_all or self.wanted.by_record):
            return False
        for number, file in enumerate(self.files):
            if file.index is None or file.scan.done >= file.index.line_count:
                continue
            first = file.scan.step(file.index)
            if first is not None:
                self._scanned[number] = min(first, self._scanned.get(number, first))
            if time.monotonic() - self._spans_judged > JUDGE_S:
                self._judge_spans()
            return True
        return self._judge_spans()

    def _judge_spans(self) -> bool:
        """Judge the chunks again whose spans have become known. Returns whether there are any."""
        scanned, self._scanned = self._scanned, {}
        self._spans_judged = time.monotonic()
        for number in scanned:
            self.files[number].spans = Folds.of(self.files[number].scan.spans)
        if scanned and self._fold_all:
            self._set_folds()
            self.answers.question = replace(self.answers.question, folds=self._folds)
        for at, chunk in enumerate(self.order.chunks if scanned else ()):
            if any(one.stop > scanned.get(one.file, one.stop) for one in chunk.ranges):
                self.answers.judge_again(at)
        self._layout += bool(scanned)
        return bool(scanned)

    def _ask(self) -> None:
        self._set_folds()
        self.answers.ask(Question(self.wanted, self.search, self._folds))
        self._layout += 1

    def fold(self, place: Place) -> Place | None:
        """Fold what a line belongs to, or unfold it. Returns where its head stands; None when nothing folds there."""
        span = self._folds.get(place.file, NO_FOLDS).holding(place.line)
        if span is not None:
            return self.unfold(place)
        index = self.files[place.file].index
        known = self.files[place.file].spans.holding(place.line) if self._fold_all else None
        span = known or (span_at(index, place.line) if index is not None else None)
        if span is None:
            return None
        head = Place(place.file, span.first)
        self._unfolded.discard(head)
        if known is None:
            self._folded[head] = span
        self._ask()
        return head

    def unfold(self, place: Place) -> Place | None:
        """Show a line that is folded away. Returns the head of its fold; None when it is not folded."""
        span = self._folds.get(place.file, NO_FOLDS).holding(place.line)
        if span is None:
            return None
        head = Place(place.file, span.first)
        if self._folded.pop(head, None) is None:
            self._unfolded.add(head)
        self._ask()
        return head

    def fold_all(self) -> bool:
        """Fold everything that folds, or unfold everything when something is folded. Returns whether it folds."""
        folding = not self._folds
        self._fold_all = folding
        self._folded, self._unfolded = {}, set()
        for file in self.files:
            if folding and not file.scan.runs:
                file.scan, file.spans = SpanScan(runs=True), NO_FOLDS
        self._ask()
        return folding

    def _set_folds(self) -> None:
        folds: dict[int, Folds] = {}
        for number, file in enumerate(self.files):
            spans = [span for place, span in self._folded.items() if place.file == number]
            if self._fold_all:
                spans += [span for span in file.spans.spans if Place(number, span.first) not in self._unfolded]
            if spans:
                folds[number] = Folds.of(sorted(spans))
        self._folds = folds

    def _sources(self) -> list[Source | None]:
        return [file.source() for file in self.files]

    def _indexing(self, done: int, total: int) -> None:
        self._work = Work("indexing", self.bytes_indexed, max(total, self.bytes_indexed))

    def indexes(self) -> dict[int, LogIndex]:
        """The indexes of the files that are there, by number."""
        return {number: file.index for number, file in enumerate(self.files) if file.index is not None}

    @property
    def bytes_indexed(self) -> int:
        """Bytes of all files that have been indexed."""
        return sum(file.index.size for file in self.files if file.index is not None)

    def _tell(self) -> None:
        """What the background is busy with."""
        waiting, count = self.answers.waiting, max(1, len(self.order.chunks))
        if self.order.unsorted:
            self._work = Work("ordering", count - self.order.unsorted, count)
        elif waiting:
            self._work = Work("searching" if self.search else "filtering", count - waiting, count)
        elif self._fold_all or self.wanted.by_record:
            lines = sum(file.index.line_count for file in self.files if file.index is not None)
            self._work = Work("folding", sum(file.scan.done for file in self.files), lines)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the indexes and the order take: what grows with the lines."""
        indexes = sum(file.index.memory_bytes for file in self.files if file.index is not None)
        return indexes + sum(chunk.nbytes for chunk in self.order.chunks)

    def snapshot(self) -> Snapshot:
        """Everything that is drawn, as it is now."""
        rows, passing, hits = self.answers.rows(self.order.chunks) if self._built else (NO_ROWS, NO_ROWS.kept, None)
        counts: Counter[Level] = Counter()
        for file in self.files:
            if file.index is not None:
                counts.update(file.index.counts())
        waiting = self.answers.waiting_chunks if self.answers.question else frozenset()
        return Snapshot(
            files=tuple(file.log for file in self.files),
            generations=tuple(file.generation for file in self.files),
            rows=rows,
            passing=passing,
            built=self._built,
            tail=self._tail,
            wanted=self.wanted,
            filtering=bool(waiting and self.wanted),
            search=self.search,
            hits=hits,
            waiting=waiting,
            folds=self._folds,
            counts=counts,
            work=self._work,
            problems=tuple(file.problem for file in self.files if file.problem is not None),
            layout=self._layout,
        )


def _sniffed(index: LogIndex) -> Encoding:
    return sniff(index.read(0, SAMPLE))
