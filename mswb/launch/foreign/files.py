"""The log files of a running process: where its output goes, and what it holds open for writing.

A pipe is followed to the ``tee`` that reads it. Paths are those of our own file tree: in a container the same path
may be another file, so there each is compared with the file that is really open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from mswb.jobs.procs import Table

MAX_DESCRIPTORS = 2048
"""Open files of one process that are looked at; a data loader may hold more, but its logs were opened first."""
_LOG_NAME = re.compile(r"(?i).*(?:\.log(?:\.[\w.-]+)?|\.out|\.err|\.[oe]\d+|(?:stdout|stderr|nohup)[\w.-]*)$")
_DELETED = " (deleted)"


class OpenLogs(NamedTuple):
    """``output``: the file of standard output (else of standard error); ``every``: all of them, ``output`` first."""

    output: str | None
    every: tuple[str, ...]


def open_logs(pid: int, table: Table) -> OpenLogs:
    """The log files that a process writes now; none where they are not readable for us."""
    inside = _link(pid, "ns/mnt") != _link(os.getpid(), "ns/mnt")
    outputs = [path for number in ("1", "2") for path in _files_of_output(pid, number, table)]
    named = [path for number in _descriptors(pid) if (path := _written_log(pid, number)) is not None]
    every = tuple(dict.fromkeys(path for path in (*outputs, *named) if not inside or _is_same(pid, path)))
    return OpenLogs(next((path for path in outputs if path in every), None), every)


def _files_of_output(pid: int, number: str, table: Table) -> list[str]:
    target = _link(pid, f"fd/{number}")
    if target.startswith("pipe:"):
        return list(_behind_tee(pid, target, table))
    path = _regular(target)
    return [path] if path is not None else []


def _behind_tee(pid: int, pipe: str, table: Table) -> Iterator[str]:
    """The files that the ``tee`` at the other end of a pipe writes; it is of the same session."""
    session = table[pid].session if pid in table else None
    for other in table.values():
        if other.name == "tee" and other.session == session and _link(other.pid, "fd/0") == pipe:
            paths = (_regular(_link(other.pid, f"fd/{number}")) for number in _descriptors(other.pid))
            yield from (path for path in paths if path is not None)


def _written_log(pid: int, number: str) -> str | None:
    path = _regular(_link(pid, f"fd/{number}"))
    return path if path is not None and _LOG_NAME.match(path) and _is_written(pid, number) else None


def _regular(target: str) -> str | None:
    """The path of a regular file among what /proc/PID/fd links may say; none for a file that was deleted."""
    if not target.startswith("/") or target.startswith(("/dev/", "/proc/", "/sys/")) or target.endswith(_DELETED):
        return None
    return target


def _is_written(pid: int, number: str) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", "rb") as file:
            flags = next((line.split()[1] for line in file if line.startswith(b"flags:")), b"0")
    except OSError:
        return False
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _is_same(pid: int, path: str) -> bool:
    """Whether our file of this path is the one that a process of another mount namespace means by it."""
    try:
        return os.path.samestat(os.stat(path), os.stat(f"/proc/{pid}/root{path}"))
    except OSError:
        return False


def _descriptors(pid: int) -> list[str]:
    try:
        return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)[:MAX_DESCRIPTORS]
    except (OSError, ValueError):
        return []


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""
