"""Which files of a folder are logs, and whose: any layout, real msrun's, ours, one flat folder, or a single file.

Only names and the first bytes are looked at, so thousands of ranks take a moment. Links are never followed: inside a
log folder they lead to files that are found anyway (``latest``, ``mindspore.INFO``) or out of it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from mswb.files.safety import open_regular
from mswb.findings import MswbError, stop
from mswb.launch.records import HEAD

Role = Literal["worker", "scheduler", "launcher", "merged", "unknown"]

MAX_DEPTH = 4
"""Folders below the one that was named that are searched (design.md, "Rules of the kinds")."""
MAX_FILES = 50_000
EVIDENCE = ("rc.txt", "exit_code*", "env.txt", "limits.txt", "df.txt", "dmesg.txt", "run.json")
"""Names of files that tell of a run without being its log."""
SNIFF = 1 << 16
_HEAD_BYTES = 1 << 18

RUN_ID = re.compile(r"(\d{8}_\d{6})_\d+(?:_\d+)?$")
"""The folder of one of our runs: ``YYYYMMDD_HHMMSS_PID``."""
_MERGED = re.compile(r"msrun_\d{8}_\d{6}_\d+(?:_\d+)?\.log(?:\.\d+)?$")
_GLOG = re.compile(r"mindspore\..+\.log\.(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\.\d{8}-\d{6}\.(\d+)$")
_GLOG_ORDER = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL")
_LOG_NAME = re.compile(
    r"(?i)(?:.*\.(?:log|out|err)(?:\.\d+)?|.*\.log\.\w+.*|.*\.[oe]\d+|(?:console|stdout|stderr|nohup)(?:[._-].*)?)$"
)
_NEVER = re.compile(
    r"(?i)(?:readme.*|licen[cs]e.*|makefile|dockerfile|command\.txt|requirements.*\.txt|\..*|core(?:\.\d+)?"
    r"|.*\.(?:py|pyc|sh|json|jsonl|ya?ml|toml|cfg|ini|conf|md|rst|html?|csv|tsv|xml|ckpt|safetensors|mindir|onnx|ms|air"
    r"|npy|npz|pt|pth|pkl|ir|dot|db|mindrecord|tfrecords?|pb|proto|png|jpe?g|svg|gz|bz2|xz|zst|zip|tar|tgz|so|o|a|whl"
    r"|pem|crt|cer|key|p12|srl|lock|pid|tmp|swp|h|c|cc|cpp|ipynb))$"
)
_SKIPPED_FOLDER = re.compile(r"(?i)(?:\..*|__pycache__|site-packages|node_modules|kernel_meta|om|ckpt|checkpoints?)$")
_PLAIN_FOLDER = re.compile(
    r"(?i)(?:(?:ms)?(?:run)?_?(?:run_)?logs?|output|glog.*|plog|debug|run|(?:rank|worker|device)[_-]?\d+"
    r"|\d{8}_\d{6}_\d+(?:_\d+)?)$"
)
_NODE_FOLDER = re.compile(r"(?i)(?:node|host|server|machine|pod|master|slave)[-_.]?\w*.*$|\d{1,3}(?:\.\d{1,3}){3}$")
_ADDRESS = re.compile(r"(?:^|[_-])(\d{1,3}(?:\.\d{1,3}){3})(?:[_-]|\.log)")
_LAUNCHER = re.compile(r"(?i)(?:console|launcher|msrun|nohup|output|stdout|stderr)(?:[._-]?[a-z]*)*$")
_RANK_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:worker|rank|device|npu|gpu|r)[_.-]?(\d{1,6})(?!\d)")
_NUMBER_NAME = re.compile(r"(?:^|[_.-])(\d{1,6})\.(?:log|out|err|txt)(?:\.\d+)?$")
_BINARY = (
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x7fELF",
    b"SQLite format",
    b"\x89PNG",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
)

_ANY_RECORD = re.compile(
    HEAD + rb"|Traceback \(most recent call last\):|Fatal Python error: |Current thread 0x"
    rb"|^\[(?:GRAPH_BUILD|KERNEL_LAUNCH)\]|^python\d?: can't open file|^usage: msrun",
    re.MULTILINE,
)
_RANK_WORDS = (
    rb"This node \S+ rank id: (\d{1,7})",
    rb"Global rank id: (\d{1,7}), global rank size",
    rb"(?mi:^)\W{0,3}(?i:rank)(?:[ _]?(?i:id))?\s?[:=] ?(\d{1,7})\b",
    rb"(?m:^)(?:export )?RANK_ID ?[=:] ?'?(\d{1,7})\b",
)
_ROLE_WORDS: tuple[tuple[Role, re.Pattern[bytes]], ...] = (
    (
        "launcher",
        re.compile(rb"^Start (?:scheduler|worker) process|Distributed job is spawned|^usage: msrun", re.MULTILINE),
    ),
    ("scheduler", re.compile(rb"meta_server_node\.cc|Building networking for MS_SCHED")),
    ("worker", re.compile(rb"This node \S+ rank id: |compute_graph_node\.cc|Building networking for MS_WORKER")),
)


@dataclass(frozen=True, slots=True)
class LogFile:
    """One log. ``name`` is the path below the root; ``size`` is in bytes, ``mtime`` in seconds since the epoch.

    ``rank_hint`` comes from the name only: the log's own words (:func:`rank_from_text`) are stronger, since a name may
    count local ranks. ``node_hint`` is the folder (or the address in the name) that tells the nodes apart. A plain
    command's console is a ``launcher`` without workers. ``merged`` is our own mix of all ranks, listed only when the
    rank files are not there.
    """

    path: str
    name: str
    role: Role
    rank_hint: int | None
    node_hint: str | None
    size: int
    mtime: float


@dataclass(frozen=True, slots=True)
class LogSet:
    """The logs of one run. ``evidence`` maps a name (``rc.txt``; ``node-1/dmesg.txt`` when there are several) to its
    path; ``status_path`` is the run's record (``run.json`` or ``status.json``), if it was ours.
    """

    root: str
    files: tuple[LogFile, ...]
    evidence: Mapping[str, str]
    status_path: str | None = None


def discover(path: str | os.PathLike[str]) -> LogSet:
    """The logs of the run that ``path`` names: a log file, a log folder, a folder that holds one, or a run folder.

    Of several runs of ours in one folder the newest is taken; of several others, the one with the newest scheduler.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
    except OSError as problem:
        raise _unusable(name, problem) from None
    if not stat.S_ISDIR(status.st_mode):
        return _single(name)
    log, record = os.path.join(name, "log"), os.path.join(name, "status.json")
    if not os.path.isfile(os.path.join(name, "spec.json")):
        return _folder(os.path.realpath(name))
    if (adopted := _adopted(name, record)) is not None:
        return adopted
    if os.path.islink(log) and not os.path.isdir(log):  # the job, or somebody, deleted the folder of the logs
        found = LogSet(os.path.realpath(name), (), {})
    else:
        found = _folder(os.path.realpath(log if os.path.isdir(log) else name))
    return replace(found, status_path=record) if os.path.isfile(record) else found


def rank_from_text(head: bytes) -> int | None:
    """The rank by a log's own words, the most reliable ones first; None when it names none, or several."""
    for pattern in _rank_patterns():
        ranks = {int(rank) for rank in pattern.findall(head)}
        if ranks:
            return ranks.pop() if len(ranks) == 1 else None
    return None


@lru_cache(maxsize=1)
def _rank_patterns() -> tuple[Any, ...]:
    """RE2's, since the heads of a thousand logs are a quarter of a gigabyte."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return tuple(re2.compile(pattern, options) for pattern in _RANK_WORDS)


def role_from_text(head: bytes) -> Role:
    """Who wrote a log, by its words; "unknown" for a program that never met a cluster."""
    return next((role for role, pattern in _ROLE_WORDS if pattern.search(head)), "unknown")


def rank_of(file: LogFile) -> int | None:
    """A worker's rank: by the first 256 KiB of its log, else by its name."""
    if file.role in ("scheduler", "launcher", "merged"):
        return None
    rank = rank_from_text(read_head(file.path, _HEAD_BYTES))
    return file.rank_hint if rank is None else rank


def _single(path: str) -> LogSet:
    descriptor = open_regular(path)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    head = read_head(path, 512)
    if head.startswith(_BINARY) or _looks_binary(head):
        raise stop("path-unreadable", values={"path": path, "reason": "it is not a text log"})
    folder, name = os.path.split(os.path.abspath(path))
    record = os.path.join(folder, "run.json")
    file = LogFile(os.path.abspath(path), name, "unknown", None, None, status.st_size, status.st_mtime)
    return LogSet(folder, (_described(file),), {}, record if os.path.isfile(record) else None)


def _folder(root: str) -> LogSet:
    found: list[LogFile] = []
    evidence: dict[str, str] = {}
    for entry, name in _walk(root, "", 0):
        if any(fnmatch(entry.name, pattern) for pattern in EVIDENCE):
            evidence[name if entry.name in evidence else entry.name] = entry.path
        elif not _NEVER.match(entry.name):
            status = entry.stat(follow_symlinks=False)
            found.append(LogFile(entry.path, name, "unknown", None, None, status.st_size, status.st_mtime))
        if len(found) >= MAX_FILES:
            break
    files = _without_merged([_described(file) for file in _without_coarser(found) if _is_log(file)])
    return LogSet(root, tuple(_with_nodes(_newest_run(files))), evidence, evidence.get("run.json"))


def _adopted(folder: str, record: str) -> LogSet | None:
    """The logs that the processes of an adopted run had open, however many others lie beside them; None for other runs.

    A file that several ranks write is the console of all.
    """
    from mswb.jobs.spec import ADOPTED, JobSpec, RunStatus, read_record

    try:
        status, spec = read_record(Path(record), RunStatus), read_record(Path(folder, "spec.json"), JobSpec)
    except MswbError:
        return None
    if status.backend != ADOPTED:
        return None
    parts: dict[str, set[tuple[Role, int | None]]] = {}
    for one in status.processes:
        if one.log:
            parts.setdefault(one.log, set()).add(("unknown" if one.role == "command" else one.role, one.rank))
    more = [_present(path) for path in spec.more_logs if path not in parts]
    others = [_described(file) for file in _without_coarser([file for file in more if file is not None])]
    own = [
        _present(path, *(("launcher", None) if len(roles) > 1 else next(iter(roles)))) for path, roles in parts.items()
    ]
    files = [file for file in (*own, *others) if file is not None]
    common = os.path.commonpath([os.path.dirname(file.path) for file in files]) if files else os.path.realpath(folder)
    named = tuple(replace(file, name=os.path.relpath(file.path, common)) for file in files)
    return LogSet(common, named, {}, record)


def _present(path: str, role: Role = "unknown", rank: int | None = None) -> LogFile | None:
    """A log by its path; None when it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (
        LogFile(path, path, role, rank, None, status.st_size, status.st_mtime) if stat.S_ISREG(status.st_mode) else None
    )


def _walk(folder: str, prefix: str, depth: int) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Regular files below ``folder`` with their relative names; files of a folder before its sub-folders."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    folders = [entry for entry in listed if entry.is_dir(follow_symlinks=False)]
    runs = [entry for entry in folders if RUN_ID.match(entry.name)]
    for entry in listed:
        loose = bool(runs) and _LOG_NAME.match(entry.name) is not None  # left by an earlier launcher in the same folder
        if entry.is_file(follow_symlinks=False) and not loose:
            yield entry, prefix + entry.name
    if depth == MAX_DEPTH:
        return
    for entry in folders if not runs else [max(runs, key=_age_of_run)]:
        if not _SKIPPED_FOLDER.match(entry.name):
            yield from _walk(entry.path, f"{prefix}{entry.name}/", depth + 1)


def _age_of_run(entry: os.DirEntry[str]) -> tuple[str, float]:
    match = RUN_ID.match(entry.name)
    assert match is not None
    return match.group(1), entry.stat(follow_symlinks=False).st_mtime


def _is_log(file: LogFile) -> bool:
    """By its name, or by holding what only logs hold; never when it is binary."""
    base = os.path.basename(file.name)
    named = _LOG_NAME.match(base) is not None
    if not file.size:
        return named
    head = read_head(file.path, 512 if named else SNIFF)
    if head.startswith(_BINARY) or _looks_binary(head[:512]):
        return False
    return named or _ANY_RECORD.search(head) is not None


def _looks_binary(head: bytes) -> bool:
    """Mostly control bytes. A hole of NULs (a log on a full disk) is still a log."""
    strange = sum(byte < 9 or 13 < byte < 27 for byte in head.replace(b"\0", b""))
    return strange * 10 > len(head) or (
        b"\0" in head and head.count(b"\0") * 2 > len(head) and not head.startswith(b"\0")
    )


def _described(file: LogFile) -> LogFile:
    """The file with its role and rank by name, by content where the name says nothing."""
    base = os.path.basename(file.name)
    role = _role_by_name(base)
    if role in ("scheduler", "launcher", "merged"):
        return replace(file, role=role)
    rank = _rank_by_name(file.name)
    if role == "unknown":
        role = role_from_text(read_head(file.path, SNIFF))
    if role == "unknown" and rank is not None:
        role = "worker"
    return replace(file, role=role, rank_hint=rank if role == "worker" else None, node_hint=_address(base))


def _role_by_name(base: str) -> Role:
    if _MERGED.match(base):
        return "merged"
    if base.lower().startswith("sched"):
        return "scheduler"
    if base.lower().startswith("worker") and _RANK_NAME.search(base):
        return "worker"
    return "launcher" if _LAUNCHER.match(base) else "unknown"


def _rank_by_name(name: str) -> int | None:
    """The rank that the file's name says, else the nearest folder's."""
    *folders, base = name.split("/")
    match = None if _GLOG.match(base) or base.startswith("mindspore.log") else _RANK_NAME.search(base)
    if match is None and not base.startswith("mindspore."):
        match = _NUMBER_NAME.search(_ADDRESS.sub("_", base) if base.count(".") > 1 else base)
    for folder in reversed(folders):
        match = match or _RANK_NAME.search(folder)
    return int(match.group(1)) if match is not None else None


def _address(base: str) -> str | None:
    match = _ADDRESS.search(base)
    return match.group(1) if match is not None else None


def _without_coarser(files: list[LogFile]) -> Iterator[LogFile]:
    """glog writes one file a level, each holding the coarser ones too: only the finest of a process is kept."""
    finest: dict[tuple[str, str], int] = {}
    for file in files:
        match = _GLOG.match(os.path.basename(file.name))
        if match is not None:
            key = (os.path.dirname(file.name), match.group(2))
            finest[key] = min(_GLOG_ORDER.index(match.group(1)), finest.get(key, len(_GLOG_ORDER)))
    for file in files:
        match = _GLOG.match(os.path.basename(file.name))
        if match is None or _GLOG_ORDER.index(match.group(1)) == finest[os.path.dirname(file.name), match.group(2)]:
            yield file


def _without_merged(files: list[LogFile]) -> list[LogFile]:
    single = [file for file in files if file.role != "merged"]
    return single or files


def _newest_run(files: list[LogFile]) -> list[LogFile]:
    """A cluster has one scheduler: several scheduler logs are several runs, and the newest is meant."""
    schedulers = [file for file in files if file.role == "scheduler" and not _GLOG.match(os.path.basename(file.name))]
    folders = {os.path.dirname(file.name) for file in schedulers}
    if len(folders) < 2:
        return files
    newest = os.path.dirname(max(schedulers, key=lambda file: (file.mtime, file.name)).name)
    tops = {_below_common(folder, folders) for folder in folders}
    mine = _below_common(newest, folders)
    return [file for file in files if not _inside(file.name, tops - {mine})]


def _below_common(folder: str, folders: Iterable[str]) -> str:
    """The part of ``folder`` down to where it differs from the others."""
    every = [other.split("/") for other in folders]
    shared = 0
    while all(len(parts) > shared + 1 for parts in every) and len({parts[shared] for parts in every}) == 1:
        shared += 1
    return "/".join(folder.split("/")[: shared + 1])


def _inside(name: str, folders: Iterable[str]) -> bool:
    return any(os.path.dirname(name) == folder or name.startswith(f"{folder}/") for folder in folders)


def _with_nodes(files: list[LogFile]) -> list[LogFile]:
    """Folders that are neither ranks nor log folders name the nodes, when there are several or they look like it."""
    hints = {file.name: _node_folder(file.name) for file in files}
    several = len(set(hints.values()) - {""}) > 1
    return [
        replace(file, node_hint=hints[file.name])
        if hints[file.name] and (several or _NODE_FOLDER.match(hints[file.name]))
        else file
        for file in files
    ]


def _node_folder(name: str) -> str:
    folders = [part for part in name.split("/")[:-1] if not _PLAIN_FOLDER.match(part)]
    return next((part for part in folders if _NODE_FOLDER.match(part)), folders[0] if folders else "")


def read_head(path: str, limit: int) -> bytes:
    """The first bytes of a regular file; nothing when it can't be read."""
    try:
        descriptor = open_regular(path)
    except MswbError:
        return b""
    try:
        return os.pread(descriptor, limit, 0)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _unusable(path: str, problem: OSError) -> MswbError:
    if isinstance(problem, FileNotFoundError):
        return stop("path-missing", values={"path": path})
    return stop("path-unreadable", values={"path": path, "reason": problem.strerror})
