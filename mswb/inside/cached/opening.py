"""From a subject and its key to a dataset: read what is there, become its writer or wait for the one who is."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import deque
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Sequence, Tuple

from ..store import InvalidCacheFile, Manifest, StoreReader, read_manifest
from . import key as keys
from .files import LIST, Files, render, source_changes
from .filesystem import mount_of
from .filler import Filler, filler_of
from .handover import Handover
from .lease import Lease, LeaseHeld, locks_work, take
from .pipeline import CannotCache
from .rows import Layout, Row, describe, layout_of, row_of
from .say import say
from .serve import Rest, Samples, Timed
from .subject import Subject, default_names, width_of
from .times import mark, read_stats, recorder_of

_OUTDATED = frozenset({"stale-code", "schema-changed", "version-mismatch"})
_SHARD = re.compile(r"\d+\.(shard|idx)(\.part)?$")
PROBED = 8
"""Samples of a source that are looked at to learn the columns' shapes."""
WAIT_STEP_S = 0.2
TELL_S = 10.0
"""Seconds between two lines that say how far a filling is."""
MAX_SHUFFLED = 10_000
"""Rows of a sequence that does not fit which are shuffled together."""


class Wishes(NamedTuple):
    """What the caller asked for, beside the source."""

    name: str
    limit: int
    strict: bool
    eager: bool
    wait: bool
    force: bool


class Unwritable(Exception):
    """The cache's own files can't be written: the disk is full, or it is read-only. The source has no part in it."""


class Opening:
    """The steps from a subject and its key to a dataset."""

    def __init__(self, root: str, subject: Subject, wishes: Wishes, parts: Dict[str, Any], files: Files) -> None:
        self.subject, self.wishes, self.parts, self.files = subject, wishes, parts, files
        self.key = keys.key_of(parts)
        self.above = os.path.join(root, wishes.name)
        self.folder = os.path.join(self.above, self.key[: keys.SHORT])
        self.probed: Dict[int, Timed] = {}
        self._begun: Optional[Generator[Any, None, None]] = None
        self._first: List[Timed] = []

    def dataset(self) -> Any:
        """The dataset over the cache, or the one without where there can be none."""
        self._tell_changes()
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as problem:
            say(f"{self.wishes.name}: no cache at {self.folder} ({problem.strerror}); read from the source")
            return self.subject.uncached()
        self.recorder = recorder_of(self.folder)
        mount = mount_of(self.folder)
        self.mapped = not mount.remote
        manifest = self._manifest()
        filler: Optional[Filler] = None
        try:
            if manifest is None or not self._complete(manifest):
                filler, manifest = self._begin(manifest)
        except Unwritable as problem:
            say(f"{self.wishes.name}: the cache can't be written ({problem}); samples it lacks are not kept")
            if manifest is None:
                return self.subject.uncached()
        if manifest is None:
            say(f"{self.wishes.name}: another process is making the cache; this one reads from the source")
            return self.subject.uncached()
        return self._over(manifest, filler)

    # What is there

    def _manifest(self) -> Optional[Manifest]:
        try:
            manifest = read_manifest(self.folder)
        except FileNotFoundError:
            return None
        if manifest.key != self.key:
            path = os.path.join(self.folder, "manifest.json")
            raise InvalidCacheFile(path, 0, "its key is not the one that its folder names")
        return manifest

    def _complete(self, manifest: Manifest) -> bool:
        """Whether nothing is left to write: all is there, or the limit is reached."""
        full_at = manifest.source.get("full_at")
        if isinstance(full_at, int) and full_at >= self.wishes.limit:
            return True
        return len(self._reader()) == manifest.num_samples

    def _reader(self) -> StoreReader:
        return StoreReader(self.folder, mmap=self.mapped)

    def _used(self) -> int:
        with os.scandir(self.folder) as entries:
            return sum(entry.stat().st_size for entry in entries if ".shard" in entry.name)

    def _tell_changes(self) -> None:
        """Say what has changed since the cache of this name was made; stop in strict mode if it is the count."""
        if os.path.exists(os.path.join(self.folder, "manifest.json")):
            notes = read_stats(self.folder).get("notes")
            if isinstance(notes, dict) and _OUTDATED & notes.keys():
                self._mark(self.folder, dict.fromkeys(_OUTDATED, ""))
            return
        others = self._others()
        if not others:
            return
        folder, manifest = max(others, key=lambda pair: pair[1].created)
        old = {**manifest.key_parts, "count": manifest.key_parts.get("count", manifest.num_samples)}
        found = [self._detailed(folder, change) for change in keys.differences(old, self.parts)]
        told = "; ".join(f"{change.status}: {change.reason}" for change in found)
        statuses = {change.status for change in found}
        if self.wishes.strict and "count-mismatch" in statuses and not statuses & {"stale-code", "schema-changed"}:
            raise IndexError(
                f"cache {self.wishes.name!r}: {old['count']} samples in it, {self.parts['count']} in its source now "
                f"({told}); mswb cache clean --dataset {shlex.quote(self.wishes.name)}"
            )
        say(f"{self.wishes.name}: made again, since {told} (the old one is {folder})")
        self._mark(folder, {change.status: change.reason for change in found if change.status in _OUTDATED})

    def _mark(self, folder: str, notes: Dict[str, str]) -> None:
        """Write to a cache what only a training can find out: its code is old, or it is the current one again."""
        try:
            mark(folder, notes)
        except OSError:
            pass  # a cache that is only read

    def _others(self) -> List[Tuple[str, Manifest]]:
        found = []
        try:
            names = os.listdir(self.above)
        except OSError:
            return []
        for name in names:
            folder = os.path.join(self.above, name)
            try:
                found.append((folder, read_manifest(folder)))
            except (OSError, ValueError):
                continue
        return found

    def _detailed(self, folder: str, change: keys.Change) -> keys.Change:
        if change.status != "stale-source":
            return change
        changes = source_changes(folder, self.files)
        return keys.Change(change.status, str(changes)) if changes else change

    # Making it

    def _begin(self, manifest: Optional[Manifest]) -> Tuple[Optional[Filler], Optional[Manifest]]:
        """Become its writer, or find who is; fill it now when that is asked for."""
        own = filler_of(self.folder)
        if own is not None:
            return own, own.manifest
        while True:
            lease = self._lease()
            if lease is not None:
                break
            manifest = self._manifest()
            if manifest is not None and (not self.wishes.eager or self._complete(manifest)):
                return None, manifest  # samples are looked up as they come
            if not self._waited():
                return None, manifest if self.subject.item is not None else None
        manifest = self._manifest()
        if manifest is not None and self._complete(manifest):
            lease.release()
            return None, manifest
        try:
            return self._fill(manifest, lease)
        except BaseException:
            lease.release()
            raise

    def _lease(self) -> Optional[Lease]:
        self._held: Optional[LeaseHeld] = None
        locks = locks_work(self.folder) if os.access(self.folder, os.W_OK) else True
        if not locks:
            text = f"locks do not work on {mount_of(self.folder).kind or 'this file system'}"
            self.recorder.note("lock-unsafe", text)
            say(f"{self.wishes.name}: lock-unsafe: {text}; a writer that dies is not replaced by itself")
        try:
            return take(self.folder, force=self.wishes.force, locks=locks)
        except LeaseHeld as held:
            self._held = held
            return None
        except OSError as problem:
            say(f"{self.wishes.name}: the cache can't be written ({problem.strerror}); samples it lacks are not kept")
            return None

    def _waited(self) -> bool:
        """Wait a moment for the one who writes; False when that is no use."""
        held = self._held
        if held is None or not self.wishes.wait:
            return False
        if not held.fresh:
            say(f"{self.wishes.name}: {held}, but gives no sign of life and may be on another host (force=True)")
            return False
        say(f"{self.wishes.name}: waiting, since {held}")
        time.sleep(WAIT_STEP_S)
        return True

    def _fill(self, manifest: Optional[Manifest], lease: Lease) -> Tuple[Optional[Filler], Manifest]:
        if manifest is None:
            # Without a manifest nothing here counts: a writer that was killed before it had written one.
            self._remove_shards()
            probed = self._probe()
            manifest = self._write_list(layout_of(self._names(probed), probed))
        if not self.wishes.eager:
            filler = self._filler(manifest, lease, self._used())
            return filler, manifest
        filler = self._filler(manifest, lease, self._used())
        misfit = self._fill_now(filler)
        if misfit is not None:
            filler = self._begin_varied(filler, manifest, misfit)
            misfit = self._fill_now(filler)
        if misfit is not None:
            filler.close()
            raise CannotCache(f"cache {self.wishes.name!r}: samples differ in their columns: {describe(misfit)}")
        return None, filler.manifest

    def _filler(self, manifest: Manifest, lease: Lease, used: int) -> Filler:
        try:
            return Filler(self.folder, manifest, _layout(manifest), lease, self.wishes.limit, used)
        except OSError as problem:
            raise Unwritable(problem.strerror) from problem

    def _probe(self) -> List[Row]:
        """A few samples, spread over the source, or its first ones; they are not read again for the cache."""
        if self.subject.item is None:
            self._begun = self.subject.items(0)
            first = [self._timed(partial(next, self._begun)) for _ in range(PROBED)]
            self._first = [timed for timed in first if timed is not None]
            found = [row for row, _ in self._first]
        else:
            item, count = self.subject.item, self.subject.number or 0
            numbers = sorted({(count - 1) * step // (PROBED - 1) for step in range(PROBED)}) if count else []
            timed = {number: self._timed(partial(item, number)) for number in numbers}
            self.probed = {number: pair for number, pair in timed.items() if pair is not None}
            found = [row for row, _ in self.probed.values()]
        if not found:
            raise CannotCache(f"cache {self.wishes.name!r}: the source has no samples")
        return found

    def _timed(self, read: Callable[[], Any]) -> Optional[Timed]:
        """A sample and the seconds that it took; None at the end."""
        begun = time.perf_counter()
        try:
            sample = read()
        except StopIteration:
            return None
        return row_of(sample, len(self.subject.columns) or width_of(sample)), time.perf_counter() - begun

    def _names(self, probed: Sequence[Row]) -> List[str]:
        return self.subject.columns or default_names(len(probed[0]))

    def _write_list(self, layout: Layout) -> Manifest:
        listed = sum(map(len, self.files.values()))
        try:
            with open(os.path.join(self.folder, LIST), "wb") as file:
                file.write(render(self.files))
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise Unwritable(problem.strerror) from problem
        size = sum(item.size for entries in self.files.values() for item in entries.values())
        source = {
            "roots": sorted(self.files),
            "files": listed,
            "bytes": size,
            "digest": self.parts["source"]["digest"],
            "strict": self.wishes.strict,
            "list": LIST,
            "texts": layout.texts,
        }
        versions = self.parts["versions"]
        return Manifest(
            self.wishes.name, self.key, self.parts, layout.columns, self.subject.number, source, time.time(), versions
        )

    def _fill_now(self, filler: Filler) -> Optional[Row]:
        """Read the source to its end, or until the cache is full; gives the first sample whose shape does not fit."""
        begun = told = time.monotonic()
        count = 0
        say(f"{self.wishes.name}: filling the cache at {self.folder}")
        try:
            for number, (row, seconds) in self._left():
                self.recorder.miss(seconds)
                if not filler.layout.fits(row):
                    return row
                if not filler.put(number, row):
                    filler.close()
                    return None
                count = number + 1
                if time.monotonic() - told > TELL_S:
                    told = time.monotonic()
                    of = f" of {self.subject.number}" if self.subject.number else ""
                    say(f"{self.wishes.name}: {count}{of} samples cached")
        except BaseException:
            filler.close()
            raise
        filler.sync()
        whole = len(self._reader())
        filler.close(complete=whole)
        say(f"{self.wishes.name}: {whole} samples cached in {time.monotonic() - begun:.1f} s")
        return None

    def _left(self) -> Generator[Tuple[int, Timed], None, None]:
        """The samples that the cache does not have yet, with their numbers and the seconds that each took."""
        reader = self._reader()
        if self.subject.item is not None:
            for number in range(self.subject.number or 0):
                if number not in reader:
                    timed = self.probed.pop(number, None) or self._timed(partial(self.subject.item, number))
                    if timed is not None:
                        yield number, timed
            return
        # A sequence is cached from its beginning without a gap.
        number, begun = len(reader), self._begun
        first, self._begun = deque(self._first if begun is not None else ()), None
        items = begun if begun is not None else self.subject.items(number)
        try:
            while True:
                timed = first.popleft() if first else self._timed(partial(next, items))
                if timed is None:
                    return
                yield number, timed
                number += 1
        finally:
            items.close()

    def _begin_varied(self, filler: Filler, manifest: Manifest, misfit: Row) -> Filler:
        """Samples have several shapes after all: begin anew with columns of any shape."""
        filler.close()
        lease = take(self.folder, locks=locks_work(self.folder))
        self._remove_shards()
        layout = layout_of(filler.layout.names, [misfit], varied=True)
        source = {**manifest.source, "texts": layout.texts}
        manifest = replace(manifest, schema=layout.columns, source=source)
        return self._filler(manifest, lease, 0)

    def _remove_shards(self) -> None:
        """Called under the lease, before there is a manifest that readers go by, or where this process made it."""
        for name in os.listdir(self.folder):
            if _SHARD.match(name):
                os.unlink(os.path.join(self.folder, name))

    # Serving it

    def _over(self, manifest: Manifest, filler: Optional[Filler]) -> Any:
        from mindspore import dataset as ds

        reader = self._reader()
        layout = _layout(manifest)
        names = layout.names
        options = {"num_parallel_workers": 1, "python_multiprocessing": False, **self.subject.options}
        if self.subject.item is not None or manifest.num_samples == len(reader):
            count = manifest.num_samples if self.subject.number is None else self.subject.number
            item = self.subject.item or _gone
            samples = Samples(reader, layout, item, count or 0, self.recorder, filler, None, self.probed)
            if options["num_parallel_workers"] > 1 and options["python_multiprocessing"]:
                self.recorder.share()
                samples.handover = Handover(samples.keep) if filler is not None else None
            return ds.GeneratorDataset(samples, names, **options)
        return self._partly(ds, reader, manifest, names)

    def _partly(self, ds: Any, reader: StoreReader, manifest: Manifest, names: List[str]) -> Any:
        """A sequence of which only the first part is in the cache."""
        if self.subject.shards is None or self.subject.shuffled is None:
            say(f"{self.wishes.name}: it does not fit (cache_size), and its sampler needs all: read from the source")
            return self.subject.uncached()
        have = len(reader)
        samples = Samples(reader, _layout(manifest), _gone, have, self.recorder)
        say(f"{self.wishes.name}: {have} samples fit (cache_size); the rest is read from the source in every epoch")
        dataset = ds.GeneratorDataset(Rest(samples, self.subject.items, self.subject.shards), names, shuffle=False)
        return dataset.shuffle(max(2, MAX_SHUFFLED)) if self.subject.shuffled else dataset


def _layout(manifest: Manifest) -> Layout:
    texts = manifest.source.get("texts")
    return Layout(manifest.schema, texts if isinstance(texts, dict) else {})


def _gone(number: int) -> Any:
    raise KeyError(f"sample {number} has gone from its cache")
