"""Load times and hits, counted in each process and added up in ``stats.json``.

Times lie in a histogram whose classes are 2 % apart, which adds up over processes exactly; so p50, p95 and p99 are true
to 1 %. ``stats.json`` holds::

    {"format": 1, "hits", "misses", "loads", "bytes",
     "load_ms":   {"mean", "p50", "p95", "p99", "max", "count"},     samples read from the cache
     "source_ms": {...},                                              samples read from the source
     "created", "last_used": seconds since the epoch,
     "readers": [{"host", "pid", "hits", "misses", "last_used"}],     the last ones
     "notes": {status: text},                                         such as lock-unsafe
     "classes": {"load": {"class": count}, "source": {...}}, "sums": {"load": [ms, max], "source": [ms, max]}}
"""

from __future__ import annotations

import atexit
import fcntl
import json
import math
import os
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .lease import start_time
from .shared import KINDS as _KINDS
from .shared import SharedCounts

STATS = "stats.json"
FLUSH_S = 1.0
"""Seconds at most until a count is on the disk; a process that is killed loses no more."""
MAX_READERS = 32
MAX_BYTES = 1 << 20
_STEP = math.log(1.02)


def class_of(ms: float) -> int:
    """The number of the class that holds a duration: classes are 2 % apart, from one microsecond at 0."""
    return int(math.log(ms * 1000 + 1e-3) // _STEP)


class Histogram:
    """Durations in classes of 2 %, with their sum and maximum in ms."""

    def __init__(self) -> None:
        self.classes: Dict[int, int] = {}
        self.sum_ms = 0.0
        self.max_ms = 0.0

    def add(self, seconds: float) -> None:
        ms = seconds * 1000
        index = class_of(ms)
        self.classes[index] = self.classes.get(index, 0) + 1
        self.sum_ms += ms
        self.max_ms = max(self.max_ms, ms)

    def merge(self, classes: Dict[Any, Any], sums: Any) -> None:
        """Add what another one has counted."""
        for index, count in classes.items():
            self.classes[int(index)] = self.classes.get(int(index), 0) + int(count)
        self.sum_ms += float(sums[0])
        self.max_ms = max(self.max_ms, float(sums[1]))

    @property
    def count(self) -> int:
        return sum(self.classes.values())

    def percentile(self, share: float) -> Optional[float]:
        """The duration in ms below which this share of all lies; None without any."""
        left = math.ceil(self.count * share)
        for index in sorted(self.classes):
            left -= self.classes[index]
            if left <= 0:
                return min(math.exp((index + 0.5) * _STEP) / 1000, self.max_ms)
        return None

    def summary(self) -> Dict[str, Any]:
        count = self.count
        return {
            "mean": _rounded(self.sum_ms / count) if count else None,
            **{f"p{share}": _rounded(self.percentile(share / 100)) for share in (50, 95, 99)},
            "max": _rounded(self.max_ms) if count else None,
            "count": count,
        }


class Recorder:
    """Counts what this process reads from one cache; :meth:`flush` adds it to ``stats.json``.

    Made by :func:`recorder_of`.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._shared: Optional[SharedCounts] = None
        self._in_slot = False
        self._reset()

    def _reset(self) -> None:
        self._times = {kind: Histogram() for kind in _KINDS}
        self._bytes = 0
        self._notes: Dict[str, str] = {}
        self._dirty = False

    def share(self) -> None:
        """Count for workers too that this process will fork, and that may be ended at any moment."""
        if self._shared is None:
            self._shared = SharedCounts()

    def hit(self, seconds: float, size: int) -> None:
        """A sample of ``size`` bytes came from the cache."""
        self._count(0, seconds, size)

    def miss(self, seconds: float) -> None:
        """A sample was read from the source."""
        self._count(1, seconds, 0)

    def _count(self, kind: int, seconds: float, size: int) -> None:
        if self._in_slot and self._shared is not None:
            with self._lock:
                self._shared.count(kind, class_of(seconds * 1000), seconds * 1000, size)
            return
        with self._lock:
            self._times[_KINDS[kind]].add(seconds)
            self._bytes += size
            self._touched()

    def note(self, status: str, text: str) -> None:
        """Remember something for people ("lock-unsafe": on which file system); an empty text forgets it."""
        with self._lock:
            self._notes[status] = text
            self._touched()

    def _touched(self) -> None:
        self._dirty = True
        if not _flushing:  # a forked child has lost the thread
            _start_flushing()

    def forget(self) -> None:
        """Begin anew in a forked child; what was counted before is the parent's."""
        self._lock = threading.Lock()
        self._reset()
        self._in_slot = self._shared is not None and not self._in_slot and self._shared.claim()

    def flush(self) -> None:
        """Add what was counted since to ``stats.json``; a folder that can't be written keeps none."""
        with self._lock:
            if self._shared is not None and not self._in_slot:
                self._add_workers(self._shared)
            if not self._dirty:
                return
            times, size, notes = self._times, self._bytes, self._notes
            self._reset()
        try:
            _add(self.folder, times, size, notes)
        except OSError:
            self._keep(times, size, notes)

    def _keep(self, times: Dict[str, Histogram], size: int, notes: Dict[str, str]) -> None:
        """Counts that could not be written now (a full disk) wait for the next time."""
        with self._lock:
            for kind, histogram in times.items():
                self._times[kind].merge(histogram.classes, (histogram.sum_ms, histogram.max_ms))
            self._bytes += size
            self._notes = {**notes, **self._notes}
            self._dirty = True

    def _add_workers(self, shared: SharedCounts) -> None:
        classes, sums, size = shared.collect(lambda pid: start_time(pid) is not None)
        for kind in _KINDS:
            self._times[kind].merge(classes[kind], sums[kind])
            self._dirty = self._dirty or bool(classes[kind])
        self._bytes += size


_recorders: Dict[str, Recorder] = {}


def recorder_of(folder: str) -> Recorder:
    """The one that counts for a cache in this process; it lives as long as the process, so that nothing is lost."""
    if folder not in _recorders:
        _recorders[folder] = Recorder(folder)
        _start_flushing()
    return _recorders[folder]


def read_stats(folder: str) -> Dict[str, Any]:
    """What ``stats.json`` says; empty when there is none, or none that can be read."""
    try:
        with open(os.path.join(folder, STATS), encoding="utf-8") as file:
            content = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def mark(folder: str, notes: Dict[str, str]) -> None:
    """Put notes to a cache that this process does not use (what has become of its source); counts stay as they are.

    Raises:
        OSError: the folder can't be written.
    """
    _change(folder, lambda old: {**old, "notes": _noted(old, notes)})


def _add(folder: str, times: Dict[str, Histogram], size: int, notes: Dict[str, str]) -> None:
    _change(folder, lambda old: _added(old, times, size, notes))


def _change(folder: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    """Under a lock of its own: the processes of a job all add to one file."""
    lock = os.open(os.path.join(folder, ".stats.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: two processes that add at the same moment lose one addition
        content = json.dumps(change(read_stats(folder)))
        own = os.path.join(folder, f".{STATS}.{os.getpid()}.{threading.get_ident()}")
        try:
            with open(own, "w", encoding="utf-8") as file:
                file.write(content)
            os.replace(own, os.path.join(folder, STATS))
        except OSError:
            os.unlink(own)
            raise
    finally:
        os.close(lock)


def _noted(old: Dict[str, Any], notes: Dict[str, str]) -> Dict[str, str]:
    before = old["notes"] if isinstance(old.get("notes"), dict) else {}
    return {status: text for status, text in {**before, **notes}.items() if text}


def _added(old: Dict[str, Any], times: Dict[str, Histogram], size: int, notes: Dict[str, str]) -> Dict[str, Any]:
    hits, misses = times["load"].count, times["source"].count
    for kind in _KINDS:
        try:
            times[kind].merge(old["classes"][kind], old["sums"][kind])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            continue  # the first time, or a file of somebody else
    now = time.time()
    created = old.get("created")
    return {
        "format": 1,
        "hits": times["load"].count,
        "misses": times["source"].count,
        "loads": times["load"].count + times["source"].count,
        "bytes": size + _number(old.get("bytes")),
        "load_ms": times["load"].summary(),
        "source_ms": times["source"].summary(),
        "created": created if isinstance(created, (int, float)) else now,
        "last_used": now,
        "readers": _readers(old.get("readers"), hits, misses, now),
        "notes": _noted(old, notes),
        "classes": {kind: {str(key): count for key, count in times[kind].classes.items()} for kind in _KINDS},
        "sums": {kind: [times[kind].sum_ms, times[kind].max_ms] for kind in _KINDS},
    }


def _readers(old: Any, hits: int, misses: int, now: float) -> List[Dict[str, Any]]:
    kept: Dict[Tuple[Any, Any], Dict[str, Any]] = {}
    for reader in old if isinstance(old, list) else []:
        if isinstance(reader, dict):
            kept[reader.get("host"), reader.get("pid")] = reader
    mine = kept.pop((socket.gethostname(), os.getpid()), {})
    kept["", 0] = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "hits": hits + _number(mine.get("hits")),
        "misses": misses + _number(mine.get("misses")),
        "last_used": now,
    }
    return list(kept.values())[-MAX_READERS:]


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else float(f"{value:.4g}")


_flushing: List[threading.Thread] = []


def flush_all() -> None:
    """Add what this process has counted to every cache that it reads."""
    for recorder in list(_recorders.values()):
        recorder.flush()


def _start_flushing() -> None:
    if not _flushing:
        _flushing.append(threading.Thread(target=_keep_flushing, name="mswb-stats", daemon=True))
        _flushing[0].start()


def _keep_flushing() -> None:
    while True:
        time.sleep(FLUSH_S)
        flush_all()


def _in_child() -> None:
    """A forked child (a worker of a pipeline) counts for itself, and has no thread yet."""
    _flushing.clear()
    for recorder in list(_recorders.values()):
        recorder.forget()


atexit.register(flush_all)
os.register_at_fork(after_in_child=_in_child)
