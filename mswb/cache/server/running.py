"""Dataset cache servers of this host as the kernel shows them: processes, sockets, shared memory. Nobody is asked.

All of a server's settings stand in its arguments, ``dataset-cache-server SPILL WORKERS PORT SHM_GB LOG_LEVEL DAEMON
MEMORY_RATIO`` (workers -1: it chooses); its socket is ``<base>/cache_server_pPORT``, and the key of its shared memory
is ftok(3) of that socket with the letter ``a`` (all seen with MindSpore 2.10).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mswb.jobs.procs import arguments, owner, scan, started_at
from mswb.signals import ProcessId

PROGRAM = "dataset-cache-server"
SHORT_NAME = PROGRAM[:15]
"""The kernel keeps 15 bytes of a process's name."""
BASE = "/tmp/mindspore"
SOCKET_PREFIX = "cache_server_p"
SHM_TABLE = "/proc/sysvipc/shm"
UNIX_TABLE = "/proc/net/unix"
_FTOK_LETTER = ord("a")


@dataclass(frozen=True, slots=True)
class Server:
    """A live server. ``spill`` is None where it has no folder to spill into; ``started``: seconds since the epoch."""

    process: ProcessId
    uid: int
    port: int
    workers: int
    spill: str | None
    shm_gib: int
    log_level: int
    memory_ratio: float
    program: str
    started: float


@dataclass(frozen=True, slots=True)
class Socket:
    """A socket file of a server, alive or not. ``listening``: some process has it open as a server."""

    path: str
    port: int
    uid: int
    device: int
    inode: int
    modified: float
    listening: bool

    @property
    def shm_key(self) -> int:
        """The key of the shared memory that belongs to it, by ftok(3) of glibc."""
        return _FTOK_LETTER << 24 | (self.device & 0xFF) << 16 | self.inode & 0xFFFF


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of SysV shared memory. ``attached``: processes that have it mapped; ``maker``: the pid that made it."""

    id: int
    key: int
    mode: int
    size_bytes: int
    resident_bytes: int
    maker: int
    attached: int
    uid: int
    created: float

    @property
    def of_server(self) -> bool:
        """Whether the key could be that of a dataset cache server."""
        return self.key >> 24 & 0xFF == _FTOK_LETTER


@dataclass(frozen=True, slots=True)
class Host:
    """All of it at one moment."""

    servers: tuple[Server, ...] = ()
    sockets: tuple[Socket, ...] = ()
    segments: tuple[Segment, ...] = ()
    closed: tuple[str, ...] = ()

    def server(self, port: int) -> Server | None:
        """The live server of a port; of several (another user's), the one that is ours first."""
        found = sorted((one for one in self.servers if one.port == port), key=lambda one: one.uid != os.getuid())
        return found[0] if found else None


def look(base: str = BASE, shm_table: str = SHM_TABLE, unix_table: str = UNIX_TABLE) -> Host:
    """What is there now. ``closed`` are folders of sockets that another user keeps to himself."""
    closed: list[str] = []
    listening = listeners(_text(unix_table))
    sockets = [one for folder in _folders(base, closed) for one in _sockets(folder, listening, closed)]
    return Host(servers(), tuple(sockets), segments(_text(shm_table)), tuple(dict.fromkeys(closed)))


def servers() -> tuple[Server, ...]:
    """The live servers, by port."""
    named = [process for process in scan().values() if process.name == SHORT_NAME and not process.over]
    found = (parse_arguments(process.id, owner(process.pid), arguments(process.pid)) for process in named)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.port, one.process)))


def parse_arguments(process: ProcessId, uid: int | None, words: Sequence[str]) -> Server | None:
    """A server by its command line; None when these are not the arguments of one, or it has gone."""
    if uid is None or len(words) < 8 or os.path.basename(words[0]) != PROGRAM:
        return None
    try:
        workers, port, shm_gib, log_level = (int(word) for word in words[2:6])
        ratio = float(words[7])
    except ValueError:
        return None
    return Server(
        process,
        uid,
        port,
        workers,
        _spill(process.pid, words[1]),
        shm_gib,
        log_level,
        ratio,
        words[0],
        started_at(process),
    )


def _spill(pid: int, word: str) -> str | None:
    """The spill folder as a full path: a relative one begins in the folder that the server works in."""
    if not word or os.path.isabs(word):
        return word or None
    try:
        return os.path.normpath(os.path.join(os.readlink(f"/proc/{pid}/cwd"), word))
    except OSError:
        return None


def segments(table: str) -> tuple[Segment, ...]:
    """The rows of /proc/sysvipc/shm (proc_sysvipc(5)); its first line names the columns."""
    head, _, body = table.partition("\n")
    names = head.split()
    rows = (dict(zip(names, line.split(), strict=False)) for line in body.splitlines())
    return tuple(one for one in map(_segment, rows) if one is not None)


def listeners(table: str) -> frozenset[str]:
    """The paths in /proc/net/unix on which somebody listens (flag __SO_ACCEPTCON, 0x10000)."""
    rows = (line.split(None, 7) for line in table.splitlines()[1:])
    # The server names its socket with three slashes in front.
    return frozenset("/" + row[7].lstrip("/") for row in rows if len(row) == 8 and row[3] == "00010000")


def login_base(login: str | None, base: str = BASE) -> str:
    """The folder of sockets in a login terminal; without one (docker, cron, a batch job) it is ``base`` itself."""
    return os.path.join(base, login) if login else base


def _segment(row: Mapping[str, str]) -> Segment | None:
    try:
        return Segment(
            int(row["shmid"]),
            int(row["key"]) & 0xFFFFFFFF,
            int(row["perms"], 8),
            int(row["size"]),
            int(row.get("rss", "0")),
            int(row["cpid"]),
            int(row["nattch"]),
            int(row["uid"]),
            float(row["ctime"]),
        )
    except (KeyError, ValueError):
        return None


def _folders(base: str, closed: list[str]) -> Iterator[str]:
    """``base`` and the folders of users in it, links not followed."""
    yield base
    try:
        with os.scandir(base) as found:
            yield from sorted(one.path for one in found if one.is_dir(follow_symlinks=False) and one.name != "cache")
    except PermissionError:
        closed.append(base)
    except OSError:
        return


def _sockets(folder: str, listening: frozenset[str], closed: list[str]) -> Iterator[Socket]:
    try:
        names = sorted(os.listdir(folder))
    except PermissionError:
        closed.append(folder)
        return
    except OSError:
        return
    for name in names:
        port = name.removeprefix(SOCKET_PREFIX)
        if port == name or not (port.isascii() and port.isdigit()):
            continue
        path = os.path.join(folder, name)
        try:
            about = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISSOCK(about.st_mode):
            yield Socket(path, int(port), about.st_uid, about.st_dev, about.st_ino, about.st_mtime, path in listening)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(16 << 20)
    except OSError:
        return ""
