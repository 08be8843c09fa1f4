"""Which entries a clean takes, and the plan for them. Planning only reads; :mod:`mswb.cache.trash.moves` does it.

Caches can be made again, so they may be taken by name, folder, size or all at once. What costs much to make again
(tuning results, downloads) and data files (TFRecord, MindRecord, checkpoints) go only when their very path is named.
Never taken: what a live process uses or writes, what belongs to other users, what is not on its own file system.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mswb.cache.entries import Entry
from mswb.cache.holders import FOLDER_VARIABLES, Holder, Snapshot, snapshot
from mswb.cache.server.leftovers import NAME_LENGTH
from mswb.cache.server.removal import in_use
from mswb.cache.sniff import KINDS
from mswb.cache.strangers import stranger
from mswb.cache.trash.moves import doers, trash_action
from mswb.cache.trash.store import KEEP_DAYS
from mswb.files.mounts import filesystem_type, is_network
from mswb.files.moves import real_place
from mswb.files.tree import freed
from mswb.findings import language
from mswb.inside.cached.lease import LOCK, holder, provably_dead
from mswb.jobs.procs import user_name
from mswb.plan import Action, Doer, Plan

MIB = 1 << 20
COMPILED = frozenset({"compile-cache", "compile-graph", "compile-hash", "kernel-cache", "memory-plan", "dump"})
"""What MindSpore and CANN compile below a folder that the environment names."""
CACHES = COMPILED | {"file-cache", "fusion-result", "plain-copy", "package-cache"}
"""Forms that are made again by themselves; every other one is taken only by its very path."""
ORPHANS = frozenset({"cache-spill", "shared-memory"})
"""Forms that may go by themselves once nobody uses them."""
SOUND = frozenset({"ok", "building", "unverified", "foreign", "compressed", "lock-unsafe"})
"""Statuses that are no reason to clean."""
_SNAPSHOT_S = 2.0
"""Seconds for which a look at the processes holds while a plan is applied."""

WORDS = {
    "en": {
        "used": "left alone, in use: {path}: {holder}",
        "written": "left alone, being written: {path}: {holder}",
        "unsure": "left alone: {path}: {holder}, which can't be seen from here; if it is gone for good, delete {lock}",
        "dead": "{path}: its writer is dead ({holder}); its lease goes too",
        "others": "left alone: {path} belongs to {user}",
        "strange": "left alone: {path} also holds what is no part of it: {name};"
        " only this takes all of it: mswb cache clean --path {quoted}",
        "strange-now": "it also holds what is no part of it: {name}",
        "named": "left alone unless --path names it: {count} data files, or caches that cost much to make again",
        "unseen": "{count} processes of other users could not be looked at; root sees them",
        "trash": "freed when the trash is emptied: 'mswb cache trash empty', or a clean after {days} days;"
        " until then 'mswb cache undo' brings it back",
        "for-good": "deleted at once: nothing brings it back",
        "lease": "{owner} is writing it",
        "somebody": "an unknown process",
        "server": "a dataset cache server uses it",
        "gone": "it is gone already",
    },
    "zh": {
        "used": "不动（正在使用）：{path}：{holder}",
        "written": "不动（正在写入）：{path}：{holder}",
        "unsure": "不动：{path}：{holder}，在此处无法看到该进程；若确认已不存在，请删除 {lock}",
        "dead": "{path}：其写入者已结束（{holder}）；租约一并移除",
        "others": "不动：{path} 属于 {user}",
        "strange": "不动：{path} 中还有不属于它的内容：{name}；整体移走的命令：mswb cache clean --path {quoted}",
        "strange-now": "其中还有不属于它的内容：{name}",
        "named": "不动（除非用 --path 指定）：{count} 个数据文件或重建代价高的缓存",
        "unseen": "{count} 个其他用户的进程无法查看；root 可以看到",
        "trash": "清空回收区后才释放空间：mswb cache trash empty，或 {days} 天后的 clean；此前 mswb cache undo 可恢复",
        "for-good": "立即删除，无法恢复",
        "lease": "{owner} 正在写入",
        "somebody": "未知进程",
        "server": "数据集缓存服务正在使用",
        "gone": "已不存在",
    },
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person asks to clean.

    Attributes:
        path: only what lies in this folder, or is this file or folder.
        dataset: only file caches of exactly this name.
        size_mib: only what holds more than this many MiB.
        everything: all caches, whatever their state.
        system: also the places outside, and, for root, what belongs to others.
    """

    path: str | None = None
    dataset: str | None = None
    size_mib: float | None = None
    everything: bool = False
    system: bool = False

    @property
    def by_state(self) -> bool:
        """Nothing was selected: file caches that are broken or stale go."""
        return self.path is None and self.dataset is None and self.size_mib is None and not self.everything


def select(entries: Iterable[Entry], wanted: Selection, outside: Collection[str] = ()) -> tuple[list[Entry], int]:
    """The entries that are meant, and how many that match are left alone since their path must be named.

    Args:
        outside: the paths of those that ``--system`` has added.
    """
    chosen: list[Entry] = []
    spared = 0
    named = real_place(wanted.path) if wanted.path is not None else None
    for entry in entries:
        if not _matches(entry, wanted, entry.path in outside):
            continue
        if entry.path == named or entry.form in CACHES or (entry.form in ORPHANS and entry.status == "orphan"):
            chosen.append(entry)
        else:
            spared += 1
    return _outermost(chosen), spared


def _matches(entry: Entry, wanted: Selection, outside: bool) -> bool:
    if wanted.dataset is not None and (entry.form != "file-cache" or entry.name != wanted.dataset):
        return False
    if wanted.size_mib is not None and entry.size_bytes <= wanted.size_mib * MIB:
        return False
    if wanted.by_state and not outside:
        return entry.form == "file-cache" and entry.status not in SOUND
    return True


def _outermost(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without those that lie in another one of them."""
    kept: list[Entry] = []
    for entry in sorted(entries, key=lambda one: one.path):
        if not kept or not entry.path.startswith(kept[-1].path.rstrip("/") + "/"):
            kept.append(entry)
    return kept


@dataclass(frozen=True, slots=True)
class Cleaning:
    """A plan, where its trash is to be, which of its targets an environment may name by a folder above, and the forms
    of those that must hold nothing else."""

    plan: Plan
    trash_root: str | None = None
    compiled: frozenset[str] = frozenset()
    forms: Mapping[str, str] = field(default_factory=dict)

    def kinds(self, why: str) -> dict[str, Doer]:
        """What does the plan's actions as one operation, each after one more look whether anybody uses the path."""
        return doers(why, self.trash_root, Guard(self.compiled, self.forms))


class Guard:
    """Says why a path must stay: a process uses it, writes it or spills into it, or somebody put a file there.

    What it says of processes is at most 2 s old.
    """

    def __init__(self, compiled: Collection[str] = (), forms: Mapping[str, str] | None = None) -> None:
        self._compiled = frozenset(compiled)
        self._forms = forms or {}
        self._seen: Snapshot | None = None
        self._until = 0.0

    def __call__(self, path: str) -> str:
        if self._seen is None or time.monotonic() > self._until:
            self._seen = snapshot()
            self._until = time.monotonic() + _SNAPSHOT_S
        users = self._seen.of(path, FOLDER_VARIABLES if path in self._compiled else ())
        if users:
            return str(users[0])
        held = _lease(path)
        if held is not None and not held.dead:
            return held.words
        if len(os.path.basename(path)) == NAME_LENGTH and in_use(path):
            return WORDS[language()]["server"]
        strange = stranger(path, self._forms[path]) if path in self._forms else None
        return "" if strange is None else WORDS[language()]["strange-now"].format(name=strange)


@dataclass(frozen=True, slots=True)
class _Lease:
    """The lease of a cache, in words. ``dead``: its owner is, provably; ``fresh``: its heart beats."""

    words: str
    dead: bool
    fresh: bool


def _lease(folder: str) -> _Lease | None:
    held = holder(folder) if os.path.isdir(folder) else None
    if held is None:
        return None
    words = WORDS[language()]
    said = words["lease"].format(owner=held.owner or words["somebody"])
    remote = is_network(filesystem_type(folder))
    return _Lease(said, held.owner is not None and provably_dead(held.owner, remote), held.fresh)


def plan_clean(
    entries: Sequence[Entry],
    wanted: Selection,
    seen: Snapshot,
    *,
    for_good: bool = False,
    spared: int = 0,
    trash_root: str | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Cleaning:
    """The plan that takes these entries, without those that somebody uses, writes or owns.

    Args:
        for_good: they are deleted, not moved to the trash.
        spared: how many more match and must be named.
        trash_root: as in :func:`mswb.cache.trash.moves.move`.
    """
    words = WORDS[language()]
    warnings: list[str] = []
    free = [entry for entry in entries if not _refusal(entry, wanted, seen, warnings)]
    paths = [path for entry in free for path in all_files(entry)]
    owners = [entry for entry in free for _ in all_files(entry)]
    bytes_of = freed([real_place(path) for path in paths], cancelled)
    actions: list[Action] = []
    for entry, path, size in zip(owners, paths, bytes_of, strict=True):
        try:
            actions.append(trash_action(path, _detail(entry), freed=size, for_good=for_good))
        except OSError:
            warnings.append(f"{path}: {words['gone']}")
    if actions:
        warnings.append(words["for-good" if for_good else "trash"].format(days=KEEP_DAYS))
    if spared:
        warnings.append(words["named"].format(count=spared))
    if seen.unseen:
        warnings.append(words["unseen"].format(count=seen.unseen))
    compiled = frozenset(real_place(entry.path) for entry in free if entry.form in COMPILED)
    forms = {real_place(entry.path): entry.form for entry in free if not _is_named(entry, wanted)}
    return Cleaning(Plan(tuple(actions), tuple(warnings)), trash_root, compiled, forms)


def _is_named(entry: Entry, wanted: Selection) -> bool:
    return wanted.path is not None and real_place(wanted.path) == real_place(entry.path)


def all_files(entry: Entry) -> tuple[str, ...]:
    """What must go for an entry to be gone: its folder, or its file with those beside it that belong to it."""
    beside = (entry.path + ".db",) if entry.form == "mindrecord" else ()
    inside = entry.path.rstrip("/") + "/"
    more = [path for path in (*beside, *entry.files) if not path.startswith(inside) and os.path.lexists(path)]
    return tuple(dict.fromkeys((entry.path, *more)))


def holders_of(entry: Entry, seen: Snapshot) -> list[str]:
    """Who uses an entry, in words: live processes, and the owner of its lease if that is not provably dead."""
    held = _lease(entry.path) if entry.form == "file-cache" else None
    lease = [] if held is None or held.dead else [held.words]
    return [*map(str, _users(entry, seen)), *lease]


def _users(entry: Entry, seen: Snapshot) -> list[Holder]:
    variables = FOLDER_VARIABLES if entry.form in COMPILED else ()
    return [one for path in all_files(entry) for one in seen.of(real_place(path), variables)]


def _refusal(entry: Entry, wanted: Selection, seen: Snapshot, warnings: list[str]) -> bool:
    """Whether an entry must stay; the reason, or what is to be known of it, is added to the warnings."""
    words = WORDS[language()]
    users = _users(entry, seen)
    if users:
        warnings.append(words["used"].format(path=entry.path, holder=users[0]))
        return True
    owner = _owner(entry.path)
    if owner is not None and owner != os.geteuid() and not (wanted.system and os.geteuid() == 0):
        warnings.append(words["others"].format(path=entry.path, user=user_name(owner)))
        return True
    strange = None if _is_named(entry, wanted) else stranger(real_place(entry.path), entry.form)
    if strange is not None:
        quoted = shlex.quote(entry.path)
        warnings.append(words["strange"].format(path=entry.path, name=strange, quoted=quoted))
        return True
    held = _lease(entry.path) if entry.form == "file-cache" else None
    if held is None:
        return False
    word = "dead" if held.dead else "written" if held.fresh else "unsure"
    warnings.append(words[word].format(path=entry.path, holder=held.words, lock=os.path.join(entry.path, LOCK)))
    return not held.dead


def _owner(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def _detail(entry: Entry) -> str:
    name = f" {entry.name}" if entry.name else ""
    return f"{KINDS.get(entry.form, entry.form)}{name}, {entry.status}"
