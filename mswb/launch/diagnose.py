"""Which process failed first, where, why, and what to do: the first failure, not the loudest.

The steps: find the logs, scan them, read the failures around what the scan found, add exit codes and other evidence,
choose the root among all candidates, and fold the rest under it. Choosing goes by tiers, then by time:

0. an error of the process itself, or a death without a word;
1. a rank that others waited for in a collective, and that itself says nothing;
2. waiting that ended in a time-out;
3. summaries of what others did (cluster time-outs, msrun's last words);
4. what ended nothing: a loss that is not a number, an exception that was caught. It is told, but never the root of
   a failure.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal

from mswb import __version__
from mswb.findings import Finding, Language, Where, as_consequence, language, make, stop
from mswb.jobs.spec import LOST_EXIT_CODE
from mswb.launch import hang, health
from mswb.launch.clocks import measure_clocks
from mswb.launch.discover import LogSet, discover
from mswb.launch.evidence import Evidence, gather
from mswb.launch.failures import ASYNC_CODE, Failure, read_failures
from mswb.launch.records import iso
from mswb.launch.scan import scan_files
from mswb.launch.unwrap import Origin, unwrap, with_stamps
from mswb.launch.views import (
    State,
    View,
    build_views,
    end_time,
    last_words,
    pid_of,
    said_goodbye,
    silent_failure,
    states,
    without_stale,
)

Verdict = Literal["failed", "succeeded", "running", "unknown"]
FRESH_S = 60.0
"""A log of unknown origin that grew so recently belongs to a run that goes on."""
FIRST_BONUS_US = 2_000_000
"""How much earlier the process counts that our supervisor saw die first: its log has no time for its last words."""
MAX_CONSEQUENCES = 200
HARMLESS = 4
"""The tier of what ended nothing."""
NOT_A_NUMBER = "G15"
"""The signature of a loss that is not finite."""
_ROLE_ORDER = {"worker": 0, "unknown": 0, "merged": 1, "scheduler": 2, "launcher": 3}


@dataclass(frozen=True, slots=True)
class RankState:
    """One process in the report. Times are ISO 8601 on the node's clock; ``exit_code`` is negative for a signal.

    ``loss`` is None when it is no finite number; ``bad_losses`` counts the lines with such a loss. ``tracebacks`` stops
    counting at some thousands.
    """

    rank: int | None
    node: str | None
    role: str
    file: str | None
    state: State
    exit_code: int | None
    first_error_time: str | None
    last_time: str | None
    records_by_level: dict[str, int]
    lines: int = 0
    phase: str | None = None
    step: int | None = None
    loss: float | None = None
    bad_losses: int = 0
    tracebacks: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer. ``root`` is the index of the first failure (or of the worst warning) in ``findings``."""

    verdict: Verdict
    root: int | None
    ranks: tuple[RankState, ...]
    findings: tuple[Finding, ...]
    path: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    view: View
    failure: Failure
    tier: int
    when: float


def diagnose(
    path: str | Path,
    *,
    lang: Language | None = None,
    now: float | None = None,
    silence_s: float = hang.RUNNING_SILENCE_S,
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Diagnose the run whose logs ``path`` names (see :func:`mswb.launch.discover.discover`).

    Args:
        now: seconds since the epoch; the present unless given.
        silence_s: for how long the ranks of a run that goes on must have been silent to be called hung.
        progress: called with (files done, files in all).

    Raises:
        MswbError: ``path-missing``, ``path-unreadable``, or ``no-logs``.
    """
    with tempfile.TemporaryDirectory(prefix="mswb-logs-") as folder:
        logs, origins = unwrap(discover(path), folder)
        scans = scan_files([file.path for file in logs.files], cancelled=cancelled, progress=progress)
        logs = replace(logs, files=logs.files[: len(scans)])  # fewer when it was cancelled
        evidence = gather(logs, (hit.text for scan in scans for hit in scan.hits))
        if not (logs.files or evidence.status or evidence.by_rank) and evidence.exit_code is None:
            raise stop("no-logs", where=Where(file=str(path)), values={"path": str(path)}, lang=lang)
        told = [with_stamps(read_failures(scan), origins.get(scan.path)) for scan in scans]
        views, stale = without_stale(build_views(logs, scans, told, evidence))
        diagnosis = _judge(logs, views, stale, evidence, time.time() if now is None else now, silence_s, lang)
        return _in_originals(diagnosis, origins) if origins else diagnosis


def _in_originals(diagnosis: Diagnosis, origins: Mapping[str, Origin]) -> Diagnosis:
    """The same diagnosis with the places of logs that were read without their prefixes put back."""

    def where(place: Where) -> Where:
        origin = origins.get(place.file or "")
        if origin is None:
            return place
        line = origin.line(place.line) if place.line is not None else None
        return replace(place, file=origin.path, line=line, offset=None)

    findings = tuple(replace(one, where=where(one.where)) for one in diagnosis.findings)
    ranks = tuple(
        replace(rank, file=origin.path) if (origin := origins.get(rank.file or "")) is not None else rank
        for rank in diagnosis.ranks
    )
    return replace(diagnosis, findings=findings, ranks=ranks)


def to_report(diagnosis: Diagnosis) -> dict[str, Any]:
    """The JSON report ``mswb.diagnose/1``."""
    return {
        "schema": "mswb.diagnose/1",
        "tool_version": __version__,
        "verdict": diagnosis.verdict,
        "root": diagnosis.root,
        "findings": [asdict(finding) for finding in diagnosis.findings],
        "ranks": [asdict(rank) for rank in diagnosis.ranks],
        "path": diagnosis.path,
        "run": diagnosis.run_id,
    }


def _judge(
    logs: LogSet,
    views: list[View],
    stale: list[View],
    evidence: Evidence,
    now: float,
    silence_s: float,
    lang: Language | None,
) -> Diagnosis:
    clocks = {clock.node: clock.offset_us for clock in measure_clocks(logs.files) if clock.skewed}
    candidates = sorted(_candidates(views, evidence, now, silence_s, clocks), key=_order)
    causes = [one for one in candidates if one.tier < HARMLESS]
    root = _sharpened(causes[0], views) if causes else None
    verdict = _verdict(root, views, evidence, now)
    harmless = verdict == "succeeded"
    found: list[Finding] = []
    if root is not None:
        found.append(_finding(root, lang, harmless=harmless))
        rest = _distinct(causes if root.view is not causes[0].view else causes[1:], root)
        found += [as_consequence(_finding(one, lang, harmless=harmless), 0) for one in rest[:MAX_CONSEQUENCES]]
    first = {one.failure.code: one for one in reversed(candidates) if one.tier == HARMLESS}
    found += [_finding(one, lang, harmless=True) for one in sorted(first.values(), key=_order)]
    if verdict == "running":
        found += health.awaited_workers(views, lang)
    found += _others(logs, views, stale, evidence, clocks, root, lang)
    worst = next((index for index, one in enumerate(found) if one.severity != "note"), None)
    run_id = evidence.status.id if evidence.status is not None else None
    ranks = tuple(_ranks(views, root, evidence, verdict, now))
    return Diagnosis(verdict, worst, ranks, tuple(found), logs.root, run_id)


def _candidates(
    views: Sequence[View], evidence: Evidence, now: float, silence_s: float, clocks: dict[str, int]
) -> Iterator[_Candidate]:
    workers = [view for view in views if view.role in ("worker", "unknown", "merged")]
    own = _own_failures(views, evidence)
    missing = hang.missing_in_collective(workers)
    for view, failure in own:
        told = hang.name_missing(failure, missing)
        yield _Candidate(view, told, _tier(view, failure, own), _when(view, failure, evidence, clocks))
    for view in views:
        for note in view.told.notes:
            yield _Candidate(view, note, HARMLESS, _when(view, note, evidence, clocks))
    if any(failure.kind == "root" for _, failure in own):
        return
    if missing is not None:
        yield _Candidate(missing.view, hang.as_failure(missing, "collective-timeout"), 1, 0.0)
    else:
        still = hang.standing_still(workers, evidence, now, silence_s)
        if still is not None:
            yield _Candidate(still.view, hang.as_failure(still, "hang"), 1, 0.0)


def _own_failures(views: Sequence[View], evidence: Evidence) -> list[tuple[View, Failure]]:
    """Every failure that a process tells of, and every death without a word."""
    told_of = ((view, failure) for view in views for failure in view.failures if not _outlived(view, failure))
    found = [(view, _late(_with_rank(failure, views), view, evidence)) for view, failure in told_of]
    silent = [view for view in views if view.silent_death]
    told = [failure for _, failure in found if failure.kind == "root"]
    for view in silent:
        if view.role == "launcher" and (found or len(silent) > 1 or evidence.stopped_by_user):
            continue  # the launcher ends badly because a worker did, or because it was told to
        if view.exit_code == 1 and any(failure.kind != "root" for failure in view.failures):
            continue  # a victim or a time-out that ended itself
        if view.exit_code is not None and view.exit_code > 0 and told and view.role == "scheduler":
            continue
        found.append((view, silent_failure(view, evidence)))
    return found


def _outlived(view: View, failure: Failure) -> bool:
    """Whether a process ended well although its log has words of a deadly signal: it printed them, or a child died."""
    if failure.code != "killed-by-signal" or view.role not in ("worker", "unknown"):
        return False
    return view.exit_code == 0 or (view.exit_code is None and said_goodbye(view))


def _with_rank(failure: Failure, views: Sequence[View]) -> Failure:
    """What the launcher reports of a worker, with the rank whose process it names."""
    pid = failure.values.get("pid")
    workers = (view for view in views if pid is not None and view.role == "worker")
    rank = next((view.rank for view in workers if pid_of(view) == pid), None)
    return failure if rank is None else replace(failure, values={**failure.values, "who": f"rank {rank}"})


def _late(failure: Failure, view: View, evidence: Evidence) -> Failure:
    """An asynchronous error that was reported when the script had already ended well is a finding of its own."""
    code = evidence.exit_code if view.exit_code is None else view.exit_code
    if code == 0 and "WorkerJoin failed:" in failure.evidence:
        return replace(failure, code=ASYNC_CODE)
    if code is None or failure.code != ASYNC_CODE:
        return failure
    if failure.plain_code != ASYNC_CODE:
        return replace(failure, code=failure.plain_code)
    message = failure.evidence.partition("\n")[0].rpartition("WorkerJoin failed: ")[2]
    values = {"exception": "an asynchronous error", "message": message, **failure.values}
    return replace(failure, code="script-exception", values=values)


def _tier(view: View, failure: Failure, own: Sequence[tuple[View, Failure]]) -> int:
    caught = failure.survived and (view.exit_code == 0 or (view.exit_code is None and view.role == "worker"))
    if caught or failure.severity == "warning":
        return HARMLESS
    if failure.kind == "victim":
        return 2
    if failure.kind == "wrapper":
        return 3
    if view.role in ("scheduler", "launcher") and any(
        other.role == "worker" and _same_words(one, failure) for other, one in own
    ):
        return 3  # the scheduler ran the same script and repeats a worker's own failure
    if view.role == "launcher" and failure.code in ("script-exception", "unknown-failure") and len(own) > 1:
        return 3
    return 0


def _same_words(one: Failure, other: Failure) -> bool:
    if one.code != other.code:
        return False
    return one.values.get("message") == other.values.get("message") or one.code != "script-exception"


def _when(view: View, failure: Failure, evidence: Evidence, clocks: dict[str, int]) -> float:
    moment = failure.time if failure.time is not None else end_time(view)
    if moment is None:
        return float("inf")
    first = evidence.status.first_failure if evidence.status is not None else None
    bonus = FIRST_BONUS_US if first is not None and (first.role, first.rank) == (view.role, view.rank) else 0
    return moment - clocks.get(view.node or "", 0) - bonus


def _order(one: _Candidate) -> tuple[int, float, int, int, bool, int, int]:
    """Tier, then time; at the same time the worker before the scheduler, the nearer cause, the lower rank."""
    role = _ROLE_ORDER.get(one.view.role, 0)
    # Within one log the nearest cause counts, not the first line: a record and its exception are one failure.
    recorded = "exception" not in one.failure.values
    return one.tier, one.when, role, -one.failure.priority, recorded, one.view.rank or 0, one.failure.line


def _sharpened(root: _Candidate, views: Sequence[View]) -> _Candidate:
    """The same root with what other logs add: how many workers the scheduler counted."""
    if root.failure.code not in ("cluster-timeout", "wrong-worker-count"):
        return root
    counts = health.registered_workers(views)
    if counts is None or counts[0] >= counts[1]:
        return root
    joined = health.registered_ranks(views)
    late = [view for view in views if view.role == "worker" and view.rank not in joined and not view.failures]
    if late and len(joined) == counts[0]:
        return _never_joined(min(late, key=lambda view: view.rank or 0), root)
    values = {**root.failure.values, "registered": counts[0], "expected": counts[1]}
    failure = replace(root.failure, code="wrong-worker-count", values=values)
    for view in views:
        told = health.last_registration(view)
        if told is not None:
            line, offset, text = told
            failure = replace(failure, line=line, offset=offset, evidence=f"{text}\n{failure.evidence}")
            return replace(root, view=view, failure=failure)
    return replace(root, failure=failure)


def _never_joined(view: View, timeout: _Candidate) -> _Candidate:
    """The root of a cluster time-out where a started worker is the one that the scheduler never saw."""
    line, offset, text = last_words(view)
    failure = replace(timeout.failure, line=line, offset=offset, evidence=text, time=view.scan.last_time_us)
    return _Candidate(view, replace(failure, code="cluster-timeout", hint={}), timeout.tier, timeout.when)


def _distinct(candidates: Iterable[_Candidate], root: _Candidate) -> list[_Candidate]:
    """One candidate for each file and code, without what the root's own block says again."""
    seen = {(root.view.file.path, root.view.rank, root.failure.code)}
    kept = []
    for one in candidates:
        key = (one.view.file.path, one.view.rank, one.failure.code)
        if key not in seen:
            seen.add(key)
            kept.append(one)
    return kept


def _verdict(root: _Candidate | None, views: Sequence[View], evidence: Evidence, now: float) -> Verdict:
    status = evidence.status
    if status is not None and status.state != "ended" and not _abandoned(status.heartbeat, now):
        return "running"
    codes = [view.exit_code for view in views if not view.cleaned_up]
    ended_well = evidence.exit_code == 0 or (bool(codes) and all(code == 0 for code in codes))
    if root is not None and not (ended_well and root.failure.code == "script-exception"):
        return "failed"
    if ended_well and not evidence.stopped_by_user:
        return "succeeded"
    if evidence.stopped_by_user:
        return "unknown"
    if evidence.exit_code not in (None, 0) or any(code not in (None, 0) for code in codes):
        return "failed"
    return _verdict_of_words(views, inf if status is not None and status.state == "ended" else now)


def _verdict_of_words(views: Sequence[View], now: float) -> Verdict:
    """Without any exit code: all ranks said goodbye, or a log still grows, or nothing can be said."""
    workers = [view for view in views if view.role == "worker"]
    if workers and (health.all_unregistered(views) or all(said_goodbye(view) for view in workers)):
        return "succeeded"
    if any(now - view.file.mtime < FRESH_S for view in views):
        return "running"
    return "unknown"


def _abandoned(heartbeat: float, now: float) -> bool:
    return now - heartbeat > 2 * FRESH_S


def _finding(one: _Candidate, lang: Language | None, *, harmless: bool = False) -> Finding:
    view, failure = one.view, one.failure
    moment = failure.time if failure.time is not None else end_time(view)
    where = Where(
        node=view.node,
        rank=failure.values.get("rank", view.rank),
        file=view.file.path,
        line=failure.line if view.scan.lines else None,
        offset=failure.offset if view.scan.lines else None,
        time=iso(moment) if moment is not None else None,
    )
    severity = failure.severity
    if failure.survived:
        severity = "note"
    elif harmless and failure.code == "script-exception":
        severity = "warning"
    values = {**_who(view), **failure.values}
    hint = failure.hint.get(lang or language())
    return make(
        failure.code,
        where=where,
        evidence=failure.evidence,
        severity=severity,
        lang=lang,
        values=values,
        extra_advice=(hint,) if hint else (),
    )


def _who(view: View) -> dict[str, Any]:
    """The process in a title: its rank, else its role."""
    if view.rank is not None:
        return {"rank": view.rank, "who": f"rank {view.rank}"}
    return {"who": "process" if view.plain or view.role in ("unknown", "merged") else view.role}


def _others(
    logs: LogSet,
    views: Sequence[View],
    stale: Sequence[View],
    evidence: Evidence,
    clocks: dict[str, int],
    root: _Candidate | None,
    lang: Language | None,
) -> Iterator[Finding]:
    """What is worth knowing beside the failure."""
    for node, offset in clocks.items():
        values = {"node": node, "skew_s": round(offset / 1e6, 3)}
        yield make("clock-skew", where=Where(node=node), values=values, lang=lang)
    yield from health.drifts(views, lang)
    for view in views:
        if view.scan.problem:
            values = {"path": view.file.path, "reason": view.scan.problem}
            where = Where(rank=view.rank, file=view.file.path)
            yield make("path-unreadable", where=where, severity="warning", values=values, lang=lang)
    for view in stale:
        where = Where(rank=view.rank, file=view.file.path)
        yield make("stale-logs", where=where, values={"path": view.file.path}, lang=lang)
    if evidence.stopped_by_user and root is None:
        yield make("stopped-by-user", where=Where(file=logs.root), lang=lang)
    status = evidence.status
    if root is None and status is not None and status.exit_code == LOST_EXIT_CODE:
        yield make("supervisor-lost", where=Where(file=logs.root), evidence=status.message, lang=lang)


def _ranks(
    views: Sequence[View], root: _Candidate | None, evidence: Evidence, verdict: Verdict, now: float
) -> Iterator[RankState]:
    running = verdict == "running"
    silent = {} if root is None or root.failure.code != "hang" else {root.view.file.path: now}
    well = verdict == "succeeded"
    all_states = list(states(views, root.view if root is not None else None, running, silent, well=well))
    order = sorted(range(len(views)), key=lambda index: _rank_order(views[index]))
    size = health.tail_size(len(views))
    for index in order:
        yield _rank(views[index], all_states[index], root, size)


def _rank_order(view: View) -> tuple[int, str, float, str]:
    role = {"worker": 0, "unknown": 1, "merged": 1, "scheduler": 2, "launcher": 3}[view.role]
    return role, "", view.rank if view.rank is not None else float("inf"), view.file.path


def _rank(view: View, state: State, root: _Candidate | None, tail: int) -> RankState:
    own = [one.time for one in view.failures if one.time is not None]
    if root is not None and root.view is view and root.failure.time is not None:
        own.append(root.failure.time)
    progress = health.progress(view, tail)
    loss = progress.step.loss if progress is not None and progress.step is not None else None
    return RankState(
        rank=view.rank,
        node=view.node,
        role="unknown" if view.plain or view.role == "merged" else view.role,
        file=view.file.path,
        state=state,
        exit_code=view.exit_code,
        first_error_time=iso(min(own)) if own else None,
        last_time=iso(view.scan.last_time_us) if view.scan.last_time_us is not None else None,
        records_by_level=dict(view.scan.records_by_level),
        lines=view.scan.lines,
        phase=progress.phase if progress is not None else None,
        step=progress.step.step if progress is not None and progress.step is not None else None,
        loss=loss if loss is not None and isfinite(loss) else None,
        bad_losses=view.scan.hit_counts.get(NOT_A_NUMBER, 0),
        tracebacks=len(view.scan.tracebacks),
    )
