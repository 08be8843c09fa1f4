"""A compile cache of its own for each key of ``mswb run``, so that a hit means what people think it means.

Switched on by what switches MindSpore's on (MS_COMPILER_CACHE_ENABLE=1, by the environment or ``--env``) or by the
setting ``compile_cache``. The folder that the user names is kept, and the key becomes a folder in it. What is in the
key, and what can't be: ``mswb/docs/compile_cache.md``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mswb.cache.check import Checked, Watch
from mswb.cache.compile import key as keys
from mswb.cache.compile.dependency import read_source, search_path
from mswb.cache.compile.key import Key
from mswb.cache.compile.modules import Finder, NoSuchParent
from mswb.cache.compile.sources import Sources, read_sources
from mswb.cache.compile.verify import Here, check_with
from mswb.env.interpreter import Interpreter
from mswb.files.safety import make_private_dir, printable
from mswb.findings import Finding, make
from mswb.launch.command import PER_PROCESS, LaunchRequest
from mswb.launch.environment import EnvEntry, EnvOverlay
from mswb.settings import Settings

ENABLE, PATH, FORCE = "MS_COMPILER_CACHE_ENABLE", "MS_COMPILER_CACHE_PATH", "MS_DEV_FORCE_USE_COMPILE_CACHE"
FOLDER = "ms_compile_cache"
"""The folder in the working directory, where the user names none; MindSpore's own default is that directory itself."""
NEAR_FILES, NEAR_DEPTH = 300, 3
"""How many files, and how deep below the script, are looked at for the option that switches the cache on."""
GIT_S = 2.0
_NOISE = frozenset(
    {ENABLE, PATH, "MS_NODE_TIMEOUT", "MS_TOPO_TIMEOUT", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_RDR_PATH"}
)
"""Variables of MindSpore that no graph depends on."""
_MOST = 3


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """The folder that a launch uses, and the key that it is for."""

    path: str
    key: Key


@dataclass(frozen=True, slots=True)
class Keyed:
    """A launch with its compile cache. ``folder`` is None where the cache is off, or can't be keyed."""

    overlay: EnvOverlay
    folder: CacheFolder | None = None
    findings: tuple[Finding, ...] = ()


def keyed(request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, settings: Settings) -> Keyed:
    """Give a launch the folder for its key; reads, and writes nothing."""
    overlay = _switched(overlay, settings, request)
    environ = overlay.environ()
    on = environ.get(ENABLE) == "1"
    script = _script(request, environ)
    if not on and not _is_mentioned(script, request.cwd):
        return Keyed(overlay)
    sources = _sources(script, request, interpreter, environ) if script else None
    in_code = sources.text_options if sources else set()
    if not on and "enable_compile_cache" not in in_code:
        return Keyed(overlay)
    forced: tuple[Finding, ...] = (make("compile-cache-forced"),) if environ.get(FORCE) else ()
    if sources is None or PATH in request.no_env:
        reason = _NO_SCRIPT if sources is None else f"--no_env {PATH} leaves all runs one folder"
        return Keyed(overlay, None, (*forced, *_shared(reason, [environ.get(PATH) or "."], request, interpreter)))
    if "compile_cache_path" in in_code:
        forced += _shared(_OWN_PATH, sorted(sources.own_folders), request, interpreter)
    key = _key(script, request, interpreter, overlay, sources)
    root = os.path.normpath(os.path.join(request.cwd, os.path.expanduser(environ.get(PATH) or FOLDER)))
    folder = CacheFolder(os.path.join(root, key.key[: keys.SHORT]), key)
    entries = tuple(entry for entry in overlay.entries if entry.name != PATH)
    overlay = replace(overlay, entries=(*entries, EnvEntry(PATH, folder.path, "mswb")))
    return Keyed(overlay, folder, (*forced, *_state(folder, root, interpreter)))


_NO_SCRIPT = "there is no script whose code could be read"
_OWN_PATH = "the code names compile_cache_path, which wins over the folder of the key"


def _shared(
    reason: str, folders: Sequence[str], request: LaunchRequest, interpreter: Interpreter
) -> tuple[Finding, ...]:
    """That graphs of other runs may be used, and what is wrong with those in the folders."""
    found = (one for name in folders for one in _foreign(os.path.join(request.cwd, name), interpreter))
    return (make("compile-cache-shared", values={"reason": reason}), *found)


def begin(folder: CacheFolder, run: str, created: float) -> None:
    """Make the folder, and write the key into it.

    Raises:
        MswbError: ``path-unwritable``.
    """
    make_private_dir(folder.path)
    try:
        known = keys.read_key(folder.path)
    except ValueError:
        known = None  # a damaged one is written anew
    if known is not None and (known.key, known.digest(), known.cwd) == (folder.key.key,) * 2 + (folder.key.cwd,):
        return
    import msgspec

    keys.write_key(folder.path, msgspec.structs.replace(folder.key, run=run, created=created))


def sealing(folder: CacheFolder, run: str, begun: float) -> tuple[str, ...]:
    """The command that seals the graphs; the supervisor of the run starts it when the run has ended well."""
    return (sys.executable, "-m", "mswb.cache.compile.seal", folder.path, run, repr(begun))


def _switched(overlay: EnvOverlay, settings: Settings, request: LaunchRequest) -> EnvOverlay:
    """With the cache switched on where the setting says so and the user says nothing."""
    if not settings["compile_cache"] or ENABLE in overlay.environ() or ENABLE in request.no_env:
        return overlay
    return replace(overlay, entries=(*overlay.entries, EnvEntry(ENABLE, "1", "mswb")))


def _script(request: LaunchRequest, environ: Mapping[str, str]) -> str:
    """The file that is run: the script, the ``__main__`` of a folder, or what ``python -m`` names; "" for none."""
    if request.script:
        return os.path.join(request.script, "__main__.py") if os.path.isdir(request.script) else request.script
    words = request.program.words
    if "-m" not in words[1:-1]:
        return ""
    finder = Finder(search_path(os.path.join(request.cwd, "-"), environ.get("PYTHONPATH", "")))
    name = words[words.index("-m", 1) + 1]
    try:
        module = finder.find(name)
        inner = finder.find(f"{name}.__main__") if module is not None and module.folders else module
    except NoSuchParent:
        return ""
    return inner.file or "" if inner is not None else ""


def _is_mentioned(script: str, cwd: str) -> bool:
    """Whether a file around the script has the name of the option: most projects have not, and are not parsed."""
    folder = os.path.dirname(script) if script else cwd
    left = NEAR_FILES
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__")) and one != "site-packages")
        for name in names:
            if name.endswith(".py"):
                left -= 1
                if b"enable_compile_cache" in (read_source(os.path.join(base, name)) or b""):
                    return True
        if left <= 0 or base.count(os.sep) - folder.count(os.sep) >= NEAR_DEPTH:
            folders.clear()
        if left <= 0:
            return False
    return False


def _sources(script: str, request: LaunchRequest, interpreter: Interpreter, environ: Mapping[str, str]) -> Sources:
    path = search_path(script, environ.get("PYTHONPATH", ""), (interpreter.purelib,), request.cwd)
    return read_sources(script, path, (interpreter.purelib, os.path.dirname(interpreter.purelib)), request.cwd)


def _key(script: str, request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, sources: Sources) -> Key:
    environ = overlay.environ()
    named = {*keys.data_arguments(request.program.words, request.cwd), *sources.inputs} - sources.files.keys()
    return keys.keyed(
        Key(
            cwd=request.cwd,
            script=script,
            words=request.program.words,
            code=keys.relative(sources.files, request.cwd),
            inputs=keys.relative({path: keys.fingerprint(path) for path in named}, request.cwd),
            environment=_environment(overlay, request, sources),
            versions={
                "mindspore": interpreter.mindspore_version or "",
                "numpy": interpreter.numpy_version or "",
                "python": interpreter.version,
                "cann": keys.cann_version(environ),
                "the installed packages": keys.installed_hash(interpreter.purelib),
            },
            world=_world(request),
            git=_commit(os.path.dirname(script)),
        )
    )


def _environment(overlay: EnvOverlay, request: LaunchRequest, sources: Sources) -> dict[str, str]:
    """The variables that a graph may depend on: MindSpore's own, those of ``--env``, and those that the code names.

    The values of the latter two stand there as hashes: one may be a password.
    """
    ours = {entry.name for entry in overlay.entries if entry.origin == "mswb"}
    skipped = _NOISE | PER_PROCESS | ours
    return {
        name: value if name.startswith("MS_") else hashlib.sha256(os.fsencode(value)).hexdigest()[: keys.SHORT]
        for name, value in sorted(overlay.environ().items())
        if name not in skipped and (name.startswith("MS_") or name in request.env or name in sources.variables)
    }


def _world(request: LaunchRequest) -> dict[str, str]:
    level = "" if request.sim_level is None else str(request.sim_level)
    return {
        "workers": str(request.worker_num),
        "workers on a node": str(request.local_worker_num),
        "dry run": level,
        "machine": os.uname().machine,
    }


def _commit(folder: str) -> str:
    """The commit that the code is of; empty where git can't tell at once."""
    command = ["git", "-C", folder, "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_S, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return printable(done.stdout.strip(), 80) if done.returncode == 0 else ""


def _state(folder: CacheFolder, root: str, interpreter: Interpreter) -> Iterator[Finding]:
    """What the folder holds, or why it is new; and what is wrong with it."""
    found = list(graph_folders(folder.path))
    if not found:
        values = {"folder": folder.path, "state": _why_new(folder, root)}
        yield make("compile-cache-folder", values=values)
        return
    here = Here(interpreter.mindspore_version or "", (interpreter.purelib,))
    checks = [(path, check_with(path, Watch(), here, deep=False)) for path in found]
    for path, checked in checks:
        yield from _objections(path, checked)
    graphs = sum(checked.records or 0 for _, checked in checks)
    sealed = sum(checked.records or 0 for _, checked in checks if checked.status == "ok")
    values = {"folder": folder.path, "state": f"graphs of earlier runs with this key: {graphs}, sealed: {sealed}"}
    yield make("compile-cache-folder", values=values)


_OBJECTIONS = {
    "corrupted": "compile-cache-damaged",
    "key-mismatch": "compile-cache-foreign",
    "version-mismatch": "compile-cache-foreign",
    "stale-source": "compile-cache-foreign",
}


def _objections(path: str, checked: Checked) -> Iterator[Finding]:
    code = _OBJECTIONS.get(checked.status)
    if code is not None:
        fault = checked.faults[0]
        reason = f"{os.path.relpath(fault.file, path)}: {fault.reason}" if fault.file else fault.reason
        yield make(code, values={"folder": path, "reason": reason})


def _foreign(folder: str, interpreter: Interpreter) -> Iterator[Finding]:
    """What speaks against the graphs of a folder without a key, and MindSpore would not see.

    A script that has changed it sees itself: then it compiles anew.
    """
    here = Here(interpreter.mindspore_version or "", (interpreter.purelib,))
    for path in graph_folders(folder):
        checked = check_with(path, Watch(), here, deep=False)
        if not any("scripts" in fault.values for fault in checked.faults):
            yield from _objections(path, checked)


def graph_folders(folder: str) -> Iterator[str]:
    """The folders of graphs below the folder of a key: ``rank_N/graph_cache``."""
    for rank in _names(folder):
        path = os.path.join(folder, rank, "graph_cache")
        if rank.startswith("rank_") and _names(path) and not os.path.islink(path):
            yield path


def _why_new(folder: CacheFolder, root: str) -> str:
    """How it differs from the newest other folder of the same script."""
    others = [key for name in _names(root) if (key := _other(os.path.join(root, name), folder.key)) is not None]
    if not others:
        return "new"
    changed = keys.differences(folder.key, max(others, key=lambda key: key.created))
    more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
    return f"new; changed since the last: {', '.join(changed[:_MOST])}{more}" if changed else "new"


def _other(path: str, key: Key) -> Key | None:
    if not os.path.isfile(os.path.join(path, keys.KEY_FILE)):
        return None
    try:
        found = keys.read_key(path)
    except ValueError:
        return None
    return found if found is not None and found.script == key.script else None


def _names(folder: str) -> Sequence[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return ()
