"""The set that a file belongs to by its name, ``NAME-00003-of-00016``: are all there, and of like size?"""

from __future__ import annotations

import os
import re
import statistics

from mswb.cache.check import Fault

_NAME = re.compile(r"(?P<before>.*?)-?(?P<number>\d{1,9})-of-(?P<count>\d{1,9})(?P<after>.*)", re.DOTALL)
_SHOWN = 10
_FEW = 3
_SMALL = 0.5
"""A shard of less than this share of the usual size is told of; the last one may be smaller."""


def shard_faults(path: str) -> list[Fault]:
    """What is wrong with the set, told at its first shard that is there; what is odd with this shard."""
    folder, name = os.path.split(path)
    own = _NAME.fullmatch(name)
    if own is None:
        return []
    sizes = _sizes(folder or ".", own)
    number, count = int(own["number"]), int(own["count"])
    faults = []
    if sizes and number == min(sizes):
        faults += _missing(sizes, count)
    others = [size for other, size in sizes.items() if other != number]
    if len(others) >= _FEW and number < count - 1 and number in sizes:
        usual = statistics.median(others)
        if sizes[number] < _SMALL * usual:
            reason = f"{sizes[number]} bytes, where the other shards of its set have about {round(usual)}"
            faults.append(Fault("tfrecord-shard-small", reason, values={"usual": usual}))
    return faults


def _missing(sizes: dict[int, int], count: int) -> list[Fault]:
    gone = count - sum(number < count for number in sizes)
    if gone <= 0:
        return []
    first = [number for number in range(min(count, len(sizes) + _SHOWN)) if number not in sizes][:_SHOWN]
    numbers = ", ".join(map(str, first)) + (" ..." if gone > len(first) else "")
    reason = f"{gone} of the {count} shards are not here: {numbers}"
    return [Fault("tfrecord-shards-missing", reason, values={"missing_count": gone, "missing": first})]


def _sizes(folder: str, own: re.Match[str]) -> dict[int, int]:
    """The sizes of all shards of the set, by number."""
    found: dict[int, int] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            other = _NAME.fullmatch(entry.name)
            same = other is not None and all(other[key] == own[key] for key in ("before", "count", "after"))
            if other is not None and same and entry.is_file(follow_symlinks=False):
                found[int(other["number"])] = entry.stat(follow_symlinks=False).st_size
    return found
