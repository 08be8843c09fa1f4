"""Whether a cache is worth having: its load times against those of the source, and what the mount has to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mswb.findings import Finding, Where, make
from mswb.inside.cached.filesystem import Mount

FEW = 50
"""Loads below which a mean says nothing."""
SLOW_MS = 30.0
"""A mean load time above this is slow for a local disk; the seed article's cases are 12 ms (SSD) and 180 ms (NFS)."""
GOOD_REQUEST = 1 << 20
"""Bytes that one request to a file server can move."""


def judge(path: str, name: str, stats: Mapping[str, Any], mount: Mount) -> list[Finding]:
    """What load times say of a cache.

    Args:
        stats: ``stats.json`` of a file cache: ``load_ms`` and ``source_ms`` with ``mean``, ``p95`` and ``count``.
    """
    load, load_count = _mean(stats.get("load_ms"))
    source, source_count = _mean(stats.get("source_ms"))
    if load is None or load_count < FEW:
        return []
    slower = source is not None and source_count >= FEW and load >= source
    slow_share = mount.remote and load >= SLOW_MS
    if not slower and not slow_share:
        return []
    values = {
        "name": name,
        "path": path,
        "load_ms": round(load, 3),
        "source_ms": None if source is None else round(source, 3),
        "kind": mount.kind or "?",
        "point": mount.point or "?",
        "rsize": mount.size("rsize"),
        "wsize": mount.size("wsize"),
    }
    code = "cache-slower" if slower else "cache-on-slow-share"
    found = [make(code, where=Where(file=path), values=values)]
    requests = [size for size in (mount.size("rsize"), mount.size("wsize")) if size is not None]
    if mount.remote and any(size < GOOD_REQUEST for size in requests):
        found.append(make("cache-small-requests", where=Where(file=path), values=values))
    return found


def _mean(times: Any) -> tuple[float | None, int]:
    if not isinstance(times, Mapping):
        return None, 0
    mean, count = times.get("mean"), times.get("count")
    good = isinstance(mean, (int, float)) and isinstance(count, int)
    return (float(mean), count) if good else (None, 0)  # type: ignore[arg-type, return-value]
