"""The lines on the screen, read by a thread of their own: a file system that stalls must not stall the keys.

What was read is kept for a while. A caller may wait for the answer, but never longer than it says.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from mswb.files.encoding import SAMPLE, Encoding, show, sniff
from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.findings import MswbError
from mswb.launch.logview.rows import Place
from mswb.launch.logview.shown import MAX_BYTES, TAIL_BYTES, ShownLine, shown_line

KEPT = 2048
"""Lines remembered."""
_GONE_TEXT = "(this line can't be read any more)"
_GONE = ShownLine(_GONE_TEXT, Level.NONE, body=_GONE_TEXT)


class LineReader:
    """Reads lines in the background and remembers them.

    Args:
        arrived: called by the reading thread when lines that somebody missed are there.
    """

    def __init__(self, arrived: Callable[[], None] = lambda: None) -> None:
        self._arrived = arrived
        self._condition = threading.Condition()
        self._known: OrderedDict[Place, ShownLine] = OrderedDict()
        self._indexes: Mapping[int, LogIndex] = {}
        self._wanted: tuple[Place, ...] = ()
        self._era = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def use(self, indexes: Mapping[int, LogIndex]) -> None:
        """Read from these files, by number, from now on; nothing remembered is true any more."""
        with self._condition:
            self._indexes = dict(indexes)
            self._known.clear()
            self._wanted = ()
            self._era += 1

    def forget(self, file: int, line: int) -> None:
        """This line, which was unfinished, has changed, and all behind it are new."""
        with self._condition:
            for place in [one for one in self._known if one.file == file and one.line >= line]:
                del self._known[place]
            self._era += 1

    def get(self, places: Sequence[Place], patience_s: float) -> dict[Place, ShownLine]:
        """What is known of these lines within ``patience_s`` seconds; the rest is fetched and announced."""
        with self._condition:
            missing = self._missing(places)
            if missing and not self._closed:
                self._wanted = missing
                self._start()
                self._condition.notify_all()
                self._condition.wait_for(lambda: self._closed or not self._missing(places), patience_s)
            return {place: self._recall(place) for place in places if place in self._known}

    def close(self) -> None:
        """End the thread; a read that hangs ends when it can."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _missing(self, places: Iterable[Place]) -> tuple[Place, ...]:
        return tuple(place for place in places if place not in self._known)

    def _recall(self, place: Place) -> ShownLine:
        self._known.move_to_end(place)
        return self._known[place]

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mswb-lines", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or bool(self._wanted))
                if self._closed:
                    return
                wanted, self._wanted, era, indexes = self._wanted, (), self._era, self._indexes
            lines = read_places(indexes, wanted)
            with self._condition:
                if era == self._era:
                    self._known.update(lines)
                    while len(self._known) > KEPT:
                        self._known.popitem(last=False)
                self._condition.notify_all()
            self._arrived()


def read_places(indexes: Mapping[int, LogIndex], places: Iterable[Place]) -> dict[Place, ShownLine]:
    """These lines, whatever order they are in; a line that can't be read says so."""
    found: dict[Place, ShownLine] = {}
    for file, first, stop in _stretches(places):
        try:
            lines = read_lines(indexes[file], first, stop)
        except (MswbError, OSError, KeyError):
            lines = []
        lines += [_GONE] * (stop - first - len(lines))
        found.update(zip((Place(file, line) for line in range(first, stop)), lines, strict=False))
    return found


def read_lines(index: LogIndex, first: int, stop: int) -> list[ShownLine]:
    """Lines ``first`` to ``stop`` (exclusive) for drawing, each in the encoding of its surroundings."""
    pieces = [_read_line(index, line) for line in range(first, min(stop, index.line_count))]
    encoding = _encoding(index, b"\n".join(head for head, _, _ in pieces))
    return [shown_line(head, tail, size, encoding) for head, tail, size in pieces]


def read_text(index: LogIndex, line: int, limit: int) -> str:
    """One line, decoded and harmless, at most ``limit`` bytes of it; what is cut is counted."""
    begin, end = index.span(line, line + 1)
    data = index.read(begin, min(limit, end - begin)).removesuffix(b"\n")
    text = show(data, _encoding(index, data), limit)
    return f"{text} … +{end - begin - limit:,} bytes" if end - begin > limit + 1 else text


def _read_line(index: LogIndex, line: int) -> tuple[bytes, bytes, int]:
    """The line's first bytes, its last ones when it is longer than is drawn, and its length."""
    begin, end = index.span(line, line + 1)
    size = end - begin
    if size <= MAX_BYTES:
        data = index.read(begin, size).removesuffix(b"\n")
        return data, b"", len(data)
    tail = index.read(end - TAIL_BYTES, TAIL_BYTES).removesuffix(b"\n")
    return index.read(begin, MAX_BYTES), tail, size - 1


def _encoding(index: LogIndex, sample: bytes) -> Encoding:
    """Judged by the lines themselves where they say anything, and by the file's head."""
    if sample.isascii():
        return "utf-8"
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError:
        return sniff(sample + b"\n" + index.read(0, SAMPLE))
    return "utf-8"


def _stretches(places: Iterable[Place]) -> list[tuple[int, int, int]]:
    """Lines that follow each other, together: (file, first, stop)."""
    found: list[list[int]] = []
    for file, line in sorted(set(places)):
        if found and found[-1][0] == file and found[-1][2] == line:
            found[-1][2] = line + 1
        else:
            found.append([file, line, line + 1])
    return [(file, first, stop) for file, first, stop in found]
