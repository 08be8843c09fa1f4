"""Which live processes use a cache: open files, maps, working folders and environments, all from /proc.

Only what the kernel shows is known: of other users' processes nothing, unless root looks; how many those are is told.
Processes of other hosts that reach the same share are seen by their lease alone (:mod:`mswb.inside.cached.lease`).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from mswb.findings import language
from mswb.jobs.procs import Process, ancestors, environ, scan
from mswb.signals import ProcessId

FOLDER_VARIABLES = frozenset(
    {"MS_COMPILER_CACHE_PATH", "MS_OM_PATH", "MS_RDR_PATH", "KERNEL_META_DIR", "ASCEND_CACHE_PATH"}
)
"""Variables that name a folder below which MindSpore or CANN keep what they compile."""
_NOT_A_USE = frozenset({"PWD", "OLDPWD", "_", "HOME"})
# Shells and terminals pass an environment on and compile nothing themselves.
_PASSERS_ON = frozenset({"bash", "sh", "dash", "zsh", "fish", "tcsh", "ksh", "tmux", "tmux: server", "screen", "sshd"})
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True)
class Holder:
    """One use of a path by a live process. ``how`` is ``open``, ``mapped``, ``cwd`` or the name of a variable."""

    process: ProcessId
    name: str
    how: str
    path: str

    def __str__(self) -> str:
        words = _WORDS[language()]
        return f"{words['process']} {self.process.pid} ({self.name}): {words.get(self.how, self.how)}"


_WORDS = {
    "en": {"process": "process", "open": "has it open", "mapped": "has it mapped", "cwd": "works in it"},
    "zh": {"process": "进程", "open": "打开了它", "mapped": "映射了它", "cwd": "以它为工作目录"},
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All uses of paths at one moment, sorted by path; ``unseen`` counts processes that could not be looked at."""

    uses: tuple[Holder, ...] = ()
    unseen: int = 0
    _paths: list[str] = field(default_factory=list)

    def of(self, path: str, variables: Collection[str] = ()) -> list[Holder]:
        """Who uses a real path or something in it, each process once.

        Args:
            variables: also who was started with one of these naming a folder above ``path``.
        """
        below = path.rstrip("/") + "/"
        found = [*self._at(path), *self._from(below)]
        if variables:
            above = path
            while above != "/":
                found += [one for one in self._at(above) if one.how in variables and one.name not in _PASSERS_ON]
                above = os.path.dirname(above)
        return list({one.process: one for one in reversed(found)}.values())[::-1]

    def _at(self, path: str) -> Iterator[Holder]:
        index = bisect_left(self._paths, path)
        while index < len(self._paths) and self._paths[index] == path:
            yield self.uses[index]
            index += 1

    def _from(self, prefix: str) -> Iterator[Holder]:
        index = bisect_left(self._paths, prefix)
        while index < len(self._paths) and self._paths[index].startswith(prefix):
            yield self.uses[index]
            index += 1


def snapshot(cancelled: Callable[[], bool] = lambda: False) -> Snapshot:
    """The uses of this moment, but for those of this process; a few milliseconds for each hundred processes."""
    table = scan()
    own = ancestors(table, os.getpid())
    uses: list[Holder] = []
    unseen = 0
    for process in table.values():
        if cancelled():
            break
        if process.over or process.pid == os.getpid():
            continue
        found, seen = _of(process, process.pid in own)
        uses += found
        unseen += not seen
    uses.sort(key=lambda one: one.path)
    return Snapshot(tuple(uses), unseen, [one.path for one in uses])


def _of(process: Process, above_us: bool) -> tuple[list[Holder], bool]:
    """The uses by one process, and whether it could be looked at. What started us passes its environment on to us."""
    folder = f"/proc/{process.pid}"
    uses: dict[tuple[str, str], None] = {}
    try:
        names = os.listdir(f"{folder}/fd")
    except FileNotFoundError:
        return [], True
    except OSError:
        if _kernel_thread(folder):
            return [], True
        return [], False
    for name in names:
        uses[_target(f"{folder}/fd/{name}"), "open"] = None
    uses[_target(f"{folder}/cwd"), "cwd"] = None
    uses.update(((path, "mapped"), None) for path in _mapped(f"{folder}/maps"))
    if not above_us:
        uses.update((use, None) for use in _named(process.pid))
    return [Holder(process.id, process.name, how, path) for path, how in uses if path], True


def _kernel_thread(folder: str) -> bool:
    try:
        with open(f"{folder}/cmdline", "rb") as file:
            return not file.read(1)
    except OSError:
        return False


def _target(link: str) -> str:
    """The path a link of /proc names; "" for pipes, sockets, devices, and for what has gone."""
    try:
        target = os.readlink(link)
    except OSError:
        return ""
    return target.removesuffix(_DELETED) if target.startswith("/") and not target.startswith("/dev/null") else ""


def _mapped(path: str) -> set[str]:
    found: set[str] = set()
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                start = line.find("/")
                if start > 0:
                    found.add(line[start:].rstrip("\n").removesuffix(_DELETED).replace("\\012", "\n"))
    except OSError:
        pass
    return found


def _named(pid: int) -> Iterator[tuple[str, str]]:
    """The absolute paths in an environment, each with its variable."""
    for name, value in environ(pid).items():
        if name in _NOT_A_USE or "/" not in value:
            continue
        for part in value.split(":"):
            if part.startswith("/"):
                yield os.path.normpath(part), name
