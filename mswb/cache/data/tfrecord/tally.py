"""What the records of a file hold: their features, which of them lack some, and which are no tf.train.Example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mswb.cache.check import MAX_FAULTS
from mswb.cache.data.tfrecord.example import EMPTY, Columns, Data, NotAnExample, columns
from mswb.cache.data.tfrecord.frames import Frames, Long
from mswb.cache.data.tfrecord.lockstep import signatures
from mswb.cache.data.tfrecord.records import endless
from mswb.cache.data.tfrecord.resync import HEADER
from mswb.cache.data.tfrecord.source import Source, Window

USUAL = 0.75
"""The share of records that have a feature from which on the others lack it. Below, it is one that not all need."""
MAX_GROUPS = 4096
"""Different sets of features; a file of more is not looked at for features that are missing."""
_ENOUGH = 1000
"""After so many records none of which is an Example the file is taken to hold something else."""


@dataclass(slots=True)
class Group:
    """Records with the same features: how many, and number and offset of the first ones."""

    count: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Odd:
    """A record that is no Example: why, and at which byte of the source that shows."""

    record: int
    offset: int
    reason: str
    byte: int


@dataclass(frozen=True, slots=True)
class Lack:
    """How a record differs from most: features that it lacks; name, kind and usual kind of those of another kind."""

    missing: tuple[str, ...]
    other: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Usual:
    """What most records of a file have.

    Attributes:
        features: the usual kind of each feature, and how many records have it.
        required: the names that nearly all records have.
        fixed: those that are nearly always of their usual kind.
    """

    features: Mapping[str, tuple[str, int]]
    required: frozenset[str]
    fixed: frozenset[str]

    def lack(self, features: Columns) -> Lack | None:
        """How a record with these features differs; None when it doesn't."""
        missing = tuple(sorted(self.required - {name for name, _ in features}))
        other = tuple(
            (name, kind, self.features[name][0])
            for name, kind in sorted(features)
            if name in self.fixed and kind not in (EMPTY, self.features[name][0])
        )
        return Lack(missing, other) if missing or other else None


def report(usual: Usual) -> dict[str, dict[str, object]]:
    """The features as a report has them."""
    return {
        name: {"kind": kind, "records": count, "required": name in usual.required, "fixed": name in usual.fixed}
        for name, (kind, count) in sorted(usual.features.items())
    }


def from_report(features: Mapping[str, Mapping[str, Any]]) -> Usual:
    """The inverse of :func:`report`."""
    return Usual(
        {name: (str(item["kind"]), int(item["records"])) for name, item in features.items()},
        frozenset(name for name, item in features.items() if item["required"]),
        frozenset(name for name, item in features.items() if item["fixed"]),
    )


class Tally:
    """Takes all records of a file one batch after another.

    Attributes:
        groups: records by their features.
        odd, odd_total: the first records that are no Examples, and how many there are.
        given_up: whether no more records are looked at: none of so many is an Example.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[int, Columns | None] = {}
        self.groups: dict[Columns, Group] = {}
        self.too_many = False
        self.odd: list[Odd] = []
        self.odd_total = 0

    @property
    def given_up(self) -> bool:
        return not self.groups and self.odd_total >= _ENOUGH

    @property
    def examples(self) -> int:
        """How many records are Examples."""
        return sum(group.count for group in self.groups.values())

    @property
    def is_of_examples(self) -> bool:
        """Whether Examples are what the file is to hold."""
        return self.examples >= self.odd_total

    def add(self, frames: Frames) -> None:
        """Take the frames whose data is whole."""
        if self.given_up:
            return
        whole = ~frames.damaged
        for columns_, rows in self.sorted_out(frames):
            rows = rows[whole[rows]]
            if columns_ is None:
                self._one_by_one(frames, rows)
            elif len(rows):
                self._count(columns_, frames, rows)

    def add_long(self, long: Long) -> None:
        """Take a long record; only what tells how it is built is read."""
        if not self.given_up:
            self._parse(Window(self._source, long.offset + HEADER, long.length), long.record, long.offset)

    def sorted_out(self, frames: Frames) -> Iterator[tuple[Columns | None, NDArray[np.int64]]]:
        """The numbers of records with the same features; None for those that must be parsed one by one."""
        hashes = signatures(frames.records)
        for row in self._refused(frames):
            hashes[row] = 0
        for value in np.unique(hashes).tolist() if len(hashes) and (hashes != hashes[0]).any() else hashes[:1].tolist():
            rows = np.flatnonzero(hashes == value)
            yield (self._columns(value, frames, int(rows[0])) if value else None), rows

    def usual(self) -> Usual:
        """What most records have, by all that were taken."""
        present: Counter[str] = Counter()
        kinds: dict[str, Counter[str]] = {}
        for features, group in self.groups.items():
            for name, kind in features:
                present[name] += group.count
                kinds.setdefault(name, Counter())[kind] += group.count if kind != EMPTY else 0
        main = {name: counts.most_common(1)[0] for name, counts in kinds.items()}
        enough = 0 if self.too_many else USUAL * self.examples
        return Usual(
            {name: (main[name][0], count) for name, count in present.items()},
            frozenset(name for name, count in present.items() if enough and count >= enough),
            frozenset(name for name, count in present.items() if enough and main[name][1] >= USUAL * count),
        )

    def lacking(self) -> list[tuple[Lack, Group]]:
        """The records that differ from most."""
        usual = self.usual()
        found = ((usual.lack(features), group) for features, group in self.groups.items())
        return [(lack, group) for lack, group in found if lack is not None]

    def _columns(self, value: int, frames: Frames, row: int) -> Columns | None:
        """The features that a hash stands for; None where what no hash shows is wrong with them (a name's encoding)."""
        if value not in self._known:
            try:
                found: Columns | None = columns(frames.data(row, self._source))
            except NotAnExample:
                found = None
            if len(self._known) >= MAX_GROUPS:
                return found
            self._known[value] = found
        return self._known[value]

    def _count(self, features: Columns, frames: Frames, rows: NDArray[np.int64]) -> None:
        group = self._group(features)
        group.count += len(rows)
        for row in rows[: MAX_FAULTS - len(group.first)].tolist():
            group.first.append((frames.record + row, int(frames.offsets[row])))

    def _one_by_one(self, frames: Frames, rows: NDArray[np.int64]) -> None:
        for row in rows.tolist():
            if self.given_up:
                return
            self._parse(frames.data(row, self._source), frames.record + row, int(frames.offsets[row]))

    def _parse(self, data: Data, record: int, offset: int) -> None:
        try:
            group = self._group(columns(data))
        except NotAnExample as problem:
            self.odd_total += 1
            if len(self.odd) < MAX_FAULTS:
                self.odd.append(Odd(record, offset, str(problem), offset + HEADER + problem.at))
            return
        group.count += 1
        if len(group.first) < MAX_FAULTS:
            group.first.append((record, offset))

    def _group(self, features: Columns) -> Group:
        if features not in self.groups and len(self.groups) >= MAX_GROUPS:
            self.too_many = True
            features = frozenset()
        return self.groups.setdefault(features, Group())

    def _refused(self, frames: Frames) -> Iterator[int]:
        """Long records with packed integers that are none. They lie where a look at both ends doesn't reach."""
        read: Callable[[int, int], bytes] = self._source.read
        for rows, starts, ends in frames.records.buffer.asked:
            for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
                data = read(int(frames.offsets[row]) + HEADER + start, end - start)
                if len(endless(np.frombuffer(data, np.uint8))):
                    yield row
