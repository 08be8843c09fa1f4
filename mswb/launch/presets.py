"""What was launched in a folder before, and launches with a name: the user's own and the project's.

The user's lie in ``<state>/launches/<key>.json``, one file a folder (0600, replaced whole); the project's in a
``mswb.toml`` of the folder, ``[presets.NAME]`` with ``args``, which is only read. Values of ``--env`` variables that
look like secrets are never written: their names are, so that a face can ask for them again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mswb.files.safety import UNSAFE, make_private_dir, open_regular, write_atomic
from mswb.findings import Finding, MswbError, Where, make, parse_toml, stop
from mswb.launch.form import arguments, read_arguments

HISTORY_LIMIT = 200
"""Launches of a folder that are remembered."""
RECORD_LIMIT = 1 << 20
"""Bytes of a record; the oldest launches go first. Also the most that is read of a project's file."""
NAME_LIMIT = 60
SCHEMA = "mswb.launches/1"
PROJECT_FILE = "mswb.toml"
_SECRET = ("TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "KEY", "CREDENTIAL")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line behind ``mswb run``. ``withheld``: variables of ``--env`` whose values were not kept."""

    arguments: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    time: float = 0.0
    """When it was last started, seconds since the epoch; 0 for a preset."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A launch with a name; one of the project can't be changed from here."""

    name: str
    launch: Launch
    origin: Literal["user", "project"] = "user"


@dataclass(frozen=True, slots=True)
class Record:
    """The file of one folder. ``history``: the newest first; ``presets`` by name."""

    history: tuple[Launch, ...] = ()
    presets: Mapping[str, Launch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Launches:
    """What a face offers: presets (the user's, then the project's) and history (the newest first).

    ``findings`` say what could not be read; everything else is there all the same.
    """

    presets: tuple[Preset, ...] = ()
    history: tuple[Launch, ...] = ()
    findings: tuple[Finding, ...] = ()


def load(state_dir: Path, folder: Path) -> Launches:
    """The launches and presets of ``folder``; what is broken becomes a finding, never an error."""
    record, broken = _read(_file_of(state_dir, folder))
    project, wrong = read_project(folder / PROJECT_FILE)
    own = [Preset(name, record.presets[name]) for name in sorted(record.presets)]
    findings = (*wrong, broken) if broken else wrong
    return Launches((*own, *project), record.history, findings)


def remember(state_dir: Path, folder: Path, argv: Sequence[str], now: float) -> None:
    """Put a launch on top of the folder's history; the same command line stands there once.

    Raises:
        MswbError: ``path-unwritable``; ``usage`` for a line that is none.
    """
    launch = replace(without_secrets(argv), time=now)
    _change(state_dir, folder, lambda record: with_launch(record, launch))


def save_preset(state_dir: Path, folder: Path, name: str, argv: Sequence[str]) -> None:
    """Keep a command line under a name, in place of the user's own of that name. It may lack the script.

    Raises:
        MswbError: ``preset-name``, ``preset-of-the-project``, ``path-unwritable``, ``usage``.
    """
    if not 0 < len(name.strip()) <= NAME_LIMIT or UNSAFE.search(name):
        raise stop("preset-name", values={"name": repr(name), "limit": NAME_LIMIT})
    _refuse_project(folder, name.strip())
    launch = without_secrets(argv)
    _change(state_dir, folder, lambda record: replace(record, presets={**record.presets, name.strip(): launch}))


def delete_preset(state_dir: Path, folder: Path, name: str) -> None:
    """Forget the user's preset of that name.

    Raises:
        MswbError: ``preset-unknown``, ``preset-of-the-project``, ``path-unwritable``.
    """

    def without(record: Record) -> Record:
        if name not in record.presets:
            _refuse_project(folder, name)
            raise stop("preset-unknown", values={"name": repr(name)})
        return replace(record, presets={one: kept for one, kept in record.presets.items() if one != name})

    _change(state_dir, folder, without)


def is_secret(variable: str) -> bool:
    """Whether the value of a variable of this name must not be written to a disk."""
    return any(word in variable.upper() for word in _SECRET)


def without_secrets(argv: Sequence[str]) -> Launch:
    """The command line without the ``--env`` that set a secret, and the names of those.

    Raises:
        MswbError: ``usage`` for a line whose flags can't be told apart.
    """
    values = read_arguments(argv)
    pairs = values.given.get("env", ())
    withheld = tuple(pair.partition("=")[0] for pair in pairs if is_secret(pair.partition("=")[0]))
    if not withheld:
        return Launch(arguments(values))
    kept = tuple(pair for pair in pairs if not is_secret(pair.partition("=")[0]))
    given = {name: kept if name == "env" else texts for name, texts in values.given.items()}
    return Launch(arguments(replace(values, given=given)), withheld)


def with_launch(record: Record, launch: Launch) -> Record:
    """The record with ``launch`` on top of the history; an older equal one goes, so do those beyond the limit."""
    others = (one for one in record.history if one.arguments != launch.arguments)
    return replace(record, history=(launch, *others)[:HISTORY_LIMIT])


def encode(record: Record, folder: str) -> bytes:
    """The record as its file; the oldest launches are left out until it keeps within :data:`RECORD_LIMIT`."""
    while True:
        table = {
            "schema": SCHEMA,
            "folder": folder,
            "history": [_table(one) for one in record.history],
            "presets": {name: _table(one) for name, one in record.presets.items()},
        }
        data = json.dumps(table, indent=1).encode("ascii")
        if len(data) <= RECORD_LIMIT or not record.history:
            return data
        record = replace(record, history=record.history[: len(record.history) * 3 // 4])


def decode(data: bytes) -> Record:
    """The record in the bytes of its file; entries that are none are passed over.

    Raises:
        ValueError: it is no record at all.
    """
    try:
        table = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(table, dict) or table.get("schema") != SCHEMA:
        raise ValueError("it is not a list of launches")
    history, presets = table.get("history"), table.get("presets")
    launches = [_launch(one) for one in history] if isinstance(history, list) else []
    named = {name: _launch(one) for name, one in presets.items()} if isinstance(presets, dict) else {}
    return Record(
        tuple(one for one in launches if one is not None)[:HISTORY_LIMIT],
        {name: one for name, one in named.items() if one is not None},
    )


def read_project(path: Path) -> tuple[tuple[Preset, ...], tuple[Finding, ...]]:
    """The presets of a project's file, and what is wrong with it; no file is no presets."""
    try:
        table = parse_toml(_bounded(path).decode("utf-8"))
    except MswbError as error:
        return (), () if error.finding.code == "path-missing" else (error.finding,)
    except (ValueError, RecursionError) as problem:
        return (), (_wrong(path, str(problem) or "it is nested too deeply"),)
    return project_presets(table, path)


def project_presets(table: Mapping[str, Any], path: Path) -> tuple[tuple[Preset, ...], tuple[Finding, ...]]:
    """The presets in a parsed ``mswb.toml``: ``args`` is a list of texts, or one text that is cut as a shell does."""
    named = table.get("presets", {})
    if not isinstance(named, dict):
        return (), (_wrong(path, "presets is not a table"),)
    found: list[Preset] = []
    wrong: list[Finding] = []
    for name, raw in named.items():
        try:
            found.append(Preset(name, Launch(arguments(read_arguments(_arguments_in(raw)))), "project"))
        except ValueError as problem:
            wrong.append(_wrong(path, f"presets.{name}: {problem}"))
        except MswbError as error:
            wrong.append(_wrong(path, f"presets.{name}: {error.finding.title}"))
    return tuple(found), tuple(wrong)


def _arguments_in(raw: Any) -> list[str]:
    args = raw.get("args") if isinstance(raw, dict) else None
    if isinstance(args, str):
        return shlex.split(args)
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise ValueError("args is not a list of texts")
    return args


def _wrong(path: Path, reason: str) -> Finding:
    return make("project-file-invalid", where=Where(file=str(path)), values={"path": path.name, "reason": reason})


def _refuse_project(folder: Path, name: str) -> None:
    presets, _ = read_project(folder / PROJECT_FILE)
    if any(one.name == name for one in presets):
        raise stop("preset-of-the-project", values={"name": repr(name), "path": str(folder / PROJECT_FILE)})


def _table(launch: Launch) -> dict[str, Any]:
    return {"arguments": launch.arguments, "withheld": launch.withheld, "time": launch.time}


def _launch(raw: Any) -> Launch | None:
    if not isinstance(raw, dict):
        return None
    words, withheld, when = raw.get("arguments"), raw.get("withheld", []), raw.get("time", 0.0)
    texts = all(isinstance(one, list) and all(isinstance(word, str) for word in one) for one in (words, withheld))
    if not texts or isinstance(when, bool) or not isinstance(when, (int, float)):
        return None
    assert isinstance(words, list)
    return Launch(tuple(words), tuple(withheld), float(when))


def _file_of(state_dir: Path, folder: Path) -> Path:
    key = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return state_dir / "launches" / f"{key}.json"


def _read(file: Path) -> tuple[Record, Finding | None]:
    try:
        return decode(_bounded(file)), None
    except MswbError as error:
        if error.finding.code == "path-missing":
            return Record(), None
        reason = str(error.finding.values.get("reason", error.finding.title))
    except ValueError as problem:
        reason = str(problem)
    return Record(), make("launches-unreadable", where=Where(file=str(file)), values={"path": file, "reason": reason})


def _bounded(path: Path) -> bytes:
    """The bytes of a regular file of at most :data:`RECORD_LIMIT` bytes and a little; more is a ValueError."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(RECORD_LIMIT + 1)
    if len(data) > RECORD_LIMIT:
        raise ValueError(f"it has more than {RECORD_LIMIT >> 10} KiB")
    return data


def _change(state_dir: Path, folder: Path, change: Callable[[Record], Record]) -> None:
    file = _file_of(state_dir, folder)
    make_private_dir(file.parent)
    with _alone(file.parent):
        record, broken = _read(file)
        changed = change(record)
        if broken is not None:
            with suppress(OSError):
                os.replace(file, f"{file}.broken")
        write_atomic(file, encode(changed, os.path.realpath(folder)))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One writer at a time, so that two workbenches don't drop each other's launches; without locks it goes on."""
    try:
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):  # an NFS without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
