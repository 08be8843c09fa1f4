"""Verifying many entries at once: worker processes read them, and a worker that dies takes only its entry with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from mswb.cache import filecache, verified
from mswb.cache.check import CHECKERS, Checked, Fault, Options, findings_of
from mswb.cache.entries import Entry
from mswb.cache.sniff import KINDS
from mswb.cache.worker import Answer, Task, from_line, to_line
from mswb.findings import Where, load_catalogue, make
from mswb.flows.inventory import severity_of

DEFAULT = Options()
WAIT_S = 0.1
"""Seconds between two looks whether anybody still wants the answers."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a verification is: how many entries are done, and how far the ones in work are (bytes or records)."""

    entries_done: int
    entries: int
    path: str
    done: int = 0
    total: int | None = None
    unit: str = ""


Told = Callable[[Step], None]


def glanced(entry: Entry) -> Entry:
    """An entry without a checker, with what its first bytes already told as a finding."""
    severity = severity_of(entry.form, entry.status)
    if entry.findings or severity is None or entry.status not in load_catalogue():
        return entry
    values = {"what": KINDS[entry.form], "reason": entry.detail, "path": entry.path}
    offset = None if os.path.isdir(entry.path) else 0
    where = Where(file=entry.path, offset=offset)
    found = make(entry.status, where=where, severity=severity, values=values)
    return replace(entry, findings=(found,))


def can_verify(entry: Entry) -> bool:
    """Whether there is a checker for it."""
    return entry.form in CHECKERS


def verify(
    entries: Sequence[Entry],
    options: Options = DEFAULT,
    jobs: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    told: Told = lambda step: None,
) -> Iterator[tuple[int, Entry, Checked | None]]:
    """Check entries in ``jobs`` processes (one for each core by default); yields each as it is done, with its index.

    What has no checker comes back with what a glance told of it, and None. Ends early once ``cancelled()`` holds. What
    was found of data files that were read in full is remembered (:mod:`mswb.cache.verified`).
    """
    plain = [index for index, entry in enumerate(entries) if not can_verify(entry)]
    yield from ((index, glanced(entries[index]), None) for index in plain)
    todo = deque(index for index in range(len(entries)) if index not in set(plain))
    if not todo:
        return
    pool = _Pool(entries, options, todo)
    stamps = {one.path: verified.stamp(one.path) for one in entries if one.form in verified.FORMS}
    found: list[tuple[Entry, verified.Stamp]] = []
    try:
        pool.start(min(jobs or len(os.sched_getaffinity(0)), len(todo)))
        done = len(plain)
        while done < len(entries) and not cancelled():
            try:
                index, answer = pool.answers.get(timeout=WAIT_S)
            except Empty:
                continue
            entry = entries[index]
            if answer.checked is None and not answer.problem:
                told(Step(done, len(entries), entry.path, answer.done, answer.total, answer.unit))
                continue
            done += 1
            told(Step(done, len(entries), entry.path))
            if entry.form == "file-cache" and answer.checked is not None:
                filecache.remember(entry.path, answer.checked)
            checked = checked_entry(entry, answer)
            if entry.path in stamps and answer.checked is not None and options == DEFAULT:
                found.append((checked, stamps[entry.path]))
            yield index, checked, answer.checked
    finally:
        pool.close()
        verified.remember(found)


def checked_entry(entry: Entry, answer: Answer) -> Entry:
    """The entry with what its check found."""
    if answer.checked is None:
        values = {"path": entry.path, "reason": answer.problem}
        finding = make("cache-unreadable", where=Where(file=entry.path), values=values)
        return replace(entry, findings=(finding,))
    found = answer.checked
    return replace(
        entry,
        status=found.status,
        records=found.records,
        intact_records=found.intact_records,
        detail=found.detail or entry.detail,
        findings=findings_of(entry.path, KINDS[entry.form], found),
        more={**entry.more, **found.more},
    )


@dataclass
class _Pool:
    """Threads with a worker process each, which take the entries one by one."""

    entries: Sequence[Entry]
    options: Options
    todo: deque[int]
    answers: SimpleQueue[tuple[int, Answer]] = field(default_factory=SimpleQueue)
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    closed: bool = False

    def start(self, count: int) -> None:
        self.threads = [threading.Thread(target=self._serve, name="mswb-verify", daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        self.closed = True
        for child in self.children:
            child.kill()
        for thread in self.threads:
            thread.join()

    def _serve(self) -> None:
        child: subprocess.Popen[bytes] | None = None
        while not self.closed:
            try:
                index = self.todo.popleft()
            except IndexError:
                break
            try:
                child = child if child is not None and child.poll() is None else self._begin()
                self._ask(child, index)
            except OSError as problem:  # no process can be started: said of the entry, since it is waited for
                self.answers.put((index, Answer(problem=problem.strerror or str(problem))))
        if child is not None:
            _end(child)

    def _begin(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            worker_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.children.append(child)
        if self.closed:
            child.kill()
        return child

    def _ask(self, child: subprocess.Popen[bytes], index: int) -> None:
        """Hand one entry to a worker and pass on what it says, until it has answered or died."""
        assert child.stdin is not None and child.stdout is not None
        entry = self.entries[index]
        try:
            child.stdin.write(to_line(Task(entry.path, entry.form, self.options)))
            child.stdin.flush()
        except OSError:
            pass  # it has died: there will be no answer either
        for line in child.stdout:
            answer = from_line(line, Answer)
            self.answers.put((index, answer))
            if answer.checked is not None or answer.problem:
                return
        self.answers.put((index, _died(child)))


def worker_command() -> list[str]:
    """How a worker is started: safe from modules that lie in the folder it is started in."""
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    return [sys.executable, *safe, "-m", "mswb.cache.worker"]


def _died(child: subprocess.Popen[bytes]) -> Answer:
    """What a dead worker says of the file it was reading."""
    _end(child)
    code = child.returncode
    if code >= 0:
        return Answer(problem=f"the checking process ended with exit code {code}")
    reason = f"reading it ended the checking process ({signal.Signals(-code).name})"
    return Answer(checked=Checked("corrupted", faults=(Fault("corrupted", reason, offset=0),), faults_total=1))


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close both ends and wait."""
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
    child.wait()
