"""Verifying a file cache: each record against its checksum, each index against its shard, all against the manifest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mswb.cache.check import MAX_FAULTS, Checked, Fault, Options, Watch
from mswb.cache.filecache.folders import LOCK, full_words, fullness, is_written
from mswb.cache.filecache.sources import source_faults
from mswb.cache.filecache.walk import Fallback, Shard, open_shards, records
from mswb.files.safety import printable
from mswb.findings import load_catalogue
from mswb.inside.store.columns import Column
from mswb.inside.store.index import read_raw
from mswb.inside.store.layout import InvalidCacheFile, ShardHeader, shard_path, shards_in
from mswb.inside.store.manifest import Manifest, manifest_path, read_json, read_manifest
from mswb.inside.store.scan import Seen

_RANK = {"error": 2, "warning": 1, "note": 0}
_MANY_IDS = 1 << 26
"""Ids below this are told apart with a byte each; with larger ones all records count as different samples."""
SEALED_INDEX = re.compile(r"\d{4,9}\.idx$")


def check_cache(path: str, options: Options, watch: Watch) -> Checked:
    """Read all of a cache; a :data:`mswb.cache.check.Checker`.

    Raises:
        OSError: the folder or a shard can't be read.
    """
    written = LOCK in os.listdir(path) and is_written(path)
    manifest, faults = open_manifest(path)
    tally = _Tally(watch, _bytes_of(path))
    for shard in open_shards(path, fallback_of(path, manifest), written):
        tally.shard(shard)
        if watch.cancelled():
            break
    faults += tally.faults
    faults += tally.missing_shards(path)
    faults += _of_the_whole(path, options, manifest, tally, written)
    return Checked(
        _status(faults, written),
        tally.records,
        tally.intact,
        # What is advised is about the cache, whichever of its files is damaged.
        tuple(replace(fault, values={"path": path, **fault.values}) for fault in faults[:MAX_FAULTS]),
        tally.unlisted + len(faults),
        _detail(tally, manifest),
        _more(tally, manifest),
    )


def open_manifest(path: str) -> tuple[Manifest | None, list[Fault]]:
    """The manifest, or what is wrong with it."""
    where = manifest_path(path)
    try:
        return read_manifest(path), []
    except FileNotFoundError:
        return None, [Fault("corrupted", "it has no manifest.json", 0, file=where, severity="warning")]
    except InvalidCacheFile as problem:
        return None, [Fault(problem.status, f"manifest.json: {problem.reason}", problem.offset, file=where)]
    except OSError as problem:
        return None, [Fault("corrupted", f"manifest.json: {problem.strerror}", 0, file=where)]


def fallback_of(path: str, manifest: Manifest | None) -> Fallback | None:
    """What every shard's header should say: as the manifest has it, else the first header that is whole."""
    if manifest is not None and manifest.schema:
        return Fallback(manifest.schema, manifest.key)
    for shard in open_shards(path, None, written=False):
        if shard.header is not None:
            return Fallback(shard.header.columns, shard.header.key)
    return None


def _bytes_of(path: str) -> int:
    total = 0
    for number, is_part in shards_in(path).items():
        try:
            total += os.lstat(shard_path(path, number, part=is_part)).st_size
        except FileNotFoundError:
            continue
    return total


@dataclass(slots=True)
class _Tally:
    """What was counted so far. ``records`` includes the lost ones; ``intact`` are different samples that are whole."""

    watch: Watch
    total: int
    done: int = 0
    records: int = 0
    lost: int = 0
    shards: int = 0
    unfinished: int = 0
    torn: int = 0
    faults: list[Fault] = field(default_factory=list)
    unlisted: int = 0
    header: ShardHeader | None = None
    doubles: int = 0
    unreadable: int = 0
    _seen: Any = None

    @property
    def intact(self) -> int:
        return self.records - self.lost - self.doubles

    def shard(self, shard: Shard) -> None:
        """Count one shard."""
        self.shards += 1
        self.unfinished += shard.is_part
        self.header = self.header or shard.header
        self.faults += shard.faults
        missing = sum(int(fault.values.get("lost", 0)) for fault in shard.faults)
        known, found = len(shard.rows) if shard.rows is not None else 0, 0
        for seen in records(shard, self.watch.cancelled, self._told):
            found += self._record(shard, seen)
        if not shard.is_part and shard.rows is not None and found > known and not shard.faults:
            reason = f"it lists {known} records, and the shard has {found}"
            self.faults.append(Fault("index-damaged", reason, 0, file=shard.index))
        if shard.header is None and not shard.is_part:
            self.unreadable += 1
            missing = _rows_of(shard.index)
        self.records += missing
        self.lost += missing
        self.done += shard.size

    def missing_shards(self, path: str) -> list[Fault]:
        """Shards that have an index and are gone themselves."""
        known, found = shards_in(path), []
        for name in sorted(os.listdir(path)):
            number = int(name[:-4]) if SEALED_INDEX.match(name) else -1
            if number < 0 or number in known:
                continue
            rows = _rows_of(os.path.join(path, name))
            self.records, self.lost, self.unreadable = self.records + rows, self.lost + rows, self.unreadable + 1
            where, values = shard_path(path, number), {"lost": rows}
            found.append(Fault("truncated", f"the shard is missing, with {rows} records", 0, file=where, values=values))
        return found

    def _record(self, shard: Shard, seen: Seen) -> int:
        """Count one place; 1 when it is a record."""
        is_record = seen.length >= 0 or shard.rows is None
        if shard.is_part and not seen.intact and seen.status == "truncated":
            self.torn += seen.size
            return 0
        if seen.reason:
            self._fault(shard, seen, is_record)
        if not is_record:
            return 0
        self.records += 1
        self.lost += not seen.intact
        if seen.intact:
            self._sample(seen.sample_id)
        return 1

    def _fault(self, shard: Shard, seen: Seen, is_record: bool) -> None:
        if len(self.faults) >= MAX_FAULTS:
            self.unlisted += 1
            return
        number = self.records if is_record else None
        sample = {"sample_id": seen.sample_id} if seen.sample_id >= 0 else {}
        severity = None if is_record else "warning"
        reason = seen.reason if seen.intact or not sample else f"sample {seen.sample_id}: {seen.reason}"
        self.faults.append(
            Fault(
                seen.status,
                reason,
                seen.offset,
                number,
                seen.size,
                seen.byte,
                file=shard.path,
                severity=severity,  # type: ignore[arg-type]
                values=sample,
            )
        )

    def _sample(self, sample_id: int) -> None:
        if sample_id >= _MANY_IDS:
            return
        if self._seen is None or sample_id >= len(self._seen):
            grown = np.zeros(min(_MANY_IDS, max(1 << 16, 2 * sample_id)), dtype=np.uint8)
            if self._seen is not None:
                grown[: len(self._seen)] = self._seen
            self._seen = grown
        self.doubles += int(self._seen[sample_id])
        self._seen[sample_id] = 1

    def _told(self, offset: int) -> None:
        self.watch.report(self.done + offset, self.total, "bytes")


def _rows_of(index: str) -> int:
    """How many records an index says a shard has that can't be read."""
    try:
        return read_raw(index)[0].rows
    except (InvalidCacheFile, OSError):
        return 0


def _of_the_whole(
    path: str, options: Options, manifest: Manifest | None, tally: _Tally, written: bool
) -> Iterator[Fault]:
    """What is wrong with a cache as a whole, while its shards may each be fine."""
    if tally.unfinished and not written:
        torn = f", behind them {tally.torn} bytes of a record that was being written" if tally.torn else ""
        reason = f"nobody is writing it any more; {tally.intact} samples are whole{torn}"
        yield Fault("interrupted", reason, file=path)
    elif not tally.records and not written:
        yield Fault("empty", "it has no samples", file=path)
    yield from _counts(path, options, manifest, tally)
    if manifest is not None and os.path.basename(path.rstrip("/")) != manifest.key[:16]:
        yield Fault("renamed", f"its key begins with {printable(manifest.key[:16])}", file=path)
    yield from source_faults(path, manifest.source if manifest is not None else {})
    yield from _notes(path)


def _counts(path: str, options: Options, manifest: Manifest | None, tally: _Tally) -> Iterator[Fault]:
    wanted = options.records
    if wanted is None and manifest is not None and not tally.unfinished:
        wanted = manifest.num_samples
    here = tally.records - tally.doubles
    if wanted is not None and wanted != here and tally.records and not tally.unreadable:
        reason = f"{here} samples, where the source has {wanted}"
        yield Fault("count-mismatch", reason, file=path, values={"expected": wanted, "records": here})


def _notes(path: str) -> Iterator[Fault]:
    """What processes that used it have written down ("lock-unsafe")."""
    try:
        notes = read_json(os.path.join(path, "stats.json")).get("notes", {})
        known = [(code, str(text)) for code, text in notes.items() if code in load_catalogue()]
    except (OSError, InvalidCacheFile, AttributeError):
        return
    for code, text in known:
        yield Fault(code, printable(text, 300), file=path)


def _status(faults: list[Fault], written: bool) -> str:
    def rank(fault: Fault) -> int:
        return _RANK[fault.severity or load_catalogue()[fault.code].severity]

    if not faults:
        return "building" if written else "ok"
    # The first of the worst: max() keeps the first.
    return max(faults, key=rank).code


def _detail(tally: _Tally, manifest: Manifest | None) -> str:
    parts = [f"{tally.intact} samples in {tally.shards} shard{'s' if tally.shards != 1 else ''}"]
    if tally.lost:
        parts.append(f"{tally.lost} damaged or lost")
    if manifest is not None and manifest.num_samples is not None and manifest.num_samples != tally.intact:
        parts.append(f"the source has {manifest.num_samples}")
    if manifest is not None:
        parts.append(full_words(tally.intact, fullness(manifest.source, manifest.key_parts)))
    return ", ".join(filter(None, parts))


def column_text(column: Column) -> str:
    """``x: |u1 [64, 64, 3]``."""
    size = "" if column.is_plain else " varying" if column.shape is None else f" {list(column.shape)}"
    return f"{printable(column.name, 200)}: {column.dtype}{size}"


def _more(tally: _Tally, manifest: Manifest | None) -> dict[str, Any]:
    header = tally.header
    more: dict[str, Any] = {"shards": tally.shards, "torn_bytes": tally.torn}
    if header is not None:
        more["key"] = printable(header.key, 80)
        more["checksum"] = header.hash_name
        more["schema"] = [column_text(one) for one in header.columns]
    if manifest is not None:
        more["num_samples"] = manifest.num_samples
        more.update(fullness(manifest.source, manifest.key_parts))
    return more
