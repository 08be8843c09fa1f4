"""The writing side: what this process reads from the source goes into the cache, up to its limit, under a lease."""

from __future__ import annotations

import atexit
import os
import threading
import time
from dataclasses import replace
from typing import Any, Dict, List, Optional, Set

from ..store import Manifest, StoreWriter, WriteFailed, write_manifest
from .lease import Lease
from .rows import Layout, Row
from .say import say

SYNC_S = 2.0
"""Seconds at most until a sample that was appended can be read by others."""


class Filler:
    """Appends samples to one cache; for several threads. Only the process that made it writes.

    Args:
        limit: bytes that the cache may take, ``used`` of which it has already.
    """

    def __init__(self, folder: str, manifest: Manifest, layout: Layout, lease: Lease, limit: int, used: int) -> None:
        self.folder = folder
        self.layout = layout
        self.manifest = manifest
        self.lease = lease
        self.full = False
        self._reached = self._failed = False
        self._taken: Set[int] = set()
        self._lock = threading.Lock()
        self._limit, self._left = limit, limit - used
        self._pending: Set[int] = set()
        self._synced = time.monotonic()
        self._closed = False
        self._begun = time.time()
        try:
            self._writer = StoreWriter(folder, manifest.schema, manifest.key)
            self._save(None)
        except BaseException:
            lease.release()
            raise
        _fillers[folder] = self
        _ensure_at_exit()

    @property
    def appended(self) -> int:
        """Samples that were taken."""
        return len(self._taken)

    @property
    def closed(self) -> bool:
        return self._closed

    def put(self, sample_id: int, row: Row) -> bool:
        """Append one sample; False when it is not taken: the limit is reached, the disk is full, the lease is lost."""
        with self._lock:
            if sample_id in self._taken:
                return True
            if self._closed or self.full or not self.layout.fits(row):
                return False
            values = self.layout.to_store(row)
            size = 192 + sum(value.nbytes if hasattr(value, "nbytes") else len(value) for value in values)
            if size > self._left:
                self.full = True
                self._reached = True
                say(f"{self.manifest.name}: the cache is full (cache_size); the other samples are read from the source")
                return False
            if not self.lease.valid():
                self.full = self._failed = True
                say(f"{self.manifest.name}: another process has taken the cache over; samples are not kept any more")
                return False
            try:
                self._writer.append(sample_id, values)
                self._left -= size
                self._taken.add(sample_id)
                self._pending.add(sample_id)
                if time.monotonic() - self._synced > SYNC_S:
                    self._sync()
            except WriteFailed as problem:
                self._give_up(problem)
                return False
            return True

    def has(self, sample_id: int) -> bool:
        """Whether a sample was taken, so that a reader that has synced and looked again sees it."""
        return sample_id in self._taken

    def sync(self) -> None:
        """Make everything that was appended visible to readers."""
        with self._lock:
            if not self._closed and not self._failed:
                try:
                    self._sync()
                except WriteFailed as problem:
                    self._give_up(problem)

    def close(self, complete: Optional[int] = None) -> None:
        """Sync, write down who has written what, and give the lease up.

        Args:
            complete: the number of samples, when all of them are there: then the shards are sealed.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            _fillers.pop(self.folder, None)
            if not self.lease.valid():
                self.lease.release()
                return
            try:
                if complete is not None or self._reached:
                    self._writer.seal()
                    self.manifest = self._finished(complete)
                self._writer.close()
                self._save(time.time())
            except OSError as problem:
                say(f"{self.manifest.name}: {problem}")
            finally:
                self.lease.release()

    def _give_up(self, problem: WriteFailed) -> None:
        self._taken -= set(problem.lost)
        self._pending.clear()
        self.full = self._failed = True
        say(f"{self.manifest.name}: {problem}; the other samples are read from the source")

    def _finished(self, complete: Optional[int]) -> Manifest:
        """The manifest of a cache to which nothing more will come; without a count where not all samples fit."""
        source = {**self.manifest.source, "full_at": self._limit if complete is None else None}
        return replace(self.manifest, num_samples=complete, source=source)

    def _sync(self) -> None:
        self._writer.sync()
        self._pending.clear()
        self._synced = time.monotonic()

    def _save(self, ended: Optional[float]) -> None:
        entry: Dict[str, Any] = {
            "host": self.lease.owner.host,
            "pid": self.lease.owner.pid,
            "begun": self._begun,
            "ended": ended,
            "records": self._writer.acknowledged,
        }
        before: List[Dict[str, Any]] = [item for item in self.manifest.writers if item.get("begun") != self._begun]
        self.manifest = replace(self.manifest, writers=[*before[-31:], entry])
        write_manifest(self.folder, self.manifest)


_fillers: Dict[str, Filler] = {}
_at_exit: List[bool] = []


def filler_of(folder: str) -> Optional[Filler]:
    """The filler that this process has for a folder already."""
    return _fillers.get(folder)


def close_all() -> None:
    """Close every cache that this process writes."""
    for filler in list(_fillers.values()):
        filler.close()


def _ensure_at_exit() -> None:
    if not _at_exit:
        _at_exit.append(True)
        atexit.register(close_all)


def _in_child() -> None:
    _fillers.clear()


os.register_at_fork(after_in_child=_in_child)
