"""The logs of a run as one stream: what is there, merged by time, and then what comes, as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mswb.files.follow import last_state
from mswb.files.followset import FollowSet, is_log
from mswb.files.safety import decode
from mswb.launch.clocks import clock_offsets
from mswb.launch.discover import LogFile, LogSet, discover, rank_of, role_from_text
from mswb.launch.lines import read_lines
from mswb.launch.logs import blocks
from mswb.launch.merge import MergedLine, Selection, merge, read_chunks
from mswb.launch.records import parse_record
from mswb.launch.sections import read_sections, render_article


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far a file was read: whole lines only."""

    lines: int
    offset: int


def read(path: Path, selection: Selection) -> Iterator[MergedLine]:
    """The wanted lines of all logs at ``path``, in the order of time, clocks of nodes corrected.

    Raises:
        MswbError: ``path-missing``, ``path-unreadable`` or ``no-logs``.
    """
    files = discover(path).files
    yield from merge(files, selection, clock_offsets(files))


def follow(path: Path, selection: Selection, cancelled: Callable[[], bool]) -> Iterator[MergedLine | None]:
    """What :func:`read` yields, then every new line until ``cancelled()``; None at least every half second.

    Lines that come later are in the order of their arrival. New files of the folder are followed too.
    """
    logs = discover(path)
    marks = {file.path: _mark(file.path) for file in logs.files}
    counted = {file.name: marks[file.path].lines for file in logs.files}
    for line in merge(logs.files, selection, clock_offsets(logs.files)):
        if line.line <= counted.get(line.file, 0):
            yield line
    with FollowSet([]) as files:
        # What arrives now is later than any --since; prints carry no time that could tell.
        readers = _Readers(logs, marks, replace(selection, since=None))
        for name, mark in marks.items():
            files.add(name, start=mark.offset)
        known = set(marks)
        while not cancelled():
            for update in files.wait(0.4):
                yield from readers.lines(update.path, b"".join(block.data for block in update.blocks))
            for name in sorted(_new_logs(logs, known)):
                known.add(name)
                files.add(name)
            yield None


def sections(path: Path, selection: Selection) -> Iterator[tuple[str, int | None, str]]:
    """(role, rank, line): what each rank compiled and launched, as ``[GRAPH_BUILD] …`` and ``[KERNEL_LAUNCH] …`` lines.

    Compile phases are in logs of level INFO (``--log_level INFO``), launches in those of ``--trace_kernels``.
    """
    for file in discover(path).files:
        rank = rank_of(file)
        if selection.wants_source(file.role, rank):
            for line in render_article(read_sections(blocks(read_lines(file.path)))):
                yield file.role, rank, line


class _Readers:
    """Turns new bytes of several files into lines, each with the time and level of the record it belongs to."""

    def __init__(self, logs: LogSet, marks: dict[str, _Mark], selection: Selection) -> None:
        self._files = {file.path: file for file in logs.files}
        self._numbers = {path: mark.lines for path, mark in marks.items()}
        self._ranks = {file.path: rank_of(file) for file in logs.files}
        self._state: dict[str, tuple[int | None, str | None, str | None, int | None]] = {}
        self._wanted = selection

    def lines(self, path: str, data: bytes) -> Iterator[MergedLine]:
        file = self._files.get(path) or self._meet(path, data)
        for raw in data.removesuffix(b"\n").split(b"\n") if data else ():
            self._numbers[path] = number = self._numbers.get(path, 0) + 1
            text = decode(last_state(raw).rstrip(b"\r"))
            record = parse_record(text)
            if record is not None:
                self._state[path] = (record.time, record.level, record.module, record.pid)
            time, level, module, pid = self._state.get(path, (None, None, None, None))
            shown = level if record is not None else "ERROR" if text.startswith("Traceback (most") else None
            line = MergedLine(time, self._ranks[path], file.node_hint, file.role, file.name, number, text, shown)
            if self._passes(line, module if record is not None else None, pid):
                yield line

    def _passes(self, line: MergedLine, module: str | None, pid: int | None) -> bool:
        wanted = self._wanted
        return (
            wanted.wants_source(line.role, line.rank)
            and (wanted.levels is None or line.level in wanted.levels)
            and (wanted.modules is None or module in wanted.modules)
            and (wanted.pids is None or pid in wanted.pids)
            and wanted.wants_line(line)
        )

    def _meet(self, path: str, data: bytes) -> LogFile:
        """A file that appeared while we watch."""
        try:
            file = next(one for one in discover(path).files)
        except StopIteration:
            file = LogFile(path, os.path.basename(path), role_from_text(data), None, None, len(data), 0.0)
        self._files[path], self._ranks[path] = file, rank_of(file)
        return file


def _mark(path: str) -> _Mark:
    lines = offset = position = 0
    for chunk in read_chunks(path):
        last = chunk.rfind(b"\n")
        lines += chunk.count(b"\n")
        if last >= 0:
            offset = position + last + 1
        position += len(chunk)
    return _Mark(lines, offset)


def _folders(logs: LogSet) -> list[str]:
    return sorted({os.path.dirname(file.path) for file in logs.files})


def _new_logs(logs: LogSet, known: set[str]) -> Iterator[str]:
    for folder in _folders(logs):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if path not in known and is_log(name) and os.path.isfile(path) and not os.path.islink(path):
                yield path
