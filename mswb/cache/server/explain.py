"""Why a server does not answer, and what the numbers of its sessions mean, as findings.

``dataset-cache`` says the same sentence for a wrong port, a dead server and one of another user; the process table and
the socket files tell them apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from mswb.cache.server.answers import Cached
from mswb.cache.server.running import BASE, Host, Server, Socket
from mswb.findings import Finding, Where, make
from mswb.jobs.procs import user_name


def unreachable(port: int, host: Host, uid: int, base: str = BASE) -> Finding:
    """Why no server answers on a port to a client of the user ``uid``."""
    at_port = [one for one in host.servers if one.port == port]
    mine = next((one for one in at_port if one.uid == uid), None)
    socket = next((one for one in host.sockets if one.port == port), None)
    if mine is not None:
        return _deaf(mine, socket, base)
    if at_port:
        other = at_port[0]
        values = {"port": port, "user": user_name(other.uid), "pid": other.process.pid}
        return make("cache-server-foreign", values=values)
    if socket is not None:
        values = {"port": port, "path": socket.path, "user": user_name(socket.uid)}
        code = "cache-server-dead" if socket.uid == uid else "cache-server-foreign-socket"
        return make(code, where=Where(file=socket.path), values=values)
    if host.closed:
        folder = host.closed[0]
        values = {"port": port, "path": folder, "user": user_name(_owner(folder))}
        return make("cache-server-closed", where=Where(file=folder), values=values)
    ports = sorted({one.port for one in host.servers if one.uid == uid})
    if ports:
        return make("cache-server-wrong-port", values={"port": port, "ports": ", ".join(map(str, ports))})
    return make("cache-server-absent", values={"port": port})


def _deaf(server: Server, socket: Socket | None, base: str) -> Finding:
    """A live server of ours that does not answer: its socket is gone or lies elsewhere, or it is stopped or busy."""
    values = {
        "port": server.port,
        "pid": server.process.pid,
        "path": socket.path if socket else os.path.join(base, f"cache_server_p{server.port}"),
    }
    return make("cache-server-deaf" if socket and socket.listening else "cache-server-elsewhere", values=values)


def of_sessions(rows: Sequence[Cached], port: int, spill: str | None) -> list[Finding]:
    """What the rows of ``--list_sessions`` mean where they say ``n/a``."""
    return [found for found in (_of_session(row, port, spill) for row in rows) if found is not None]


def _of_session(row: Cached, port: int, spill: str | None) -> Finding | None:
    if row.rows:
        return None
    values = {"session": row.session, "cache": row.cache, "port": port, "spill": spill or "none"}
    return make("cache-session-unused" if row.cache is None else "cache-nothing-cached", values=values)


def lost_cache(session: int, cache: int, known: Sequence[Cached] | None) -> Finding:
    """What "Cache id N not found" means. ``known``: the sessions that the server has now; None when nobody knows."""
    values = {"session": session, "cache": cache, "id": session << 32 | cache}
    there = known is not None and any(row.session == session for row in known)
    return make("cache-id-other" if there else "cache-id-lost", values=values)


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return 0
