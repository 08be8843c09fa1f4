"""Notes what each pipeline behind a ``ds.DatasetCache`` is made from, and says when a server would serve old rows.

MindSpore's dataset cache server keeps serving rows after their files were changed or deleted, or the Python function
that made them was edited. Installed when ``mindspore.dataset`` is imported under ``mswb run``: before a pipeline with a
cache is read for the first time, its files and functions are written down beside the run, and compared with what filled
the same session before. The comparison only warns; the pipeline runs as it would without us.
"""

from __future__ import annotations

import glob
import json
import os
import sys
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

RECORDS = "dataset-cache.jsonl"
"""Beside the run: one line for each pipeline, in the form of :class:`Note`."""
MARK = "mswb: stale-source: "
"""How a warning begins; the diagnosis of the run knows it by that."""
MAX_BYTES = 64 << 20
EVENTS = "MSWB_EVENTS"
PORT = 50052
_SCALARS = (bool, int, float, str, type(None))


class Note(NamedTuple):
    """One cached pipeline as it was read.

    time: seconds since the epoch. pipeline: its operations, leaves first, with their parameters: what the server tells
    pipelines apart by. sources: files and folders that its leaves read; listing: all files below them, as
    ``cached/files.py`` renders them. code: the functions in it, each with a digest; None where one can't be told.
    """

    time: float
    session: int
    port: int
    pipeline: List[str]
    sources: List[str]
    listing: str
    code: Optional[Dict[str, str]]

    @property
    def same(self) -> Tuple[int, int, Tuple[str, ...], Tuple[str, ...]]:
        """Equal for two readings of what the server takes for one cache."""
        return self.port, self.session, tuple(self.pipeline), tuple(self.sources)


def install(datasets: Any) -> None:
    """Look at every pipeline with a cache from now on.

    Args:
        datasets: the module ``mindspore.dataset.engine.datasets``.
    """
    folder = os.path.dirname(os.environ.get(EVENTS, ""))
    first = os.environ.get("RANK_ID", "0") == "0" and os.environ.get("MS_ROLE") != "MS_SCHED"
    if not folder or not first:
        return  # one rank is enough: all of a run read the same session
    plain = datasets.Dataset.create_ir_tree
    seen: Set[Any] = set()

    def create_ir_tree(self: Any, *arguments: Any, **named: Any) -> Any:
        # Here the operations are still those that the user gave; later they are wrapped into objects of C++.
        try:
            for node in _nodes(self):
                if node.cache:
                    _look(node, folder, seen)
        except Exception as problem:
            sys.stderr.write(f"mswb: the cached pipeline could not be noted: {problem!r}\n")
        return plain(self, *arguments, **named)

    datasets.Dataset.create_ir_tree = create_ir_tree


def _look(dataset: Any, folder: str, seen: Set[Any]) -> None:
    session, port = dataset.cache.session_id, _port(dataset.cache)
    key = (session, port, tuple(_pipeline(dataset)))
    if key in seen:
        return
    seen.add(key)
    note = take(dataset)
    first = next((one for one in notes(os.path.dirname(folder), session) if one.same == note.same), None)
    reason = changes(first, note) if first is not None else ""
    if reason:
        told = f"session {session} on port {port} serves old rows: {reason}"
        sys.stderr.write(f"{MARK}{told}\n")
        sys.stderr.flush()
        _tell(told)
    write(os.path.join(folder, RECORDS), note)


def _tell(text: str) -> None:
    """Tell the supervisor of the run, so that its record has it too; in the form of ``jobs/spec.py``'s Event."""
    event = {"time": time.time(), "event": "stale-source", "role": "worker", "pid": os.getpid(), "text": text}
    _append(os.environ[EVENTS], event)


def take(dataset: Any) -> Note:
    """What a pipeline is made from now; ``dataset`` is the node that has the cache."""
    from .cached import files, roots

    leaves = [node for node in _nodes(dataset) if not node.children]
    found = [path for leaf in leaves for path in roots.paths_in(vars(leaf))]
    sources = sorted({os.path.abspath(path) for path in found})
    listing = files.render(files.list_files(sources)).decode("ascii")
    port = _port(dataset.cache)
    return Note(time.time(), dataset.cache.session_id, port, _pipeline(dataset), sources, listing, _code(dataset))


def changes(old: Note, new: Note) -> str:
    """What differs between two readings of one cache, in words; empty when nothing does."""
    from .cached import files

    changed = files.compare(files.parse(old.listing), files.parse(new.listing))
    functions = changed_functions(old.code, new.code)
    told = [f"files {changed}"] if changed else []
    told += [f"code changed: {', '.join(functions)}"] if functions else []
    return "; ".join(told)


def changed_functions(old: Optional[Dict[str, str]], new: Optional[Dict[str, str]]) -> List[str]:
    """Functions whose digest differs, or that only one side has."""
    if old is None or new is None:
        return []
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def notes(runs: str, session: Optional[int] = None) -> List[Note]:
    """Every note (of one session) below a folder of runs, the oldest first."""
    paths = glob.glob(os.path.join(glob.escape(runs), "*", RECORDS))
    return sorted((one for path in paths for one in read(path, session)), key=lambda one: one.time)


def read(path: str, session: Optional[int] = None) -> List[Note]:
    """The notes in one file; lines that are cut or foreign are left out.

    Args:
        session: only those of this session. A listing can be long, so the others are not even parsed.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read(MAX_BYTES).splitlines()
    except OSError:
        return []
    mark = b"" if session is None else b'"session": %d,' % session
    found = (_parsed(line) for line in lines if mark in line)
    return [note for note in found if note is not None and session in (None, note.session)]


def write(path: str, note: Note) -> None:
    """Add a note."""
    _append(path, note._asdict())


def _append(path: str, entry: Dict[str, Any]) -> None:
    """Add a line; one write, so that the lines of several processes do not mix."""
    line = json.dumps(entry, ensure_ascii=True).encode("ascii") + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _parsed(line: bytes) -> Optional[Note]:
    try:
        raw = json.loads(line)
        code = raw["code"]
        return Note(
            float(raw["time"]),
            int(raw["session"]),
            int(raw["port"]),
            [str(item) for item in raw["pipeline"]],
            [str(item) for item in raw["sources"]],
            str(raw["listing"]),
            None if code is None else {str(name): str(value) for name, value in code.items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _port(cache: Any) -> int:
    """The port that a client uses: its own, that of the environment, the default."""
    text = os.environ.get("MS_CACHE_PORT", "")
    return int(cache.port or (text if text.isdigit() else 0) or PORT)


def _nodes(dataset: Any) -> Iterator[Any]:
    """A pipeline's nodes, each after its inputs."""
    for child in dataset.children:
        yield from _nodes(child)
    yield dataset


def _operations(node: Any) -> List[Any]:
    found = getattr(node, "operations", None)
    return list(found) if isinstance(found, (list, tuple)) else [found] if found is not None else []


def _pipeline(dataset: Any) -> List[str]:
    return [f"{type(node).__name__}({', '.join(map(_told, _operations(node)))})" for node in _nodes(dataset)]


def _told(operation: Any) -> str:
    """An operation with its parameters; a function by its name alone, as the server sees it."""
    if hasattr(operation, "__code__"):
        return str(getattr(operation, "__qualname__", "function"))
    known = getattr(operation, "__dict__", {})
    plain = {name: value for name, value in sorted(known.items()) if isinstance(value, _SCALARS)}
    return f"{type(operation).__name__}{plain}"


def _code(dataset: Any) -> Optional[Dict[str, str]]:
    """Digests of the Python code in a pipeline."""
    from .cached.digest import Digester, Unhashable

    digester = Digester()
    functions = [one for node in _nodes(dataset) for one in _operations(node) if _is_python(one)]
    try:
        values = {_told(one): digester.digest(one, _told(one)) for one in functions}
    except Unhashable:
        return None
    return {**values, **digester.code}


def _is_python(operation: Any) -> bool:
    """Whether an operation is the user's own code, which no parameter tells."""
    return callable(operation) and not type(operation).__module__.startswith("mindspore.")
