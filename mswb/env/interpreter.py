"""The training interpreter: found, probed in a short child process, and remembered.

MindSpore is never imported for this; ``inside/probe.py`` asks the import system only. A probe is kept in the state
folder and is valid while the interpreter and its site-packages have not changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mswb.files.safety import make_private_dir, printable, write_atomic
from mswb.findings import MswbError, stop
from mswb.inside.probe import MARK
from mswb.settings import Settings

TIMEOUT_S = 30.0
MAX_OUTPUT_BYTES = 1 << 20
_FACTS = ("executable", "version", "prefix", "purelib", "mindspore_version", "mindspore_path", "numpy_version")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can run trainings.

    path: the program to start (a virtual environment's own link, not what it leads to). ``source`` says who chose it.
    purelib: its site-packages. The MindSpore fields are None where it has none.
    """

    path: str
    version: str
    prefix: str
    purelib: str
    mindspore_version: str | None
    mindspore_path: str | None
    numpy_version: str | None
    source: str

    @property
    def folder_with_python(self) -> str | None:
        """Its folder, when ``python`` and ``python3`` there are this interpreter, so that PATH can lead to it."""
        folder = os.path.dirname(self.path)
        names = ("python", "python3")
        return folder if all(_same_program(os.path.join(folder, name), self.path) for name in names) else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that may be the training interpreter, and who names it."""

    path: str
    source: str


def find_interpreter(option: str | None, settings: Settings, environ: Mapping[str, str]) -> Interpreter:
    """The interpreter that trainings run in.

    Order: ``--python``, MSWB_PYTHON, the configuration file, $VIRTUAL_ENV, $CONDA_PREFIX, the first python or python3
    on PATH that has MindSpore, our own.

    Raises:
        MswbError: ``interpreter-unusable`` when one that was named is missing, or is no working Python 3.
    """
    named = _named(option, settings)
    if named is not None:
        return probe(_program(named, environ), settings, environ)
    active = next(_active(environ), None)
    if active is not None:
        return probe(active, settings, environ)
    for candidate in _on_path(environ):
        try:
            found = probe(candidate, settings, environ)
        except MswbError:  # a wrapper, a Python 2: not what we look for
            continue
        if found.mindspore_version is not None:
            return found
    return probe(Candidate(sys.executable, "mswb's own"), settings, environ)


def candidates(settings: Settings, environ: Mapping[str, str], folder: Path) -> tuple[Candidate, ...]:
    """The interpreters that a person may mean, none of them started: the configured one, environments of ``folder``,
    the active ones, those on PATH, our own; each program once."""
    own = Candidate(sys.executable, "mswb's own")
    found: dict[str, Candidate] = {}
    for one in (*_configured(settings), *_of_folder(folder), *_active(environ), *_on_path(environ), own):
        found.setdefault(one.path, one)
    return tuple(found.values())


def probe(candidate: Candidate, settings: Settings, environ: Mapping[str, str]) -> Interpreter:
    """Ask an interpreter what it is, or recall its answer.

    Raises:
        MswbError: ``interpreter-unusable`` when it does not answer like a Python 3.
    """
    folder = settings.state_dir / "interpreters"
    file = folder / f"{_key(candidate.path, environ)}.json"
    facts = _recalled(file)
    if facts is None:
        facts = _ask(candidate, environ)
        _remember(folder, file, facts)
    return _from_facts(candidate, facts)


def shadows(interpreter: Interpreter, cwd: str, environ: Mapping[str, str]) -> str | None:
    """Another MindSpore that would be imported instead, because it lies in the working directory or on PYTHONPATH."""
    parts = [cwd, *(part for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part)]
    for part in parts:
        found = os.path.join(part, "mindspore")
        if os.path.isfile(os.path.join(found, "__init__.py")) or os.path.isfile(f"{found}.py"):
            ours = interpreter.mindspore_path
            return None if ours and os.path.realpath(ours) == os.path.realpath(found) else found
    return None


def wrapper_folder(interpreter: Interpreter, folder: Path) -> str:
    """A folder whose ``python`` and ``python3`` start this interpreter, for the front of PATH.

    msrun starts ``python`` by name. It is a script and not a link, since a link would lose a virtual environment.

    Raises:
        MswbError: ``path-unwritable``.
    """
    from shlex import quote

    target = make_private_dir(folder)
    for name in ("python", "python3"):
        write_atomic(target / name, f'#!/bin/sh\nexec {quote(interpreter.path)} "$@"\n', mode=0o700)
    return str(target)


def _named(option: str | None, settings: Settings) -> Candidate | None:
    return Candidate(option, "--python") if option else next(_configured(settings), None)


def _configured(settings: Settings) -> Iterator[Candidate]:
    if settings.python:
        yield Candidate(settings.python, settings.entries["python"].source)


def _of_folder(folder: Path) -> Iterator[Candidate]:
    for name in (".venv", "venv", "env"):
        path = folder / name / "bin" / "python"
        if os.access(path, os.X_OK):
            yield Candidate(str(path), f"{name} of this folder")


def _program(named: Candidate, environ: Mapping[str, str]) -> Candidate:
    """The program that a path, a command name or the folder of an environment means."""
    path = os.path.expanduser(named.path)
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    found = shutil.which(path, path=environ.get("PATH"))
    if found is None:
        raise _unusable(named.path, named.source, "there is no such program")
    return Candidate(os.path.abspath(found), named.source)


def _active(environ: Mapping[str, str]) -> Iterator[Candidate]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        path = os.path.join(environ.get(variable, ""), "bin", "python")
        if environ.get(variable) and os.access(path, os.X_OK):
            yield Candidate(path, f"${variable}")


def _on_path(environ: Mapping[str, str]) -> Iterator[Candidate]:
    for name in ("python", "python3"):
        found = shutil.which(name, path=environ.get("PATH"))
        if found is not None:
            yield Candidate(os.path.abspath(found), f"{name} on PATH")


def _ask(candidate: Candidate, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    with resources.as_file(resources.files("mswb.inside") / "probe.py") as script:
        try:
            output = _output_of([candidate.path, str(script)], environ, timeout_s)
        except OSError as problem:
            raise _unusable(candidate.path, candidate.source, str(problem.strerror)) from None
    facts = _read_answer(output)
    if facts is None:
        words = output[-4096:].decode("utf-8", "replace").strip().splitlines()[-1:]
        raise _unusable(candidate.path, candidate.source, words[0] if words else "it does not answer like a Python 3")
    return facts


def _output_of(argv: list[str], environ: Mapping[str, str], timeout_s: float) -> bytes:
    """What a command writes until it has answered, closed its output, written too much, or used up its time."""
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"},
        cwd="/",
    )
    assert child.stdout is not None
    output = b""
    deadline = time.monotonic() + timeout_s
    try:
        while len(output) < MAX_OUTPUT_BYTES and _read_answer(output) is None:
            ready, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
            block = os.read(child.stdout.fileno(), 65536) if ready else b""
            if not block:
                break
            output += block
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    return output


def _read_answer(output: bytes) -> dict[str, Any] | None:
    """The facts among whatever else a sitecustomize or a wrapper printed; None when there are none."""
    for line in reversed(output.decode("utf-8", "replace").splitlines()):
        _, found, text = line.partition(MARK)
        if found:
            return _checked(text)
    return None


def _checked(text: str) -> dict[str, Any] | None:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    facts = {name: raw.get(name) for name in _FACTS}
    texts = all(value is None or isinstance(value, str) for value in facts.values())
    return facts if texts and facts["version"] and facts["prefix"] and facts["purelib"] else None


def _from_facts(candidate: Candidate, facts: Mapping[str, Any]) -> Interpreter:
    values = {name: facts[name] for name in _FACTS if name != "executable"}
    return Interpreter(path=candidate.path, source=candidate.source, **values)


def _key(path: str, environ: Mapping[str, str]) -> str:
    """Names a probe: another interpreter, another environment of it, or another PYTHONPATH is another probe."""
    words = [path, _stamp(path), _stamp(os.path.join(os.path.dirname(path), "..", "pyvenv.cfg"))]
    words += [environ.get(name, "") for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "HOME")]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _stamp(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_dev}:{about.st_ino}:{about.st_size}:{about.st_mtime_ns}"


def _remember(folder: Path, file: Path, facts: Mapping[str, Any]) -> None:
    record = {"facts": dict(facts), "stamps": _stamps(facts)}
    try:
        make_private_dir(folder)
        write_atomic(file, json.dumps(record))
    except MswbError:  # a state folder that can't be written costs a probe each time, nothing else
        return


def _recalled(file: Path) -> dict[str, Any] | None:
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return None
        record = json.loads(file.read_bytes()[:MAX_OUTPUT_BYTES])
        facts = _checked(json.dumps(record["facts"]))
        return facts if facts is not None and record["stamps"] == _stamps(facts) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _stamps(facts: Mapping[str, Any]) -> list[str]:
    """What changes when packages are installed or removed."""
    return [_stamp(facts["purelib"]), _stamp(facts["mindspore_path"] or "")]


def _same_program(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _unusable(path: str, source: str, reason: str) -> MswbError:
    return stop("interpreter-unusable", values={"path": path, "source": source, "reason": printable(reason, 300)})
