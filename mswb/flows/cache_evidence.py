"""What a triage starts from: an error text, a log, a log folder, a run, or data that a person names."""

from __future__ import annotations

import ast
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from mswb.cache.triage import rules
from mswb.files.safety import decode, open_regular
from mswb.findings import MswbError, stop
from mswb.settings import Settings

HEAD_BYTES, TAIL_BYTES = 256 << 10, 1 << 20
"""Of a longer log both ends are read: what was wrong at the start, and what ended the training."""
MAX_STDIN = 16 << 20
MAX_LOGS = 64
SCRIPT_BYTES = 1 << 20
MAX_GLOB = 200
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_CRASHES = frozenset({134, 139, -6, -11})


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of one log or message. ``whole``: from its beginning, so that line numbers are true."""

    lines: tuple[str, ...]
    file: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a case.

    Attributes:
        texts: what was said.
        folders: where relative names are looked for, the run's working folder first.
        hints: existing paths that the script or the command line name.
        data: what the person named as data; it is verified whatever the texts say.
        environ: variables of the run that move its caches.
        is_run: it comes from a run, and not only from words.
        run: the name of that run, when it was looked up among those of this user, and ``started_in`` its folder.
        elsewhere: nobody named it, and no run was started here: it is the newest of all.
    """

    texts: tuple[Text, ...] = ()
    folders: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    is_run: bool = False
    run: str = ""
    started_in: str = ""
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """What the record of a run says of it."""

    cwd: str = ""
    script: str | None = None
    words: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[int, ...] = ()


def gather(words: Sequence[str], data: Sequence[str], settings: Settings, stdin: Callable[[], bytes]) -> Evidence:
    """Understand what a person gives: ``-`` for standard input, a path, the name of a run, or words of an error.

    Nothing at all means the newest run of this folder, else the newest of all, unless data is named.

    Raises:
        MswbError: ``path-missing`` for data that is not there; ``no-runs``; a log folder without logs.
    """
    for path in data:
        if not os.path.exists(path):
            raise stop("path-missing", values={"path": path})
    own = tuple(map(os.path.abspath, data))
    here = (os.getcwd(),)
    if list(words) == ["-"]:
        return Evidence((_text(stdin()[-MAX_STDIN:]),), here, data=own)
    if not words:
        return Evidence((), here, data=own) if own else _newest(settings, own)
    if len(words) > 1:
        return Evidence((_text(" ".join(words).encode("utf-8", "surrogateescape")),), here, data=own)
    target = words[0]
    if _names_path(target):
        return _of_path(os.path.abspath(os.path.expanduser(target)), settings, own)
    if _NAME.fullmatch(target) and not rules.find([target]):
        return _of_run(target, settings, own)
    return Evidence((_text(target.encode("utf-8", "surrogateescape")),), here, data=own)


def _names_path(target: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(target))
    except ValueError:
        return False


def _of_path(path: str, settings: Settings, data: tuple[str, ...]) -> Evidence:
    from mswb.flows.open_path import kind_of

    kind = kind_of(path)
    if kind == "cache":
        return Evidence((), (os.path.dirname(path),), data=(*data, path))
    if os.path.isdir(path):
        return _of_logs(path, data)
    return Evidence((_ends(path),), (os.path.dirname(path), os.getcwd()), data=data)


def _newest(settings: Settings, data: tuple[str, ...]) -> Evidence:
    """The newest run that was started in this folder or one above it; else the newest of all, which is then said."""
    from mswb.jobs.runs import list_runs

    here = os.path.realpath(os.getcwd())
    places = ((run.id, os.path.realpath(run.status.cwd)) for run in list_runs(settings) if run.status is not None)
    own = next(
        (name for name, place in places if f"{here}/".startswith(place.rstrip("/") + "/") and place != "/"), None
    )
    return _of_run(own, settings, data) if own else replace(_of_run("latest", settings, data), elsewhere=True)


def _of_run(name: str, settings: Settings, data: tuple[str, ...]) -> Evidence:
    from mswb.flows.open_path import logs_of
    from mswb.jobs.runs import find_run

    run = find_run(settings, name)
    status, spec = run.status, run.spec
    codes = tuple(one.exit_code for one in status.processes if one.exit_code is not None) if status else ()
    known = _Known(spec.cwd, spec.script, spec.command_line, spec.env, codes)
    return replace(_of_logs(str(logs_of(run)), data, known), run=run.id, started_in=spec.cwd)


def _of_logs(folder: str, data: tuple[str, ...], known: _Known | None = None) -> Evidence:
    from mswb.launch.discover import discover

    found = discover(folder)
    run = known or _recorded(found.status_path)
    logs = sorted(found.files, key=lambda log: log.role != "worker")  # the others repeat what a worker says
    texts = [_ends(log.path) for log in logs[:MAX_LOGS]]
    texts += [Text((f"exit code {code}",)) for code in run.codes if code in _CRASHES]
    folders = dict.fromkeys(path for path in (run.cwd, os.path.dirname(run.script or ""), folder, os.getcwd()) if path)
    moved = {name: value for name, value in run.environ.items() if name in ("MSWB_CACHE_ROOT", "MS_CACHE_PORT", "HOME")}
    return Evidence(tuple(texts), tuple(folders), tuple(_hints(run)), data, moved, True)


def _recorded(path: str | None) -> _Known:
    """What the record beside the logs says, wherever these were copied to."""
    from pathlib import Path

    from mswb.jobs.spec import RunStatus, read_record

    if path is None:
        return _Known()
    try:
        status = read_record(Path(path), RunStatus)
    except MswbError:
        return _Known()
    codes = tuple(one.exit_code for one in status.processes if one.exit_code is not None)
    return _Known(status.cwd, status.script, tuple(status.command_line), {}, codes)


def _ends(path: str) -> Text:
    """A log; of a long one its beginning and its end."""
    with open(open_regular(path), "rb") as file:
        head = file.read(HEAD_BYTES + TAIL_BYTES)
        rest = os.fstat(file.fileno()).st_size - len(head)
        if rest <= 0:
            return Text(_text(head).lines, path)
        file.seek(-TAIL_BYTES, os.SEEK_END)
        return Text((*_text(head[:HEAD_BYTES]).lines, *_text(file.read(TAIL_BYTES)).lines), path, whole=False)


def _text(data: bytes) -> Text:
    return Text(tuple(decode(line) for line in data.split(b"\n")))


def _hints(run: _Known) -> Iterator[str]:
    """Paths that exist among the words of the command line and the texts in the script, none above the run itself."""
    script = os.path.join(run.cwd, run.script) if run.script else ""
    above = {run.cwd, os.path.expanduser("~")}
    seen: set[str] = set()
    for word in (*run.words, *_literals(script)):
        for path in _existing(word.rpartition("=")[2] if word.startswith("-") else word, run.cwd, script):
            inside = any(one == path or one.startswith(path.rstrip("/") + "/") for one in above)
            if path not in seen and path != script and not inside and path.count("/") > 1:
                seen.add(path)
                yield path


def _literals(script: str) -> list[str]:
    """The texts in a Python file."""
    try:
        with open(open_regular(script), "rb") as file:
            tree = ast.parse(file.read(SCRIPT_BYTES))
    except (MswbError, OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _existing(word: str, cwd: str, script: str) -> list[str]:
    if not 2 < len(word) < 4096 or "\0" in word or "\n" in word:
        return []
    choices = [os.path.join(folder, os.path.expanduser(word)) for folder in (cwd, os.path.dirname(script)) if folder]
    for choice in choices:
        pattern = os.path.normpath(choice)
        names = glob.iglob(pattern) if "*" in word else [pattern]
        found = [path for path in islice(names, MAX_GLOB) if os.path.exists(path)]
        if found:
            return found
    return []
