"""Completion of a path that is being typed, as a shell does it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mswb.files.safety import UNSAFE

MAX_LOOKED_AT = 20_000
"""Entries of a folder that are looked at; a data set's folder has millions."""
MAX_OFFERED = 200


@dataclass(frozen=True, slots=True)
class Completion:
    """``text`` is what was typed, as far as it is certain; ``candidates`` are the whole texts it may become."""

    text: str
    candidates: tuple[str, ...]


def complete(typed: str, folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> Completion:
    """Complete ``typed``, relative to ``folder``; folders end in ``/`` and are always offered, files when wanted.

    Hidden names are offered only when a dot was typed; names with control characters never. A folder that can't be
    read has no entries.
    """
    head, start = os.path.split(typed)
    head = head if not head or head.endswith("/") else f"{head}/"
    names = _names(os.path.join(folder, os.path.expanduser(head)), start, wanted)
    if not names:
        return Completion(typed, ())
    return Completion(head + _shared(names), tuple(head + name for name in names[:MAX_OFFERED]))


def scripts_only(name: str) -> bool:
    """Wants Python files alone, which is what a training is."""
    return name.endswith((".py", ".pyc", ".pyz"))


def folders_only(name: str) -> bool:
    """Wants no file at all."""
    return False


def _names(folder: str, start: str, wanted: Callable[[str], bool]) -> list[str]:
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for looked_at, entry in enumerate(entries):
                if looked_at >= MAX_LOOKED_AT:
                    break
                name = entry.name
                if not name.startswith(start) or UNSAFE.search(name) or (name.startswith(".") and not start):
                    continue
                if _is_folder(entry):
                    found.append(f"{name}/")
                elif wanted(name):
                    found.append(name)
    except OSError:
        return []
    return sorted(found, key=lambda name: (name.endswith("/"), name))


def _shared(names: list[str]) -> str:
    """The characters with which all names begin."""
    first, last = min(names), max(names)
    differs = (index for index, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differs, min(len(first), len(last)))]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
