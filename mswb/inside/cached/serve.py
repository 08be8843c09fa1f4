"""The reading side: what a GeneratorDataset asks for, from the cache where it has it, else from the source."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

from ..store import InvalidCacheFile, StoreReader
from .filler import Filler
from .handover import Handover
from .rows import Layout, Row, row_of, size_of
from .times import Recorder, recorder_of

REFRESH_S = 1.0
"""Seconds between two looks whether another process has written more."""


RESTS = 5
"""So many times as long as a sync took no other one is made for a sample that is asked for again."""

Timed = Tuple[Row, float]
"""A sample, and the seconds that reading it from the source took."""


class SchemaChanged(ValueError):
    """The source gives other columns than the cache has."""


class Samples:
    """Samples by their number. Works in the process that made it, its threads, and workers that it forks or spawns.

    Args:
        source: gives the sample of a number; called for what the cache does not have.
        filler: takes what was read from the source; None where another process writes, or nobody.
        handover: how workers give what they read to the filler.
        probed: samples that were read from the source already, with the seconds that it took.
    """

    def __init__(
        self,
        reader: StoreReader,
        layout: Layout,
        source: Callable[[int], Any],
        count: int,
        recorder: Recorder,
        filler: Optional[Filler] = None,
        handover: Optional[Handover] = None,
        probed: Optional[Dict[int, Timed]] = None,
    ) -> None:
        self.reader = reader
        self.layout = layout
        self.source = source
        self.count = count
        self.recorder = recorder
        self.filler = filler
        self.handover = handover
        self.probed = dict(probed or {})
        self._pid = self._here = os.getpid()
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._rests_until = 0.0

    def __getstate__(self) -> Dict[str, Any]:
        """For a spawned worker, which reads and does not write."""
        kept = {name: getattr(self, name) for name in ("reader", "layout", "source", "count", "_pid")}
        return {**kept, "folder": self.recorder.folder}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.recorder = recorder_of(state.pop("folder"))
        own: Dict[str, Any] = {
            "filler": None,
            "handover": None,
            "probed": {},
            "_lock": threading.Lock(),
            "_looked": time.monotonic(),
            "_rests_until": 0.0,
        }
        self.__dict__.update(state, _here=os.getpid(), **own)

    @property
    def mswb_cache_key(self) -> str:
        """What stands for this source in the key of a cache over it."""
        return self.reader.key

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Row:
        """The arrays of a sample.

        Raises:
            IndexError: there is no such sample; names both numbers.
            ValueError: its record is damaged ("Invalid cache file format: PATH at byte N: REASON").
            SchemaChanged: the source gives other columns than the cache has.
        """
        number = int(index)
        if number < 0:
            number += self.count
        if not 0 <= number < self.count:
            raise IndexError(f"sample {int(index)} of a cache with {self.count} samples")
        try:
            row = self.cached(number)
        except InvalidCacheFile as problem:
            # Under the name that people look for: what a training prints ends with it.
            raise ValueError(str(problem)) from None
        return self._from_source(number) if row is None else row

    def cached(self, number: int) -> Optional[Row]:
        """A sample from the cache; None when it is not there."""
        if os.getpid() != self._here:
            self._begin_in_child()
        begun = time.perf_counter()
        try:
            values = self.reader.get(number)
        except KeyError:
            if not self._refreshed(number):
                return None
            begun = time.perf_counter()
            try:
                values = self.reader.get(number)
            except KeyError:
                return None
        row = self.layout.from_store(values)
        self.recorder.hit(time.perf_counter() - begun, size_of(row))
        return row

    def _begin_in_child(self) -> None:
        """A forked worker may have been born while another thread held the locks; it has a reader of its own."""
        self._here = os.getpid()
        self._lock = threading.Lock()
        self.reader = StoreReader(self.reader.folder, mmap=self.reader.mmap)

    def _refreshed(self, number: int) -> bool:
        """Look for what was written since; whether that was worth while."""
        if self.reader.is_sealed and self.filler is None:
            return False
        filler = self.filler if os.getpid() == self._pid else None
        begun = time.monotonic()
        if begun < self._rests_until or (filler is None and begun - self._looked < REFRESH_S):
            return False
        if filler is not None and not filler.has(number):
            return False
        if filler is not None:
            filler.sync()
        with self._lock:
            self._looked = time.monotonic()
            self.reader.refresh()
        # Where samples are asked for twice while the cache is filled, syncing must not take all the time.
        self._rests_until = self._looked + RESTS * (self._looked - begun)
        return True

    def _from_source(self, number: int) -> Row:
        known = self.probed.pop(number, None)
        if known is not None:
            row, seconds = known
        else:
            begun = time.perf_counter()
            row = row_of(self.source(number), len(self.layout))
            seconds = time.perf_counter() - begun
        self.recorder.miss(seconds)
        self.keep(number, row)
        return row

    def keep(self, number: int, row: Row) -> bool:
        """Give a sample that was read from the source to the cache; False when it does not take it."""
        wrong = self.layout.changed(row)
        if wrong:
            raise SchemaChanged(f"the source of the cache {self.reader.folder} gives other columns: {wrong}")
        if os.getpid() != self._pid:
            return self.handover is not None and self.handover.give(number, row)
        filler = self.filler
        if filler is None or filler.closed:
            return False
        taken = filler.put(number, row)
        if taken and filler.appended + len(self.reader) >= self.count:
            self._finish_if_complete(filler)
        return taken

    def _finish_if_complete(self, filler: Filler) -> None:
        filler.sync()
        with self._lock:
            complete = self.reader.refresh() >= self.count
        if complete:
            filler.close(complete=self.count)
            self.filler = None


class Rest:
    """A sequence that did not fit: what is cached of it first, then the rest from its source, which is read past that.

    Args:
        source: gives all samples from the one of a number on.
        shards: (number of shards, this one): the others' samples are left out.
    """

    def __init__(
        self, samples: Samples, source: Callable[[int], Iterator[Any]], shards: Sequence[int] = (1, 0)
    ) -> None:
        self.samples = samples
        self.source = source
        self.shards = shards

    @property
    def mswb_cache_key(self) -> str:
        """As :attr:`Samples.mswb_cache_key`."""
        return f"{self.samples.mswb_cache_key} {self.shards}"

    def __iter__(self) -> Iterator[Row]:
        count, mine = self.shards
        have = self.samples.count
        for number in range(mine, have, count):
            row = self.samples.cached(number)
            if row is None:
                raise KeyError(f"sample {number} has gone from the cache {self.samples.reader.folder}")
            yield row
        rows = self.source(have)
        number = have
        while True:
            begun = time.perf_counter()
            try:
                sample = next(rows)
            except StopIteration:
                return
            if number % count == mine:
                row = row_of(sample, len(self.samples.layout))
                self.samples.recorder.miss(time.perf_counter() - begun)
                yield row
            number += 1
