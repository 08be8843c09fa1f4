"""Whether a cache is worth having: its load times against those of the source, and what the mount has to do with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mswb.files.mounts import MOUNTINFO, is_network
from mswb.findings import Finding, Where, make

FEW = 50
"""Loads below which a mean says nothing."""
SLOW_MS = 30.0
"""A mean load time above this is slow for a local disk; the seed article's cases are 12 ms (SSD) and 180 ms (NFS)."""
GOOD_BLOCK = 1 << 20
_OPTION = re.compile(r"(?:^|,)(rsize|wsize)=(\d+)")


@dataclass(frozen=True, slots=True)
class Mount:
    """The file system a path lies on. ``rsize``, ``wsize``: bytes that one request moves; None where it has none."""

    point: str
    kind: str
    source: str
    rsize: int | None = None
    wsize: int | None = None

    @property
    def network(self) -> bool:
        return is_network(self.kind)

    @property
    def small_blocks(self) -> bool:
        """Whether requests are smaller than a server can take."""
        return any(size is not None and size < GOOD_BLOCK for size in (self.rsize, self.wsize))


def mount_of(path: str, table: str | None = None) -> Mount | None:
    """The mount that holds a path, with its request sizes; None where the kernel's table can't be read.

    Args:
        table: the text of /proc/self/mountinfo.
    """
    try:
        text = Path(MOUNTINFO).read_text(encoding="utf-8", errors="surrogateescape") if table is None else table
    except OSError:
        return None
    real, best = os.path.realpath(path), None
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not separator or len(fields) < 6 or len(rest) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[4])
        if (real == point or real.startswith(point.rstrip("/") + "/")) and (
            best is None or len(point) >= len(best.point)
        ):
            sizes = {name: int(value) for name, value in _OPTION.findall(rest[2])}
            best = Mount(point, rest[0], rest[1], sizes.get("rsize"), sizes.get("wsize"))
    return best


def judge(path: str, name: str, stats: Mapping[str, Any], mount: Mount | None) -> list[Finding]:
    """What load times say of a cache.

    Args:
        stats: ``stats.json`` of a file cache: ``load_ms`` and ``source_ms`` with ``mean``, ``p95`` and ``count``.
    """
    load, load_count = _mean(stats.get("load_ms"))
    source, source_count = _mean(stats.get("source_ms"))
    if load is None or load_count < FEW:
        return []
    slower = source is not None and source_count >= FEW and load >= source
    slow_disk = mount is not None and mount.network and load >= SLOW_MS
    if not slower and not slow_disk:
        return []
    values = {
        "name": name,
        "path": path,
        "load_ms": round(load, 3),
        "source_ms": None if source is None else round(source, 3),
        "kind": mount.kind if mount else "?",
        "point": mount.point if mount else "?",
        "rsize": mount.rsize if mount else None,
        "wsize": mount.wsize if mount else None,
    }
    code = "cache-slower" if slower else "cache-on-slow-share"
    found = [make(code, where=Where(file=path), values=values)]
    if mount is not None and mount.network and mount.small_blocks:
        found.append(make("cache-small-requests", where=Where(file=path), values=values))
    return found


def _mean(times: Any) -> tuple[float | None, int]:
    if not isinstance(times, Mapping):
        return None, 0
    mean, count = times.get("mean"), times.get("count")
    good = isinstance(mean, (int, float)) and isinstance(count, int)
    return (float(mean), count) if good else (None, 0)  # type: ignore[arg-type, return-value]
