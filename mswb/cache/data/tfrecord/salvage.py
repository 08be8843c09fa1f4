"""Mending a TFRecord file: its whole records go into a new file beside it; nothing is written into the old one.

A packed file is saved unpacked. Records whose checksums fit but that MindSpore could not read (no tf.train.Example, or
without a feature that the others have) are left out too, since one of them ends a training.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from mswb.cache.check import Checked
from mswb.cache.data.tfrecord.example import Columns, NotAnExample, columns
from mswb.cache.data.tfrecord.frames import BESIDE, Frames, Long, walk
from mswb.cache.data.tfrecord.resync import HEADER
from mswb.cache.data.tfrecord.source import Source, Window, opened
from mswb.cache.data.tfrecord.tally import Tally, Usual, from_report
from mswb.cache.repair import Repair
from mswb.cache.trash import journal
from mswb.files.moves import folder_at, real_place, rename_new
from mswb.files.safety import printable
from mswb.plan import Action, Plan, path_identity

ENDING = ".repaired"
KIND = "save-records"
_CHUNK = 1 << 20
_SHOWN = 20
_DAMAGED = frozenset({"corrupted", "truncated", "schema-changed"})
_HOPELESS = {
    "empty": "there is nothing in it to save",
    "compressed": "it is whole; a reader only has to be told how it is packed",
    "count-mismatch": "the records that are missing are in no file here: copy them from their source",
    "payload-changed": "its records are whole as far as the format shows: copy it again from its source",
    "lfs-pointer": "git lfs pull brings the file itself",
    "not-a-record-file": "it is no TFRecord",
    "ok": "its records are whole; copy what is missing from its source",
}


def plan(path: str, checked: Checked, out: str | None) -> Repair:
    """What can be saved of a file, by what its check found; see :mod:`mswb.cache.repair`."""
    if not any(fault.code in _DAMAGED for fault in checked.faults):
        return _nothing(path, _HOPELESS.get(checked.status, "nothing of it can be repaired"))
    if not checked.intact_records or checked.records is None:
        return _nothing(path, "no record of it is whole")
    target = out or path + ENDING
    if os.path.lexists(target):
        return replace(_nothing(path, f"{target} is there already: move it away, or name another"), taken=target)
    kept = checked.intact_records
    usual = from_report(checked.more["features"]) if "features" in checked.more else None
    detail = f"the {kept} whole records of {os.path.basename(path)}, out of {checked.records}"
    with opened(path) as source:
        detail += ", saved unpacked" if source.packing else ""
    action = Action(KIND, target, _identity(path), 0, printable(detail, 300))

    def do(action: Action) -> str:
        if _identity(path) != action.identity:
            return "the file has changed since it was checked"
        return _save(path, target, kept, usual)

    return Repair(Plan((action,), tuple(_dropped(path, checked))), {KIND: do})


def _nothing(path: str, reason: str) -> Repair:
    return Repair(Plan((), (f"{path}: {reason}",)))


def _identity(path: str) -> str:
    found = os.stat(path)
    return f"{path_identity(path)}:{found.st_size}:{found.st_mtime_ns}"


def _dropped(path: str, checked: Checked) -> Iterator[str]:
    """What is left out, place by place."""
    places = [fault for fault in checked.faults if fault.code in _DAMAGED]
    name = os.path.basename(path)
    for fault in places[:_SHOWN]:
        where = "" if fault.offset is None else f" at byte {fault.offset}"
        yield printable(f"{name}: left out{where}: {fault.reason}", 400)
    lost = (checked.records or 0) - (checked.intact_records or 0)
    if lost > _SHOWN:
        yield f"{name}: {lost} records are left out in all; 'mswb cache verify --format json' lists the first of them"


def _save(path: str, target: str, expected: int, usual: Usual | None) -> str:
    """Write the records; returns why not, or nothing."""
    with opened(path) as source, _beside(target) as (file, name):
        count = 0
        for data, records in _whole(source, usual):
            file.write(data)
            count += records
        if count != expected:
            return f"{count} records were found, {expected} were expected: the file changes while it is read"
        file.flush()
        os.fchmod(file.fileno(), os.stat(path).st_mode & 0o777)
        os.fsync(file.fileno())
        place = real_place(target)
        with folder_at(os.path.dirname(place)) as folder:
            try:
                rename_new(folder, name, folder, os.path.basename(place))
            except FileExistsError:
                return f"{target} is there by now"
        journal.made(place)
        _sync(os.path.dirname(place))
    return ""


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _beside(target: str) -> Iterator[tuple[BinaryIO, str]]:
    """A new file in the folder of ``target``, and its name; it goes unless it was renamed."""
    folder = os.path.dirname(real_place(target))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".mswb-part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file, os.path.basename(temporary)
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _whole(source: Source, usual: Usual | None) -> Iterator[tuple[bytes, int]]:
    """The bytes of all frames that are kept, and how many records end in them."""
    chooser = _Chooser(source, usual)
    for part in walk(source):
        if isinstance(part, Frames):
            yield from _runs(source, part, chooser.kept(part))
        elif isinstance(part, Long) and chooser.keeps(Window(source, part.offset + HEADER, part.length)):
            yield from _pieces(source, part.offset, part.length + BESIDE, 1)


def _runs(source: Source, frames: Frames, kept: NDArray[np.bool_]) -> Iterator[tuple[bytes, int]]:
    """The frames that are kept, as many at once as stand together."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False])).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        start = int(frames.offsets[first])
        size = int(frames.offsets[last - 1] + frames.lengths[last - 1]) + BESIDE - start
        if frames.held:
            place = int(frames.records.starts[first]) - HEADER
            yield frames.records.bytes(place, size), last - first
        else:
            yield from _pieces(source, start, size, last - first)


def _pieces(source: Source, start: int, size: int, records: int) -> Iterator[tuple[bytes, int]]:
    for at in range(0, size, _CHUNK):
        length = min(_CHUNK, size - at)
        data = source.read(start + at, length)
        if len(data) < length:
            return
        yield data, records if at + length == size else 0


class _Chooser:
    """Which whole frames are kept: all, or of a file of Examples those that have what the others have."""

    def __init__(self, source: Source, usual: Usual | None) -> None:
        self._tally, self._usual, self._source = Tally(source), usual, source

    def kept(self, frames: Frames) -> NDArray[np.bool_]:
        kept = ~frames.damaged
        if self._usual is None:
            return kept
        for features, rows in self._tally.sorted_out(frames):
            if features is None:
                for row in rows[kept[rows]].tolist():
                    kept[row] = self.keeps(frames.data(row, self._source))
            else:
                kept[rows] &= self._fits(features)
        return kept

    def keeps(self, data: bytes | Window) -> bool:
        if self._usual is None:
            return True
        try:
            return self._fits(columns(data))
        except NotAnExample:
            return False

    def _fits(self, features: Columns) -> bool:
        return self._usual is None or self._usual.lack(features) is None
