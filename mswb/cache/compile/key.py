"""What a compiled graph is good for, as a key; and two small files that say so beside the graphs.

MindSpore finds a cached graph by a hash of some source files and the number of the compile in the process; order,
shapes, arguments, data and versions are not in it. Under ``mswb run`` everything that can be known is in the name of
the folder:

==================  ==================================================================================================
mswb-key.json       :class:`Key`, in the folder of the key; written before the run
mswb-seal.json      :class:`Seal`, in each folder of graphs below it; written when the run has ended well
==================  ==================================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mswb.files.safety import open_regular, printable
from mswb.findings import MswbError
from mswb.jobs.spec import read_record, write_record

KEY_FILE, SEAL_FILE = "mswb-key.json", "mswb-seal.json"
SCHEMA = "mswb-compile-key/1"
SEAL_SCHEMA = "mswb-compile-seal/1"
MAX_FILES = 20_000
"""Files of a key that are compared; no key of ours names as many."""
SHORT = 16
"""Hex digits of the key that name its folder."""
WHOLE_BYTES = 64 << 20
"""An input file up to this size is in the key by its content; a larger one by its size and time of change."""
BLOCK = 1 << 20
ABOVE = 3
"""How many folders above the graphs the key may lie: ``KEY/rank_N/graph_cache``."""

_T = TypeVar("_T")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What decides which graphs a run may use. Files are named relative to ``cwd``.

    Attributes:
        key: SHA-256 over :meth:`parts`.
        words: the program and its arguments, as typed.
        code: SHA-256 of each source file of the program.
        inputs: data files that the arguments or the code name: SHA-256, or ``size:mtime_ns`` of a large one.
        environment: the variables that matter; a hash where the value is not one of MindSpore's own.
        versions: of mindspore, numpy, cann and python, and a hash over all that is installed.
        world: numbers of workers and nodes, dry run.
        git: the commit, with ``+`` when files were changed; told, and not in the key: the content is.
    """

    schema: str = SCHEMA
    key: str = ""
    cwd: str
    script: str | None
    words: tuple[str, ...]
    code: dict[str, str] = {}
    inputs: dict[str, str] = {}
    environment: dict[str, str] = {}
    versions: dict[str, str] = {}
    world: dict[str, str] = {}
    git: str = ""
    created: float = 0.0
    run: str = ""

    def parts(self) -> dict[str, dict[str, str]]:
        """All that the key is made of, by subject."""
        return {
            "command": {str(number): word for number, word in enumerate(self.words)},
            "code": self.code,
            "inputs": self.inputs,
            "environment": self.environment,
            "versions": self.versions,
            "world": self.world,
        }

    def digest(self) -> str:
        """The key of these parts."""
        # As ASCII: a name that is no UTF-8 is part of the key like any other.
        return hashlib.sha256(json.dumps(self.parts(), sort_keys=True).encode("ascii")).hexdigest()


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The SHA-256 of every file of one folder of graphs, after a run that ended well.

    ``begun`` and ``ended`` bound that run, in seconds since the epoch; ``key`` is that of :class:`Key`.
    """

    schema: str = SEAL_SCHEMA
    key: str
    run: str
    begun: float
    ended: float
    files: dict[str, str]


def keyed(key: Key) -> Key:
    """The key with its digest filled in."""
    return msgspec.structs.replace(key, key=key.digest())


def differences(one: Key, other: Key) -> tuple[str, ...]:
    """What differs between two keys, as ``subject: name``; the code and the inputs first."""
    found = []
    for subject, mine in one.parts().items():
        theirs = other.parts()[subject]
        changed = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
        if subject == "command":
            found += ["arguments"] if changed else []
        else:
            found += [f"{_WORDS[subject]}{printable(name, 100)}" for name in changed]
    return tuple(found)


_WORDS = {"code": "file ", "inputs": "file ", "environment": "variable ", "versions": "version of ", "world": ""}


def fingerprint(path: str) -> str:
    """An input file as the key has it; ``absent`` for one that can't be read.

    A file of more than :data:`WHOLE_BYTES` is named by size and time, as reading it would take as long as compiling.
    """
    try:
        descriptor = open_regular(path)
    except MswbError:
        return "absent"
    with open(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if facts.st_size > WHOLE_BYTES:
            return f"{facts.st_size}:{facts.st_mtime_ns}"
        return hash_of(file)


def file_hash(path: str) -> str:
    """The SHA-256 (hex) of a regular file.

    Raises:
        OSError, MswbError: it can't be read.
    """
    with open(open_regular(path), "rb") as file:
        return hash_of(file)


def hash_of(file: Any) -> str:
    """The SHA-256 (hex) of what an open file holds."""
    total = hashlib.sha256()
    while block := file.read(BLOCK):
        total.update(block)
    return total.hexdigest()


def relative(files: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The same files, named relative to a folder."""
    return {os.path.relpath(path, cwd): value for path, value in sorted(files.items())}


def changed_files(key: Key, cancelled: Callable[[], bool] = lambda: False) -> list[str]:
    """The files of a key that are not as they were, as ``~name`` (changed) and ``-name`` (gone)."""
    found = []
    for name, old in islice({**key.code, **key.inputs}.items(), MAX_FILES):
        if cancelled():
            break
        new = fingerprint(os.path.join(key.cwd, name))
        if new == "absent":
            found.append(f"-{name}")
        elif new != old and not (":" in new) ^ (":" in old):
            found.append(f"~{name}")
    return [printable(name, 200) for name in found]


def read_key(folder: str) -> Key | None:
    """The key of a folder of graphs: it lies in it or at most :data:`ABOVE` folders above; None where there is none.

    Raises:
        ValueError: there is one, and it is damaged.
    """
    for _ in range(ABOVE + 1):
        key = _read(os.path.join(folder, KEY_FILE), Key, SCHEMA)
        if key is not None:
            return key
        folder = os.path.dirname(folder)
    return None


def key_folder(folder: str) -> str | None:
    """The folder in which :func:`read_key` finds the key."""
    for _ in range(ABOVE + 1):
        if os.path.isfile(os.path.join(folder, KEY_FILE)):
            return folder
        folder = os.path.dirname(folder)
    return None


def read_seal(folder: str) -> Seal | None:
    """The seal of a folder of graphs; None where there is none.

    Raises:
        ValueError: there is one, and it is damaged.
    """
    return _read(os.path.join(folder, SEAL_FILE), Seal, SEAL_SCHEMA)


def write_key(folder: str, key: Key) -> None:
    """Put a key into its folder."""
    write_record(Path(folder, KEY_FILE), key)


def write_seal(folder: str, seal: Seal) -> None:
    """Put a seal beside the graphs."""
    write_record(Path(folder, SEAL_FILE), seal)


def _read(path: str, kind: type[_T], schema: str) -> _T | None:
    if not os.path.lexists(path):
        return None
    try:
        found = read_record(Path(path), kind)
    except (MswbError, OSError, ValueError) as problem:
        raise ValueError(f"{os.path.basename(path)} can't be read: {problem}") from None
    if getattr(found, "schema", "") != schema:
        raise ValueError(f"{os.path.basename(path)} is of another version of mswb")
    return found


def installed_hash(purelib: str) -> str:
    """One hash over the names (with versions) of all installed distributions."""
    try:
        names = sorted(name for name in os.listdir(purelib) if name.endswith((".dist-info", ".egg-info")))
    except OSError:
        names = []
    return hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:SHORT]


def cann_version(environ: Mapping[str, str]) -> str:
    """The version of CANN in use, from its own ``version.info``; empty where there is none."""
    home = environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME") or ""
    for name in ("compiler/version.info", "runtime/version.info", "version.cfg"):
        try:
            text = Path(home, name).read_text("utf-8")[:4096] if home else ""
        except (OSError, UnicodeDecodeError):
            continue
        for line in text.splitlines():
            word, _, value = line.partition("=")
            if word.strip().lower() in ("version", "version_dir"):
                return value.strip()[:80]
    return ""


def data_arguments(words: Sequence[str], cwd: str) -> list[str]:
    """The files that arguments name, by themselves or as ``--flag=FILE``."""
    found = []
    for word in words:
        for text in dict.fromkeys((word, word.partition("=")[2])):
            if text and "\0" not in text and os.path.isfile(os.path.join(cwd, text)):
                found.append(os.path.normpath(os.path.join(cwd, text)))
    return found
