"""What can be told from the training script without running it."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from mswb.env.interpreter import Interpreter
from mswb.findings import Finding, Where, make
from mswb.launch.command import LaunchRequest

MAX_BYTES = 4 << 20
MAX_FILES = 50
_INIT = re.compile(r"\binit(?:_process_group)?\s*\(")
_DATASET_WORKERS = re.compile(r"\bGeneratorDataset\b|\bpython_multiprocessing\b|\bnum_parallel_workers\b")


@dataclass(frozen=True, slots=True)
class Script:
    """The facts of a script. ``text`` is "" where there is none to read; ``error`` is why our Python can't compile it.

    calls_init: it, or a module beside it that it imports, seems to call ``init()``.
    """

    path: str | None
    text: str = ""
    error: SyntaxError | None = None
    imports_mindspore: bool = False
    calls_init: bool = False

    @property
    def names_cpu(self) -> bool:
        """Whether it asks for the CPU somewhere."""
        return bool(re.search(r"""["']CPU["']""", self.text))

    @property
    def has_dataset_workers(self) -> bool:
        """Whether its dataset pipeline may use worker processes."""
        return bool(_DATASET_WORKERS.search(self.text))


def read_script(request: LaunchRequest) -> Script:
    """Read and parse the script of a launch; modules and folders have none."""
    path = request.script
    data = _read(path) if path else None
    if path is None or data is None:
        return Script(path)
    text = data.decode("utf-8", "replace")
    try:
        tree = _parse(data, path)
    except SyntaxError as problem:
        return Script(path, text, problem)
    except (ValueError, RecursionError, MemoryError):  # a NUL byte, or nested beyond what we follow
        return Script(path, text)
    names = set(_imported(tree))
    folders = [os.path.dirname(os.path.realpath(path)), request.cwd]
    return Script(path, text, None, "mindspore" in names, _INIT.search(text) is not None or _local_init(names, folders))


def check(request: LaunchRequest, interpreter: Interpreter, script: Script) -> Iterator[Finding]:
    """A script that does not compile, and one that the scheduler would run as a whole."""
    if script.error is not None:
        yield _syntax(script, script.error, interpreter)
    has_scheduler = request.is_master and interpreter.mindspore_version is not None
    if has_scheduler and script.text and script.error is None and not script.calls_init:
        yield make("scheduler-runs-script", where=Where(file=script.path))


def _syntax(script: Script, error: SyntaxError, interpreter: Interpreter) -> Finding:
    # Another Python than ours may know what ours does not: then it is only a suspicion.
    same = interpreter.version.rsplit(".", 1)[0] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    values = {"message": error.msg, "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    return make(
        "script-syntax",
        severity="error" if same else "warning",
        where=Where(file=script.path, line=error.lineno),
        evidence=(error.text or "").rstrip("\n"),
        values=values,
    )


def _read(path: str) -> bytes | None:
    if not os.path.isfile(path) or path.endswith(".pyc"):
        return None
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return None if len(data) > MAX_BYTES or data.startswith(b"PK\x03\x04") else data


def _parse(data: bytes, path: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data, path)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _local_init(names: set[str], folders: list[str]) -> bool:
    """Whether a module that lies beside the script calls ``init()``: a helper may do it for all scripts."""
    return any(_INIT.search((_read(file) or b"").decode("utf-8", "replace")) for file in _local_files(names, folders))


def _local_files(names: set[str], folders: list[str]) -> list[str]:
    files: list[str] = []
    for folder in dict.fromkeys(folders):
        for name in sorted(names):
            files += [os.path.join(folder, f"{name}.py"), *_package_files(os.path.join(folder, name))]
    return [file for file in files if os.path.isfile(file)][:MAX_FILES]


def _package_files(folder: str) -> list[str]:
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__pycache__")))
        found += [os.path.join(parent, name) for name in sorted(names) if name.endswith(".py")]
        if len(found) > MAX_FILES:
            break
    return found
