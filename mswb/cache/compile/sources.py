"""What a graph may depend on, and MindSpore's own hash does not see: read from the source, which is never run.

* modules that are imported anywhere (in functions, under ``if`` and ``try``), with the packages they lie in;
* environment variables that the code names, and small data files (JSON, YAML ...) whose path stands in it;
* places where the program takes in what nobody can see from here: arguments, files, the environment.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mswb.cache.compile.dependency import MAX_FILES, parse, read_source
from mswb.cache.compile.modules import Finder, Module, NoSuchParent, absolute

DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml"})
"""Files that programs read their settings from."""
MAX_INPUTS = 500
_ARGUMENT_MODULES = frozenset({"argparse", "click", "fire", "absl", "optparse", "getopt", "typer", "hydra"})
_READS = {"sys.argv": "sys.argv", "os.environ": "the environment", "os.getenv": "the environment"}
_READ_ENDS = frozenset(name.rpartition(".")[2] for name in _READS)
_FILE_CALLS = frozenset({"open", "read_text", "read_bytes", "safe_load", "loadtxt"})


@dataclass(frozen=True, slots=True)
class Outside:
    """One place at which a program takes in something that MindSpore's hash does not cover."""

    what: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} ({os.path.basename(self.file)}, line {self.line})"


@dataclass
class Sources:
    """The code of a program and what it names.

    Attributes:
        files: SHA-256 (hex) of each source file, by path.
        variables: environment variables that it names.
        inputs: data files that it names and that exist.
        outside: the first place for each kind of thing that is taken in.
        text_options: those of :data:`OPTIONS` that the code mentions.
        own_folders: the values of ``compile_cache_path`` that stand in the code.
    """

    files: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    outside: dict[str, Outside] = field(default_factory=dict)
    text_options: set[str] = field(default_factory=set)
    own_folders: set[str] = field(default_factory=set)


def read_sources(script: str, path: Sequence[str], installed: Sequence[str], cwd: str) -> Sources:
    """Read a program.

    Args:
        path: ``sys.path`` as the script has it.
        installed: folders whose modules are not its own (the standard library, site-packages).
        cwd: the folder it is started in, for data files.
    """
    entry = os.path.realpath(script)
    finder, found = Finder(path), Sources()
    todo: list[tuple[str, str | None]] = [(entry, None)]
    seen = {entry}
    while todo and len(found.files) < MAX_FILES:
        file, package = todo.pop()
        facts = _facts_of(file)
        if facts is None:
            continue
        _add(facts, file, cwd, found)
        for module in _modules(facts.names, finder, package):
            target = module.file
            if target and target not in seen and not _lies_in(target, installed):
                seen.add(target)
                todo.append((target, module.package))
    return found


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one source file tells: its SHA-256, what it imports, and what it names. ``outside``: what, and the line."""

    digest: str
    names: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
    data: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    own_folders: frozenset[str] = frozenset()
    outside: tuple[tuple[str, int], ...] = ()


def _facts_of(file: str) -> _Facts | None:
    try:
        known = os.stat(file)
    except OSError:
        return None
    return _read(file, known.st_ino, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=2 * MAX_FILES)
def _read(file: str, inode: int, mtime_ns: int, size: int) -> _Facts | None:
    """The facts of a file; remembered until it changes, since a launch asks twice, and a form at every change."""
    data = read_source(file)
    if data is None:
        return None
    digest = hashlib.sha256(data).hexdigest()
    tree = parse(data, file)
    return _Facts(digest) if tree is None else _told(tree, digest)


def _told(tree: ast.Module, digest: str) -> _Facts:
    names: dict[str, None] = {}
    texts: dict[str, None] = {}
    options: set[str] = set()
    own_folders: set[str] = set()
    outside: dict[str, int] = {}
    for node in ast.walk(tree):
        kind = type(node)
        if kind is ast.Constant:
            if isinstance(node.value, str):  # type: ignore[attr-defined]
                texts[node.value] = None  # type: ignore[attr-defined]
            continue
        if kind is ast.keyword:
            options |= {node.arg} & OPTIONS  # type: ignore[attr-defined]
            own_folders |= _own_folder(node)
        elif kind in _TELLING:
            names.update(dict.fromkeys(_names(node)))
            what = _taken_in(node)
            if what:
                outside.setdefault(what, node.lineno)  # type: ignore[attr-defined]
    return _Facts(
        digest,
        tuple(names),
        frozenset(text for text in texts if _is_variable(text)),
        tuple(text for text in texts if _is_data(text)),
        frozenset(options | (OPTIONS & texts.keys())),
        frozenset(own_folders),
        tuple(outside.items()),
    )


_TELLING = frozenset({ast.Import, ast.ImportFrom, ast.Call, ast.Attribute})
OPTIONS = frozenset({"enable_compile_cache", "compile_cache_path"})
"""Options of ``mindspore.set_context``, which win over the environment."""


def _own_folder(node: ast.AST) -> set[str]:
    """The folder that ``compile_cache_path=`` names in so many words."""
    if isinstance(node, ast.keyword) and node.arg == "compile_cache_path" and isinstance(node.value, ast.Constant):
        return {node.value.value} if isinstance(node.value.value, str) else set()
    return set()


def _is_variable(text: str) -> bool:
    return text.isupper() and text.isascii() and text.replace("_", "").isalnum() and len(text) < 100


def _is_data(text: str) -> bool:
    return len(text) < 1000 and "\0" not in text and os.path.splitext(text)[1].lower() in DATA_SUFFIXES


def _add(facts: _Facts, file: str, cwd: str, found: Sources) -> None:
    found.files[file] = facts.digest
    found.variables |= facts.variables
    found.text_options |= facts.options
    found.own_folders |= facts.own_folders
    for what, line in facts.outside:
        found.outside.setdefault(what, Outside(what, file, line))
    for text in facts.data:
        for folder in (cwd, os.path.dirname(file)):
            path = os.path.normpath(os.path.join(folder, text))
            if len(found.inputs) < MAX_INPUTS and os.path.isfile(path):
                found.inputs.add(path)


def _lies_in(file: str, folders: Sequence[str]) -> bool:
    return any(file.startswith(folder.rstrip("/") + "/") for folder in folders)


def _modules(names: Sequence[str], finder: Finder, package: str | None) -> Iterator[Module]:
    for name in names:
        full = absolute(name, package)
        if full:
            yield from _with_parents(full, finder)


def _names(node: ast.AST) -> Iterator[str]:
    """What a statement imports, attributes and modules alike."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = "." * node.level + (node.module or "")
        yield origin
        separator = "" if origin.endswith(".") else "."
        yield from (f"{origin}{separator}{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _last(node.func) == "import_module":
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value:
            yield first.value


def _with_parents(name: str, finder: Finder) -> Iterator[Module]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        try:
            module = finder.find(".".join(parts[:count]))
        except NoSuchParent:
            return
        if module is None:
            return
        yield module


def _taken_in(node: ast.AST) -> str | None:
    """What kind of thing outside of the code an expression or statement takes in."""
    if isinstance(node, ast.Attribute):
        return _READS.get(_dotted(node)) if node.attr in _READ_ENDS else None
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        return "arguments" if any(name.split(".")[0] in _ARGUMENT_MODULES for name in names) else None
    if isinstance(node, ast.Call):
        last = _last(node.func)
        if last in _FILE_CALLS or (last == "load" and _dotted(node.func) in ("json.load", "yaml.load")):
            return "a file"
    return None


def _last(node: ast.expr) -> str:
    """The last name of ``a.b.c``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` for an expression of names and attributes; the last names alone where something else comes first."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
