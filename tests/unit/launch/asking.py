"""Requests, interpreters, hosts and overlays to test with; nothing here looks at the machine that runs the test."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mswb.env.host import Host, Memory
from mswb.env.interpreter import Interpreter
from mswb.launch.command import LaunchRequest, parse_flags
from mswb.launch.environment import EnvOverlay, build

PLAIN = Interpreter(sys.executable, "3.11.7", sys.prefix, sys.prefix, None, None, "1.26.4", "test")
WITH_MINDSPORE = replace(PLAIN, mindspore_version="2.10.0", mindspore_path="/opt/ms/site-packages/mindspore")
GIB = 1 << 30
HOST = Host(
    cpus=tuple(range(64)),
    cpu_quota=None,
    numa_nodes=(0, 1),
    memory=Memory(256 * GIB, 200 * GIB, None),
    shm_total=64 * GIB,
    shm_free=64 * GIB,
    open_files=(65535, 65535),
    processes=(65535, 65535),
    inotify_watches=500_000,
    inotify_instances=128,
    ascend=(),
    nvidia=(),
    tools={"taskset": "/usr/bin/taskset", "numactl": "/usr/bin/numactl"},
    root="/nonexistent",
)


def ask(arguments: Sequence[str], cwd: Path, environ: Mapping[str, str] | None = None) -> LaunchRequest:
    """Parse with a script behind the flags; ``train.py`` is made in ``cwd``."""
    script = cwd / "train.py"
    if not script.exists():
        script.write_text("from mindspore.communication import init\ninit()\n")
    return parse_flags([*arguments, "train.py"], environ or {}, str(cwd))


def overlay(
    request: LaunchRequest,
    environ: Mapping[str, str] | None = None,
    interpreter: Interpreter = WITH_MINDSPORE,
    log_folder: str = "/logs/RUN",
) -> EnvOverlay:
    """The overlay of a request over an environment, by default an empty one."""
    return build(request, interpreter, "RUN", log_folder, {} if environ is None else environ)


def host(**changes: Any) -> Host:
    """A big, healthy CPU host with these changes."""
    return replace(HOST, **changes)
