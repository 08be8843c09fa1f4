"""Whether the ports that the run will listen on are free, and who has them otherwise."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator

from mswb.env.host import Host
from mswb.env.interpreter import Interpreter
from mswb.findings import Finding, make
from mswb.jobs import procs
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay

HCCL_PORTS = 16
"""Ports from HCCL_IF_BASE_PORT on that HCCL uses on each node."""


def check(request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, host: Host) -> Iterator[Finding]:
    """The scheduler's port on the master node; HCCL's ports where there are NPUs."""
    if request.is_master and interpreter.mindspore_version is not None:
        yield from _scheduler(request.master.ip, request.master_port)
    base = overlay.get("HCCL_IF_BASE_PORT")
    if host.ascend and base.isdecimal() and not overlay.get("HCCL_HOST_SOCKET_PORT_RANGE"):
        yield from _hccl(int(base))


def refusal(ip: str, port: int) -> int | None:
    """The errno with which this host refuses a server socket at ``ip:port``; None when it is free.

    SO_REUSEADDR as the scheduler sets it, so connections that still wait in TIME_WAIT are no obstacle.
    """
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((ip.partition("%")[0], port))
            server.listen(1)  # two sockets may bind with SO_REUSEADDR, but only one may listen
    except OSError as problem:
        return problem.errno
    return None


def _scheduler(ip: str, port: int) -> Iterator[Finding]:
    number = refusal(ip, port)
    if number == errno.EADDRINUSE:
        yield _in_use(port)
    elif number == errno.EACCES:
        yield make("port-forbidden", values={"port": port})


def _in_use(port: int) -> Finding:
    pid = listener(port)
    values: dict[str, object] = {"port": port}
    if pid is None:
        return make("port-in-use", values=values)
    command = " ".join(procs.arguments(pid))
    role = procs.environ(pid).get("MS_ROLE")
    values.update(pid=pid, command=command)
    evidence = f"pid {pid} listens there: {command}" + (f" ({role})" if role else "")
    return make("port-in-use", evidence=evidence, values=values)


def listener(port: int) -> int | None:
    """The process that listens on a TCP port of this host, if we may see it."""
    import psutil

    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    listening = (one for one in connections if one.status == psutil.CONN_LISTEN)
    found = (one.pid for one in listening if getattr(one.laddr, "port", None) == port)
    return next((pid for pid in found if pid is not None and pid != os.getpid()), None)


def _hccl(base: int) -> Iterator[Finding]:
    busy = [port for port in range(base, min(base + HCCL_PORTS, 65536)) if refusal("0.0.0.0", port) is not None]
    if busy:
        yield make("hccl-ports-busy", values={"ports": ", ".join(map(str, busy)), "base": base})
