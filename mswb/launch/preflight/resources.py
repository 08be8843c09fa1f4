"""Memory, processors, files and space against what the workers will need at least."""

from __future__ import annotations

import os
from collections.abc import Iterator

from mswb.env.host import Host
from mswb.env.interpreter import Interpreter
from mswb.findings import Finding, make
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay
from mswb.launch.preflight.scripts import Script

PROCESS_BYTES = 400 << 20
"""Resident memory of one rank that has only imported MindSpore 2.10 and joined a cluster: 415-440 MB measured."""
FILES_BASE = 256
FILES_PER_WORKER = 8
"""Sockets to and from a peer with their epoll descriptors and headroom: a rough floor, not a measurement."""
DOCKER_SHM_BYTES = 64 << 20
LOG_BYTES = 256 << 20


def check(
    request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, host: Host, script: Script
) -> Iterator[Finding]:
    """Too little memory, too few processors or files, a small /dev/shm, a nearly full disk: warnings and notes."""
    if interpreter.mindspore_version is not None:
        yield from _memory(request, host)
        yield from _files(request, host)
        yield from _processors(request, host)
    if script.has_dataset_workers and host.shm_total is not None and host.shm_total <= DOCKER_SHM_BYTES:
        values = {"bytes_total": host.shm_total}
        evidence = f"/dev/shm has {host.shm_total >> 20} MiB"
        yield make("shared-memory-too-small", severity="warning", evidence=evidence, values=values)
    yield from _space(os.path.dirname(overlay.log_folder))


def _memory(request: LaunchRequest, host: Host) -> Iterator[Finding]:
    processes = request.local_worker_num + int(request.is_master)
    needed = processes * PROCESS_BYTES
    if 0 < host.memory.available < needed:
        values = {
            "processes": processes,
            "bytes_needed": needed,
            "bytes_available": host.memory.available,
            "needed": f"{needed / 2**30:.1f}",
            "available": f"{host.memory.available / 2**30:.1f}",
        }
        yield make("memory-tight", values=values)


def _files(request: LaunchRequest, host: Host) -> Iterator[Finding]:
    needed = FILES_BASE + FILES_PER_WORKER * request.worker_num
    soft = host.open_files[0]
    if 0 <= soft < needed:  # -1 is no limit
        evidence = f"ulimit -n is {soft}"
        values = {"limit": soft, "needed": needed}
        yield make("open-file-limit", severity="warning", evidence=evidence, values=values)


def _processors(request: LaunchRequest, host: Host) -> Iterator[Finding]:
    cpus = host.cpu_quota or float(len(host.cpus))
    if request.local_worker_num > cpus >= 1:
        values = {"workers": request.local_worker_num, "cpus": f"{cpus:g}"}
        yield make("workers-over-cpus", values=values)


def _space(folder: str) -> Iterator[Finding]:
    while not os.path.isdir(folder) and folder not in ("", "/"):
        folder = os.path.dirname(folder)
    try:
        space = os.statvfs(folder or "/")
    except OSError:
        return
    free = space.f_bavail * space.f_frsize
    if free < LOG_BYTES or (space.f_files and not space.f_favail):
        values = {"folder": folder, "bytes_free": free, "free": f"{free >> 20}"}
        yield make("log-space-low", values=values)
