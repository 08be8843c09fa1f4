"""Verifying one entry: every kind has a checker that reads all of it and says what is wrong, and where.

A checker is a function ``check(path, options, watch) -> Checked``, looked up by the kind of the entry and imported when
it is asked for. It runs in a worker process (:mod:`mswb.cache.worker`), since the file may be anything; it only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from mswb.findings import Finding, Language, Severity, Where, fill_commands, language, make

MAX_FAULTS = 200
"""Faults of one entry that are told one by one; the others are counted."""

CHECKERS: Mapping[str, str] = {
    "tfrecord": "mswb.cache.data.tfrecord.verify:check",
    "mindrecord": "mswb.cache.data.mindrecord.verify:check",
    "mindrecord-index": "mswb.cache.data.mindrecord.verify:check",
    "compile-cache": "mswb.cache.compile.verify:check",
    "file-cache": "mswb.cache.filecache:check",
}
"""``module:function`` for each kind of :data:`mswb.cache.sniff.KINDS` that can be verified."""
_SAVED: Mapping[Language, str] = {
    "en": "mswb cache repair {path}: saves the whole records into a new file",
    "zh": "mswb cache repair {path}：将完好的记录存入新文件",
}
_REPAIRED: Mapping[Language, str] = {
    "en": "mswb cache repair {path}: keeps what is whole",
    "zh": "mswb cache repair {path}：保留完好部分",
}
_CUT: Mapping[str, Mapping[Language, str]] = {
    "TFRecord": _SAVED, "MindRecord": _SAVED, "MindRecord index": _REPAIRED, "File cache": _REPAIRED,
}  # fmt: skip
"""Advice on what is cut off, by kind: the catalogue's words on ``truncated`` are for models too."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a check is to do.

    Attributes:
        records: how many records there should be, as a person or a baseline says.
        deep: decode the records too (tf.train.Example, msgpack), and do not only compare checksums and lengths.
        baseline: compare with the sha256 baseline beside the file, where there is one.
    """

    records: int | None = None
    deep: bool = True
    baseline: bool = True


@dataclass(frozen=True, slots=True)
class Watch:
    """How a check tells where it is, and learns that nobody wants its answer any more."""

    cancelled: Callable[[], bool] = lambda: False
    report: Callable[[int, int | None, str], None] = lambda done, total, unit: None


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        code: a finding code, which may be the entry's status too.
        reason: what exactly, in a few words ("the data CRC is 1a2b3c4d, the data gives 5e6f7081").
        offset: the first byte of the record that holds the fault, in ``file``.
        record: its number from 0.
        length: bytes of the damaged place, where that is known.
        byte: the very place of the fault, where that is known better than the record.
        file: where it is, if not in the entry's own file (an index).
        values: what else a program may want to know.
    """

    code: str
    reason: str
    offset: int | None = None
    record: int | None = None
    length: int | None = None
    byte: int | None = None
    file: str | None = None
    severity: Severity | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. ``faults`` are the first :data:`MAX_FAULTS` of ``faults_total``, in the order of the file.

    ``status`` is the worst of them, else ``ok``. ``detail`` is for people. ``more`` are keys for the entry's report.
    """

    status: str
    records: int | None = None
    intact_records: int | None = None
    faults: tuple[Fault, ...] = ()
    faults_total: int = 0
    detail: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


Checker = Callable[[str, Options, Watch], Checked]


def checker(form: str) -> Checker | None:
    """The checker for a kind of entry; None when there is nothing that could be verified."""
    target = CHECKERS.get(form)
    if target is None:
        return None
    module, _, name = target.partition(":")
    return cast(Checker, getattr(import_module(module), name))


def findings_of(path: str, what: str, checked: Checked) -> tuple[Finding, ...]:
    """The faults of an entry as findings.

    Args:
        what: the kind of the file as a person reads it ("TFRecord").
    """
    found = [_finding(path, what, fault) for fault in checked.faults]
    if checked.faults_total > len(found):
        values = {"count": checked.faults_total - len(found), "path": path}
        found.append(make("cache-more-faults", where=Where(file=path), values=values))
    return tuple(found)


def _finding(path: str, what: str, fault: Fault) -> Finding:
    known = {"record": fault.record, "length_bytes": fault.length, "byte": fault.byte}
    values = {"what": what, "reason": fault.reason, "path": fault.file or path, **fault.values}
    values.update({name: value for name, value in known.items() if value is not None})
    where = Where(file=fault.file or path, offset=fault.offset)
    advice = (
        [fill_commands(_CUT[what][language()], {"path": path})] if fault.code == "truncated" and what in _CUT else []
    )
    return make(
        fault.code,
        where=where,
        severity=fault.severity,
        values=values,
        evidence=fault.reason,
        extra_advice=advice,
    )
