"""How a diagnosis looks in a terminal: one line of verdict, the ranks that matter, the root cause in full."""

from __future__ import annotations

import os

from mswb.cli import output
from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.launch.diagnose import Diagnosis, RankState

STYLES = {
    "stopped": "bold yellow",
    "failed": "bold red",
    "succeeded": "bold green",
    "running": "bold cyan",
    "unknown": "bold yellow",
}
MAX_RANKS = 16
"""Ranks listed in text; the JSON report holds all of them."""


def exit_code(findings: tuple[Finding, ...], verdict: str, strict: bool = False) -> int:
    """0 fine; 1 the job failed or errors were found (with ``strict``: or warnings)."""
    bad = {"error", "warning"} if strict else {"error"}
    return int(verdict == "failed" or any(finding.severity in bad for finding in findings))


def show(diagnosis: Diagnosis) -> None:
    """Print a diagnosis for a person."""
    out = output.console()
    word = "stopped" if _was_stopped(diagnosis) else diagnosis.verdict
    out.print(printable(f"{word.upper()}  {headline(diagnosis)}"), style=STYLES[word])
    _show_ranks(diagnosis)
    if diagnosis.findings:
        out.print()
    elif word == "unknown":
        out.print("\nthe logs name no error and no exit code is known: the end of this run is not in them")
    output.show_findings(diagnosis.findings, diagnosis.root, lang=language(), base=diagnosis.path)


def _was_stopped(diagnosis: Diagnosis) -> bool:
    return diagnosis.verdict == "unknown" and any(one.code == "stopped-by-user" for one in diagnosis.findings)


def headline(diagnosis: Diagnosis) -> str:
    """What happened in one line: how many ranks, and which one failed first."""
    workers = [rank for rank in diagnosis.ranks if rank.role == "worker"]
    alone = len(diagnosis.ranks) == 1 and diagnosis.ranks[0].role == "unknown"
    count = f"{len(workers)} rank{'s' if len(workers) != 1 else ''}" if workers else "no rank has a log"
    count = "1 process" if alone else count
    if diagnosis.root is None:
        return count
    root = diagnosis.findings[diagnosis.root]
    first = "" if root.where.rank is None else f", rank {root.where.rank} failed first"
    return f"{count}{first}: {root.title}" if diagnosis.verdict == "failed" else f"{count}: {root.title}"


def _show_ranks(diagnosis: Diagnosis) -> None:
    order = {"failed": 0, "killed": 1, "silent": 2}
    first = None if diagnosis.root is None else diagnosis.findings[diagnosis.root].where.file
    ranks = sorted(diagnosis.ranks, key=lambda rank: (rank.file != first, order.get(rank.state, 3)))
    shown = ranks[:MAX_RANKS]
    rows = [_row(rank, diagnosis.path) for rank in shown]
    output.show_table(["rank", "state", "exit", "last line", "errors", "file"], rows, right=(2, 4))
    if len(ranks) > len(shown):
        states = sorted({rank.state for rank in ranks[MAX_RANKS:]})
        print(f"… and {len(ranks) - len(shown)} more ({', '.join(states)})")


def _row(rank: RankState, root: str) -> tuple[object, ...]:
    role = "process" if rank.role == "unknown" else rank.role
    name = role if rank.rank is None else rank.rank
    errors = sum(rank.records_by_level.get(level, 0) for level in ("ERROR", "CRITICAL")) + rank.tracebacks
    last = (rank.last_time or "")[11:19]
    file = os.path.relpath(rank.file, root) if rank.file and os.path.isdir(root) else rank.file
    return name, rank.state, rank.exit_code, last, errors or "", file
