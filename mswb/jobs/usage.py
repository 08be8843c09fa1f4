"""Processor time and memory of process trees: two looks apart, one pass over the process table for all trees.

One line of /proc/PID/stat has parent, start time, processor time and resident pages, so that a thousand ranks cost one
scan. Nothing raises: a process that is gone is simply no longer in its tree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mswb.signals import ProcessId, is_over, read_stat

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
MAX_SHARE = 0.03
"""The part of a core that looking may cost; on a host with many processes it looks less often."""


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """What a process and all below it use. ``cpu_percent`` is of one core, None at the first look.

    ``rss_bytes`` counts shared pages once for each process, as ``top`` does. ``pids`` are the members of the tree.
    """

    cpu_percent: float | None
    rss_bytes: int
    pids: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Seen:
    """One process in the table: its parent, start time and processor time in ticks, and resident bytes."""

    parent: int
    start_time: int
    ticks: int
    rss_bytes: int


Table = Mapping[int, _Seen]


class TreeMeter:
    """Measures trees again and again; each look is compared with the one before.

    Args:
        interval_s: least seconds between two looks; more where a look is expensive.
    """

    def __init__(self, interval_s: float = 1.0) -> None:
        self._interval = interval_s
        self._before: Table = {}
        self._time = 0.0
        self._next = 0.0
        self._last: dict[ProcessId, TreeUsage] = {}

    def measure(self, roots: Collection[ProcessId]) -> Mapping[ProcessId, TreeUsage]:
        """The usage of each root that is alive, without the trees of other roots below it (a launcher's workers).

        Between two looks the last result is given again.
        """
        now = time.monotonic()
        if now < self._next:
            return self._last
        table = _table() if roots else {}
        elapsed = now - self._time if self._before else None
        self._last = _usages(table, self._before, roots, elapsed)
        self._before, self._time = table, now
        self._next = now + max(self._interval, (time.monotonic() - now) / MAX_SHARE)
        return self._last


def _usages(
    table: Table, before: Table, roots: Collection[ProcessId], elapsed_s: float | None
) -> dict[ProcessId, TreeUsage]:
    children: dict[int, list[int]] = {}
    for pid, seen in table.items():
        children.setdefault(seen.parent, []).append(pid)
    found = {}
    others = {root.pid for root in roots}
    for root in roots:
        one = table.get(root.pid)
        if one is not None and one.start_time == root.start_time:
            pids = _tree(root.pid, children, others)
            ticks = sum(_ticks_since(table[pid], before.get(pid)) for pid in pids)
            percent = None if not elapsed_s or root.pid not in before else 100.0 * ticks / _TICKS / elapsed_s
            found[root] = TreeUsage(percent, sum(table[pid].rss_bytes for pid in pids), pids)
    return found


def _tree(root: int, children: Mapping[int, list[int]], others: Collection[int]) -> frozenset[int]:
    found = {root}
    stack = [root]
    while stack:
        below = [pid for pid in children.get(stack.pop(), ()) if pid not in found and pid not in others]
        found.update(below)
        stack.extend(below)
    return frozenset(found)


def _ticks_since(now: _Seen, before: _Seen | None) -> int:
    """Processor time since the last look; of a process that is new since then, all of it."""
    same = before is not None and before.start_time == now.start_time
    return now.ticks - before.ticks if same and before is not None else now.ticks


def _table() -> dict[int, _Seen]:
    found = {}
    for name in os.listdir("/proc"):
        stat = read_stat(name) if name.isdigit() else None
        if stat is None or len(stat[1]) < 22 or is_over(stat[1]):
            continue
        fields = stat[1]
        ticks = int(fields[11]) + int(fields[12])
        found[int(name)] = _Seen(int(fields[1]), int(fields[19]), ticks, int(fields[21]) * _PAGE)
    return found
