"""Mending a file cache: a new folder with every sample that is whole takes the place of the old one.

Sound shards are linked into it, damaged ones copied record by record, an unfinished one is sealed. The folders change
places in one step, so a process that trains meanwhile sees the old cache or the new one; the old one goes to the trash.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from mswb.cache.check import Checked, Fault
from mswb.cache.filecache.folders import LOCK, is_written, name_of
from mswb.cache.filecache.verify import fallback_of, open_manifest
from mswb.cache.filecache.walk import Fallback, Shard, open_shards, records
from mswb.cache.repair import Repair
from mswb.cache.trash import journal
from mswb.cache.trash.moves import Refused, put_in_place
from mswb.files.moves import real_place
from mswb.files.safety import printable
from mswb.findings import fill_commands, language
from mswb.inside.cached.lease import LeaseHeld, locks_work, take
from mswb.inside.store.layout import (
    RECORD_HEADER,
    ROW,
    IndexHeader,
    index_path,
    pack_index_header,
    pack_record_header,
    pack_shard_header,
    record_size,
    seed_of,
    shard_path,
)
from mswb.inside.store.manifest import Manifest, manifest_path, write_manifest
from mswb.inside.store.reader import StoreReader
from mswb.inside.store.scan import BLOCK, Seen
from mswb.inside.store.writer import seal_index, sync_folder
from mswb.plan import Action, Plan, path_identity

REBUILD, REBUILD_TO = "rebuild-cache", "write-cache"
_NOT_MENDED = frozenset({"stale-source", "stale-code", "count-mismatch", "version-mismatch", "lock-unsafe"})
"""Statuses that no repair changes: the cache must be made again, or used elsewhere."""
_WHY = "mswb cache repair"

WORDS = {
    "en": {
        "keeps": "keeps {kept} of {all} samples",
        "lost": "; {lost} damaged left out",
        "trash": "; the old folder goes to the trash",
        "to": "; written to {out}",
        "written": "{path}: a process is writing it; stop that first",
        "taken": "{out}: there is something already",
        "sound": "{path}: nothing is wrong with it",
        "stays": "{path}: nothing that a repair could change ({codes})",
        "hopeless": "{path}: no sample in it is whole; mswb cache clean --path {path}",
        "link": "{path}: it is a link; name the folder itself",
    },
    "zh": {
        "keeps": "保留 {all} 个样本中的 {kept} 个",
        "lost": "；{lost} 个已损坏的不保留",
        "trash": "；旧文件夹移入回收区",
        "to": "；写入 {out}",
        "written": "{path}：有进程正在写入；请先停止该进程",
        "taken": "{out}：该位置已存在内容",
        "sound": "{path}：没有问题",
        "stays": "{path}：没有修复可以改变的内容（{codes}）",
        "hopeless": "{path}：没有完好的样本；mswb cache clean --path {path}",
        "link": "{path}：这是一个链接；请指定文件夹本身",
    },
}


def plan_repair(path: str, checked: Checked, out: str | None) -> Repair:
    """How a cache is mended, a :data:`mswb.cache.repair.Repairer`; with ``out`` the old folder stays as it is."""
    path = os.path.abspath(path)
    words = WORDS[language()]
    values = {"path": printable(path), "out": printable(out or "")}
    refusal = _refusal(path, checked, out)
    if refusal:
        codes = ", ".join(sorted({fault.code for fault in checked.faults}))
        taken = out if refusal == "taken" and out is not None else ""
        return Repair(Plan((), (fill_commands(words[refusal], {"codes": codes, **values}),)), taken=taken)
    kept, all_ = checked.intact_records or 0, checked.records or 0
    detail = words["keeps"].format(kept=kept, all=all_)
    if kept != all_:
        detail += words["lost"].format(lost=all_ - kept)
    identity = path_identity(path)
    if out is None:
        action = Action(REBUILD, path, identity, 0, detail + words["trash"])
        return Repair(Plan((action,)), {REBUILD: _rebuild})
    action = Action(REBUILD_TO, path, identity, 0, detail + words["to"].format(**values))
    return Repair(Plan((action,)), {REBUILD_TO: lambda one: _rebuild_to(one, out)})


def _refusal(path: str, checked: Checked, out: str | None) -> str:
    """Why nothing is planned, as a key of :data:`WORDS`; "" when something can be done."""
    if checked.status == "building" or is_written(path):
        return "written"
    if out is not None and os.path.lexists(out):
        return "taken"
    if not checked.faults:
        return "sound"
    if out is None and not any(_is_mended(path, fault) for fault in checked.faults):
        return "stays"
    if not checked.intact_records:
        return "hopeless"
    return "link" if os.path.islink(path) else ""


def _is_mended(path: str, fault: Fault) -> bool:
    """Faults of the folder as a whole stay, but for a shard that was not finished."""
    return fault.code == "interrupted" or (fault.code not in _NOT_MENDED and fault.file != path)


def _rebuild(action: Action) -> str:
    """Mend in place: a new folder beside the old one, then both change places; nobody writes meanwhile."""
    path = action.target
    reason = _changed(action)
    if reason:
        return reason
    home, name = os.path.split(path)
    try:
        held = take(path, locks=locks_work(path))
    except LeaseHeld as problem:
        return str(problem)
    try:
        with _temporary(os.path.join(home, f".{name}.{os.urandom(4).hex()}.new")) as new:
            write_sound(path, new)
            item = put_in_place(new, path, why=_WHY, identity=action.identity)
        # The old folder must not come back with a lease in it that nobody holds.
        os.unlink(os.path.join(item.data, LOCK))
    except Refused as problem:
        return str(problem)
    finally:
        held.release()
    return ""


def _rebuild_to(action: Action, out: str) -> str:
    reason = _changed(action)
    if reason:
        return reason
    if os.path.lexists(out):
        return "there is something already where it should go"
    out = os.path.abspath(out)
    with _temporary(f"{out}.{os.urandom(4).hex()}.new") as new:
        write_sound(action.target, new)
        os.rename(new, out)
    journal.made(real_place(out))
    return ""


def _changed(action: Action) -> str:
    try:
        if path_identity(action.target) != action.identity:
            return "another folder has taken its place"
    except OSError:
        return "it is gone already"
    return "a process is writing it" if is_written(action.target) else ""


@contextmanager
def _temporary(path: str) -> Iterator[str]:
    """A new folder that goes again unless it was renamed or moved by the end."""
    os.mkdir(path, 0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write_sound(path: str, new: str) -> int:
    """Write every sample of a cache that is whole into the folder ``new``; returns how many different ones.

    Raises:
        OSError: the disk is full or fails.
    """
    os.chmod(new, stat.S_IMODE(os.stat(path).st_mode))
    manifest, _ = open_manifest(path)
    fallback = fallback_of(path, manifest)
    for shard in open_shards(path, fallback, written=False):
        if shard.header is not None:
            _sound_shard(shard, new)
    with StoreReader(new, mmap=False) as reader:
        kept = len(reader)
    _beside(path, new)
    if manifest is None and fallback is not None:
        manifest = Manifest(name_of(path), fallback.key, schema=fallback.columns)
    if manifest is not None:
        write_manifest(new, _mended(manifest, fallback, kept))
    sync_folder(new)
    return kept


def _mended(manifest: Manifest, fallback: Fallback | None, kept: int) -> Manifest:
    """The manifest of what was kept. Without a count the next training fills in what was left out."""
    complete = manifest.num_samples is None or manifest.num_samples == kept
    return replace(
        manifest,
        schema=manifest.schema or (fallback.columns if fallback else ()),
        num_samples=manifest.num_samples if complete else None,
        writers=[*manifest.writers, {"repaired": time.time(), "pid": os.getpid(), "records": kept}],
    )


def _sound_shard(shard: Shard, new: str) -> None:
    """Link a shard that is whole, or copy what is whole of it."""
    seen = list(records(shard, lambda: False, lambda offset: None))
    whole = [one for one in seen if one.intact and one.length >= 0]
    if not whole:
        return
    is_sound = not shard.is_part and not shard.faults and not any(one.reason for one in seen)
    if is_sound and shard.rows is not None and len(shard.rows) == len(seen):
        _link(shard.path, shard_path(new, shard.number))
        _link(shard.index, index_path(new, shard.number))
    else:
        _copy(shard, whole, new)


def _link(source: str, target: str) -> None:
    """The same file under another name: sealed files never change. A copy where there are no links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


@dataclass
class _Copy:
    """A shard that is being written, with the rows of its index."""

    descriptor: int
    at: int
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            done = os.pwrite(self.descriptor, left, self.at)
            left, self.at = left[done:], self.at + done


def _copy(shard: Shard, whole: list[Seen], new: str) -> None:
    header = shard.header
    assert header is not None
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    data = os.open(shard_path(new, shard.number), flags, 0o666)
    index = os.open(index_path(new, shard.number), flags, 0o666)
    try:
        copy = _Copy(data, 0)
        copy.write(pack_shard_header(header.columns, header.key, header.hash_name, shard.number))
        start = copy.at
        for one in whole:
            _copy_record(shard, one, copy)
        rows = _Copy(index, 0)
        rows.write(pack_index_header(IndexHeader(shard.number, header.hash_name, data_start=start)))
        rows.write(np.array(copy.rows, dtype=ROW).tobytes())
        seal_index(index, shard.number, header.hash_name, copy.at, start)
        for descriptor in (data, index):
            os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o444)
            os.fsync(descriptor)
    finally:
        os.close(data)
        os.close(index)


def _copy_record(shard: Shard, one: Seen, copy: _Copy) -> None:
    header = shard.header
    assert header is not None
    copy.rows.append((copy.at, one.length, one.sample_id, one.digest))
    seed = seed_of(header.key, shard.number)
    copy.write(pack_record_header(one.sample_id, one.length, one.digest, seed))
    at, end = one.offset + RECORD_HEADER, one.offset + RECORD_HEADER + one.length
    while at < end:
        piece = os.pread(shard.descriptor, min(BLOCK, end - at), at)
        if not piece:
            raise OSError(0, "it was cut while it was copied", shard.path)
        copy.write(piece)
        at += len(piece)
    copy.write(bytes(record_size(one.length) - RECORD_HEADER - one.length))


def _beside(path: str, new: str) -> None:
    """What else lies in the folder (counts, the list of the source), without locks and temporary files."""
    left_out = {LOCK, os.path.basename(manifest_path(path))}
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if name in left_out or name.startswith(".") or not entry.is_file(follow_symlinks=False):
                continue
            if not name.endswith((".shard", ".shard.part", ".idx", ".idx.part")):
                shutil.copy2(entry.path, os.path.join(new, name), follow_symlinks=False)
