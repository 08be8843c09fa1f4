"""Mending a MindRecord: a lost index is made again from the data, names inside are put right, intact rows are saved.

Nothing is written into what is there: new files are made beside it, and what they replace goes to the trash.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mswb.cache.check import Checked, Watch
from mswb.cache.data.mindrecord import index as indexes
from mswb.cache.data.mindrecord import reading, uncommitted
from mswb.cache.data.mindrecord.blobs import indexed_places, raw_decoder
from mswb.cache.data.mindrecord.chosen import Chosen
from mswb.cache.data.mindrecord.header import Broken, Header, encode, groups, read_header, read_unmeasured, text_of
from mswb.cache.data.mindrecord.layout import true_layout
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.walk import rows_of
from mswb.cache.data.mindrecord.writer import DataWriter, beside, write_index
from mswb.cache.repair import Repair
from mswb.cache.trash import journal
from mswb.cache.trash.moves import Refused, move, new_operation, put_in_place
from mswb.files.moves import folder_at, real_place, rename_new
from mswb.files.safety import printable
from mswb.plan import Action, Plan, path_identity

ENDING = ".repaired"
"""What the name of a file of saved rows ends in, where no other is asked for."""
_DAMAGED = frozenset({"corrupted", "truncated"})
_INDEX = frozenset({"index-missing", "index-damaged", "index-foreign"})
_NO_TEXT = (
    "the name of the new file is no UTF-8 text, which a header can't hold: rename it, or name another by --output"
)
_HOPELESS = {
    "empty": "there is nothing in it to save",
    "orphan": "it is an index without data; mswb cache clean removes it",
    "encrypted": "it is encrypted: nothing can be checked or saved without the key",
    "compressed": "unpack it first (gzip -d for gzip): MindSpore reads MindRecord unpacked only",
    "version-mismatch": "its version is not known here, so nothing is known of its rows",
    "count-mismatch": "the records that are missing are in no file here: copy them from their source",
    "payload-changed": "the rows are whole as far as the format shows: copy it again from its source",
    "lfs-pointer": "git lfs pull brings the file itself",
    "not-a-record-file": "it is no MindRecord",
}


def plan(path: str, checked: Checked, out: str | None) -> Repair:
    """What can be done for a file, by what its check found; see :mod:`mswb.cache.repair`.

    Args:
        out: the data file to write instead of NAME.repaired, or the index instead of NAME.db.

    Raises:
        OSError: the file can't be read.
    """
    codes = {fault.code for fault in checked.faults}
    if checked.status in _HOPELESS and not codes & (_DAMAGED | _INDEX | {"renamed"}):
        return _nothing(path, _HOPELESS[checked.status])
    data = path.removesuffix(".db") if _is_index(path) else path
    with reading.opened(data) as reader:
        try:
            header = read_header(reader)
        except Broken:
            return _plan_without_header(data, reader, out)
        if "schema-changed" in codes:
            return _plan_uncommitted(data, 8 + len(text_of(reader)), out)
    if codes & _DAMAGED:
        return _plan_salvage(data, header, None if codes & _INDEX else data + ".db", out)
    if any(fault.code == "renamed" and fault.file is None for fault in checked.faults):
        return _plan_rename(data, header, out, anew=bool(codes & _INDEX))
    if codes & _INDEX or "renamed" in codes:
        return _plan_index(data, header, out)
    return _nothing(data, "nothing of it can be repaired")


def rebuild_index(data: str, target: str) -> None:
    """Make the index of a data file again from its rows, whatever stands in its place going to the trash.

    Raises:
        Refused: the rows can't all be found, or the place is taken by something that is no file.
        OSError, sqlite3.Error: the disk is full, or fails.
    """
    with reading.opened(data) as reader:
        header = true_layout(reader, read_header(reader))
        name = header.shard_addresses[header.shard_id] if header.shard_addresses else os.path.basename(data)
        with beside(target) as temporary:
            write_index(temporary, name, header, _places(reader, header))
            why, operation = "the index is made again", new_operation()
            _clear_sides(target, why, operation)
            _publish(temporary, target, data, why, operation)


def _nothing(path: str, reason: str) -> Repair:
    return Repair(Plan((), (f"{path}: {reason}",)))


def _is_text(path: str) -> bool:
    """Whether the name of a file can stand in a header."""
    return all(not "\ud800" <= letter <= "\udfff" for letter in os.path.basename(path))


def _is_index(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(16) == indexes.MAGIC


def _plan_index(data: str, header: Header, out: str | None) -> Repair:
    target = out or data + ".db"
    detail = f"the index of {os.path.basename(data)} again, from its {header.rows} rows"
    action = Action("rebuild-index", target, path_identity(data), 0, printable(detail, 300))
    return Repair(Plan((action,)), {"rebuild-index": _guarded(data, lambda: rebuild_index(data, target))})


def _plan_rename(data: str, header: Header, out: str | None, anew: bool) -> Repair:
    """Put the names right; ``anew``: its index is missing or damaged."""
    if out is not None:
        return _nothing(data, "names are put right in place: --output is for rows that are saved")
    if not _is_text(data):
        return _nothing(data, _NO_TEXT)
    addresses = _new_addresses(data, header)
    if addresses is None:
        old = header.shard_addresses[header.shard_id]
        return _nothing(data, f"its shards have other names: give it its old name {printable(old, 200)} back")
    size = os.path.getsize(data)
    places = "header, its index made anew from its rows" if anew else "header and index"
    detail = f"with its new name in {places}, by a copy of {size} bytes; the old one goes to the trash"
    action = Action("rename-inside", data, path_identity(data), 0, detail)
    new = msgspec.structs.replace(header, shard_addresses=addresses)
    return Repair(Plan((action,)), {"rename-inside": _guarded(data, lambda: _rename_inside(data, new))})


def _new_addresses(data: str, header: Header) -> tuple[str, ...] | None:
    """The names of all shards after a rename; None where the others were not renamed alike."""
    own, old = os.path.basename(data), header.shard_addresses[header.shard_id]
    if len(header.shard_addresses) == 1:
        return (own,)
    same = next((n for n, (a, b) in enumerate(zip(own[::-1], old[::-1], strict=False)) if a != b), len(own))
    before, after = old[: len(old) - same], own[: len(own) - same]
    names = tuple(after + name[len(before) :] if name.startswith(before) else name for name in header.shard_addresses)
    folder = os.path.dirname(data)
    here = all(os.path.isfile(os.path.join(folder, name)) for name in names)
    alike = not set(names) & set(header.shard_addresses) and len(set(names)) == len(names)
    return names if here and alike and names[header.shard_id] == own else None


def _rename_inside(data: str, header: Header) -> None:
    with beside(data) as temporary:
        shutil.copyfile(data, temporary)
        shutil.copystat(data, temporary)
        os.chmod(temporary, 0o600)
        with open(temporary, "r+b") as file:
            file.write(encode(header))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, os.stat(data).st_mode & 0o777)
        with reading.opened(temporary) as reader, beside(data + ".db") as index:
            write_index(index, os.path.basename(data), header, _places(reader, header))
            operation = new_operation()
            _clear_sides(data + ".db", "its new name is written into it", operation)
            _publish(temporary, data, data, "its new name is written into it", operation)
            _publish(index, data + ".db", data, "its new name is written into it", operation)


def _plan_without_header(data: str, reader: Reader, out: str | None) -> Repair:
    """Save the rows by a header whose length alone is damaged, else as those of a file that was never committed."""
    try:
        return _plan_salvage(data, read_unmeasured(reader), None, out)
    except Broken:
        return _plan_uncommitted(data, 8 + len(text_of(reader)), out)


def _plan_salvage(data: str, told: Header, index: str | None, out: str | None) -> Repair:
    target = out or data + ENDING
    with reading.opened(data) as reader:
        header = true_layout(reader, told)
        chosen = Chosen(reader, header, index)
        kept = sum(1 for _ in chosen.rows())
    if not kept:
        return _nothing(data, "no row of it is whole")
    lost = header.rows - kept
    detail = f"{kept} of {header.rows} rows of {os.path.basename(data)}, with a new index"
    warnings = [] if not lost else [f"{data}: {lost} {_rows(lost)} lost: {_ranges(chosen.lost)}"]
    if chosen.restored:
        count = chosen.restored
        warnings.append(f"{data}: {count} {_rows(count)} given their columns by the index: their own are gone")
    if chosen.corrected:
        count = chosen.corrected
        words = "row has a wrong length" if count == 1 else "rows have wrong lengths"
        warnings.append(f"{data}: {count} {words}: saved with the right one, since index and content agree")
    if len(header.shard_addresses) > 1:
        warnings.append(
            f"{data}: it was one of several shards; the new file stands alone, to be read by a list of files"
        )
    action = Action("save-rows", target, path_identity(data), 0, printable(detail, 300))

    def save() -> None:
        with reading.opened(data) as source:
            again = Chosen(source, header, index)
            _save(data, target, header, ((raw, blob) for _, raw, blob in again.rows()))

    return _if_free(data, target, Repair(Plan((action,), tuple(warnings)), {"save-rows": _guarded(data, save)}))


def _plan_uncommitted(data: str, begin: int, out: str | None) -> Repair:
    target = out or data + ENDING
    with reading.opened(data) as reader:
        found = uncommitted.survey(reader, Watch(), begin)
        if found is None or not found.rows:
            return _nothing(data, "no row with both of its parts can be found in it")
        header, origin = uncommitted.columns(data, reader, found)
        kept = sum(1 for _ in uncommitted.fitting(reader, found, header))
    detail = f"the {kept} rows that {os.path.basename(data)} holds, found without its header"
    action = Action("save-rows", target, path_identity(data), 0, printable(detail, 300))
    warnings = (
        printable(f"{data}: {origin}; header of {found.header_size} and pages of {found.page_size} bytes", 600),
    )

    def save() -> None:
        with reading.opened(data) as source:
            _save(data, target, header, uncommitted.fitting(source, found, header))

    return _if_free(data, target, Repair(Plan((action,), tuple(warnings)), {"save-rows": _guarded(data, save)}))


def _if_free(data: str, target: str, repair: Repair) -> Repair:
    if not _is_text(target):
        return _nothing(data, _NO_TEXT)
    places = (target, target + ".db", *indexes.sides(target + ".db"))
    taken = next((name for name in places if os.path.lexists(name)), None)
    if taken is None:
        return repair
    return replace(_nothing(data, f"{taken} is there already: move it away, or name another"), taken=taken)


def _save(data: str, target: str, header: Header, rows: Iterator[tuple[bytes, bytes]]) -> None:
    """Write rows as a data file of its own, with its index."""
    name = os.path.basename(target)
    alone = msgspec.structs.replace(header, shard_addresses=(name,), shard_id=0, compression_size=0)
    with beside(target) as temporary, beside(target + ".db") as index:
        with open(temporary, "r+b") as file:
            writer = DataWriter(file.fileno(), alone)
            for raw, blob in rows:
                writer.add(raw, blob)
            written = writer.finish()
        with reading.opened(temporary) as reader:
            write_index(index, name, written, _places(reader, written))
        mode = os.stat(data).st_mode & 0o777
        for new, place in ((temporary, target), (index, target + ".db")):
            os.chmod(new, mode)
            _rename_to_free(new, place)


def _clear_sides(index: str, why: str, operation: str) -> None:
    """Move SQLite's own files beside an index to the trash, before it is replaced: they would change the new one."""
    for side in indexes.sides(index):
        move(side, why=why, operation=operation)


def _publish(new: str, target: str, like: str, why: str, operation: str | None = None) -> None:
    """Put a finished file in its place; what is there goes to the trash."""
    os.chmod(new, os.stat(like).st_mode & 0o777)
    if os.path.lexists(target):
        put_in_place(new, target, why=why, operation=operation)
    else:
        _rename_to_free(new, target)


def _rename_to_free(new: str, target: str) -> None:
    place = real_place(target)
    with folder_at(os.path.dirname(place)) as folder:
        rename_new(folder, os.path.basename(new), folder, os.path.basename(place))
    journal.made(place)


def _guarded(data: str, work: Callable[[], None]) -> Callable[[Action], str]:
    """A doer: works only while the data file is the one that was checked, and says in words what went wrong."""

    def do(action: Action) -> str:
        if path_identity(data) != action.identity:
            return "another file has taken its place"
        try:
            work()
        except (Refused, ValueError, Broken) as problem:
            return str(problem)
        except sqlite3.Error as problem:
            return f"the index could not be written: {problem}"
        return ""

    return do


def _places(reader: Reader, header: Header) -> Iterator[tuple[Sequence[int], Sequence[Any]]]:
    """The rows of an index for a data file that is whole.

    Raises:
        Refused: it is not.
    """
    decode, raws = raw_decoder(header), reader.twin()
    indexed = indexed_places(header)
    for group in groups(header):
        parts = [rows_of(source, part, group.rows) for source, part in ((raws, group.raw), (reader, group.blob))]
        if not all(part.whole for part in parts):
            raise Refused(f"rows from {group.first} on are damaged")
        for number in range(group.rows):
            raw, blob = parts[0].span(number), parts[1].span(number)
            assert raw is not None and blob is not None
            values = decode(raws.view(group.raw.base + raw[0], raw[1] - raw[0])[8:])
            place = (group.first + number, group.raw.page, *raw, group.id, group.blob.page, *blob)
            yield place, [values[index] for index in indexed]


def _rows(count: int) -> str:
    return "row is" if count == 1 else "rows are"


def _ranges(runs: Sequence[tuple[int, int]]) -> str:
    """``3, 7-9``, at most twenty of them."""
    words = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:20]]
    return ", ".join(words) + (f" and {len(runs) - 20} more ranges" if len(runs) > 20 else "")
