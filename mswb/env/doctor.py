"""``mswb doctor``: what mswb runs on, what trainings would run on, and what is wrong with either."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata, util

from mswb import __version__
from mswb.env.host import Host, read_host
from mswb.env.interpreter import Interpreter, find_interpreter, shadows
from mswb.files.mounts import filesystem_type, is_network
from mswb.findings import Finding, MswbError, Where, make
from mswb.settings import Setting, Settings, host_name

INOTIFY_WATCHES = 8192
"""Fewer than this and a tree of many log folders may be polled instead of watched."""
_OWNERS = {"msrun": "mindspore"}
"""Console scripts and the package that owns them; another wheel that declares them too overwrites them silently."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A package that mswb needs; ``version`` is None when it is not installed."""

    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that mswb works in, the type of its file system, and its free bytes."""

    name: str
    path: str
    filesystem: str
    network: bool
    bytes_free: int | None
    writable: bool


@dataclass(frozen=True, slots=True)
class Devices:
    """Accelerators, by what is there: numbers of device nodes, and whether their tools answer."""

    ascend: tuple[int, ...]
    nvidia: tuple[int, ...]
    npu_smi: str | None
    nvidia_smi: str | None
    nvml: bool


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Everything ``mswb doctor`` says. ``interpreter`` is None when none is usable; the findings say why."""

    version: str
    python: str
    python_path: str
    dependencies: tuple[Distribution, ...]
    interpreter: Interpreter | None
    host_name: str
    host: Host
    devices: Devices
    folders: tuple[Folder, ...]
    settings: Mapping[str, Setting]
    config_file: str
    findings: tuple[Finding, ...] = field(default=())


def report(settings: Settings, environ: Mapping[str, str], cwd: str, python: str | None = None) -> DoctorReport:
    """Look at everything; reads only (but for the interpreter's probe, which is kept in the state folder).

    Args:
        python: the interpreter of ``--python``, if one was given.
    """
    findings: list[Finding] = []
    interpreter = _interpreter(python, settings, environ, findings)
    host = read_host(path=environ.get("PATH"))
    folders = (_folder("working folder", cwd), _folder("state folder", str(settings.state_dir)))
    dependencies = tuple(_dependencies())
    findings += _own(dependencies, folders)
    findings += _of_host(host)
    if interpreter is not None:
        findings += _of_interpreter(interpreter, cwd, environ)
    return DoctorReport(
        version=__version__,
        python="{}.{}.{}".format(*sys.version_info[:3]),
        python_path=sys.executable,
        dependencies=dependencies,
        interpreter=interpreter,
        host_name=host_name(),
        host=host,
        devices=_devices(host),
        folders=folders,
        settings=settings.entries,
        config_file=str(settings.config_file),
        findings=tuple(findings),
    )


def script_owner(purelib: str, name: str) -> tuple[str, str] | None:
    """The module that a console script beside ``purelib`` starts and the script's path, or None when there is none."""
    path = os.path.join(purelib, "..", "..", "..", "bin", name)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(4096).splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) >= 4 and words[0] == "from" and words[2] == "import":
            return words[1], os.path.normpath(path)
    return "", os.path.normpath(path)


def _interpreter(
    python: str | None, settings: Settings, environ: Mapping[str, str], findings: list[Finding]
) -> Interpreter | None:
    try:
        return find_interpreter(python, settings, environ)
    except MswbError as problem:
        findings.append(problem.finding)
        return None


def _dependencies() -> Iterator[Distribution]:
    """The packages that mswb's own metadata asks for, without those of extras."""
    try:
        wanted = metadata.requires("mswb") or []
    except metadata.PackageNotFoundError:  # run from a source folder
        wanted = []
    for text in wanted:
        if "extra ==" not in text and _applies(text):
            name = text.split(";")[0].strip()
            name = name[: next((i for i, char in enumerate(name) if not (char.isalnum() or char in "-_.")), len(name))]
            yield Distribution(name, _version(name))


def _applies(text: str) -> bool:
    """The only marker we use is ``python_version < "3.11"``."""
    return "python_version <" not in text or sys.version_info < (3, 11)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _folder(name: str, path: str) -> Folder:
    place = path
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    kind = filesystem_type(place)
    try:
        space = os.statvfs(place)
        free: int | None = space.f_bavail * space.f_frsize
    except OSError:
        free = None
    return Folder(name, path, kind, is_network(kind), free, os.access(place, os.W_OK | os.X_OK))


def _devices(host: Host) -> Devices:
    return Devices(
        host.ascend,
        host.nvidia,
        host.tools.get("npu-smi"),
        host.tools.get("nvidia-smi"),
        util.find_spec("pynvml") is not None,
    )


def _own(dependencies: tuple[Distribution, ...], folders: tuple[Folder, ...]) -> Iterator[Finding]:
    for one in dependencies:
        if one.version is None:
            yield make("dependency-missing", values={"name": one.name})
    for folder in folders:
        if folder.name == "state folder" and not folder.writable:
            yield make("path-unwritable", values={"path": folder.path, "reason": "permission denied"})
        if folder.network:
            values = {"path": folder.path, "filesystem": folder.filesystem}
            yield make("network-folder", values=values)


def _of_host(host: Host) -> Iterator[Finding]:
    if host.inotify_watches is not None and host.inotify_watches < INOTIFY_WATCHES:
        yield make("inotify-limit", values={"limit": host.inotify_watches})
    missing = [tool for tool in ("tail", "ip", "grep") if tool not in host.tools]
    if missing:
        yield make("tools-missing", values={"tools": ", ".join(missing)})


def _of_interpreter(interpreter: Interpreter, cwd: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    if interpreter.mindspore_version is None:
        yield make("mindspore-absent", values={"path": interpreter.path, "source": interpreter.source})
        return
    other = shadows(interpreter, cwd, environ)
    if other is not None:
        ours = interpreter.mindspore_path or "-"
        yield make("mindspore-shadowed", where=Where(file=other), values={"other": other, "ours": ours})
    for name, owner in _OWNERS.items():
        found = script_owner(interpreter.purelib, name)
        if found is not None and found[0].split(".")[0] != owner:
            values = {"name": name, "owner": owner, "found": found[0] or "-"}
            yield make("script-overwritten", where=Where(file=found[1]), values=values)
