"""What a person sees of a run while it goes on, and how Ctrl+C reaches it.

Used by ``run``, ``jobs attach`` and ``demo``. Text lines carry the rank in front; lines that every good MindSpore run
writes by the dozen are counted, not shown, unless asked for. JSON is one record a line.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType

from mswb.cli import output
from mswb.cli.jobs import announce
from mswb.files.plain import to_plain
from mswb.files.safety import printable
from mswb.flows.run import LogLine, conclude, follow
from mswb.jobs import control
from mswb.jobs.runs import Run, is_lost, read_status
from mswb.jobs.spec import Event as RunEvent
from mswb.launch.diagnose import Diagnosis, to_report
from mswb.launch.noise import is_noise
from mswb.launch.records import iso, level_of, parse_record


@dataclass(slots=True)
class Interrupts:
    """How often SIGINT or SIGTERM came, and how often we have acted on it."""

    asked: int = 0
    served: int = 0

    def take(self) -> int:
        """The number of requests so far, if there are new ones; else 0."""
        if self.asked == self.served:
            return 0
        self.served = self.asked
        return self.asked


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Turn SIGINT and SIGTERM into counts for the length of a block, so that none of them is lost."""
    count = Interrupts()

    def note(number: int, frame: FrameType | None) -> None:
        count.asked += 1

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield count
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch(
    run: Run,
    count: Interrupts,
    *,
    form: str,
    everything: bool,
    silence_s: float,
    ranks: Collection[int] | None = None,
    leave: bool = False,
) -> bool:
    """Show a run until it has ended. Returns False when the person left it running (only with ``leave``).

    Args:
        everything: show also the lines that every good run writes.
        silence_s: tell when no log has grown for so long.
        ranks: show only these ranks' lines; None for all.
        leave: the first interrupt leaves the run alone and ends the watching (``jobs attach``).
    """
    shown = _Shown(form, everything, silence_s)
    leaving = Event()
    for item in follow(run, leaving.is_set):
        asked = count.take()
        if asked and leave:
            leaving.set()
        elif asked:
            _stop(run, kill=asked > 1, form=form)
        if isinstance(item, LogLine):
            shown.line(item, wanted=ranks is None or item.role != "worker" or item.rank in ranks)
        elif item is None:
            shown.idle()
        elif isinstance(item, RunEvent):
            shown.event(item)
    shown.close()
    return not leaving.is_set()


def finish(run: Run, *, form: str) -> int:
    """Print the diagnosis and return the exit code: 130 when a person stopped the run."""
    return show_end(run, form=form)[0]


def show_end(run: Run, *, form: str) -> tuple[int, Diagnosis]:
    """Print the diagnosis of a run that is over; returns the exit code of :func:`finish`, and the diagnosis."""
    from mswb.cli import report

    if is_lost(run):
        if not control.adopt_end(run):
            announce(control.reap(run))
        run = run.reload()
    diagnosis = conclude(run)
    if form == "json":
        output.emit_object(to_report(diagnosis))
    else:
        print()
        report.show(diagnosis)
        print()
        print(output.safe_line(f"logs: {run.spec.log_dir or run.folder}"))
    status = read_status(run)
    if status.stopped_by == "user":
        return 130, diagnosis
    unfinished = status.state == "ended" and bool(status.exit_code)  # also a run whose supervisor died
    return max(int(unfinished), report.exit_code(diagnosis.findings, diagnosis.verdict)), diagnosis


def _time_of(text: str) -> str | None:
    record = parse_record(text)
    return iso(record.time) if record is not None else None


def _stop(run: Run, *, kill: bool, form: str) -> None:
    if form == "text":
        print("mswb: killing the run" if kill else "mswb: stopping the run (again to kill it)", file=sys.stderr)
    control.request_stop(run, kill=kill)


class _Shown:
    """Prints lines and events, and counts what it leaves out."""

    def __init__(self, form: str, everything: bool, silence_s: float) -> None:
        self._json = form == "json"
        self._everything = everything
        self._silence_s = silence_s
        self._last_line: float | None = time.monotonic()
        self._hidden = 0

    def line(self, line: LogLine, *, wanted: bool) -> None:
        self._last_line = time.monotonic()
        if not wanted:
            return
        if self._json:
            level = level_of(line.text.encode("utf-8", "replace"))
            record = {"time": _time_of(line.text), "rank": line.rank, "role": line.role, "level": level}
            output.emit_object({**record, "file": line.file, "line": line.line, "text": printable(line.text)})
        elif self._everything or not is_noise(line.text):
            name = line.role if line.rank is None else f"rank {line.rank}"
            print(f"[{name}] {printable(output.shortened(line.text))}", flush=True)
        else:
            self._hidden += 1

    def idle(self) -> None:
        """Tell once when everything has been silent for long."""
        if self._json or self._last_line is None or time.monotonic() - self._last_line < self._silence_s:
            return
        self._last_line = None
        print(f"mswb: no rank has written a line for {self._silence_s:g} s", flush=True)

    def event(self, event: RunEvent) -> None:
        if self._json:
            output.emit_object({"record": "event", **to_plain(_event_fields(event))})
        elif event.event in ("first-failure", "stopping"):
            print(f"mswb: {_event_text(event)}", flush=True)

    def close(self) -> None:
        if self._hidden and not self._json:
            print(f"({self._hidden} routine lines not shown; -v shows them)")


def _event_fields(event: RunEvent) -> dict[str, object]:
    fields = ("time", "event", "rank", "role", "pid", "exit_code", "text", "done", "total", "unit")
    return {name: getattr(event, name) for name in fields if getattr(event, name) not in (None, "")}


def _event_text(event: RunEvent) -> str:
    who = event.role or "run" if event.rank is None else f"rank {event.rank}"
    if event.event == "stopping":
        told = {"stop": "on request", "kill": "at once, on request"}
        return printable(f"ending the processes: {told.get(event.text, event.text)}")
    code = "" if event.exit_code is None else f", exit code {event.exit_code}"
    text = f": {event.text}" if event.text else ""
    return printable(f"{event.event.replace('-', ' ')}: {who}{code}{text}")
