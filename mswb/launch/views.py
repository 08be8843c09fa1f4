"""One process of a run as its log and all other evidence show it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mswb.files.safety import decode, printable
from mswb.jobs.spec import ADOPTED, ProcessStatus
from mswb.launch.discover import LogFile, LogSet, rank_of, read_head, role_from_text
from mswb.launch.evidence import Evidence
from mswb.launch.failures import Failure, Told, read_part, signal_name
from mswb.launch.records import parse_record
from mswb.launch.scan import FileScan, nothing
from mswb.launch.signatures import match_line

State = Literal["starting", "running", "silent", "ended", "failed", "killed", "unknown"]
HEAD_BYTES = 64 << 10
TAIL_BYTES = 16 << 10
STALE_US = 2_000_000


@dataclass(frozen=True, slots=True)
class View:
    """One process. ``exit_code`` is negative for a signal; ``cleaned_up``: it was ended after another's failure, or by
    a stop, so its own end says nothing; ``plain``: its console is all there is, and no launcher wrote it."""

    file: LogFile
    scan: FileScan
    told: Told
    rank: int | None
    node: str | None
    exit_code: int | None = None
    process: ProcessStatus | None = None
    cleaned_up: bool = False
    failures: tuple[Failure, ...] = field(default=())
    plain: bool = False

    @property
    def role(self) -> str:
        return self.file.role

    @property
    def silent_death(self) -> bool:
        """It ended badly by itself and no failure in its log says why."""
        bad = self.exit_code not in (None, 0)
        return bad and not self.cleaned_up and not any(one.kind == "root" for one in self.failures)

    @property
    def alive(self) -> bool:
        """By our own record it had not ended before it was cleaned up."""
        return self.process is not None and (self.process.state != "ended" or self.process.ended_by_us)


def build_views(logs: LogSet, scans: Sequence[FileScan], told: Sequence[Told], evidence: Evidence) -> list[View]:
    """A view for each log, with rank, node and end filled in from all evidence."""
    bare = (
        View(file, scan, one, rank_of(file), file.node_hint or _host(evidence), failures=one.failures)
        for file, scan, one in zip(logs.files, scans, told, strict=True)
    )
    lost = (
        View(file, nothing(file.path), Told((), None), file.rank_hint, _host(evidence))
        for file in _lost(logs, evidence)
    )
    views = _with_job_code([_with_end(view, evidence) for view in (*bare, *lost)], evidence)
    return [replace(views[0], plain=True)] if len(views) == 1 and _is_plain(views[0]) else views


def _is_plain(view: View) -> bool:
    return view.role == "launcher" and role_from_text(read_head(view.file.path, HEAD_BYTES)) != "launcher"


def _lost(logs: LogSet, evidence: Evidence) -> Iterator[LogFile]:
    """The logs of processes of which only the end is known: they were deleted, or never collected."""
    taken = {(file.role, rank_of(file)) for file in logs.files}
    adopted = evidence.status is not None and evidence.status.backend == ADOPTED
    for process in evidence.status.processes if evidence.status else []:
        # An adopted process may write to a terminal, or share a file: the record is all there is of it alone.
        path = (logs.status_path if adopted else process.log) or ""
        role = "unknown" if process.role == "command" else process.role
        there = not adopted and os.path.lexists(os.path.join(logs.root, os.path.basename(path)))
        if (role, process.rank) not in taken and path and not there:
            yield LogFile(path, os.path.basename(path), role, process.rank, None, 0, 0.0)
    if logs.files or evidence.status:
        return
    for rank, path in evidence.code_files.items():
        if path and (rank is not None or len(evidence.code_files) == 1):
            role = "unknown" if rank is None else "worker"
            yield LogFile(path, os.path.basename(path), role, rank, None, 0, 0.0)


def without_stale(views: Sequence[View]) -> tuple[list[View], list[View]]:
    """(views of this run, views of an earlier one). msrun opens only the logs that it needs, so those of an earlier
    and bigger run stay beside them; they end before this run's scheduler began."""
    begins = [view.scan.first_time_us for view in views if view.role == "scheduler" and view.scan.first_time_us]
    if len(begins) != 1:
        return list(views), []
    begin = begins[0]
    stale = [
        view
        for view in views
        if view.role == "worker" and (last := view.scan.last_time_us) is not None and last < begin - STALE_US
    ]
    if not stale or len(stale) == sum(view.role == "worker" for view in views):
        return list(views), []
    return [view for view in views if view not in stale], stale


def silent_failure(view: View, evidence: Evidence) -> Failure:
    """The failure of a process that ended badly without naming a cause: its exit code is the statement.

    With an exit code of its own it may have logged an error that no signature knows; the first one is the evidence.
    """
    code = view.exit_code or 0
    values: dict[str, Any] = {"exit_code": code}
    if code > 0 and (error := _first_error(view)) is not None:
        line, offset, text, time = error
        values["message"] = text
        return Failure("unknown-failure", "root", 40, line, offset, time, text, values)
    line, offset, text = last_words(view)
    if code >= 0:
        said = f"{text}\nexit code {code}".lstrip("\n")
        return Failure("unknown-failure", "root", 40, line, offset, view.scan.last_time_us, said, values)
    values["signal"] = signal_name(-code)
    out_of_memory = code == -9 and _killed_for_memory(view, evidence)
    name = "host-out-of-memory" if out_of_memory else "killed-by-signal"
    said = evidence.oom if out_of_memory else f"exit code {code} ({values['signal']})"
    return Failure(name, "root", 75, line, offset, end_time(view), f"{text}\n{said}".lstrip("\n"), values)


def tail(view: View, size: int = TAIL_BYTES) -> str:
    """The last ``size`` bytes of a log as text."""
    start = max(0, view.scan.size - size)
    return read_part(view.file.path, start, size).decode("utf-8", "replace")


def said_goodbye(view: View) -> bool:
    """A MindSpore process that reaches its normal end says so in its last lines."""
    return "Event base dispatch success!" in tail(view)


def last_words(view: View) -> tuple[int, int, str]:
    """(number, offset, text) of the last line that is not blank; of the first line when there is none."""
    start = max(0, view.scan.size - TAIL_BYTES)
    lines = read_part(view.file.path, start, TAIL_BYTES).split(b"\n")
    end = view.scan.size
    number = view.scan.lines + (not lines[-1])
    for raw in reversed(lines):
        if raw.strip():
            return max(number, 1), end - len(raw), printable(decode(raw.rstrip(b"\r")), 600)
        end -= len(raw) + 1
        number -= 1
    return 1, 0, ""


def own_words(view: View) -> str:
    """The last line that the script itself printed, as far as the end of the log holds one; else empty."""
    lines = (line.rstrip("\r") for line in reversed(tail(view).split("\n")[1:]))
    own = (line for line in lines if line.strip() and not line.startswith("[") and parse_record(line) is None)
    return printable(next(own, ""), 600)


def _first_error(view: View) -> tuple[int, int, str, int] | None:
    """(number, offset, text, time) of the first ERROR record that is not known to be harmless."""
    for number, offset in view.scan.error_records:
        text = decode(read_part(view.file.path, offset, TAIL_BYTES).partition(b"\n")[0].rstrip(b"\r"))
        record = parse_record(text)
        if record is not None and not any(match.signature.kind == "benign" for match in match_line(text)):
            return number, offset, printable(text, 600), record.time
    return None


def end_time(view: View) -> int | None:
    """When the process ended, in microseconds on its own clock: by our record, else its last log record."""
    if view.process is not None and view.process.ended is not None:
        return local_us(view.process.ended)
    return view.scan.last_time_us


def local_us(seconds: float) -> int:
    """Seconds since the epoch as the microseconds of local wall time that log records use."""
    import time

    return int((seconds + time.localtime(seconds).tm_gmtoff) * 1_000_000)


def pid_of(view: View) -> int | None:
    """The process of a log: of our record, else of the log's first record."""
    if view.process is not None:
        return view.process.pid
    for raw in read_head(view.file.path, HEAD_BYTES).split(b"\n"):
        record = parse_record(raw.decode("utf-8", "replace"))
        if record is not None:
            return record.pid
    return None


def states(
    views: Sequence[View], root: View | None, running: bool, silent: Mapping[str, float], *, well: bool = False
) -> Iterator[State]:
    """The state of each view, in order; ``well``: the whole run ended well."""
    for view in views:
        if view.cleaned_up or (view.exit_code or 0) < 0:
            yield "killed"
        elif view.exit_code is not None:
            yield "ended" if view.exit_code == 0 else "failed"
        elif view is root or any(one.kind == "root" for one in view.failures):
            yield "failed"
        elif view.file.path in silent:
            yield "silent"
        elif running:
            yield "running" if view.scan.lines else "starting"
        elif well:
            yield "ended"
        else:
            yield "unknown"


def _with_end(view: View, evidence: Evidence) -> View:
    process = evidence.process(view.rank, view.role)
    if process is None and view.rank is None and view.role == "unknown":
        process = evidence.process(None, "command")
    code = process.exit_code if process is not None else None
    if code is None and view.role == "worker" and view.rank is not None:
        code = evidence.by_rank.get(view.rank)
    view = replace(view, process=process, exit_code=code)
    if code is None and evidence.by_pid and view.role != "launcher":
        pid = pid_of(view)
        view = replace(view, exit_code=evidence.by_pid.get(pid) if pid is not None else None)
    ended_by_us = process is not None and process.ended_by_us
    return replace(view, cleaned_up=ended_by_us or _killed_by_msrun(view, evidence))


def _killed_by_msrun(view: View, evidence: Evidence) -> bool:
    """msrun kills every other worker at once when it sees the first one fail, and names only that one."""
    by_itself = view.exit_code is not None or view.failures
    return view.role == "worker" and view.process is None and bool(evidence.by_pid) and not by_itself


def _with_job_code(views: list[View], evidence: Evidence) -> list[View]:
    """The exit code of the whole job belongs to the launcher, or to the only process there is."""
    if evidence.exit_code is None:
        return views
    owners = [view for view in views if view.role == "launcher"] or (views if len(views) == 1 else [])
    return [
        replace(view, exit_code=evidence.exit_code) if view in owners and view.exit_code is None else view
        for view in views
    ]


def _killed_for_memory(view: View, evidence: Evidence) -> bool:
    if evidence.oom_pids:
        return pid_of(view) in evidence.oom_pids or pid_of(view) is None
    return bool(evidence.oom)


def _host(evidence: Evidence) -> str | None:
    return evidence.status.host if evidence.status is not None else None
