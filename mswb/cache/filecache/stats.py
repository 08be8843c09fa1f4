"""Whether what ``stats.json`` of a cache says can be (:mod:`mswb.inside.cached.times` writes it)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from mswb.files.safety import printable

_COUNTS = ("hits", "misses", "loads", "bytes")
_STAMPS = ("created", "last_used")
_TIMES = ("load_ms", "source_ms")
_SUMMARY = ("mean", "p50", "p95", "p99", "max")
_MOST = 1 << 63
_LATEST = 253_402_300_800
"""The year 10000 in seconds since the epoch."""


def sound(stats: Any) -> tuple[Mapping[str, Any], str]:
    """What can be believed of a ``stats.json``, and the first thing in it that can't be, in words.

    With one thing wrong all numbers are left out; what processes noted down in texts stays.
    """
    if not isinstance(stats, Mapping):
        return {}, "stats.json is ignored: it is no object"
    problem = next(_problems(stats), "")
    if not problem:
        return stats, ""
    notes = stats.get("notes")
    return ({"notes": notes} if isinstance(notes, Mapping) else {}), f"stats.json is ignored: {problem}"


def _problems(stats: Mapping[str, Any]) -> Iterator[str]:
    for name in _COUNTS:
        if name in stats and not _is_count(stats[name]):
            yield f"{name} is {_shown(stats[name])}"
    for name in _STAMPS:
        if stats.get(name) is not None and not _is_number(stats[name], _LATEST):
            yield f"{name} is {_shown(stats[name])}"
    for name in _TIMES:
        times = stats.get(name)
        if times is None:
            continue
        if not isinstance(times, Mapping):
            yield f"{name} is {_shown(times)}"
            continue
        if times.get("count") is not None and not _is_count(times["count"]):
            yield f"count of {name} is {_shown(times['count'])}"
        for part in _SUMMARY:
            if times.get(part) is not None and not _is_number(times[part], _MOST):
                yield f"{part} of {name} is {_shown(times[part])}"
    readers = stats.get("readers")
    if readers is not None and not isinstance(readers, list):
        yield f"readers is {_shown(readers)}"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and _is_number(value, _MOST)


def _is_number(value: Any, most: int) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < most and math.isfinite(value)
    )


def _shown(value: Any) -> str:
    return printable(repr(value)[:200], 60)
