"""What dataset cache servers hold on this host, and what dead ones left: sockets, shared memory, spilled rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mswb.cache.entries import Entry
from mswb.cache.server import history
from mswb.cache.server.running import BASE, Host, Segment, Server, Socket, look
from mswb.findings import Finding, Where, make
from mswb.jobs.procs import user_name

SPILLED = re.compile(r"IMG\d{5}\.LB")
NAME_LENGTH = 36
"""Characters of the random name of a folder of spilled rows."""
MAX_LOGS = 200
"""Logs of servers that are looked through for their spill folders, the newest first."""
HEAD_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Known:
    """What is left of the past.

    keys: those of shared memory that a socket or a log proves to be a server's, with its port (None: unknown).
    spills: every spill folder that a log names, with the port of the last server that used it.
    """

    keys: dict[int, int | None]
    spills: dict[str, int | None]


def leftovers(host: Host | None = None, spills: Sequence[str] = (), base: str = BASE) -> list[Entry]:
    """Every trace of dataset cache servers.

    Status ``ok`` while a live server uses it, ``orphan`` after a dead one, ``foreign`` when it is another user's.

    Args:
        spills: spill folders to look into, beside those that live servers and the logs of dead ones name.
    """
    now = look(base) if host is None else host
    past = recall(now, base)
    ports = {**dict.fromkeys(spills), **past.spills, **{one.spill: one.port for one in now.servers if one.spill}}
    return [
        *(_socket(one, now) for one in now.sockets),
        *(_segment(one, now, past) for one in now.segments if one.of_server),
        *(entry for folder, port in ports.items() for entry in spilled(folder, now, port)),
    ]


def of_port(entries: Iterable[Entry], port: int | None) -> list[Entry]:
    """The traces of the servers with one port; all when there is none."""
    return [entry for entry in entries if port is None or entry.more.get("port") == port]


def recall(host: Host, base: str = BASE) -> Known:
    """What sockets and logs tell of servers, live and dead."""
    keys: dict[int, int | None] = {}
    spills: dict[str, int | None] = {}
    for past in _histories(base):  # the newest first
        if past.shm_key is not None:
            keys.setdefault(past.shm_key, past.port)
        if past.spill:
            spills.setdefault(past.spill, past.port)
    keys.update({one.shm_key: one.port for one in host.sockets})
    return Known(keys, spills)


def spilled(folder: str, host: Host, port: int | None = None) -> list[Entry]:
    """The folders of spilled rows directly in a spill folder, which servers with ``port`` used."""
    try:
        with os.scandir(folder) as found:
            paths = sorted(one.path for one in found if one.is_dir(follow_symlinks=False))
    except OSError:
        return []
    known = (path for path in paths if len(os.path.basename(path)) == NAME_LENGTH)
    return [entry for entry in (_spill(path, host, port) for path in known) if entry is not None]


def user_of(folder: str, host: Host, newest: float) -> Server | None:
    """The live server that a folder of spilled rows may belong to: one that names its parent and is not younger.

    A server makes its folder after it has started, so what is older than all servers there is of a dead one.
    """
    parent = os.path.realpath(os.path.dirname(folder))
    named = [one for one in host.servers if one.spill and os.path.realpath(one.spill) == parent]
    return next((one for one in named if newest >= one.started - 1), None)


def _socket(one: Socket, host: Host) -> Entry:
    server = next((item for item in host.servers if item.port == one.port and item.uid == one.uid), None)
    live = one.listening or server is not None
    words = f"server {server.process.pid} on port {one.port}" if server else f"socket of port {one.port}"
    more = {"port": one.port, "pid": server.process.pid if server else None, "user": user_name(one.uid)}
    status = _status(live, one.uid)
    reason = f"no server listens on port {one.port}"
    return Entry(
        one.path,
        "dataset-cache",
        f"port {one.port}",
        status,
        modified=one.modified,
        detail=words,
        findings=_findings(status, one.path, "socket of a dataset cache server", reason, one.uid),
        more=more,
    )


def _segment(one: Segment, host: Host, past: Known) -> Entry:
    path = f"shm:{one.id}"
    port = past.keys.get(one.key)
    server = next((item for item in host.servers if item.process.pid == one.maker), None)
    live = one.attached > 0 or server is not None
    status = _status(live, one.uid)
    whose = f"of port {port}" if port is not None else "of a server" if one.key in past.keys else "of unknown origin"
    name = f"0x{one.key:08x}"
    more = {
        "key": name,
        "attached": one.attached,
        "maker": one.maker,
        "port": port,
        "known": one.key in past.keys,
        "user": user_name(one.uid),
    }
    reason = f"process {one.maker} that made it is gone, and nobody has it mapped"
    return Entry(
        path,
        "shared-memory",
        name,
        status,
        one.size_bytes,
        one.resident_bytes,
        one.created,
        detail=f"SysV shared memory {whose}, {one.attached} attached",
        findings=_findings(status, path, "shared memory of a dataset cache server", reason, one.uid),
        more=more,
    )


def _spill(path: str, host: Host, port: int | None) -> Entry | None:
    try:
        with os.scandir(path) as found:
            files = [(one.path, one.stat(follow_symlinks=False)) for one in found]
        about = os.lstat(path)
    except OSError:
        return None
    if not files or not all(SPILLED.fullmatch(os.path.basename(name)) for name, _ in files):
        return None
    newest = max([about.st_mtime, *(item.st_mtime for _, item in files)])
    server = user_of(path, host, newest)
    status = _status(server is not None, about.st_uid)
    reason = "no live server spills into it"
    return Entry(
        path,
        "cache-spill",
        None,
        status,
        sum(item.st_size for _, item in files),
        sum(item.st_blocks * 512 for _, item in files),
        newest,
        files=tuple(sorted(name for name, _ in files)),
        detail=f"spilled rows of server {server.process.pid}" if server else "spilled rows of a dead server",
        findings=_findings(status, path, "folder of spilled rows", reason, about.st_uid),
        more={"pid": server.process.pid if server else None, "port": port},
    )


def _status(live: bool, uid: int) -> str:
    if live:
        return "ok"
    return "orphan" if uid == os.getuid() else "foreign"


def _findings(status: str, path: str, what: str, reason: str, uid: int) -> tuple[Finding, ...]:
    if status == "ok":
        return ()
    values = {"what": what, "path": path, "reason": reason}
    if status == "foreign":
        return (make(status, where=Where(file=path), values={**values, "reason": f"it belongs to {user_name(uid)}"}),)
    return (replace(make("server-leftover", where=Where(file=path), values=values), code=status),)


def _histories(base: str) -> Iterable[history.History]:
    for path in sorted(history.logs(base), key=_changed, reverse=True)[:MAX_LOGS]:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield history.read(file.read(HEAD_BYTES).splitlines(), path)
        except OSError:
            continue


def _changed(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0
