"""What is known beside the logs: how processes ended, who stopped them, what the kernel did.

Sources: our own run record (``run.json``), the small files people put beside logs (``rc.txt``, ``exit_code``,
``dmesg.txt``), and msrun's own words in its console.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mswb.files.safety import decode, open_regular
from mswb.findings import MswbError
from mswb.jobs.spec import ProcessStatus, RunStatus, read_record
from mswb.launch.discover import LogSet

TIMEOUT_CODE = 124
"""What timeout(1) returns when it ended the command: it says nothing about the job."""
_EXIT = (
    re.compile(r"\brc\s*[=:]\s*(-?\d{1,6})\b"),
    re.compile(r"\bexit[ _-]?(?:code|status)\s*[=:]?\s*(-?\d{1,6})\b", re.IGNORECASE),
    re.compile(r"^\s*(-?\d{1,6})\s*$"),
)
_WORKER_EXIT = re.compile(r"Worker process (\d+) exit with exception\. Error code: (-?\d+)")
_STOPS = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
_USER_STOP = re.compile(r"msrun process received SIGINT")
_OOM = re.compile(
    r"[Oo]ut of memory: Kill(?:ed)? process (\d+)|Memory cgroup out of memory|oom-kill:|invoked oom-killer"
    r"|oom_kill\s+[1-9]\d*|OOMKilled(?!\"?\s*[:=]\s*\"?[Ff]alse)"
)
_RANK_IN_NAME = re.compile(r"(?:rank|worker|exit_code)[_.-]?(\d{1,7})")
_RANK_IN_TEXT = re.compile(r"(?im)^\W*(?:rank|worker)[ _.:=-]{0,2}(\d{1,7})\W[^\d\n-]{0,40}(-?\d{1,6})\s*$")
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known beside the logs.

    ``exit_code`` is the whole job's (shell form: 128 + signal is turned into the negative signal); the maps hold single
    workers', and ``code_files`` says in which file they stand (the job's: for None). ``oom`` is the text that shows an
    out-of-memory kill, ``oom_pids`` the processes it names.
    """

    status: RunStatus | None = None
    exit_code: int | None = None
    by_pid: Mapping[int, int] = field(default_factory=dict)
    by_rank: Mapping[int, int] = field(default_factory=dict)
    code_files: Mapping[int | None, str] = field(default_factory=dict)
    stopped_by_user: bool = False
    oom: str = ""
    oom_file: str | None = None
    oom_pids: frozenset[int] = frozenset()

    def process(self, rank: int | None, role: str) -> ProcessStatus | None:
        """The record of a process of ours."""
        for one in self.status.processes if self.status else []:
            if one.role == role and (role != "worker" or one.rank == rank):
                return one
        return None


def gather(logs: LogSet, words: Iterable[str]) -> Evidence:
    """All evidence of a log set; ``words`` are the texts of the lines in which signatures were found."""
    status = _status(logs)
    texts = {name: _text(path) for name, path in sorted(logs.evidence.items())}
    said = list(words)
    ranks = list(_codes_of_ranks(texts))
    by_pid = {int(pid): int(code) for text in said for pid, code in _WORKER_EXIT.findall(text)}
    oom_file, oom = next(((name, text) for name, text in texts.items() if _OOM.search(text)), (None, ""))
    return Evidence(
        status=status,
        exit_code=_job_code(status, texts),
        by_pid=by_pid,
        by_rank={rank: code for rank, code, _ in ranks},
        code_files={None: _job_file(logs, texts), **{rank: logs.evidence[name] for rank, _, name in ranks}},
        stopped_by_user=(status is not None and status.stopped_by == "user") or _stopped_from_outside(logs, texts),
        oom=_oom_line(oom) or ("memory.events: oom_kill" if status is not None and status.oom_kills else ""),
        oom_file=logs.evidence.get(oom_file) if oom_file else None,
        oom_pids=frozenset(int(pid) for pid in _OOM.findall(oom) if pid),
    )


def _codes_of_ranks(texts: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """(rank, exit code, file) of single ranks: a file each (``exit_code_3``), or a line each (``rank 3: 137``)."""
    for name, text in texts.items():
        if not _tells_codes(name):
            continue
        match = _RANK_IN_NAME.search(os.path.basename(name))
        code = exit_code_of(text) if match is not None else None
        if match is not None and code is not None:
            yield int(match.group(1)), code, name
        yield from ((int(rank), as_signal(int(value)), name) for rank, value in _RANK_IN_TEXT.findall(text))


def _tells_codes(name: str) -> bool:
    return os.path.basename(name).startswith(("rc", "exit_code"))


def _stopped_from_outside(logs: LogSet, texts: Mapping[str, str]) -> bool:
    """msrun says so itself after Ctrl+C; SIGTERM, SIGINT and SIGHUP to it show in its exit code only."""
    consoles = [file for file in logs.files if file.role == "launcher"]
    if any(_USER_STOP.search(_text(file.path, max(0, file.size - _LIMIT))) for file in consoles):
        return True
    return _job_code(None, texts) in _STOPS


def exit_code_of(text: str) -> int | None:
    """The exit code that a small text file tells; a shell's 128 + N becomes -N, timeout's own 124 is no code."""
    for pattern in _EXIT:
        match = pattern.search(text)
        if match:
            code = int(match.group(1))
            return None if code == TIMEOUT_CODE else as_signal(code)
    return None


def as_signal(code: int) -> int:
    """A shell's 128 + N (N up to 64) as -N; every other code as it is."""
    return 128 - code if 128 < code <= 192 else code


def _job_code(status: RunStatus | None, texts: Mapping[str, str]) -> int | None:
    if status is not None:
        return status.exit_code if status.state == "ended" else None
    codes = (exit_code_of(texts[name]) for name in _files_of_job(texts))
    return next((code for code in codes if code is not None), None)


def _job_file(logs: LogSet, texts: Mapping[str, str]) -> str:
    return next((logs.evidence[name] for name in _files_of_job(texts) if exit_code_of(texts[name]) is not None), "")


def _files_of_job(texts: Mapping[str, str]) -> Iterator[str]:
    """The files that tell the exit code of the whole job, not of a rank."""
    named = (name for name in texts if _tells_codes(name) and not _RANK_IN_NAME.search(os.path.basename(name)))
    return (name for name in named if not _RANK_IN_TEXT.search(texts[name]))


def _status(logs: LogSet) -> RunStatus | None:
    """The run's record: of the run folder and its copy beside the logs, the one that knows the end; a disk was full."""
    paths = dict.fromkeys(path for path in (logs.status_path, logs.evidence.get("run.json")) if path is not None)
    found = [status for path in paths if (status := _record(path)) is not None]
    same = [status for status in found if status.id == found[0].id]
    return next((status for status in same if status.state == "ended"), found[0] if found else None)


def _record(path: str) -> RunStatus | None:
    try:
        from pathlib import Path

        return read_record(Path(path), RunStatus)
    except MswbError:
        return None  # a foreign run.json is no evidence


def _text(path: str, start: int = 0) -> str:
    try:
        with open(open_regular(path), "rb") as file:
            file.seek(start)
            return decode(file.read(_LIMIT))
    except MswbError:
        return ""


def _oom_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if _OOM.search(line)), "")
