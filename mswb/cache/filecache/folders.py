"""Which folders are file caches: ``<root>/<name>/<first 16 digits of the key>/``. By a glance, without numpy."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mswb.cache.filecache.stats import sound
from mswb.files.items import Guess
from mswb.files.safety import printable

SHARD = re.compile(r"(\d{4,9})\.shard(\.part)?$")
"""As :data:`mswb.inside.store.layout.SHARD_NAME`, which is not imported here since numpy would come with it."""
INDEX = re.compile(r"\d{4,9}\.idx(\.part)?$")
KEY = re.compile(r"[0-9a-f]{16}$")
MANIFEST, STATS, LOCK = "manifest.json", "stats.json", "LOCK"
_MAGIC = b"MSWCSHD1"
_MAX_JSON = 1 << 20


def sniff_folder(path: str, names: Sequence[str]) -> Guess | None:
    """A folder of shards, by their names and the first bytes of one, or by its own name and its manifest."""
    shards = [name for name in names if ".shard" in name and SHARD.match(name)]
    has_manifest = MANIFEST in names and KEY.match(os.path.basename(path)) is not None
    if not has_manifest and not (shards and (_begins_right(path, shards[0]) or any(map(INDEX.match, names)))):
        return None
    if not shards:
        return Guess(
            "file-cache", "no samples yet", "a manifest in a folder named by a key", _status(path, names, "empty")
        )
    unfinished = any(name.endswith(".part") for name in shards)
    status = _status(path, names, "interrupted") if unfinished else ""
    count = f"{len(shards)} shard{'s' if len(shards) > 1 else ''}"
    detail = f"{count}, the last not finished" if unfinished else count
    return Guess("file-cache", detail, f"shards that begin with {_MAGIC.decode()}", status)


def name_of(path: str) -> str:
    """What a cache is called: the folder above, or its own where that is not named by a key."""
    folder = path.rstrip("/")
    return os.path.basename(os.path.dirname(folder) if KEY.match(os.path.basename(folder)) else folder)


def is_written(path: str) -> bool:
    """Whether a process holds the lease of a cache, or may hold it."""
    from mswb.inside.cached.filesystem import mount_of
    from mswb.inside.cached.lease import holder, provably_dead

    held = holder(path)
    return held is not None and (held.owner is None or not provably_dead(held.owner, mount_of(path).remote))


def _status(path: str, names: Sequence[str], without_writer: str) -> str:
    return "building" if LOCK in names and is_written(path) else without_writer


def _begins_right(path: str, name: str) -> bool:
    try:
        descriptor = os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.read(descriptor, len(_MAGIC)) == _MAGIC
    except OSError:
        return False
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Glance:
    """What a list says of a cache: ``records`` as its indexes count them, keys for a report, ``detail`` for people."""

    records: int | None
    more: Mapping[str, Any]
    detail: str = ""


def glance(path: str) -> Glance:
    """What the indexes, the manifest and ``stats.json`` of a cache say; nothing where that is nothing or nonsense."""
    manifest = _small_json(os.path.join(path, MANIFEST))
    stats, problem = sound(_small_json(os.path.join(path, STATS)))
    key, loads = manifest.get("key"), stats.get("load_ms")
    hits, misses = stats.get("hits"), stats.get("misses")
    more: dict[str, Any] = {"key": printable(key, 80) if isinstance(key, str) else None}
    mean = loads.get("mean") if isinstance(loads, dict) else None
    more["avg_load_time_ms"] = mean if isinstance(mean, (int, float)) else None
    both = hits + misses if isinstance(hits, int) and isinstance(misses, int) else 0
    more["hit_rate"] = round(hits / both, 4) if isinstance(hits, int) and both > 0 else None
    for name, source in (("num_samples", manifest), ("created", manifest), ("last_used", stats)):
        value = source.get(name)
        more[name] = value if isinstance(value, (int, float)) else None
    records = _rows(path)
    more.update(fullness(manifest.get("source"), manifest.get("key_parts")))
    return Glance(records, more, ", ".join(filter(None, (full_words(records, more), problem))))


def fullness(source: Any, key_parts: Any) -> dict[str, int]:
    """``full_at_bytes`` (the limit that was reached) and ``source_samples`` of a cache that does not hold all of its
    source, by ``source`` and ``key_parts`` of its manifest; empty for every other."""
    limit = source.get("full_at") if isinstance(source, Mapping) else None
    if not isinstance(limit, int) or isinstance(limit, bool):
        return {}
    total = key_parts.get("count") if isinstance(key_parts, Mapping) else None
    return {"full_at_bytes": limit, **({"source_samples": total} if isinstance(total, int) else {})}


def full_words(records: int | None, known: Mapping[str, Any]) -> str:
    """That a cache is full, in a few words; empty where :func:`fullness` knew nothing of it."""
    if "full_at_bytes" not in known:
        return ""
    total = known.get("source_samples")
    share = "" if records is None or total is None else f": {records} of {total} samples of its source"
    return f"full at its limit of {known['full_at_bytes'] / (1 << 20):.4g} MiB{share}"


def _rows(path: str) -> int | None:
    """Rows of all indexes; None when one of them can't be read."""
    total = 0
    try:
        for name in os.listdir(path):
            if INDEX.match(name):
                total += _rows_of(os.path.join(path, name))
    except (OSError, struct.error):
        return None
    return total


def _rows_of(path: str) -> int:
    """The count of an index: see :mod:`mswb.inside.store.layout`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if path.endswith(".part"):
            return max(0, os.fstat(descriptor).st_size - 64) // 32
        return int(struct.unpack("<Q", os.pread(descriptor, 8, 16))[0])
    finally:
        os.close(descriptor)


def _small_json(path: str) -> dict[str, Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = json.loads(file.read(_MAX_JSON))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
