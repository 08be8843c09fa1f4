"""What a run's logs say beside failures: how far each rank is, who registered, whether steps slow down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import median

from mswb.files.safety import decode, printable
from mswb.findings import Finding, Language, Where, make
from mswb.launch.failures import read_part
from mswb.launch.logs import blocks
from mswb.launch.progress import Progress, Step, parse_step, progress_of
from mswb.launch.views import TAIL_BYTES, View, tail

HEAD_BYTES = 256 << 10
SCHEDULER_BYTES = 4 << 20
ALL_TAILS = 2 << 20
DRIFT = 1.5
"""Steps at the end slower by this factor than those after the warm-up are worth a warning."""
MIN_STEPS = 30
WARM_UP = 5
MAX_STEPS = 400
DRIFT_RANKS = 16
_REGISTERED = re.compile(rb"Currently registered node number: (\d+), expected node number: (\d+)")
_STEP_TIME = re.compile(rb"per[_ ]step[_ ]time")
_JOINED = re.compile(rb"The new node: \S+?\(role: MS_WORKER\), rank id: (\d{1,7})")
_UNREGISTERED = re.compile(rb"Node (\S+) has unregistered")


def progress(view: View, size: int = TAIL_BYTES) -> Progress | None:
    """How far the process is, by the last ``size`` bytes of its log; None for a log without text."""
    if not view.scan.lines or view.role in ("scheduler", "launcher"):
        return None
    text = tail(view, size)
    step = _last_step(text)
    if step is not None:
        return Progress("running", view.scan.lines, step.step, step.steps, "", step)
    return progress_of(blocks(text.splitlines(keepends=True)))


def _last_step(text: str) -> Step | None:
    """The last step of a log, not words about an earlier one behind it."""
    last: Step | None = None
    for step in filter(None, map(parse_step, reversed(text.split("\n")))):
        if step.sure:
            return step if last is None or last.recalls(step) else last
        last = last or step
    return last


def tail_size(views: int) -> int:
    """Bytes read of the end of each log: less of each when there are many, so that the whole stays quick."""
    return max(TAIL_BYTES // 8, min(TAIL_BYTES, ALL_TAILS // max(views, 1)))


def registered_workers(views: Sequence[View]) -> tuple[int, int] | None:
    """(registered, expected) workers by the scheduler's last word; None when no log has it."""
    for view in views:
        if view.role == "scheduler":
            found = _REGISTERED.findall(_last_bytes(view))
            if found:
                return int(found[-1][0]), int(found[-1][1])
    return None


def awaited_workers(views: Sequence[View], lang: Language | None) -> Iterator[Finding]:
    """What a run that goes on waits for: workers that the scheduler has not seen yet."""
    counts = registered_workers(views)
    if counts is None or counts[0] >= counts[1]:
        return
    view = next(view for view in views if view.role == "scheduler")
    line, offset, text = last_registration(view) or (None, None, "")
    where = Where(node=view.node, file=view.file.path, line=line, offset=offset)
    values = {"registered": counts[0], "expected": counts[1]}
    yield make("workers-awaited", where=where, evidence=text, values=values, lang=lang)


def last_registration(view: View) -> tuple[int, int, str] | None:
    """(line, offset, text) of the scheduler's last word on who has joined; None in a log too long for it."""
    if view.role != "scheduler" or view.scan.size > SCHEDULER_BYTES:
        return None
    raw = _last_bytes(view)
    at = raw.rfind(b"Currently registered node number: ")
    if at < 0:
        return None
    start = raw.rfind(b"\n", 0, at) + 1
    text = decode(raw[start:].partition(b"\n")[0].rstrip(b"\r"))
    return raw.count(b"\n", 0, start) + 1, start, printable(text)


def registered_ranks(views: Sequence[View]) -> frozenset[int]:
    """The ranks that the scheduler has seen join; empty without its log."""
    return frozenset(
        int(rank) for view in views if view.role == "scheduler" for rank in _JOINED.findall(_last_bytes(view))
    )


def all_unregistered(views: Sequence[View]) -> bool:
    """Whether every worker took leave of the scheduler."""
    counts = registered_workers(views)
    scheduler = next((view for view in views if view.role == "scheduler"), None)
    if scheduler is None or counts is None:
        return False
    return len(set(_UNREGISTERED.findall(_last_bytes(scheduler)))) >= counts[1]


def drifts(views: Sequence[View], lang: Language | None) -> Iterator[Finding]:
    """A warning when steps take much longer at the end than after the warm-up, for the rank where it is worst.

    Ranks that train together slow down together, so a few of them, evenly spread, are looked at.
    """
    workers = [view for view in views if view.role in ("worker", "unknown")]
    some = workers[:: -(-len(workers) // DRIFT_RANKS) or 1]
    found = [(drift, view) for view in some if (drift := _drift(view)) is not None]
    if found:
        (before, after), view = max(found, key=lambda item: item[0][1] / item[0][0])
        where = Where(node=view.node, rank=view.rank, file=view.file.path, line=view.scan.lines)
        values = {"before_ms": round(before, 3), "after_ms": round(after, 3), "factor": round(after / before, 2)}
        yield make("step-time-drift", where=where, values=values, lang=lang)


def _drift(view: View) -> tuple[float, float] | None:
    """(ms a step after the warm-up, ms a step at the end) when the second is much longer."""
    late = _step_times(view, max(0, view.scan.size - TAIL_BYTES))
    if len(late) < MIN_STEPS // 3:
        return None
    early = _step_times(view, 0)
    if len(early) < MIN_STEPS:
        return None
    before = median(early[WARM_UP : WARM_UP + MIN_STEPS])
    after = median(late[-MIN_STEPS // 3 :])
    return (before, after) if 0 < DRIFT * before < after else None


def _step_times(view: View, start: int) -> list[float]:
    """Milliseconds of the steps whose lines name it: the first ones from the byte ``start`` on."""
    raw = read_part(view.file.path, start, HEAD_BYTES)
    times: list[float] = []
    for found in _STEP_TIME.finditer(raw):
        end = raw.find(b"\n", found.end())
        line = raw[raw.rfind(b"\n", 0, found.start()) + 1 : end if end >= 0 else len(raw)]
        step = parse_step(line.decode("utf-8", "replace"))
        if step is not None and step.step_ms is not None:
            times.append(step.step_ms)
        if len(times) == MAX_STEPS:
            break
    return times


def _last_bytes(view: View) -> bytes:
    return read_part(view.file.path, max(0, view.scan.size - SCHEDULER_BYTES), SCHEDULER_BYTES)
