"""A Chrome trace as a timeline: spans from X, B/E and b/e events, counters, names of tracks, flows as links."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from mswb.profile.chrome.event import RAW, Event, Id
from mswb.profile.chrome.pieces import Pieces
from mswb.profile.intervals import Times
from mswb.profile.roles import roles
from mswb.profile.stamps import MISSING, nanoseconds
from mswb.profile.timeline import Codebook, Column, Counter, Events, Timeline, Track

PLAIN = frozenset({"cpu_op", "python_function", "user_annotation", "Trace", "operator"})
"""Categories whose arguments hold nothing that is used here."""


class Args(msgspec.Struct, gc=False):
    """Arguments that are read of spans; everything else in them is passed over."""

    correlation: Id = None
    connection_id: Id = None
    External_id: Id = msgspec.field(name="External id", default=None)
    registers: Id = msgspec.field(name="registers per thread", default=None)
    shared_memory: Id = msgspec.field(name="shared memory", default=None)
    bytes: Id = None
    bandwidth_gbps: Id = msgspec.field(name="memory bandwidth (GB/s)", default=None)
    occupancy_pct: Id = msgspec.field(name="est. achieved occupancy %", default=None)


_ARGS = msgspec.json.Decoder(Args)
_MANY_ARGS = msgspec.json.Decoder(list[Args])
_ANY = msgspec.json.Decoder()
_LABEL = re.compile(r"(?:GPU|NPU) (\d{1,6})$")
_ARROWS = frozenset("stf")
"""Flows say again what the numbers in the arguments say (correlation, connection_id), at three events a launch."""
COLUMNS = ("registers", "shared_memory", "bytes", "bandwidth_gbps", "occupancy_pct")


@dataclass(slots=True)
class _Open:
    """A span that has begun."""

    start: int
    name: str
    cat: str
    args: msgspec.Raw


@dataclass
class _Spans:
    """Columns of the spans so far; ``more`` holds rows and values of numbers that only some have."""

    start: Column = field(default_factory=lambda: Column(np.int64))
    end: Column = field(default_factory=lambda: Column(np.int64))
    name: Column = field(default_factory=lambda: Column(np.int32))
    track: Column = field(default_factory=lambda: Column(np.int32))
    cat: Column = field(default_factory=lambda: Column(np.int16))
    link: Column = field(default_factory=lambda: Column(np.int64))
    more: dict[str, tuple[list[int], list[float]]] = field(default_factory=lambda: {name: ([], []) for name in COLUMNS})
    count: int = 0


@dataclass
class Reader:
    """Takes the events of one trace, piece by piece, and makes the timeline of them."""

    names: Codebook = field(default_factory=Codebook)
    cats: Codebook = field(default_factory=Codebook)
    links: Codebook = field(default_factory=Codebook)
    tracks: dict[tuple[Id, Id], int] = field(default_factory=dict)
    processes: dict[Id, str] = field(default_factory=dict)
    devices: dict[Id, int] = field(default_factory=dict)
    threads: dict[tuple[Id, Id], str] = field(default_factory=dict)
    spans: _Spans = field(default_factory=_Spans)
    begun: dict[int, list[_Open]] = field(default_factory=dict)
    asynchronous: dict[tuple[Id, Id], list[_Open]] = field(default_factory=dict)
    counters: dict[tuple[str, int], tuple[list[int], list[float]]] = field(default_factory=dict)
    read: int = 0
    kept: int = 0
    latest: int = 0

    def take(self, events: Sequence[Event]) -> None:
        """Take one piece."""
        self.read += len(events)
        complete = [event for event in events if event.ph == "X"]
        self._complete(complete)
        if len(complete) < len(events):
            others = [event for event in events if event.ph != "X" and event.ph not in _ARROWS]
            self.kept += len(events) - len(complete) - len(others)
            times = nanoseconds([bytes(event.ts) for event in others]).tolist()
            for event, time in zip(others, times, strict=True):
                handler = _HANDLERS.get(event.ph)
                if handler is not None and handler(self, event, time):
                    self.kept += 1

    # -- spans

    def _complete(self, events: list[Event]) -> None:
        """X events: a missing end or a negative length makes an empty span, a missing start is none."""
        if not events:
            return
        start = nanoseconds([bytes(event.ts) for event in events])
        length = nanoseconds([bytes(event.dur) for event in events])
        good = start != MISSING
        if not good.all():
            events = [event for event, fine in zip(events, good.tolist(), strict=True) if fine]
            start, length = start[good], length[good]
        self.kept += len(events)
        if not events:
            return
        length = np.where(length < 0, 0, length)
        tracks = self.tracks
        keys = [(event.pid, event.tid) for event in events]
        spans, row = self.spans, self.spans.count
        spans.start.add(start)
        spans.end.add(start + length)
        spans.track.add([tracks[key] if key in tracks else tracks.setdefault(key, len(tracks)) for key in keys])
        spans.name.add(self.names.all([_text(event.name) for event in events]))
        spans.cat.add(self.cats.all([_text(event.cat) for event in events]))
        spans.link.add(self._args(events, row))
        spans.count += len(events)
        self.latest = max(self.latest, int((start + length).max()))

    def _args(self, events: Sequence[Event], row: int) -> list[int]:
        """Take what is known of the arguments of spans from ``row`` on; the numbers that link launches and kernels."""
        having = [at for at, event in enumerate(events) if event.args is not RAW and event.cat not in PLAIN]
        found = _decoded([events[at].args for at in having])
        for name in COLUMNS:
            column = [getattr(args, name) for args in found]
            if any(value is not None for value in column):
                rows, values = self.spans.more[name]
                kept = [
                    (at, value) for at, value in zip(having, column, strict=True) if isinstance(value, (int, float))
                ]
                rows += [row + at for at, _ in kept]
                values += [float(value) for _, value in kept]
        links = [0] * len(events)
        for at, args in zip(having, found, strict=True):
            links[at] = _link(self.links, args.connection_id if args.correlation is None else args.correlation)
        return links

    def _add(self, span: _Open, end: int, track: int) -> None:
        """One span that was begun and ended by two events."""
        spans = self.spans
        spans.start.add([span.start])
        spans.end.add([max(span.start, end)])
        spans.track.add([track])
        spans.name.add([self.names[span.name]])
        spans.cat.add([self.cats[span.cat]])
        spans.link.add(self._args([Event(cat=span.cat, args=span.args)], spans.count))
        spans.count += 1
        self.latest = max(self.latest, end)

    def _track(self, pid: Id, tid: Id) -> int:
        return self.tracks.setdefault((pid, tid), len(self.tracks))

    # -- the other phases; each says whether the event was kept

    def begin(self, event: Event, time: int) -> bool:
        if time == MISSING:
            return False
        opened = _Open(time, _text(event.name), _text(event.cat), event.args)
        self.begun.setdefault(self._track(event.pid, event.tid), []).append(opened)
        self.latest = max(self.latest, time)
        return True

    def end(self, event: Event, time: int) -> bool:
        """Ends what was begun last on its thread; the name, where it has one, may skip what was never ended."""
        track = self._track(event.pid, event.tid)
        stack = self.begun.get(track)
        if time == MISSING or not stack:
            return False
        opened = stack.pop()
        if event.args is not RAW and opened.args is RAW:
            opened.args = event.args
        self._add(opened, time, track)
        return True

    def begin_async(self, event: Event, time: int) -> bool:
        if time == MISSING:
            return False
        opened = _Open(time, _text(event.name), _text(event.cat), event.args)
        self.asynchronous.setdefault((event.cat, event.id), []).append(opened)
        self._track(event.pid, event.tid)
        self.latest = max(self.latest, time)
        return True

    def end_async(self, event: Event, time: int) -> bool:
        stack = self.asynchronous.get((event.cat, event.id))
        if time == MISSING or not stack:
            return False
        self._add(stack.pop(), time, self._track(event.pid, event.tid))
        return True

    def count(self, event: Event, time: int) -> bool:
        """Counter events: one series for each number of the arguments."""
        values = _object(event.args)
        if time == MISSING or values is None:
            return False
        track = self._track(event.pid, event.tid)
        name = _text(event.name) + (f"[{event.id}]" if event.id is not None else "")
        for series, value in values.items():
            number = _number(value)
            if number is not None:
                key = name if series in ("value", name) else f"{name}.{series}"
                times, numbers = self.counters.setdefault((key, track), ([], []))
                times.append(time)
                numbers.append(number)
        self.latest = max(self.latest, time)
        return True

    def describe(self, event: Event, time: int) -> bool:
        """Metadata: the names of processes and threads, which may come after what they describe."""
        values = _object(event.args) or {}
        if event.name == "process_name":
            self.processes[event.pid] = _text(values.get("name"))
        elif event.name == "process_labels":  # Kineto: "GPU 3", "CPU"
            match = _LABEL.match(_text(values.get("labels")))
            if match is not None:
                self.devices[event.pid] = int(match.group(1))
        elif event.name == "thread_name":
            self.threads[event.pid, event.tid] = _text(values.get("name"))
        return True

    def mark(self, event: Event, time: int) -> bool:
        return time != MISSING

    # -- the end

    def timeline(self, dropped: int, first_drop: int | None) -> Timeline:
        """All that was taken. What was begun and never ended goes on to the last moment of the trace."""
        for track, stack in self.begun.items():
            for opened in stack:
                self._add(opened, self.latest, track)
        for stack in self.asynchronous.values():
            for opened in stack:
                self._add(opened, self.latest, 0)
        spans = self.spans
        start, end = spans.start.array(), spans.end.array()
        order = np.lexsort((-end, start))
        tracks = tuple(self._named(pid, tid) for pid, tid in self.tracks)
        name, track, cat = (column.array()[order] for column in (spans.name, spans.track, spans.cat))
        names, cats = self.names.texts, self.cats.texts
        lost = dropped + self.read - self.kept
        return Timeline(
            start[order],
            end[order],
            name,
            track,
            roles(track, cat, name, tracks, cats, names),
            spans.link.array()[order],
            names,
            tracks,
            tuple(_counter(*key, *series) for key, series in self.counters.items()),
            self._columns(order),
            Events(self.read + dropped, self.kept, lost, first_drop),
        )

    def _columns(self, order: Times) -> dict[str, npt.NDArray[np.float64]]:
        columns = {}
        for name, (rows, values) in self.spans.more.items():
            if rows:
                whole = np.full(len(order), np.nan)
                whole[rows] = values
                columns[name] = whole[order]
        return columns

    def _named(self, pid: Id, tid: Id) -> Track:
        return Track(
            _text(pid),
            _text(tid),
            self.processes.get(pid, ""),
            self.threads.get((pid, tid), ""),
            device=self.devices.get(pid),
        )


_HANDLERS: dict[str, Callable[[Reader, Event, int], bool]] = {
    "B": Reader.begin,
    "E": Reader.end,
    "b": Reader.begin_async,
    "S": Reader.begin_async,
    "e": Reader.end_async,
    "F": Reader.end_async,
    "n": Reader.mark,
    "T": Reader.mark,
    "p": Reader.mark,
    "C": Reader.count,
    "M": Reader.describe,
    **dict.fromkeys(("i", "I", "R", "N", "O", "D", "v", "V", "c", "P", "=", "(", ")", ","), Reader.mark),
}
"""What is done with each phase; an event of any other phase is not kept."""


def read(file: BinaryIO, cancelled: Callable[[], bool] = lambda: False) -> tuple[Timeline, bytes, bytes]:
    """The timeline of a Chrome trace, and what stands before and behind its events (of the object form)."""
    pieces, reader = Pieces(file), Reader()
    for events in pieces:
        if cancelled():
            break
        reader.take(events)
    return reader.timeline(pieces.dropped, pieces.first_drop), pieces.head, pieces.tail


def _decoded(raws: Sequence[msgspec.Raw]) -> list[Args]:
    """The arguments of many spans; those that are no object have none."""
    try:
        return _MANY_ARGS.decode(b"[" + b",".join(raws) + b"]")
    except (msgspec.MsgspecError, RecursionError):
        return [_one_args(raw) for raw in raws]


def _one_args(raw: msgspec.Raw) -> Args:
    try:
        return _ARGS.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return Args()


def _counter(name: str, track: int, times: list[int], values: list[float]) -> Counter:
    time = np.array(times, np.int64)
    order = np.argsort(time, kind="stable")
    return Counter(name, track, time[order], np.array(values, np.float64)[order])


def _link(links: Codebook, value: Id) -> int:
    """A correlation as a number from 1; 0 for none."""
    if value is None or value == "":
        return 0
    if isinstance(value, int) and 0 < value < 1 << 61:
        return value + (1 << 61)
    return links[_text(value)] + 1


def _text(value: object) -> str:
    return value if type(value) is str else "" if value is None else str(value)


def _object(raw: msgspec.Raw) -> dict[str, Any] | None:
    try:
        found = _ANY.decode(raw) if raw is not RAW else None
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None
