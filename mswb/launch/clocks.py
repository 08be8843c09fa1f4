"""Clocks of nodes compared by events that two processes log at the same moment.

A worker prints ``Topology build timed out., retry(1/N)`` right after the scheduler printed ``The new node: ID …`` for
it: 0 to 10 ms apart in all our captures, loaded or not, so the difference is the clocks'. Without a scheduler's log
the end of the joining is compared (``Cluster is successfully initialized.``), which ranks see up to 5 s apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from mswb.launch.discover import LogFile, read_head
from mswb.launch.records import parse_record

JOIN_BYTES = 4 << 20
"""How far into a log the joining of the cluster is looked for."""
SKEW_US = 1_000_000
"""A difference above this is worth telling: it turns the order of events around."""
_REGISTER_ERROR_US = 100_000
_READY_ERROR_US = 5_500_000

_REGISTERED = re.compile(
    r"The new node: (\S+?)\(role: MS_WORKER\), rank id: (\d+), device id: \S+, hostname: ([^,\s]+)"
)
_OWN_NAME = re.compile(rb"This node (\S+) rank id: (\d{1,7})")
_FIRST_TRY = b"Topology build timed out., retry(1/"
_READY = b"Cluster is successfully initialized."


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """By how much a node's clock is ahead of the reference, the scheduler's node. ``error_us`` bounds the mistake."""

    node: str
    offset_us: int
    error_us: int
    samples: int

    @property
    def skewed(self) -> bool:
        """Ahead or behind by more than a second, whatever the mistake."""
        return abs(self.offset_us) - self.error_us > SKEW_US


@dataclass(frozen=True, slots=True)
class _Joined:
    """What one worker's log says of the joining; times in microseconds."""

    file: LogFile
    names: tuple[str, ...]
    first_try: int | None
    ready: int | None


@dataclass(frozen=True, slots=True)
class _Registered:
    time: int
    host: str


def measure_clocks(files: Iterable[LogFile]) -> tuple[ClockOffset, ...]:
    """The clock of each node against the reference; empty when all logs are of one node or tell nothing."""
    known = list(files)
    registered = _registrations(known)
    if len({file.node_hint for file in known} | {entry.host for entry in registered.values()}) < 2:
        return ()  # one node has one clock
    workers = [_joined(file) for file in known if file.role == "worker"]
    differences: dict[str, list[int]] = defaultdict(list)
    for worker in workers:
        entry = _entry(worker, registered)
        node = _node(worker, registered)
        if entry is not None and worker.first_try is not None and node is not None:
            differences[node].append(worker.first_try - entry.time)
    if differences:
        return _offsets(differences, _REGISTER_ERROR_US)
    return _offsets(_against_first_node(workers), _READY_ERROR_US)


def clock_offsets(files: Iterable[LogFile]) -> dict[str, int]:
    """Microseconds to take from the times of each node whose clock is clearly off."""
    return {clock.node: clock.offset_us for clock in measure_clocks(files) if clock.skewed}


def name_nodes(files: Sequence[LogFile]) -> list[LogFile]:
    """The files with a node each: what the layout says, else the host name that the scheduler registered."""
    registered = _registrations(files)
    if not registered:
        return list(files)
    named = []
    for file in files:
        node = _node(_joined(file), registered) if file.role == "worker" and file.node_hint is None else file.node_hint
        named.append(replace(file, node_hint=node))
    return named


def _registrations(files: Iterable[LogFile]) -> dict[str, _Registered]:
    """When the scheduler registered each worker, by node id and by ``rank N``."""
    found: dict[str, _Registered] = {}
    for file in files:
        if file.role != "scheduler":
            continue
        for line in _lines_with(read_head(file.path, JOIN_BYTES), b"The new node: "):
            record = parse_record(line)
            match = _REGISTERED.match(record.text) if record is not None else None
            if record is not None and match is not None:
                entry = _Registered(record.time, match.group(3))
                found.setdefault(match.group(1), entry)
                found.setdefault(f"rank {match.group(2)}", entry)
    return found


def _joined(file: LogFile) -> _Joined:
    head = read_head(file.path, JOIN_BYTES)
    own = _OWN_NAME.search(head)
    names: tuple[str, ...] = (
        (own.group(1).decode("ascii", "replace"), f"rank {int(own.group(2))}") if own is not None else ()
    )
    if not names and file.rank_hint is not None:
        names = (f"rank {file.rank_hint}",)
    return _Joined(file, names, _time_of(head, _FIRST_TRY), _time_of(head, _READY))


def _entry(worker: _Joined, registered: Mapping[str, _Registered]) -> _Registered | None:
    return next((registered[name] for name in worker.names if name in registered), None)


def _node(worker: _Joined, registered: Mapping[str, _Registered]) -> str | None:
    entry = _entry(worker, registered)
    return worker.file.node_hint or (entry.host if entry is not None else None)


def _against_first_node(workers: Iterable[_Joined]) -> dict[str, list[int]]:
    """Each node's moments of readiness against the earliest of the first node by name."""
    ready: dict[str, list[int]] = defaultdict(list)
    for worker in workers:
        if worker.ready is not None and worker.file.node_hint is not None:
            ready[worker.file.node_hint].append(worker.ready)
    if len(ready) < 2:
        return {}
    reference = min(ready[min(ready)])
    return {node: [min(times) - reference] for node, times in ready.items()}


def _offsets(differences: Mapping[str, list[int]], error_us: int) -> tuple[ClockOffset, ...]:
    return tuple(
        ClockOffset(node, round(median(values)), error_us, len(values)) for node, values in sorted(differences.items())
    )


def _time_of(head: bytes, words: bytes) -> int | None:
    for line in _lines_with(head, words):
        record = parse_record(line)
        if record is not None:
            return record.time
    return None


def _lines_with(data: bytes, words: bytes) -> Iterator[str]:
    """The lines that hold ``words``."""
    position = data.find(words)
    while position >= 0:
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        yield data[data.rfind(b"\n", 0, position) + 1 : end].decode("utf-8", "replace")
        position = data.find(words, end)
