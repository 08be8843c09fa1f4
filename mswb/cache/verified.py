"""What the last verification of each data file found: kept in mswb's state folder, believed while the file is the same.

One file, ``<state>/verified-files.json``, holds the newest :data:`MOST` results. A file is the same while size, time of
change and inode of it (and of the index beside a MindRecord) are.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mswb.cache.entries import UNVERIFIED, Entry
from mswb.files.safety import make_private_dir, write_atomic
from mswb.findings import SEVERITIES, Finding, MswbError, Where, load_catalogue, make
from mswb.settings import load_settings

FORMS = frozenset({"tfrecord", "mindrecord", "mindrecord-index"})
"""Kinds of :data:`mswb.cache.sniff.KINDS` whose results are kept here; a file cache has a record of its own."""
MOST = 20_000
"""Results that are kept; the oldest go."""
_MAX_BYTES = 64 << 20
FILE = "verified-files.json"
WHEN = "verified_at"
"""The key of an entry's report with the time of its verification, in seconds since the epoch."""

Stamp = list[list[int] | None]


def stamp(path: str) -> Stamp:
    """What tells whether a file and its index are still the same; None for what is not there."""
    return [_facts(path), _facts(path + ".db")]


def _facts(path: str) -> list[int] | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def remember(entries: Sequence[tuple[Entry, Stamp]]) -> None:
    """Keep what was found of some files, each with its stamp from before; not kept where the folder can't be written.

    A file that has changed meanwhile is left out.
    """
    now = time.time()
    new = {entry.path: _record(entry, before, now) for entry, before in entries if before == stamp(entry.path)}
    if not new:
        return
    known = {path: found for path, found in _load().items() if path not in new}
    kept = list({**known, **new}.items())[-MOST:]
    place = load_settings().state_dir / FILE
    try:
        make_private_dir(place.parent)
        write_atomic(place, json.dumps(dict(kept)))
    except MswbError:
        pass


def _record(entry: Entry, before: Stamp, now: float) -> dict[str, Any]:
    told = [one for one in entry.findings if one.code == entry.status] or list(entry.findings)
    return {
        "stamp": before,
        "time": now,
        "status": entry.status,
        "records": entry.records,
        "intact_records": entry.intact_records,
        "finding": _kept(told[0]) if told else None,
    }


def _kept(finding: Finding) -> dict[str, Any]:
    plain = {name: value for name, value in finding.values.items() if isinstance(value, (str, int, float))}
    return {
        "code": finding.code,
        "severity": finding.severity,
        "file": finding.where.file,
        "offset": finding.where.offset,
        "values": plain,
    }


def recalled(entries: Sequence[Entry]) -> list[Entry]:
    """The entries, each data file that is still as it was verified with the result of that."""
    if not any(entry.form in FORMS for entry in entries):
        return list(entries)
    known = _load()
    return [_recalled(entry, known[entry.path]) if _is_known(entry, known) else entry for entry in entries]


def _is_known(entry: Entry, known: Mapping[str, Any]) -> bool:
    found = known.get(entry.path) if entry.form in FORMS else None
    return isinstance(found, dict) and found.get("stamp") == stamp(entry.path)


def _recalled(entry: Entry, found: Mapping[str, Any]) -> Entry:
    """The entry with a result; as it is where that is not what :func:`remember` writes."""
    try:
        told, status = found["finding"], found["status"]
        if status not in load_catalogue() and status not in ("ok", UNVERIFIED):
            raise ValueError("no status")
        return replace(
            entry,
            status=status,
            records=_count(found["records"]),
            intact_records=_count(found["intact_records"]),
            findings=() if told is None else (_finding(told),),
            more={**entry.more, WHEN: float(found["time"])},
        )
    except (KeyError, TypeError, ValueError):
        return entry


def _count(value: object) -> int | None:
    if value is None or (isinstance(value, int) and value >= 0):
        return value
    raise ValueError("no count")


def _finding(told: Mapping[str, Any]) -> Finding:
    severity = told["severity"]
    if told["code"] not in load_catalogue() or severity not in SEVERITIES:
        raise ValueError("no finding")
    where = Where(file=str(told["file"]), offset=_count(told["offset"]))
    values = dict(told["values"])
    return make(told["code"], where=where, severity=severity, values=values, evidence=str(values.get("reason", "")))


def _load() -> dict[str, Any]:
    try:
        with open(load_settings().state_dir / FILE, "rb") as file:
            content = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
