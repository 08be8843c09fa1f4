"""Verifying a MindRecord: header, pages, names, every row, and the index against the rows.

The format has no checksum: bytes that were flipped inside a blob, or rows that are gone from header, pages and index
alike, show only against a baseline (:mod:`mswb.cache.baseline`).
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import takewhile

from mswb.cache import baseline
from mswb.cache.check import MAX_FAULTS, Checked, Fault, Options, Watch
from mswb.cache.data.mindrecord import index as indexes
from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.chosen import Chosen
from mswb.cache.data.mindrecord.header import Broken, Header, read_header
from mswb.cache.data.mindrecord.index import BadIndex, Index
from mswb.cache.data.mindrecord.layout import true_layout
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.rowcheck import Tally, check_rows
from mswb.cache.data.mindrecord.sniff import UNREADABLE
from mswb.cache.data.mindrecord.uncommitted import survey
from mswb.files.safety import printable

_CODES = {"encrypted": "mindrecord-encrypted"}
"""Finding codes of a status whose own words are for another kind of file."""
_UNUSABLE = frozenset({"index-damaged", "index-foreign", "index-missing"})
"""An index that no repair takes rows from."""
_WORST = (
    "truncated",
    "corrupted",
    "schema-changed",
    "index-missing",
    "renamed",
    "index-damaged",
    "index-foreign",
    "count-mismatch",
    "payload-changed",
)
"""Of several things that are wrong the first one of these is the status."""


def check(path: str, options: Options, watch: Watch) -> Checked:
    """Check a data file with its index; given an index, the data file it belongs to. See :mod:`mswb.cache.check`.

    Raises:
        OSError: it can't be read.
    """
    data = _data_file(path)
    if data is None:
        reason = f"its data file {printable(os.path.basename(path.removesuffix('.db')))} is not here"
        return Checked("orphan", faults=(Fault("orphan", reason, file=path),), faults_total=1)
    with reading.opened(data) as reader:
        try:
            header = read_header(reader)
        except Broken as problem:
            return _severe(_without_rows(problem, reader, watch))
        return _severe(_check(data, reader, header, options, watch))


def _severe(found: Checked) -> Checked:
    """Faults that stop MindSpore are errors here, though the same code is less of another kind of file."""
    faults = (replace(fault, severity="error") if fault.code in UNREADABLE else fault for fault in found.faults)
    return replace(found, faults=tuple(faults))


def _data_file(path: str) -> str | None:
    """The data file of an entry, or None for an index whose data file is gone."""
    with open(path, "rb") as file:
        is_index = file.read(16) == indexes.MAGIC
    if not is_index:
        return path
    data = path.removesuffix(".db")
    return data if data != path and os.path.isfile(data) else None


def _without_rows(problem: Broken, reader: Reader, watch: Watch) -> Checked:
    reason, detail, records = problem.reason, "", None
    if problem.code == "interrupted":
        found = survey(reader, watch)
        records = found.rows if found is not None else None
        detail = found.words() if found is not None else "no rows can be found in it: nothing of it can be saved"
        reason = f"{reason}; {detail}"
    fault = Fault(_CODES.get(problem.code, problem.code), reason, offset=0)
    return Checked(problem.code, records, records, (fault,), 1, detail)


def _check(path: str, reader: Reader, told: Header, options: Options, watch: Watch) -> Checked:
    header = true_layout(reader, told)
    faults: list[Fault] = []
    if header is not told:
        reason = f"the header says page_size {told.page_size}, but the pages are {header.page_size} bytes apart"
        faults.append(Fault("corrupted", reason, offset=0))
    faults += _names(path, header)
    tally, index_faults = _with_index(path, reader, header, options, watch)
    savable = None
    if tally.cut is not None and not any(fault.code in _UNUSABLE for fault in index_faults):
        savable = _savable(path, reader, header, watch)
    faults += [*_data_faults(reader, header, tally, savable), *index_faults]
    total = len(faults) + tally.total - len(tally.faults) + tally.values_total - len(tally.values)
    if options.records is not None and options.records != header.rows:
        reason = f"{header.rows} records, {options.records} were expected"
        faults.append(Fault("count-mismatch", reason, values={"count": header.rows, "expected": options.records}))
        total += 1
    intact = tally.intact
    if options.baseline and tally.cut is None and not watch.cancelled():
        changed, count = baseline.compare(path, "mindrecord", watch)
        known = {(fault.record, fault.offset) for fault in faults}
        fresh = [fault for fault in changed if (fault.record, fault.offset) not in known]
        faults += fresh
        total += count - len(changed) + len(fresh)
        records = sum(fault.record is not None for fault in fresh) + count - len(changed)
        intact = max(0, intact - records)
    codes = {fault.code for fault in faults}
    status = next((code for code in _WORST if code in codes), "ok")
    ordered = sorted(faults, key=lambda fault: (fault.file is not None, fault.offset or 0))
    return Checked(status, header.rows, intact, tuple(ordered[:MAX_FAULTS]), total, _detail(header))


def _names(path: str, header: Header) -> list[Fault]:
    """The names in the header: its own, and those of its shards."""
    own = os.path.basename(path)
    addresses = header.shard_addresses
    if not addresses:
        return []
    expected = addresses[header.shard_id]
    if expected != own:
        return [Fault("renamed", f"the header names it {printable(expected, 200)}", offset=0)]
    folder = os.path.dirname(path)
    missing = [name for name in addresses if "/" in name or not os.path.isfile(os.path.join(folder, name))]
    if not missing:
        return []
    names = printable(", ".join(missing), 200)
    reason = f"{len(missing)} of its {len(addresses)} shards are not here: {names}"
    return [Fault("count-mismatch", reason, offset=0, values={"missing": missing[:100]})]


def _with_index(path: str, reader: Reader, header: Header, options: Options, watch: Watch) -> tuple[Tally, list[Fault]]:
    """Check the rows with the index where it is one, else without; with what is wrong with the index."""
    open_change = indexes.unfinished(path + ".db")
    if open_change is not None:
        side, reason = open_change
        fault = Fault("index-damaged", printable(reason, 300), offset=0, file=side, values={"path": path})
        return check_rows(reader, header, None, options.deep, watch), [fault]
    try:
        with indexes.opened(path + ".db", watch.cancelled) as index:
            renamed = _index_names(path, header, index)
            tally = check_rows(reader, header, index, options.deep, watch)
            faults = _index_faults(path, tally, index)
            if renamed and not faults:
                faults = [_index_fault(path, BadIndex("renamed", renamed))]
            return tally, faults
    except FileNotFoundError:
        bad = BadIndex("index-missing", f"there is no {os.path.basename(path)}.db")
    except OSError as problem:
        bad = BadIndex("index-damaged", problem.strerror or str(problem))
    except BadIndex as problem:
        bad = problem
    return check_rows(reader, header, None, options.deep, watch), [_index_fault(path, bad)]


def _index_fault(path: str, bad: BadIndex) -> Fault:
    """A fault in the index of a data file; what is to be repaired is the data file's entry."""
    return Fault(bad.code, printable(bad.reason, 300), offset=bad.offset, file=path + ".db", values={"path": path})


def _index_names(path: str, header: Header, index: Index) -> str:
    """Whether the index has the tables for this data; returns what is wrong with the name in it.

    Raises:
        BadIndex: it belongs to other columns.
    """
    names = index.names()
    expected, found = [name for name, _ in indexes.columns_of(header)], index.columns()
    if found != expected:
        fields = printable(", ".join(found[len(indexes.PLACES) :][1::2]), 200) or "none"
        raise BadIndex("index-foreign", f"its fields are {fields}; those of the data are not the same")
    if len(names) != 1:
        raise BadIndex("index-damaged", f"it names {len(names)} data files, there should be one")
    own = {os.path.basename(path), *header.shard_addresses[header.shard_id : header.shard_id + 1]}
    if names[0] in own:
        # A data file with its own name in the header and an index with another: only one of them was renamed.
        return ""
    return f"the index names the data file {printable(names[0], 200)}"


def _index_faults(path: str, tally: Tally, index: Index) -> list[Fault]:
    """The index as a whole: rows elsewhere than the data are its fault, and other values in most rows too."""
    if 2 * tally.differing > tally.compared or 2 * tally.values_total > tally.compared:
        values = tally.values[0].reason if tally.values else ""
        tally.values, tally.values_total = [], 0
        return [_index_fault(path, BadIndex("index-foreign", tally.index or values))]
    problem = tally.index or tally.unreadable or index.problem()
    count = f" ({tally.differing} rows)" if tally.differing > 1 else ""
    return [_index_fault(path, BadIndex("index-damaged", problem + count))] if problem else []


def _savable(path: str, reader: Reader, header: Header, watch: Watch) -> int:
    """How many rows of a file that is cut a repair saves, by the index where the file has nothing of them."""
    return sum(1 for _ in takewhile(lambda _: not watch.cancelled(), Chosen(reader, header, path + ".db").rows()))


def _cut(reader: Reader, header: Header, tally: Tally, savable: int | None) -> Fault:
    """The end of a file that is too short for its rows: what is lost, and what can be saved."""
    assert tally.cut is not None
    offset, record = tally.cut
    damaged = header.rows - tally.intact
    lost = damaged if savable is None else header.rows - max(savable, tally.intact)
    told = f"{damaged} of {header.rows} records are lost"
    if lost != damaged:
        told = f"of {header.rows} records {damaged} are not whole; a repair saves all but {lost}, by the index"
        told = told.replace("all but 0", "all")
    reason = f"it ends at byte {reader.size}, its pages need {header.end}: {told}"
    return Fault("truncated", reason, offset=offset, record=record, values={"lost": lost})


def _data_faults(reader: Reader, header: Header, tally: Tally, savable: int | None) -> list[Fault]:
    if 1 < header.rows == tally.unfit == tally.total:
        # No row fits, and all lengths are right: it is the header that has changed.
        reason = f"no row has the columns of the header; of the first one {tally.faults[0].reason}"
        tally.faults, tally.total = [Fault("schema-changed", reason, offset=0)], 1
    faults = list(tally.faults)
    rows = {fault.record for fault in faults}
    fresh = [fault for fault in tally.values if fault.record not in rows]
    tally.intact -= tally.values_total - (len(tally.values) - len(fresh))
    tally.values_total -= len(tally.values) - len(fresh)
    tally.values = fresh
    faults += fresh
    if tally.gaps:
        return faults  # the size is told with the place where bytes are missing, or too many
    if tally.cut is not None:
        faults.append(_cut(reader, header, tally, savable))
    elif header.pages and reader.size < header.end:  # one without rows ends behind the text of its header
        reason = f"it ends at byte {reader.size}, its pages need {header.end}"
        faults.append(Fault("truncated", reason, offset=reader.size))
    elif reader.size > header.end:
        reason = f"{reader.size - header.end} bytes after the last page"
        faults.append(Fault("corrupted", reason, offset=header.end, length=reader.size - header.end))
    return faults


def _detail(header: Header) -> str:
    shards = len(header.shard_addresses)
    which = f", shard {header.shard_id} of {shards}" if shards > 1 else ""
    columns = list(header.columns)
    more = f" and {len(columns) - 8} more" if len(columns) > 8 else ""
    return printable(f"{header.rows} rows, columns {', '.join(columns[:8])}{more}{which}", 300)
