"""The files that a source reads: their names, lengths, times of change, and on request the sha256 of what they hold.

They are listed in ``source.list`` beside the samples, one line a file: ``size mtime_ns sha256-or-- "path"``, the path
as a JSON text below the folder or file that the line ``root "path"`` before it names. The list says later which files
were added, removed or changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Dict, Iterable, Iterator, NamedTuple, Optional, Sequence, Set, Tuple

LIST = "source.list"


class Listed(NamedTuple):
    """One file: bytes, modification time in ns, and its sha256 in hex where it was taken ("-" where not)."""

    size: int
    mtime_ns: int
    sha256: str = "-"


Files = Dict[str, Dict[str, Listed]]
"""From each root to its files by relative path; a file that is a root itself has the path ""."""


def list_files(roots: Iterable[str], strict: bool = False, without: Sequence[str] = ()) -> Files:
    """All files at and below some roots; a root that is gone has none.

    Args:
        strict: take the sha256 of each file too: a change that keeps size and time is seen, but all is read.
        without: folders to leave out, such as the caches' own.
    """
    left_out = {os.path.realpath(path) for path in without}
    found: Files = {}
    for root in sorted({os.path.abspath(root) for root in roots}):
        if any(above in found for above in _above(root)):
            continue  # it lies in a root that is listed already
        if os.path.isdir(root):
            found[root] = dict(_walk(root, "", strict, left_out, {os.path.realpath(root)}))
        else:
            found[root] = {"": _listed(root, strict)} if os.path.isfile(root) else {}
    return found


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the next one first."""
    above = os.path.dirname(path)
    while above != path:
        yield above
        path, above = above, os.path.dirname(above)


def _walk(folder: str, prefix: str, strict: bool, left_out: Set[str], above: Set[str]) -> Iterator[Tuple[str, Listed]]:
    """Links are followed, since data often is one; not to a folder that it lies in."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        name = prefix + entry.name
        try:
            if entry.is_dir():
                real = os.path.realpath(entry.path) if entry.is_symlink() or left_out else entry.path
                if real not in left_out and real not in above:
                    yield from _walk(entry.path, name + "/", strict, left_out, above | {real})
            elif entry.is_file():
                yield name, _listed(entry.path, strict)
        except OSError:
            continue


def _listed(path: str, strict: bool) -> Listed:
    found = os.stat(path)
    return Listed(found.st_size, found.st_mtime_ns, _sha256(path) if strict else "-")


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def render(files: Files) -> bytes:
    """The content of ``source.list``."""
    return "".join(_lines(files)).encode("ascii")


def _lines(files: Files) -> Iterator[str]:
    for root, entries in sorted(files.items()):
        yield f"root {json.dumps(root)}\n"
        for name, item in sorted(entries.items()):
            yield f"{item.size} {item.mtime_ns} {item.sha256} {json.dumps(name)}\n"


def parse(text: str) -> Files:
    """The files of a ``source.list``.

    Raises:
        ValueError: a line is none.
    """
    found: Files = {}
    entries: Dict[str, Listed] = {}
    for line in text.splitlines():
        if line.startswith("root "):
            entries = found.setdefault(str(json.loads(line[5:])), {})
            continue
        size, mtime_ns, sha256, name = line.split(" ", 3)
        entries[str(json.loads(name))] = Listed(int(size), int(mtime_ns), sha256)
    return found


class Changes(NamedTuple):
    """What differs between two lists, as full paths in order."""

    added: Tuple[str, ...]
    removed: Tuple[str, ...]
    changed: Tuple[str, ...]

    def __bool__(self) -> bool:
        return any(map(bool, (self.added, self.removed, self.changed)))

    def __str__(self) -> str:
        """``+2 -0 ~1 (a.jpg, b.jpg, c.jpg)``."""
        names = [os.path.basename(path) for path in (*self.changed, *self.removed, *self.added)]
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        return f"+{len(self.added)} -{len(self.removed)} ~{len(self.changed)} ({shown})"


def compare(old: Files, new: Files) -> Changes:
    """From ``old`` to ``new``; a sha256 counts where both have one, and then size and time don't."""
    before, after = dict(_flat(old)), dict(_flat(new))
    both = before.keys() & after.keys()
    return Changes(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(path for path in both if _differ(before[path], after[path]))),
    )


def _differ(old: Listed, new: Listed) -> bool:
    if old.sha256 != "-" and new.sha256 != "-":
        return old.sha256 != new.sha256
    return old[:2] != new[:2]


def _flat(files: Files) -> Iterator[Tuple[str, Listed]]:
    for root, entries in files.items():
        for name, item in entries.items():
            yield (os.path.join(root, name) if name else root), item


def source_changes(folder: str, now: Optional[Files] = None) -> Optional[Changes]:
    """What has changed on the disk since a cache was made; None where its list can't be read or names no files.

    Args:
        now: the files as they are, when they have been listed already.
    """
    try:
        with open(os.path.join(folder, LIST), encoding="ascii") as file:
            old = parse(file.read())
        if now is None:
            strict = any(item.sha256 != "-" for entries in old.values() for item in entries.values())
            now = list_files(old, strict, [os.path.dirname(os.path.dirname(folder))])
    except (OSError, ValueError):
        return None
    return compare(old, now) if old else None


def digest(files: Files, strict: bool) -> str:
    """The sha256 of the list; with ``strict`` of the contents instead of the times."""
    content = hashlib.sha256()
    for path, item in sorted(_flat(files)):
        told = (path, item.size, item.sha256) if strict else (path, item.size, item.mtime_ns)
        content.update(repr(told).encode("utf-8", "surrogatepass"))
    return content.hexdigest()
