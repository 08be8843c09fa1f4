"""All that is known of one file cache: what it is, how fast it was in training and is now, where it lies, who wrote it.

Load times come twice: ``load_ms`` as training has counted them, and ``sample_ms`` from reads made now. Those are done
with pread, never through a mapping: a file that is cut meanwhile must not end this process.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mswb.cache.filecache.folders import STATS, fullness, glance, name_of
from mswb.cache.filecache.stats import sound
from mswb.cache.filecache.verified import recall
from mswb.cache.filecache.verify import column_text, open_manifest
from mswb.files.safety import printable
from mswb.inside.cached.filesystem import mount_of
from mswb.inside.store.layout import InvalidCacheFile, shards_in
from mswb.inside.store.manifest import Manifest, read_json
from mswb.inside.store.reader import StoreReader

READS = 200
"""Random reads of the sample; a cache of fewer samples is read several times over."""
COLD_READS = 20
SECONDS = 10.0
"""A sample ends here on a file system so slow that it would take longer; its count says so."""
_SHOWN = 8
_MAX_TEXT = 200


def gather(path: str, seed: int | None = None) -> dict[str, Any]:
    """The facts by name, for a report. What can't be told is None.

    Args:
        seed: chooses the samples that are read.
    """
    path = os.path.realpath(path)
    manifest, faults = open_manifest(path)
    mount = mount_of(path)
    facts: dict[str, Any] = {"name": name_of(path), **glance(path).more}
    facts.update(_of_manifest(manifest))
    facts.update(_of_stats(path))
    facts.update(_of_shards(path))
    facts.update(_of_reads(path, seed))
    recorded, sampled = facts.get("load_ms"), facts.get("sample_ms")
    facts["avg_load_time_ms"] = _mean(recorded) if _mean(recorded) is not None else _mean(sampled)
    facts["file_system"] = {
        "type": mount.kind or None,
        "mounted_at": printable(mount.point) or None,
        "remote": mount.remote,
        "rsize_bytes": mount.size("rsize"),
        "wsize_bytes": mount.size("wsize"),
        "read_with": "pread" if mount.remote else "mmap",
    }
    facts["verified"] = recall(path)
    if faults:
        facts["problem"] = faults[0].reason
    return facts


def _of_manifest(manifest: Manifest | None) -> dict[str, Any]:
    if manifest is None:
        return {}
    return {
        "source_samples": manifest.num_samples,
        **fullness(manifest.source, manifest.key_parts),
        "created": manifest.created or None,
        "versions": {printable(str(name), 60): printable(str(text), 60) for name, text in manifest.versions.items()},
        "writers": [_plain(one) for one in manifest.writers[-_SHOWN:]],
        "writers_total": len(manifest.writers),
    }


def _of_stats(path: str) -> dict[str, Any]:
    """What training has counted (:mod:`mswb.inside.cached.times`)."""
    try:
        stats = read_json(os.path.join(path, STATS))
    except (OSError, InvalidCacheFile):
        stats = {}
    stats, problem = sound(stats)
    facts: dict[str, Any] = {name: _number(stats.get(name)) for name in ("hits", "misses", "loads", "last_used")}
    facts.update((name, _times(stats.get(name))) for name in ("load_ms", "source_ms"))
    if problem:
        facts["stats_problem"] = problem
    readers = stats.get("readers")
    facts["readers"] = [_plain(one) for one in readers[-_SHOWN:]] if isinstance(readers, list) else []
    return facts


def _of_shards(path: str) -> dict[str, Any]:
    known = shards_in(path)
    return {"shards": len(known), "unfinished_shards": sum(known.values())}


def _of_reads(path: str, seed: int | None) -> dict[str, Any]:
    """Columns, and how long reading a sample takes now: warm, and with its pages dropped before."""
    try:
        with StoreReader(path, mmap=False) as reader:
            ids = reader.ids().tolist()
            facts: dict[str, Any] = {
                "num_samples": len(ids),
                "schema": [column_text(one) for one in reader.columns],
            }
            if not ids:
                return facts
            chosen = random.Random(seed)
            warm, damaged = _timed(reader, [chosen.choice(ids) for _ in range(READS)])
            cold, _ = _timed(reader, [chosen.choice(ids) for _ in range(COLD_READS)], cold=True)
    except (OSError, InvalidCacheFile) as problem:
        return {"sample_ms": None, "cold_read_ms": None, "unreadable": printable(str(problem), 400)}
    facts.update(sample_ms=summary(warm), cold_read_ms=_mean(summary(cold)), damaged_in_sample=damaged)
    return facts


def _timed(reader: StoreReader, ids: Sequence[int], *, cold: bool = False) -> tuple[list[float], int]:
    """Milliseconds of each read with its checksum, and how many samples were damaged."""
    times: list[float] = []
    damaged = 0
    end = time.monotonic() + SECONDS
    for sample_id in ids:
        if cold:
            reader.drop(sample_id)
        begin = time.perf_counter()
        try:
            reader.get(sample_id)
        except InvalidCacheFile:
            damaged += 1
            continue
        times.append((time.perf_counter() - begin) * 1000)
        if time.monotonic() > end:
            break
    return times, damaged


def summary(times: Sequence[float]) -> dict[str, float | int] | None:
    """Mean, p50, p95, p99 and maximum in ms, in the form of ``stats.json``; None for no times."""
    if not times:
        return None
    ordered = sorted(times)
    found: dict[str, float | int] = {"mean": _short(sum(ordered) / len(ordered))}
    for share in (50, 95, 99):
        found[f"p{share}"] = _short(ordered[min(len(ordered) - 1, len(ordered) * share // 100)])
    return {**found, "max": _short(ordered[-1]), "count": len(ordered)}


def _mean(times: Any) -> float | None:
    value = times.get("mean") if isinstance(times, Mapping) else None
    return float(value) if isinstance(value, (int, float)) else None


def _times(value: Any) -> dict[str, Any] | None:
    """Times as training counted them; None before the first."""
    if not isinstance(value, dict) or not _number(value.get("count")):
        return None
    return {name: _number(value.get(name)) for name in ("mean", "p50", "p95", "p99", "max", "count")}


def _plain(entry: Any) -> dict[str, Any]:
    """An entry of a list in a file: numbers and short texts only."""
    return dict(_entries(entry)) if isinstance(entry, dict) else {}


def _entries(entry: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(entry.items())[:20]:
        if isinstance(value, (int, float)) or value is None:
            yield printable(str(name), 60), value
        elif isinstance(value, str):
            yield printable(str(name), 60), printable(value, _MAX_TEXT)


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _short(value: float) -> float:
    return float(f"{value:.4g}")
