"""Lines of a file that fold into one row: records with their continuation, tracebacks, repetitions, sections.

Finding them is cheap where there are none: one pattern finds the lines where blocks begin, and only there the grammar
of :mod:`mswb.launch.grouping` is asked. A file is scanned piece by piece; one that grows is scanned on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mswb.files.levels import Level, Levels
from mswb.files.logindex import LogIndex
from mswb.files.patterns import Pattern, compile_pattern
from mswb.files.search import search
from mswb.launch.grouping import Group, group_lines
from mswb.launch.lines import cut_lines
from mswb.launch.logview.shapes import same_as_before

PIECE_LINES = 1 << 12
"""Lines scanned at once."""
BACK = 200
"""Lines that a block's head is looked for ahead of a line that only goes on."""
MIN_RUN = 4
"""Lines alike, or of one section, that are worth a fold."""
SECTION_GAP = 50
"""Other lines in a row that do not end a section."""
_SLAB, _MAX_SLAB = 4, 256  # lines read at once: most blocks are short
_LINE_BYTES = 1 << 16
_MAX_BLOCK = 5000
_HUGE = 1 << 18  # bytes of a line that nothing is looked for in
_RUN_AGAIN = 64  # lines of a run that are looked at again when the file has grown

TEXT = "text"
REPEAT = "repeat"
SECTIONS = {
    "KERNEL_LAUNCH": r"(?:Begin|End) launch kernel: |^\[KERNEL_LAUNCH\]|^\[V1290[27]\] ",
    "GRAPH_BUILD": r"Status record: |Pass \S+ (?:start \.\.\.|end\.)|^\[GRAPH_BUILD\]|Start compiling",
}
"""What the lines of a section hold; its name is shown on the folded row."""
_BEGINS = (
    r'^Traceback \(most recent|^ +File "|^ +\+ Exception Group|^-{40}|^Fatal Python error: '
    r"|^(?:Current thread|Thread) 0x"
    r"|^(?:Exception in thread|Exception ignored in|Process \S+-\d).*|^# ?(?:\d+ )?In file |^[EWI][0-9A-Z]\d{4}: "
)
_INDENTED = r"^[ \t]+\S"
_ERRORS = frozenset({"traceback", "fatal", "ascend", "section"})

Ints = npt.NDArray[np.int64]


class Span(NamedTuple):
    """Lines ``first`` to ``stop`` (exclusive) of a file.

    ``kind`` is a block's of the grammar, ``repeat``, or a section's name. ``level`` is what the lines behind a block's
    head count as: the record's own level, ERROR for tracebacks; NONE where each line stands for itself.
    """

    first: int
    stop: int
    kind: str
    level: int

    @property
    def folds(self) -> bool:
        """Whether there is something to fold."""
        return self.stop - self.first > 1 and self.kind != TEXT

    @property
    def is_run(self) -> bool:
        """Whether it is just lines of one sort, which may be cut anywhere."""
        return self.kind == REPEAT or self.kind in SECTIONS


def span_at(index: LogIndex, line: int) -> Span | None:
    """What a line folds with: its block, else lines alike around it, else its section; None when it stands alone."""
    block = block_at(index, line)
    if block is not None and block.folds:
        return block
    low, high = max(0, line - PIECE_LINES // 2), min(index.line_count, line + PIECE_LINES // 2)
    runs = (run for run in _runs(index, low, high, []) if run.first <= line < run.stop)
    return next(runs, None)


def block_at(index: LogIndex, line: int, floor: int = 0) -> Span | None:
    """The block of the grammar that holds a line; nothing ahead of ``floor`` belongs to it."""
    back = max(floor, line - BACK)
    records = np.flatnonzero(index.levels(back, line + 1))
    begin = back + int(records[-2]) if len(records) > 1 else back  # the last one may have interrupted a traceback
    for group in group_lines(cut_lines(_raw_lines(index, begin), begin)):
        if group.lines[-1].number >= line:
            span = _span_of(index, group, line)
            if span is not None:
                return span
        if group.lines[0].number > line:
            return None
    return None


def _raw_lines(index: LogIndex, begin: int) -> Iterator[bytes]:
    size = _SLAB
    end = min(index.line_count, begin + _MAX_BLOCK)
    while begin < end:
        for raw in index.lines(begin, min(end, begin + size), _LINE_BYTES):
            yield raw + b"\n"
        begin += size
        size = min(2 * size, _MAX_SLAB)


def _span_of(index: LogIndex, group: Group, line: int) -> Span | None:
    """The lines of a group that stand together with ``line``; processes that share a file interleave."""
    numbers = sorted({piece.number for piece in group.lines})
    if line not in numbers:
        return None
    at = numbers.index(line)
    first = last = at
    while first and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    while last + 1 < len(numbers) and numbers[last + 1] == numbers[last] + 1:
        last += 1
    head = int(index.level_of(numbers[first])) if group.record is not None else Level.NONE
    level = max(head, Level.ERROR if group.kind in _ERRORS else Level.NONE)
    return Span(numbers[first], numbers[last] + 1, group.kind, level)


@dataclass(slots=True)
class SpanScan:
    """All spans of one file, found piece by piece and kept up while it grows.

    Attributes:
        spans: in order, none overlapping.
        done: lines scanned; the spans that reach the end are looked at again when the file has grown.
        runs: whether repetitions and sections are wanted too; blocks alone take half the time.
    """

    runs: bool = True
    spans: list[Span] = field(default_factory=list)
    done: int = 0
    _resume: int = 0

    def step(self, index: LogIndex) -> int | None:
        """Scan the next piece. Returns the first line whose spans may be new; None when there was nothing to do."""
        if self.done >= index.line_count:
            return None
        low = self._cut_back()
        high = min(index.line_count, max(low, self.done) + PIECE_LINES)
        found = scan(index, low, high, runs=self.runs)
        self.done = max(high, found[-1].stop if found else 0)
        self._resume = _resume_at(index, found, self.done, low)
        if found and self.spans and _goes_on(index, self.spans[-1], found[0]):
            found[0] = found[0]._replace(first=self.spans.pop().first)
        self.spans += [span for span in found if span.folds]
        return min(low, found[0].first) if found else low

    def _cut_back(self) -> int:
        """Take back what may have gone on since; returns where to scan from."""
        low = self._resume
        while self.spans and self.spans[-1].stop > low:
            last = self.spans.pop()
            if last.is_run and low - last.first >= MIN_RUN:
                self.spans.append(last._replace(stop=low))
            else:
                low = last.first
        return low


def scan(index: LogIndex, low: int, high: int, *, runs: bool = True) -> list[Span]:
    """The spans that begin among lines ``low`` to ``high`` (exclusive); at the end perhaps one that may still grow."""
    levels = index.levels(low, high)
    plain = levels == Level.NONE
    indented = _marked(index, _pattern(_INDENTED), low, high) & plain
    plainly = {one.first + 1: one for one in _indented_records(levels, indented, low)}
    begins = _marked(index, _pattern(_BEGINS), low, high)
    after_error = np.concatenate([[False], levels[:-1] >= Level.ERROR])
    after_record = np.concatenate([[False], levels[:-1] != Level.NONE])
    blocks: list[Span] = []
    position = low
    for line in (np.flatnonzero(plain & (begins | after_error | (indented & after_record))) + low).tolist():
        if line >= position:
            block = plainly.get(line) or block_at(index, line, position)
            if block is not None and block.kind != TEXT and (block.folds or block.stop == index.line_count):
                blocks.append(block)
            position = max(line + 1, block.stop if block is not None else 0)
    return sorted([*blocks, *_runs(index, low, high, blocks)]) if runs else blocks


def _indented_records(levels: Levels, indented: npt.NDArray[np.bool_], low: int) -> Iterator[Span]:
    """Records with nothing but indented lines up to the next record: what they are needs no grammar."""
    firsts, stops = _run_edges(indented)
    inside = (firsts > 0) & (stops < len(levels))
    firsts, stops = firsts[inside], stops[inside]
    plain = (levels[firsts - 1] != Level.NONE) & (levels[stops] != Level.NONE)
    heads = firsts[plain] - 1
    for head, stop, level in zip(heads.tolist(), stops[plain].tolist(), levels[heads].tolist(), strict=True):
        yield Span(low + head, low + stop, "record", level)


def _resume_at(index: LogIndex, found: list[Span], done: int, low: int) -> int:
    """Where to go on: nothing from here on is sure to be complete."""
    near = max(low, done - BACK)
    records = np.flatnonzero(index.levels(near, done))
    last_record = near + int(records[-1]) if len(records) else done
    open_spans = [
        max(span.first, done - _RUN_AGAIN) if span.is_run else span.first for span in found if span.stop >= done
    ]
    return min([last_record, max(low, done - _RUN_AGAIN), *open_spans])


def _goes_on(index: LogIndex, last: Span, following: Span) -> bool:
    """Whether a run that was cut goes on with another one."""
    if last.kind != following.kind or not last.is_run or following.first - last.stop > SECTION_GAP:
        return False
    if last.kind == REPEAT:
        adjacent = last.stop == following.first
        return adjacent and bool(same_as_before(index, last.stop - 1, last.stop + 1)[1])
    return not (index.levels(last.stop, following.first) >= Level.ERROR).any()


def _runs(index: LogIndex, low: int, high: int, blocks: list[Span]) -> list[Span]:
    """Repetitions and sections outside the blocks; an error is never hidden in one."""
    free = index.levels(low, high) < Level.ERROR
    for block in blocks:
        free[block.first - low : block.stop - low] = False
    spans: list[Span] = []
    for name, text in SECTIONS.items():
        marked = _marked(index, _pattern(text), low, high) & free
        for first, stop in _bridged(marked, free):
            spans.append(Span(low + first, low + stop, name, Level.NONE))
            free[first:stop] = False
    alike = same_as_before(index, low, high) & free
    alike[1:] &= free[:-1]
    for first, stop in _true_runs(alike):
        if stop - first + 1 >= MIN_RUN:
            spans.append(Span(low + first - 1, low + stop, REPEAT, Level.NONE))
    return spans


def _bridged(marked: npt.NDArray[np.bool_], free: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """From the first to the last mark of each section; a few other lines between do not end it, taken ones do."""
    places = np.flatnonzero(marked)
    if not len(places):
        return
    walls = np.cumsum(~free)
    cut = (np.diff(places) > SECTION_GAP) | (np.diff(walls[places]) > 0)
    starts = np.concatenate([[0], np.flatnonzero(cut) + 1])
    stops = np.concatenate([starts[1:], [len(places)]])
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - start >= MIN_RUN:
            yield int(places[start]), int(places[stop - 1]) + 1


def _true_runs(mask: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    firsts, stops = _run_edges(mask)
    yield from zip(firsts.tolist(), stops.tolist(), strict=True)


def _run_edges(mask: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Where runs of true values begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return edges[::2], edges[1::2]


def _marked(index: LogIndex, pattern: Pattern, low: int, high: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(high - low, np.bool_)
    for first, stop in _usual_lines(index, low, high):
        for hits in search(index, pattern, first_line=first, stop_line=stop):
            mask[hits.lines - low] = True
    return mask


def _usual_lines(index: LogIndex, low: int, high: int) -> Iterator[tuple[int, int]]:
    """The lines without those that are too long to be part of a log's grammar."""
    ends = np.append(index.offsets(low, high), index.span(high, high)[0])
    for first, stop in _true_runs(np.diff(ends) <= _HUGE):
        yield low + first, low + stop


@lru_cache(maxsize=16)
def _pattern(text: str) -> Pattern:
    return compile_pattern(text)
