"""What a run's logs say beside failures: how far each rank is, who registered, whether steps slow down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import median

from mswb.findings import Finding, Language, Where, make
from mswb.launch.failures import read_part
from mswb.launch.hang import TAIL, tail
from mswb.launch.logs import blocks
from mswb.launch.progress import Progress, Step, progress_of, steps_of
from mswb.launch.views import View

HEAD_BYTES = 256 << 10
SCHEDULER_BYTES = 4 << 20
ALL_TAILS = 2 << 20
DRIFT = 1.5
"""Steps at the end slower by this factor than those after the warm-up are worth a warning."""
MIN_STEPS = 30
WARM_UP = 5
_REGISTERED = re.compile(rb"Currently registered node number: (\d+), expected node number: (\d+)")
_STEP_TIME = re.compile(rb"per[_ ]step[_ ]time")
_JOINED = re.compile(rb"The new node: \S+?\(role: MS_WORKER\), rank id: (\d{1,7})")
_UNREGISTERED = re.compile(rb"Node (\S+) has unregistered")


def progress(view: View, size: int = TAIL) -> Progress | None:
    """How far the process is, by the last ``size`` bytes of its log; None for a log without text."""
    if not view.scan.lines or view.role in ("scheduler", "launcher"):
        return None
    return progress_of(blocks(tail(view, size).splitlines(keepends=True)))


def tail_size(views: int) -> int:
    """Bytes read of the end of each log: less of each when there are many, so that the whole stays quick."""
    return max(TAIL // 8, min(TAIL, ALL_TAILS // max(views, 1)))


def registered_workers(views: Sequence[View]) -> tuple[int, int] | None:
    """(registered, expected) workers by the scheduler's last word; None when no log has it."""
    for view in views:
        if view.role == "scheduler":
            found = _REGISTERED.findall(_last_bytes(view))
            if found:
                return int(found[-1][0]), int(found[-1][1])
    return None


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


def said_goodbye(view: View) -> bool:
    """A MindSpore process that reaches its normal end says so in its last lines."""
    return "Event base dispatch success!" in tail(view)


def drifts(views: Sequence[View], lang: Language | None) -> Iterator[Finding]:
    """A warning for each rank whose steps take much longer at the end than after the warm-up."""
    for view in views:
        if view.role != "worker" and view.role != "unknown":
            continue
        late = _step_times(view, max(0, view.scan.size - HEAD_BYTES))
        if len(late) < MIN_STEPS // 3:
            continue
        early = _step_times(view, 0)
        if len(early) < MIN_STEPS:
            continue
        before = median(one.step_ms or 0.0 for one in early[WARM_UP : WARM_UP + MIN_STEPS])
        after = median(one.step_ms or 0.0 for one in late[-MIN_STEPS // 3 :])
        if before > 0 and after > DRIFT * before:
            where = Where(node=view.node, rank=view.rank, file=view.file.path, line=view.scan.lines)
            values = {"before_ms": round(before, 3), "after_ms": round(after, 3), "factor": round(after / before, 2)}
            yield make("step-time-drift", where=where, values=values, lang=lang)


def _step_times(view: View, start: int) -> list[Step]:
    raw = read_part(view.file.path, start, HEAD_BYTES)
    if _STEP_TIME.search(raw) is None:
        return []
    # A log may be all warnings: only the lines that name a step's time are worth parsing.
    lines = [line for line in raw.splitlines(keepends=True) if _STEP_TIME.search(line)]
    return [step for step in steps_of(blocks(lines)) if step.step_ms is not None]


def _last_bytes(view: View) -> bytes:
    return read_part(view.file.path, max(0, view.scan.size - SCHEDULER_BYTES), SCHEDULER_BYTES)
