"""The environment that every process of a launch gets, each value with its origin. Nothing of the user's is replaced.

The twelve variables of HCCL and Ascend that the article promises, with the values and ranges of the CANN and MindSpore
documentation; what makes an early look into a run possible (unbuffered output, fault handler); and the search paths, so
that every rank finds the chosen interpreter and the working directory first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Literal, NamedTuple

from mswb.env.interpreter import Interpreter
from mswb.launch.addresses import source_interface
from mswb.launch.command import PER_PROCESS, LaunchRequest

Origin = Literal["user", "option", "flag", "article", "advice", "mswb"]
"""user = was in the environment already; option = ``--env``; flag = follows from another flag; article = a value that
the article names; advice = a default of the documentation; mswb = needed by mswb itself."""
CWD_FIRST = "MSWB_CWD_FIRST"


class EnvEntry(NamedTuple):
    """One variable and why it has this value."""

    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class EnvOverlay:
    """What is put over the environment that mswb was started in, and what is taken out of it."""

    entries: tuple[EnvEntry, ...]
    removed: tuple[str, ...]
    base: Mapping[str, str]
    log_folder: str

    def __getitem__(self, name: str) -> str:
        return next(entry.value for entry in self.entries if entry.name == name)

    def get(self, name: str, default: str = "") -> str:
        """The value that the processes will see, from the overlay or from what it is put over."""
        return self.environ().get(name, default)

    def environ(self) -> dict[str, str]:
        """The whole environment of the processes, without what differs between them."""
        kept = {name: value for name, value in self.base.items() if name not in self.removed}
        return {**kept, **{entry.name: entry.value for entry in self.entries}}


def build(
    request: LaunchRequest, interpreter: Interpreter, run_id: str, log_folder: str, environ: Mapping[str, str]
) -> EnvOverlay:
    """The environment of a launch; reads, and writes nothing.

    A variable that the user has set keeps its value (origin ``user``); ``--env`` wins over it, ``--no-env`` leaves a
    variable out altogether.
    """
    wanted = [*_twelve(request, log_folder), *_insight(request), *_own(request)]
    entries = {name: EnvEntry(name, environ[name], "user") for name, _, _ in wanted if name in environ}
    for name, value, origin in wanted:
        entries.setdefault(name, EnvEntry(name, value, origin))
    if "ASCEND_VISIBLE_DEVICES" in environ and "ASCEND_RT_VISIBLE_DEVICES" not in environ:
        del entries["ASCEND_RT_VISIBLE_DEVICES"]  # the container's list: its devices are numbered anew
    if request.log_level is not None:  # an explicit flag says more than an old export
        entries["GLOG_v"] = EnvEntry("GLOG_v", str(request.log_level), "flag")
    entries.update({name: EnvEntry(name, value, "option") for name, value in request.env.items()})
    for entry in _paths(interpreter, request.cwd, {**environ, **request.env}):
        entries[entry.name] = entry
    kept = tuple(entry for entry in entries.values() if entry.name not in request.no_env)
    return EnvOverlay(kept, _removed(request, environ), dict(environ), log_folder)


def site_folder() -> str:
    """The folder that holds our sitecustomize, for the front of PYTHONPATH."""
    return str(resources.files("mswb.inside") / "site")


def node_timeout_s(worker_num: int) -> int:
    """MS_NODE_TIMEOUT: heartbeats may be late in big clusters (MindSpore's FAQ: 900 s and more beyond 128 devices)."""
    return 30 if worker_num <= 8 else 300 if worker_num <= 128 else 900


def _twelve(request: LaunchRequest, log_folder: str) -> list[EnvEntry]:
    debug = request.log_level is not None and request.log_level <= 0
    interface = _interface(request)
    rows = [
        EnvEntry("HCCL_WHITELIST_DISABLE", "1", "article"),
        EnvEntry("HCCL_CONNECT_TIMEOUT", "600", "article"),  # seconds
        EnvEntry("HCCL_EXEC_TIMEOUT", "1836", "advice"),  # seconds
        EnvEntry("HCCL_SOCKET_IFNAME", f"={interface}", "advice"),
        EnvEntry("HCCL_IF_BASE_PORT", "60000", "advice"),
        EnvEntry("HCCL_BUFFSIZE", "200", "advice"),  # MB a group
        EnvEntry("ASCEND_PROCESS_LOG_PATH", os.path.join(log_folder, "plog"), "mswb"),
        EnvEntry("ASCEND_GLOBAL_LOG_LEVEL", "1" if debug else "3", "flag" if debug else "advice"),
        EnvEntry("ASCEND_SLOG_PRINT_TO_STDOUT", "0", "advice"),
        EnvEntry("ASCEND_RT_VISIBLE_DEVICES", ",".join(map(str, range(request.local_worker_num))), "advice"),
        EnvEntry("MS_NODE_TIMEOUT", str(node_timeout_s(request.worker_num)), "advice"),  # seconds
        EnvEntry("PYTHONUNBUFFERED", "1", "mswb"),
    ]
    unknown = {"HCCL_SOCKET_IFNAME"} if interface is None else set()
    return [row for row in rows if row.name not in unknown]


def _interface(request: LaunchRequest) -> str | None:
    """The interface towards the master; loopback only when every rank is on this node."""
    if request.master.is_loopback and not request.is_single_node:
        return None
    return source_interface(request.master.ip)


def _insight(request: LaunchRequest) -> list[EnvEntry]:
    rows = [EnvEntry("PYTHONFAULTHANDLER", "1", "mswb")]
    if request.trace_kernels:
        rows.append(EnvEntry("VLOG_v", "(12901,12908)", "flag"))  # 12902 kernel launches, 12907 time of a graph
    return rows


def _own(request: LaunchRequest) -> list[EnvEntry]:
    """What boot.py needs to put the working directory before the script's own folder."""
    folder = os.path.dirname(os.path.realpath(request.script)) if request.script else None
    by_module = request.script is None and request.program.words[0] != "pytest"
    same = folder is not None and folder == os.path.realpath(request.cwd)
    return [] if same or by_module else [EnvEntry(CWD_FIRST, request.cwd, "mswb")]


def _paths(interpreter: Interpreter, cwd: str, environ: Mapping[str, str]) -> list[EnvEntry]:
    python_path = [site_folder(), cwd, *_parts(environ.get("PYTHONPATH", ""))]
    rows = [EnvEntry("PYTHONPATH", os.pathsep.join(dict.fromkeys(python_path)), "mswb")]
    folder = interpreter.folder_with_python
    if folder is not None:
        search = [folder, *_parts(environ.get("PATH", os.defpath))]
        rows.append(EnvEntry("PATH", os.pathsep.join(dict.fromkeys(search)), "mswb"))
    return rows


def _parts(text: str) -> list[str]:
    return [part for part in text.split(os.pathsep) if part]


def _removed(request: LaunchRequest, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of another launch that mswb itself runs under, and those that the user wants out."""
    kept = {"RANK_ID", "RANK_SIZE"} if request.is_simulation else set()
    return tuple(sorted(((PER_PROCESS | {CWD_FIRST}) - kept | request.no_env) & environ.keys()))
