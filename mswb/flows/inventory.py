"""What lies in a folder: caches and data files, profiles, models, each recognised by its content.

The walk looks at every folder and at the head of every file that could be one of these, and hands its findings out in
pieces, so that a screen fills while it goes on. It follows no link, opens nothing but regular files, and reads at most
64 KiB of each.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mswb.cache import sniff as cache
from mswb.cache.data.mindrecord.sniff import UNREADABLE
from mswb.cache.locate import Place, places
from mswb.cache.quick import HEAD, OPEN, is_nothing
from mswb.cache.trash.store import NAME as TRASH
from mswb.convert import sniff as convert
from mswb.files.items import FileFacts, Guess, Item
from mswb.files.peek import Peek, open_peek
from mswb.files.tree import Listing, Sum, facts, listing, total
from mswb.findings import Finding, Severity, make
from mswb.profile.readers import detect as profile
from mswb.settings import Settings

Domain = Literal["cache", "profile", "model"]

MAX_DEPTH = 16
"""Folders below the one that was named."""
MAX_FILES = 1_000_000
MAX_ITEMS = 200_000
MAX_NOTES = 20
PIECE_S = 0.15
"""Seconds between two pieces, while there is something to tell."""

SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "site-packages", "dist-packages", "__pycache__", ".tox", ".nox"}
    | {".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".idea", ".vscode", ".ipynb_checkpoints"}
)
"""Folders that hold other people's files, or none of ours."""
_SYSTEM = frozenset({"/proc", "/sys", "/dev", "/run"})
_ENVIRONMENT = frozenset({"pyvenv.cfg", "conda-meta"})
NEVER = frozenset(
    {"py", "pyc", "pyi", "pyx", "ipynb", "so", "a", "o", "cu", "cc", "cpp", "c", "h", "hpp", "java", "js", "ts", "rs"}
    | {"go", "sh", "md", "rst", "html", "htm", "css", "svg", "xml", "yaml", "yml", "toml", "ini", "cfg", "lock", "whl"}
    | {"jpg", "jpeg", "png", "gif", "bmp", "tif", "tiff", "webp", "ico", "mp3", "mp4", "wav", "flac", "avi", "mkv"}
    | {"mov", "pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "ttf", "woff", "log", "tar", "tgz", "bz2", "xz", "7z"}
    | {"rar", "jar", "deb", "rpm", "dot"}
)
"""Suffixes of files that are no cache, profile or model; a data set may hold millions, so none is opened."""

SEVERITIES: Mapping[str, Severity] = {
    **dict.fromkeys(("corrupted", "truncated", "empty", "not-a-record-file", "not-a-model", "index-damaged"), "error"),
    **dict.fromkeys(("index-missing", "index-foreign", "interrupted", "version-mismatch", "renamed"), "warning"),
    **dict.fromkeys(("external-data-missing", "external-data-escape", "orphan", "not-recognised"), "warning"),
    **dict.fromkeys(("lfs-pointer",), "warning"),
    **dict.fromkeys(("compressed", "encrypted"), "note"),
}
"""How bad each status is that a glance can show, but for :data:`_WORSE`. No status at all: nothing was checked."""
_WORSE = frozenset(("mindrecord", status) for status in UNREADABLE)
"""Kinds and statuses that are an error, since what trains from them can't."""


def severity_of(kind: str, status: str) -> Severity | None:
    """How bad a status that a glance shows is of this kind; None where nothing was checked, or no glance shows it."""
    return "error" if (kind, status) in _WORSE else SEVERITIES.get(status)


@dataclass(frozen=True, slots=True)
class _Sniffers:
    """How one domain recognises its own."""

    kinds: Mapping[str, str]
    file: Callable[[Peek], Guess | None]
    folder: Callable[[str, Sequence[str]], Guess | None]
    join: Callable[[Sequence[Item], Mapping[str, FileFacts]], list[Item]]


_DOMAINS: Mapping[Domain, _Sniffers] = {
    "profile": _Sniffers(profile.KINDS, profile.sniff_file, profile.sniff_folder, profile.join),
    "model": _Sniffers(convert.KINDS, convert.sniff_file, convert.sniff_folder, convert.join),
    "cache": _Sniffers(cache.KINDS, cache.sniff_file, cache.sniff_folder, cache.join),
}
EVERY: tuple[Domain, ...] = tuple(_DOMAINS)


@dataclass(frozen=True, slots=True)
class Batch:
    """A piece of the inventory. ``items`` and ``notes`` are new; the counts are of all so far.

    ``skipped`` counts folders that were left out on purpose. The last batch is ``finished``; ``cut`` tells that a limit
    ended the walk before its end.
    """

    items: tuple[Item, ...]
    notes: tuple[Finding, ...]
    folders: int
    files: int
    skipped: int
    finished: bool
    cut: bool = False


Progress = Callable[[float, float | None, str, str], None]


def scan(
    folder: str | os.PathLike[str],
    kinds: Collection[Domain] = EVERY,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Progress = lambda done, whole, unit, text: None,
    elsewhere: Sequence[Place] = (),
    depth: int = MAX_DEPTH,
    limit: int = MAX_FILES,
) -> Iterator[Batch]:
    """The inventory of ``folder``, in pieces; nothing more comes once ``cancelled()`` holds.

    Args:
        kinds: the domains wanted.
        progress: called a few times a second with the files looked at, None, "files", and the folder.
        elsewhere: places outside that are summed too, one entry each (see :func:`places_of`).
        depth: folders below ``folder`` that are entered.
        limit: files that are looked at.
    """
    walk = _Walk(frozenset(kinds), cancelled, progress, depth, limit)
    yield from walk.pieces(os.path.realpath(folder), elsewhere)


def whole_places(elsewhere: Sequence[Place], cancelled: Callable[[], bool] = lambda: False) -> Batch:
    """Places outside any project alone, one entry for each that holds something."""
    walk = _Walk(frozenset({"cache"}), cancelled, lambda done, whole, unit, text: None, 0, MAX_FILES)
    for place in elsewhere:
        if not cancelled():
            walk.place(place)
    return walk.piece(finished=True)


def places_of(settings: Settings, environ: Mapping[str, str]) -> tuple[Place, ...]:
    """The places outside the project where caches gather and that exist here; see :mod:`mswb.cache.locate`."""
    active = [environ.get("VIRTUAL_ENV", ""), environ.get("CONDA_PREFIX", "")]
    chosen = os.path.dirname(os.path.dirname(settings.python)) if settings.python else ""
    return places(environ, [prefix for prefix in dict.fromkeys((chosen, *active, sys.prefix)) if prefix])


def domain_of(kind: str) -> Domain:
    """The domain that an item's kind belongs to.

    Raises:
        KeyError: no domain has this kind.
    """
    for domain, sniffers in _DOMAINS.items():
        if kind in sniffers.kinds:
            return domain
    raise KeyError(kind)


def is_skipped(name: str) -> bool:
    """Whether a folder of this name is passed over: other people's files, or a trash of ours."""
    return name in SKIPPED or name.startswith(TRASH)


def kind_words(kind: str) -> str:
    """A kind as a person reads it ("TFRecord", "Chrome trace")."""
    return _DOMAINS[domain_of(kind)].kinds[kind]


def kind_of_file(path: str | os.PathLike[str]) -> tuple[Domain, Guess] | None:
    """What a regular file is, by its content; None when it is nothing of ours, or can't be read."""
    return _recognised(os.path.realpath(path), EVERY)


def claimed(here: Listing) -> tuple[Domain, Guess] | None:
    """What a folder is as a whole (a profile of one rank, a kernel cache), by its name and the names in it."""
    for domain, sniffers in _DOMAINS.items():
        guess = sniffers.folder(here.path, here.names)
        if guess is not None:
            return domain, guess
    return None


def claimed_path(path: str) -> str | None:
    """The kind that a folder is as a whole; None where it is none."""
    claim = claimed(listing(path))
    return claim[1].kind if claim is not None else None


@dataclass(slots=True)
class _Walk:
    """The state of one scan."""

    kinds: frozenset[Domain]
    cancelled: Callable[[], bool]
    progress: Progress
    depth: int
    limit: int
    folders: int = 0
    files: int = 0
    skipped: int = 0
    listed: int = 0
    items: list[Item] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    noted: int = 0
    cut: bool = False
    last: float = field(default_factory=time.monotonic)

    def pieces(self, root: str, elsewhere: Sequence[Place]) -> Iterator[Batch]:
        """Breadth first, so what lies near the top is listed first."""
        pending: deque[tuple[str, int]] = deque([(root, 0)])
        while pending and not self.cut:
            path, level = pending.popleft()
            pending.extend((inner, level + 1) for inner in self._folder(path, level))
            if self.cancelled():
                return
            if self._due(path):
                yield self.piece()
        for place in elsewhere if "cache" in self.kinds else ():
            if not within(place.path, root):
                self.place(place)
            if self.cancelled():
                return
            if self._due(place.path):
                yield self.piece()
        yield self.piece(finished=True)

    def _folder(self, path: str, level: int) -> list[str]:
        """Look at one folder; the folders in it that are still to be looked at."""
        here = listing(path)
        self.folders += 1
        if self.folders >= self.limit:
            self._end("folders", self.limit)
        if here.problem:
            self._note("inventory-unreadable", path, here.problem)
        if level and not _ENVIRONMENT.isdisjoint(here.names):
            self.skipped += 1
            return []
        if self._claimed(here):
            return []
        self._files(here)
        inner = [os.path.join(path, name) for name in here.folders if not is_skipped(name)]
        inner = [name for name in inner if name not in _SYSTEM]
        self.skipped += len(here.folders) - len(inner)
        if inner and level >= self.depth:
            self._note("inventory-deep", path, str(self.depth))
            return []
        return inner

    def _claimed(self, here: Listing) -> bool:
        """Whether the folder is one entry as a whole, of whatever domain; it is listed when that is wanted."""
        claim = claimed(here)
        if claim is not None and claim[0] in self.kinds:
            self._take([self._whole(here.path, claim[1])])
        return claim is not None

    def _whole(self, path: str, guess: Guess, prefixes: tuple[str, ...] = ()) -> Item:
        counted = total(path, prefixes, max(1, self.limit - self.files), self.cancelled)
        self.files += counted.files
        if counted.unreadable:
            self._note("inventory-unreadable", path, f"{counted.unreadable} folders in it")
        return _item(path, guess, counted)

    def _files(self, here: Listing) -> None:
        found: dict[Domain, list[Item]] = {domain: [] for domain in self.kinds}
        quick = self.kinds == {"cache"}  # most files of a large folder are nothing that this domain knows
        prefix = here.path.rstrip("/") + "/"
        for name in here.files:
            self.files += 1
            if self.files % 64 == 0 and self._stop(here.path):
                break
            if name.rpartition(".")[2].lower() in NEVER or (quick and _ruled_out(prefix + name, name)):
                continue
            file = facts(here.path, name)
            if file is not None:
                self._file(file, found)
        beside = _Beside(here)
        for domain, items in found.items():
            if items:
                self._take(_DOMAINS[domain].join(items, beside))

    def _file(self, file: FileFacts, found: Mapping[Domain, list[Item]]) -> None:
        try:
            answer = _of_file(file.path, self.kinds)
        except OSError as problem:
            self._note("inventory-unreadable", file.path, problem.strerror or str(problem))
            return
        if answer is not None and answer[0] in found:
            found[answer[0]].append(file.item(answer[1]))

    def place(self, place: Place) -> None:
        guess = Guess(place.kind, f"{place.detail}; may go when {place.removable}", "a place known for it")
        item = self._whole(place.path, guess, place.prefixes)
        if item.files:
            self._take([item])

    def _take(self, items: Sequence[Item]) -> None:
        self.items += items
        self.listed += len(items)
        if self.listed >= MAX_ITEMS:
            self._end("entries", MAX_ITEMS)

    def _stop(self, path: str) -> bool:
        if self.files >= self.limit:
            self._end("files", self.limit)
        if time.monotonic() - self.last > PIECE_S:
            self.progress(self.files, None, "files", path)
        return self.cut or self.cancelled()

    def _end(self, what: str, limit: int) -> None:
        if not self.cut:
            self.cut = True
            self.notes.append(make("inventory-cut", values={"what": what, "limit": limit}))

    def _note(self, code: str, path: str, reason: str) -> None:
        self.noted += 1
        if self.noted <= MAX_NOTES:
            self.notes.append(make(code, values={"path": path, "reason": reason}))

    def _due(self, path: str) -> bool:
        if time.monotonic() - self.last < PIECE_S:
            return False
        self.progress(self.files, None, "files", path)
        return True

    def piece(self, finished: bool = False) -> Batch:
        if finished and self.noted > MAX_NOTES:
            self.notes.append(make("inventory-more", values={"count": self.noted - MAX_NOTES}))
        batch = Batch(tuple(self.items), tuple(self.notes), self.folders, self.files, self.skipped, finished, self.cut)
        self.items, self.notes, self.last = [], [], time.monotonic()
        return batch


def _ruled_out(path: str, name: str) -> bool:
    """Whether a file is certainly nothing, by its first bytes; what can't be read is not."""
    try:
        descriptor = os.open(path, OPEN)
    except OSError:
        return False
    try:
        head = os.pread(descriptor, HEAD, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return is_nothing(name, head)


class _Beside(Mapping[str, FileFacts]):
    """The regular files of one folder by path, each looked at when it is asked for the first time."""

    def __init__(self, here: Listing) -> None:
        self._here = here
        self._names = frozenset(here.files)
        self._seen: dict[str, FileFacts | None] = {}

    def __getitem__(self, path: str) -> FileFacts:
        if path not in self._seen:
            folder, name = os.path.split(path)
            is_here = folder == self._here.path and name in self._names
            self._seen[path] = facts(folder, name) if is_here else None
        file = self._seen[path]
        if file is None:
            raise KeyError(path)
        return file

    def __iter__(self) -> Iterator[str]:
        return (os.path.join(self._here.path, name) for name in self._here.files)

    def __len__(self) -> int:
        return len(self._names)


def _item(path: str, guess: Guess, counted: Sum) -> Item:
    detail = guess.detail if counted.whole else f"{guess.detail}; counted in part"
    return Item(
        guess.kind,
        path,
        counted.size_bytes,
        counted.disk_bytes,
        counted.modified,
        detail,
        guess.status,
        guess.reason,
        counted.files,
        guess.parts,
    )


def within(path: str, root: str) -> bool:
    """Whether ``path`` lies in ``root``, itself included; both as they really lie."""
    return os.path.commonpath([os.path.realpath(path), root]) == root


def _recognised(path: str, kinds: Collection[Domain]) -> tuple[Domain, Guess] | None:
    try:
        return _of_file(path, kinds)
    except OSError:
        return None


def _of_file(path: str, kinds: Collection[Domain]) -> tuple[Domain, Guess] | None:
    """What a file is. A weak answer (a plain table, a mere name) gives way to a strong one of any domain."""
    with open_peek(path) as peek:
        weak = None
        for domain in (one for one in _DOMAINS if one in kinds):
            guess = _DOMAINS[domain].file(peek)
            if guess is not None and not _is_weak(guess):
                return domain, guess
            weak = weak or ((domain, guess) if guess is not None else None)
        if weak is not None:
            for domain in (one for one in _DOMAINS if one not in kinds):
                guess = _DOMAINS[domain].file(peek)
                if guess is not None and not _is_weak(guess):
                    return domain, guess
        return weak


def _is_weak(guess: Guess) -> bool:
    return guess.kind in ("csv", "pickle") or guess.status in ("not-recognised", "not-a-record-file", "not-a-model")
