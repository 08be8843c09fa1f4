"""MindSpore's dependency hash, computed anew without MindSpore.

MindSpore 2.10 (mindspore/graph/api.py; measured) takes the script and what its *top-level* import statements lead to,
file by file; nothing that lies under another entry of ``sys.path`` than the script's folder, and no name that begins
with ``mindspore``. The hash is the SHA-256 of the files' SHA-256 (as hex) in the order of their paths. The rules are
followed to the letter, oddities included, since the question is what MindSpore will say:

* ``import a.b``, ``from a import b`` and ``from a.b import name`` count ``b``, and not ``a/__init__.py``;
* ``from a import name`` counts ``a`` when it is a module, and nothing at all when it is a package that defines it;
* an empty file adds nothing;
* a path counts as installed when it merely *begins* with the text of an entry: with the project's folder in PYTHONPATH
  no module of it is counted.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mswb.cache.compile.modules import Finder, Module, NoSuchParent, absolute
from mswb.files.safety import open_regular
from mswb.findings import MswbError

MAX_BYTES = 8 << 20
"""A source file beyond this is nobody's module."""
MAX_FILES = 5_000
_EMPTY = hashlib.sha256(b"").hexdigest()
_MOVES_PATH = re.compile(rb"\bsys\.path\b|\bsite\.addsitedir\b|\bsys\.meta_path\b")


@dataclass(frozen=True, slots=True)
class Dependency:
    """The files that MindSpore counts, in the order of their paths, with the SHA-256 of each as hex.

    Attributes:
        digest: MindSpore's hash; None when a file can't be read or parsed (MindSpore itself would fail on it).
        doubt: why the real hash may differ: the program changes its search path while it runs.
    """

    script: str
    files: tuple[tuple[str, str], ...]
    digest: str | None
    doubt: str = ""


def dependency(script: str, path: Sequence[str]) -> Dependency:
    """The dependency hash of a script.

    Args:
        script: its path.
        path: ``sys.path`` as the script has it: its own folder, PYTHONPATH, then the interpreter's folders.
    """
    entry = os.path.realpath(script)
    installed = list(path)
    if os.path.dirname(entry) in installed:
        installed.remove(os.path.dirname(entry))  # once: a second mention of the folder stays
    finder = Finder(path)
    hashes: dict[str, str] = {}
    todo: list[tuple[str, str | None]] = [(entry, None)]
    whole, doubt = True, ""
    while todo and len(hashes) < MAX_FILES:
        file, package = todo.pop()
        data = read_source(file)
        if data is None:
            whole = False
            continue
        hashes[file] = hashlib.sha256(data).hexdigest()
        if _MOVES_PATH.search(data):
            doubt = doubt or f"{file} changes sys.path"
        tree = parse(data, file)
        if tree is None:
            whole = False
            continue
        for found in _named(tree, finder, package):
            known = found.file is None or found.file in hashes or any(found.file == other for other, _ in todo)
            if not known and found.file and not any(found.file.startswith(entry) for entry in installed):
                todo.append((found.file, found.package))
    files = tuple(sorted(hashes.items()))
    return Dependency(entry, files, combine(files) if whole and not todo else None, doubt)


def combine(files: Sequence[tuple[str, str]]) -> str:
    """The hash over files that are in the order of their paths. An empty file adds nothing to it."""
    return hashlib.sha256("".join(digest for _, digest in files if digest != _EMPTY).encode("ascii")).hexdigest()


def read_source(file: str) -> bytes | None:
    """The bytes of a source file; None when it can't be read, is no regular file or far too big."""
    try:
        with open(open_regular(file), "rb") as source:
            data = source.read(MAX_BYTES + 1)
    except (MswbError, OSError, ValueError):
        return None
    return data if len(data) <= MAX_BYTES else None


def parse(data: bytes, file: str) -> ast.Module | None:
    """The syntax tree; None when it is no Python that ours understands."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def search_path(script: str, python_path: str = "", installed: Sequence[str] = (), first: str = "") -> tuple[str, ...]:
    """``sys.path`` of ``python script``: its folder, PYTHONPATH, and the folders of the interpreter.

    Args:
        first: the folder that :mod:`mswb.inside.boot` puts in front of all, if it does.
    """
    named = [os.path.abspath(part) for part in python_path.split(os.pathsep) if part]
    folder = os.path.dirname(os.path.realpath(script))
    return (*([first] if first else []), folder, *dict.fromkeys(named), *installed)


def _named(tree: ast.Module, finder: Finder, package: str | None) -> Iterator[Module]:
    """The modules that the import statements at the top level lead to, by MindSpore's rules."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
        elif isinstance(node, ast.Import):
            origin = ""
        else:
            continue
        if origin.startswith("mindspore"):
            continue
        for alias in node.names:
            if not alias.name.startswith("mindspore"):
                found = _lookup(_joined(origin, alias.name), finder, package)
                if found is not None:
                    yield found


def _joined(origin: str, name: str) -> str:
    if not origin:
        return name
    return f"{origin}{name}" if origin.endswith(".") else f"{origin}.{name}"


def _lookup(name: str, finder: Finder, package: str | None) -> Module | None:
    """The module of that name, or, where it is an attribute of a plain module, that module."""
    for candidate in (name, name.rpartition(".")[0]):
        full = absolute(candidate, package)
        if not full:
            return None
        try:
            return finder.find(full)
        except NoSuchParent:
            continue
    return None
