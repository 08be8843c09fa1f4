"""Verifying a TFRecord file: every frame by both checksums, every record as a tf.train.Example.

MindSpore 2.10 checks nothing but the header of the first frame: it reads changed data without a word, and it believes
every length. What the frames can't show, records that are missing at the end, a count or a baseline does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mswb.cache import baseline
from mswb.cache.check import MAX_FAULTS, Checked, Fault, Options, Watch
from mswb.cache.data.tfrecord.bits import flipped_byte
from mswb.cache.data.tfrecord.foreign import foreign
from mswb.cache.data.tfrecord.frames import BESIDE, Broken, Frames, Long, walk
from mswb.cache.data.tfrecord.resync import HEADER, SEARCHED, begins_with_records
from mswb.cache.data.tfrecord.shards import shard_faults
from mswb.cache.data.tfrecord.source import WRONG_TRAILER, Packed, Source, opened
from mswb.cache.data.tfrecord.tally import Group, Lack, Tally, report
from mswb.files.safety import printable

WORST = (
    *("not-a-record-file", "lfs-pointer", "empty", "corrupted", "truncated", "schema-changed", "count-mismatch"),
    *("payload-changed", "compressed"),
)
"""The codes that are statuses, the worst first."""
_LOCATED = 20
"""Damaged records in which a flipped bit is looked for."""
_NAMES = 200
_SAMPLE = 1 << 20

REASONS: Mapping[str, tuple[str, str]] = {
    "data_crc": ("corrupted", "record {record}: the data does not fit its checksum"),
    "bit": ("corrupted", "record {record}: one bit of byte {byte} has flipped"),
    "length_crc": ("corrupted", "record {record}: its length or the checksum of that is damaged"),
    "missing_bytes": ("corrupted", "record {record}: bytes are missing in it, the next begins {length} bytes on"),
    "no_frame": ("corrupted", "from record {record} on no whole record is found in {length} bytes"),
    "nul_tail": ("corrupted", "the last {length} bytes, from record {record} on, are all NUL"),
    "truncated": ("truncated", "record {record} says {claimed} bytes, the file ends after {there}"),
    "cut_header": ("truncated", "record {record} is cut after {length} of the 12 bytes of its header"),
    "example": ("corrupted", "record {record}: its checksums fit, but it is no tf.train.Example ({why})"),
}
"""The code and the words of each kind of fault."""
_CRLF = "; every line feed has become CR LF: the file was copied as text"


def check(path: str, options: Options, watch: Watch) -> Checked:
    """See :mod:`mswb.cache.check`.

    Raises:
        OSError: it can't be read.
    """
    with opened(path) as source:
        if source.size == 0 and not source.packing:
            return _one(Fault("empty", "0 bytes", offset=0))
        other = foreign(source.read(0, 64))
        if other is not None:
            return _one(other)
        if source.packing and not begins_with_records(source, watch.cancelled):
            reason = f"no record is found in the first {SEARCHED >> 20} MiB of what the {source.packing} file holds"
            return _one(Fault("not-a-record-file", reason, offset=0))
        seen = _Seen(path, source, options)
        seen.walk(watch)
        if watch.cancelled():
            raise OSError(0, "it was cancelled")
        if seen.is_none:
            reason = "its first bytes are no header of a record, and no record follows"
            return _one(Fault("not-a-record-file", seen.packed(reason), offset=0))
        seen.finish(watch)
        return seen.checked()


def _one(fault: Fault) -> Checked:
    records = 0 if fault.code == "empty" else None
    return Checked(fault.code, records, records, (fault,), 1, fault.reason)


@dataclass
class _Seen:
    """What was found so far."""

    path: str
    source: Source
    options: Options
    faults: list[Fault] = field(default_factory=list)
    total: int = 0
    records: int = 0
    intact: int = 0
    first_broken: Broken | None = None

    def __post_init__(self) -> None:
        self.tally = Tally(self.source)

    @property
    def is_none(self) -> bool:
        """Whether not one header of a frame is good."""
        first = self.first_broken
        cut = self.source.read(0, HEADER).isascii() if first is not None and first.kind == "cut_header" else True
        none = first is not None and first.kind in ("no_frame", "nul_tail", "cut_header") and cut
        return not self.intact and self.records <= 1 and none

    def walk(self, watch: Watch) -> None:
        """Read all of it."""
        whole = os.stat(self.path).st_size
        packed = self.source if isinstance(self.source, Packed) else None
        for part in walk(
            self.source,
            watch.cancelled,
            lambda offset: watch.report(packed.consumed if packed else offset, whole, "bytes"),
        ):
            if isinstance(part, Frames):
                self._frames(part)
            elif isinstance(part, Long):
                self._count(1, 1)
                if self.options.deep:
                    self.tally.add_long(part)
            else:
                self._broken(part)

    def finish(self, watch: Watch) -> None:
        """What only the whole file tells."""
        self._packing()
        if self.options.deep:
            self._contents()
        expected = self.options.records
        if expected is not None and expected != self.records:
            values = {"count": self.records, "expected": expected}
            self._add(Fault("count-mismatch", f"{self.records} records, {expected} were expected", values=values))
        for fault in shard_faults(self.path):
            self._add(fault)
        if self.options.baseline and not watch.cancelled():
            changed, count = baseline.compare(self.path, "tfrecord", watch)
            known = {(fault.record, fault.offset) for fault in self.faults}
            new = [fault for fault in changed if fault.offset is None or (fault.record, fault.offset) not in known]
            self.faults += new
            self.total += count - (len(changed) - len(new))

    def checked(self) -> Checked:
        codes = {fault.code for fault in self.faults}
        status = next((code for code in WORST if code in codes), "ok")
        ordered = sorted(self.faults, key=lambda fault: -1 if fault.offset is None else fault.offset)
        more = {"features": report(self.tally.usual())} if self.tally.groups and self.tally.is_of_examples else {}
        faults = tuple(ordered[:MAX_FAULTS])
        return Checked(status, self.records, self.intact, faults, self.total, self._detail(), more)

    def packed(self, words: str) -> str:
        """What is said of the content, for a packed file."""
        return f"in its {self.source.packing} content {words}" if self.source.packing else words

    def _frames(self, frames: Frames) -> None:
        damaged = int(frames.damaged.sum())
        self._count(len(frames.offsets), len(frames.offsets) - damaged)
        for row in frames.damaged.nonzero()[0].tolist() if damaged else ():
            if len(self.faults) < MAX_FAULTS:
                offset, length = int(frames.offsets[row]), int(frames.lengths[row])
                self._add(self._located(Broken("data_crc", offset, frames.record + row, length + BESIDE, length)))
            else:
                self.total += 1
        if self.options.deep:
            self.tally.add(frames)

    def _broken(self, broken: Broken) -> None:
        self._count(1, 0)
        self.first_broken = self.first_broken or broken
        self._add(self._located(broken) if broken.kind == "data_crc" else self._fault(broken.kind, broken))

    def _count(self, records: int, intact: int) -> None:
        self.records += records
        self.intact += intact

    def _add(self, fault: Fault) -> None:
        self.total += 1
        if len(self.faults) < 3 * MAX_FAULTS:
            self.faults.append(fault)

    def _located(self, broken: Broken) -> Fault:
        """Data that does not fit its CRC: perhaps one bit, which can be told."""
        assert broken.claimed is not None
        if self.total >= _LOCATED or broken.claimed > _SAMPLE:
            return self._fault("data_crc", broken)
        data = self.source.read(broken.offset + HEADER, broken.claimed + 4)
        stored = int.from_bytes(data[broken.claimed :], "little")
        place = flipped_byte(data[: broken.claimed], stored)
        if place is None:
            return self._fault("data_crc", broken)
        return self._fault("bit", broken, byte=broken.offset + HEADER + place)

    def _fault(self, kind: str, broken: Broken, **values: Any) -> Fault:
        code, words = REASONS[kind]
        there = max(0, broken.length - HEADER)
        reason = words.format(record=broken.record, length=broken.length, claimed=broken.claimed, there=there, **values)
        if not self.faults and self._is_text_copy(broken):
            kind, reason = "crlf", reason + _CRLF
        fault = Fault(
            code, reason, broken.offset, broken.record, broken.length, values.get("byte"), values={"fault": kind}
        )
        return self._inside(fault)

    def _inside(self, fault: Fault) -> Fault:
        """In a packed file no byte of it is the fault's: it is told where in the content it is."""
        if not self.source.packing or fault.offset is None:
            return fault
        reason = f"{fault.reason}; byte {fault.offset} of what the {self.source.packing} file holds"
        values = {**fault.values, "inner_offset": fault.offset}
        return replace(fault, reason=reason, offset=None, byte=None, values=values)

    def _is_text_copy(self, broken: Broken) -> bool:
        """Whether line feeds from there on come with a carriage return each: in other data one in 256 does."""
        data = self.source.read(broken.offset, _SAMPLE)
        feeds = data.count(b"\n")
        return feeds >= 4 and data.count(b"\r\n") == feeds

    def _packing(self) -> None:
        """How the packed data itself ended; where it broke off, the last record is no fault of its own."""
        if not isinstance(self.source, Packed):
            return
        source = self.source
        if source.problem:
            if self.first_broken is not None and self.faults[-1].values.get("fault") in ("truncated", "cut_header"):
                self.faults.pop()
                self.total -= 1
            code = "truncated" if source.cut else "corrupted"
            reason = f"{source.problem}, after {self.intact} whole records ({source.packing})"
            if source.problem == WRONG_TRAILER and self.intact == self.records:
                reason = f"{source.problem} ({source.packing}); all {self.records} records fit their own checksums"
            self._add(Fault(code, reason, offset=source.consumed))
        words = source.packing.upper()
        self._add(Fault("compressed", f'{source.packing}; compression_type="{words}" reads it', offset=0))

    def _contents(self) -> None:
        tally = self.tally
        if not tally.is_of_examples:
            words = "none" if not tally.examples else f"only {tally.examples}"
            reason = f"{words} of the {self.intact} records is a tf.train.Example"
            self._add(Fault("tfrecord-no-examples", reason, offset=0))
            return
        for odd in tally.odd:
            code, words = REASONS["example"]
            reason = words.format(record=odd.record, why=odd.reason)
            fault = Fault(code, reason, odd.offset, odd.record, byte=odd.byte, values={"fault": "example_parse"})
            self._add(self._inside(fault))
        self.total += tally.odd_total - len(tally.odd)
        self.intact -= tally.odd_total
        for lack, group in tally.lacking():
            self._lack(lack, group)

    def _lack(self, lack: Lack, group: Group) -> None:
        words = []
        if lack.missing:
            words.append(f"it lacks {printable(', '.join(lack.missing), _NAMES)}, which the others have")
        words += [f"{printable(name, _NAMES)} is {kind}, and {usual} in the others" for name, kind, usual in lack.other]
        values = {"fault": "missing_feature" if lack.missing else "other_kind", "missing": list(lack.missing)}
        for record, offset in group.first:
            reason = f"record {record}: {'; '.join(words)}"
            self._add(self._inside(Fault("schema-changed", reason, offset, record, values=values)))
        self.total += group.count - len(group.first)
        self.intact -= group.count

    def _detail(self) -> str:
        whole = f"{self.records} records"
        if self.intact != self.records:
            whole = f"{self.intact} of {self.records} records are whole"
        return f"{whole}, {self.source.packing}" if self.source.packing else whole
