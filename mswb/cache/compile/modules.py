"""Where Python would find a module, told from the folders of its search path alone: nothing is imported or run.

The rules are those of ``importlib`` ("The import system" of the language reference): a package wins over a module of
the same name, both over a folder without ``__init__`` (a namespace package), and the earlier folder over the later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

SUFFIXES = (".so", ".py", ".pyc")
"""Endings in the order in which they are tried; compiled ones hold a tag of the interpreter in between."""
BUILT_IN = frozenset(sys.builtin_module_names) | frozenset(
    {"os", "io", "abc", "codecs", "stat", "site", "posixpath", "genericpath", "encodings", "_collections_abc"}
)
"""Modules that are there before any script begins, so that a file of this name beside it is never looked at."""
MAX_NAMES = 20_000
"""Names of one folder that are looked at."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module that was found. ``file`` is None for a namespace package; ``folders`` are those of a package."""

    name: str
    file: str | None
    folders: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The package that relative imports in it start from."""
        return self.name if self.folders else self.name.rpartition(".")[0]


class NoSuchParent(LookupError):
    """A dotted name whose first part is missing, or is no package."""


class Finder:
    """Looks modules up in the folders of a search path; remembers what it has seen."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = tuple(path)
        self._names: dict[str, frozenset[str]] = {}
        self._known: dict[str, Module | None] = {}

    def find(self, name: str) -> Module | None:
        """The module of an absolute dotted name; None when only its last part is missing.

        Raises:
            NoSuchParent: what stands before the last dot is missing or no package.
        """
        if name not in self._known:
            self._known[name] = self._look(name)
        return self._known[name]

    def _look(self, name: str) -> Module | None:
        parent, _, last = name.rpartition(".")
        if not parent:
            return None if name in BUILT_IN else self._in(self._path, name, last)
        above = self.find(parent)
        if above is None or not above.folders:
            raise NoSuchParent(name)
        return self._in(above.folders, name, last)

    def _in(self, folders: Sequence[str], name: str, last: str) -> Module | None:
        portions = []
        for folder in folders:
            names = self._listing(folder)
            if last in names:
                inner = os.path.join(folder, last)
                if (init := self._file(inner, "__init__")) is not None:
                    return Module(name, init, (inner,))
                if os.path.isdir(inner):
                    portions.append(inner)
            if (file := self._file(folder, last)) is not None:
                return Module(name, file)
        return Module(name, None, tuple(portions)) if portions else None

    def _file(self, folder: str, stem: str) -> str | None:
        names = self._listing(folder)
        for suffix in SUFFIXES:
            fits = [name for name in (f"{stem}{suffix}", *_tagged(names, stem, suffix)) if name in names]
            path = os.path.join(folder, fits[0]) if fits else ""
            if path and os.path.isfile(path):
                return path
        return None

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._names:
            try:
                with os.scandir(folder) as entries:
                    found = frozenset(entry.name for _, entry in zip(range(MAX_NAMES), entries, strict=False))
            except OSError:
                found = frozenset()
            self._names[folder] = found
        return self._names[folder]


def _tagged(names: frozenset[str], stem: str, suffix: str) -> list[str]:
    """``stem.cpython-311-x86_64-linux-gnu.so`` and the like."""
    if suffix != ".so":
        return []
    return sorted(name for name in names if name.startswith(f"{stem}.") and name.endswith(suffix))


def absolute(name: str, package: str | None) -> str | None:
    """A name with leading dots, resolved against a package (PEP 328); None when there is nothing to start from."""
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if not level:
        return name
    parts = (package or "").split(".")
    if not package or level > len(parts):
        return None
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{bare}" if bare else base
