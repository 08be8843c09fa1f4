"""Verifying a folder of cached graphs, and mending it: what MindSpore would run, and whether that is what is meant.

MindSpore looks at one hash and at the number of the compile; here every graph is walked over, compared with its seal,
and its key with the files, versions and folders of now. What can't be known is called ``unverified``, and why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mswb.cache.check import MAX_FAULTS, Checked, Fault, Options, Watch
from mswb.cache.compile import key as keys
from mswb.cache.compile.key import Key, Seal
from mswb.cache.compile.mindir import walk
from mswb.cache.compile.scripts import Match, Search, find_script
from mswb.cache.compile.sniff import GRAPH_NAME, HASH_NAME
from mswb.cache.compile.sources import read_sources
from mswb.cache.holders import snapshot
from mswb.cache.repair import Repair
from mswb.cache.trash.moves import doers, trash_action
from mswb.files.safety import printable
from mswb.findings import MswbError
from mswb.plan import Plan

ORDER = ("corrupted", "interrupted", "key-mismatch", "version-mismatch", "stale-source", "unverified")
"""Statuses, the worst first."""
_HASH = re.compile(rb"[0-9a-f]{64}\s?")
PATH_VARIABLE = "MS_COMPILER_CACHE_PATH"
_SHOWN = 4
COPY_S = 2.0
"""Seconds by which a file must be newer than the graphs: when a folder is copied all its files are about as old."""
_UNSEALED = "its hash is fresh, but nothing seals it: a bit that flips in a constant would not be seen"


@dataclass(frozen=True, slots=True)
class Here:
    """The interpreter in use: its MindSpore, and where its packages lie. Empty where there is none."""

    mindspore: str = ""
    installed: tuple[str, ...] = ()


def check(path: str, options: Options, watch: Watch) -> Checked:
    """Check the graphs of one folder; see :mod:`mswb.cache.check`."""
    return check_with(path, watch, interpreter())


def check_with(path: str, watch: Watch, here: Here, *, deep: bool = True) -> Checked:
    """The same, under a given interpreter.

    Args:
        deep: walk over the graphs, too, and do not only compare them with their seals.
    """
    folder = _Folder(path)
    graphs, versions, faults = _graphs(folder, watch, deep)
    digests, hash_faults = _hashes(folder)
    faults += hash_faults
    more: dict[str, object] = {"graphs": len(folder.graphs)}
    try:
        sealed, known = keys.read_seal(path), keys.read_key(path)
    except ValueError as problem:
        faults.append(Fault("key-mismatch", printable(str(problem), 300)))
        sealed = known = None
    faults += [one for one in _seal_faults(folder, sealed, known, watch) if not _is_told(one, faults)]
    faults += _version_faults(versions, known, here)
    if known is not None:
        faults += _key_faults(path, known, watch)
        more.update(
            script=printable(known.script or "", 1000) or None, key=known.key, mindspore=known.versions.get("mindspore")
        )
    elif not hash_faults:
        for digest in dict.fromkeys(digests.values()):
            found = find_script(path, digest, here.installed, watch.cancelled)
            faults += _source_faults(folder, found, here)
            more["script"] = found.match.script if found.match else None
    faults.sort(key=lambda fault: ORDER.index(fault.code))
    status = faults[0].code if faults else "ok"
    if not faults and sealed is None:
        faults.append(Fault("unverified", _UNSEALED))
    broken = {fault.file for fault in faults if fault.code == "corrupted"}
    return Checked(
        status,
        records=len(folder.graphs),
        intact_records=sum(os.path.join(path, name) not in broken for name in folder.graphs),
        faults=tuple(faults[:MAX_FAULTS]),
        faults_total=len(faults),
        detail=_detail(graphs, versions, known, status),
        more={name: value for name, value in more.items() if value is not None},
    )


def _is_told(fault: Fault, faults: Sequence[Fault]) -> bool:
    """Whether a file is known to be damaged already."""
    return fault.code == "corrupted" and any((one.code, one.file) == (fault.code, fault.file) for one in faults)


def plan(path: str, checked: Checked, out: str | None) -> Repair:
    """Move the graphs, the hash and the seal to the trash: the whole folder, or these files when others lie in it.

    MindSpore compiles again what is missing. The whole graphs go too: which networks their numbers stand for is known
    only as long as none is missing.
    """
    if checked.status in ("ok", "unverified"):
        return Repair(Plan((), (f"{path}: there is nothing to mend",)))
    folder = _Folder(path)
    if not folder.everything:
        return Repair(Plan((), (f"{path}: there is nothing left to move",)))
    users = _users(path)
    if users:
        return Repair(Plan((), (f"{path}: left alone, a live process uses it: {users}",)))
    detail = f"{checked.status}; it is compiled again on the next run"
    names = folder.everything if folder.holds_others else ("",)
    actions = tuple(trash_action(os.path.join(path, name).rstrip("/"), detail) for name in names)
    return Repair(Plan(actions), doers(why="compile cache", refuse=lambda target: _users(path)))


def _users(path: str) -> str:
    """The live process that has the folder open or compiles into it, in words; empty for none."""
    return next((str(one) for one in snapshot().of(os.path.realpath(path), (PATH_VARIABLE,))), "")


@lru_cache(maxsize=1)
def interpreter() -> Here:
    """The training interpreter as the settings and the environment of this process choose it."""
    from mswb.env.interpreter import find_interpreter
    from mswb.settings import load_settings

    try:
        found = find_interpreter(None, load_settings(), os.environ)
    except (MswbError, OSError):
        return Here()
    return Here(found.mindspore_version or "", (found.purelib,))


class _Folder:
    """The names in a folder of graphs; links and folders in it are none of ours."""

    def __init__(self, path: str) -> None:
        self.path = path
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        self.graphs = sorted((name for name in names if GRAPH_NAME.match(name)), key=_number)
        self.hashes = [name for name in names if HASH_NAME.match(name)]
        self.others = [name for name in names if _BELONGS.match(name) and name not in self.graphs + self.hashes]
        self.everything = [*self.hashes, *self.graphs, *self.others]
        self.holds_others = len(os.listdir(path)) > len(self.everything)

    def is_older_than(self, file: str) -> bool:
        """Whether a file has changed since the last graph was written."""
        try:
            newest = max((os.stat(os.path.join(self.path, name)).st_mtime for name in self.graphs), default=0.0)
            return bool(newest) and os.stat(file).st_mtime > newest + COPY_S
        except OSError:
            return False


_BELONGS = re.compile(
    r"(?:[A-Z_]+_?)?(?:backend_)?(?:compile_cache_\d+|group_\d+\.ckpt|.*backinfo\.json|mswb-seal\.json$)"
)


def _number(name: str) -> tuple[int, str]:
    found = re.search(r"_(\d+)\.mindir$", name)
    return (int(found.group(1)) if found else 0), name


def _graphs(folder: _Folder, watch: Watch, deep: bool) -> tuple[int, dict[str, list[str]], list[Fault]]:
    """Walk over every graph; the operators in all of them, and the versions that wrote them with their graphs."""
    nodes, versions = 0, dict[str, list[str]]()
    faults: list[Fault] = []
    for count, name in enumerate(folder.graphs if deep else ()):
        watch.report(count, len(folder.graphs), "graphs")
        path = os.path.join(folder.path, name)
        try:
            found = walk(path, watch.cancelled)
        except (MswbError, OSError) as problem:
            faults.append(Fault("corrupted", f"it can't be read: {printable(str(problem), 200)}", 0, file=path))
            continue
        nodes += found.nodes
        if found.damage is not None:
            faults.append(Fault("corrupted", printable(found.damage.reason, 300), found.damage.offset, file=path))
        if found.version and found.damage is None:
            versions.setdefault(printable(found.version, 40), []).append(name)
    if not folder.graphs:
        faults.append(Fault("interrupted", "it holds no graph"))
    missing = _missing(folder.graphs)
    if missing:
        reason = f"{_listed(missing)} is missing: it was deleted, or MindSpore could not write it"
        faults.append(Fault("unverified", reason))
    return nodes, versions, faults


def _missing(names: Sequence[str]) -> list[str]:
    """Graphs whose number is below the highest of their role, and that are not there: MindSpore numbers from 0."""
    highest: dict[str, int] = {}
    for name in names:
        stem, number = name.removesuffix(f"{_number(name)[0]}.mindir"), _number(name)[0]
        highest[stem] = max(highest.get(stem, 0), number)
    wanted = (f"{stem}{number}.mindir" for stem, last in highest.items() for number in range(min(last, MAX_FAULTS)))
    return sorted(set(wanted) - set(names), key=_number)


def _hashes(folder: _Folder) -> tuple[dict[str, str], list[Fault]]:
    """The hash of each role that compiled into the folder; under a cluster the name begins with MS_WORKER."""
    found: dict[str, str] = {}
    faults: list[Fault] = []
    if not folder.hashes:
        faults.append(Fault("interrupted", "there is no compile_dependency.hash: MindSpore will not use the graphs"))
    for name in folder.hashes:
        path = os.path.join(folder.path, name)
        try:
            with open(path, "rb") as file:
                data = file.read(4096)
        except OSError as problem:
            faults.append(Fault("corrupted", f"the hash can't be read: {problem.strerror}", 0, file=path))
            continue
        if _HASH.fullmatch(data) is None:
            faults.append(Fault("corrupted", "the hash is no hash: 64 hex digits were expected", 0, file=path))
        else:
            found[name] = data[:64].decode("ascii")
    return found, faults


def _seal_faults(folder: _Folder, seal: Seal | None, key: Key | None, watch: Watch) -> Iterator[Fault]:
    if seal is None:
        if key is not None:
            yield Fault("unverified", "no run with it has ended well yet, so its graphs are not sealed")
        return
    if key is None or seal.key != key.key:
        yield Fault("key-mismatch", f"its seal is for the key {seal.key[: keys.SHORT]}, which this folder is not for")
    for name, expected in seal.files.items():
        path = os.path.join(folder.path, os.path.basename(name))
        if watch.cancelled():
            return
        found = _hash_of(path)
        if found == "":
            yield Fault("interrupted", f"{printable(name, 100)} is gone")
        elif found is None:
            yield Fault("unverified", "it can't be read, so it can't be compared with its seal", file=path)
        elif found != expected and HASH_NAME.match(name):
            yield Fault("key-mismatch", "another program has compiled into it since: its hash is not the sealed one")
        elif found != expected:
            yield Fault("corrupted", "it is not what was sealed: its SHA-256 differs", 0, file=path)
    fresh = [name for name in folder.graphs if name not in seal.files]
    if fresh:
        yield Fault("unverified", f"{_listed(fresh)} came after the seal")


def _hash_of(path: str) -> str | None:
    """The SHA-256 of a file; empty when it is gone or no regular file, None when it can't be read."""
    if not os.path.isfile(path) or os.path.islink(path):
        return ""
    try:
        return keys.file_hash(path)
    except (MswbError, OSError):
        return None


def _version_faults(versions: dict[str, list[str]], key: Key | None, here: Here) -> Iterator[Fault]:
    wanted = here.mindspore or (key.versions.get("mindspore", "") if key else "")
    if len(versions) > 1:
        yield Fault("version-mismatch", f"its graphs are of several versions: {', '.join(sorted(versions))}")
    elif versions and wanted and wanted not in versions:
        yield Fault("version-mismatch", f"MindSpore {next(iter(versions))} wrote it, and {wanted} would run it")


def _key_faults(path: str, key: Key, watch: Watch) -> Iterator[Fault]:
    home = keys.key_folder(path)
    if key.digest() != key.key:
        yield Fault("key-mismatch", f"{keys.KEY_FILE} was changed: its parts give another key than it names")
    elif home is not None and os.path.basename(home) != key.key[: keys.SHORT]:
        yield Fault("key-mismatch", f"the folder was renamed or copied: its key is {key.key[: keys.SHORT]}")
    changed = keys.changed_files(key, watch.cancelled)
    if changed:
        yield Fault("stale-source", f"changed since: {_listed(changed)}", values={"changed": changed})


def _source_faults(folder: _Folder, found: Search, here: Here) -> Iterator[Fault]:
    """What the scripts around a cache without a key say of it."""
    if found.match is not None:
        yield from _beyond(folder, found.match, here)
        return
    changed = found.near or tuple(script for script in found.beside if folder.is_older_than(script))
    if changed and not found.doubts:
        shown = _listed([os.path.basename(one) for one in changed])
        reason = f"no script here gives its hash any more: {shown}"
        yield Fault("stale-source", reason, values={"scripts": list(changed)})
    elif found.doubts:
        yield Fault("unverified", f"which files it depends on can't be told: {printable(found.doubts[0], 200)}")
    else:
        yield Fault("unverified", "the script that it was compiled from is not here")


def _beyond(folder: _Folder, match: Match, here: Here) -> Iterator[Fault]:
    """What the graph may depend on although MindSpore's hash does not cover it."""
    script = match.script
    base = os.path.dirname(script)
    sources = read_sources(script, (base, *here.installed), here.installed, base)
    counted = {match.depends.script} if match.partly else {path for path, _ in match.depends.files}
    missed = sorted(path for path in sources.files if path not in counted)
    newer = [
        f"~{os.path.relpath(one, base)}" for one in (*missed, *sorted(sources.inputs)) if folder.is_older_than(one)
    ]
    if newer:
        reason = f"newer than the graphs, and not in MindSpore's hash: {_listed(newer)}"
        yield Fault("stale-source", reason, values={"changed": newer})
    parts = [str(one) for one in sources.outside.values()]
    parts += [f"the modules {_listed([os.path.relpath(one, base) for one in missed])}"] if missed else []
    if parts:
        name = os.path.basename(script)
        reason = f"the hash fits {name}, but does not cover what that depends on: {', '.join(parts)}"
        yield Fault("unverified", reason, file=script)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, 80) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _detail(nodes: int, versions: dict[str, list[str]], key: Key | None, status: str) -> str:
    parts = [f"{nodes} operators"] if nodes else []
    parts += [f"MindSpore {version}" for version in sorted(versions)]
    if key is not None:
        parts.append(f"of {' '.join(key.words)}")
    return printable(", ".join(parts), 300)
