"""Log lines of both loggers, files of them, and a model that has done its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mswb.files.logindex import LogIndex
from mswb.launch.logview.model import LogModel
from mswb.launch.logview.rows import Place
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.state import Snapshot
from mswb.launch.records import iso, parse_iso

START = parse_iso("2026-11-30T04:00:00")
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 5, in <module>\n'
    "    main()\n"
    "ValueError: no such thing\n"
)


def cpp(micros: int, text: str = "text", level: str = "WARNING", pid: int = 1, module: str = "ME") -> str:
    """A record as C++ writes it, ``micros`` behind :data:`START`."""
    day, clock = iso(START + micros).split("T")
    seconds, fraction = clock.split(".")
    return f"[{level}] {module}({pid},7f,python):{day}-{seconds}.{fraction[:3]}.{fraction[3:]} [a.cc:4] Run] {text}\n"


def python(micros: int, text: str) -> str:
    """A record as Python writes it, with its odd fraction."""
    day, clock = iso(START + micros).split("T")
    digits = str(micros % 1_000_000)
    return f"[INFO] ME(9:140,MainProcess):{day}-{clock[:8]}.{digits[:3]}.{digits[3:]} [mindspore/a.py:4] {text}\n"


def write(path: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def append(path: Path, text: str | bytes) -> None:
    """More of a file."""
    with path.open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


@contextmanager
def indexed(path: Path) -> Iterator[LogIndex]:
    """The whole index of a file."""
    index = LogIndex(path)
    try:
        index.extend()
        yield index
    finally:
        index.close()


def worked(model: LogModel) -> Snapshot:
    """The state when there is nothing left to do."""
    while model.step():
        pass
    return model.snapshot()


@contextmanager
def model_of(*paths: Path, budget: int = 64, forget: Callable[[int, int], None] | None = None) -> Iterator[LogModel]:
    """A model of these files as ranks 0, 1, … that has done its work."""
    logs = [ShownLog(str(path), "worker", rank) for rank, path in enumerate(paths)]
    model = LogModel(logs, budget, forget or (lambda file, line: None))
    try:
        worked(model)
        yield model
    finally:
        model.close()


def places(state: Snapshot) -> list[Place]:
    """The line of every shown row."""
    return [state.rows.place(row) for row in range(state.rows.count)]


def texts(model: LogModel, state: Snapshot | None = None) -> list[str]:
    """The text of every shown row behind its record's head."""
    found = []
    for place in places(state or model.snapshot()):
        index = model.files[place.file].index
        assert index is not None
        [line] = index.lines(place.line, place.line + 1)
        found.append(line.decode("utf-8", "replace").rpartition("] ")[2])
    return found
