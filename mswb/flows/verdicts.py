"""What a diagnosis said of a run that has ended, kept in the run's folder, so that lists can tell it ever after.

The supervisor alone writes that folder while the run lives; the verdict is written once it has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mswb.findings import MswbError
from mswb.jobs.runs import Run
from mswb.jobs.spec import read_record, write_record

if TYPE_CHECKING:
    from mswb.launch.diagnose import Diagnosis

VERDICT_FILE = "verdict.json"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, and the title of its root cause with the rank it is of; empty where none was found."""

    verdict: str
    code: str = ""
    title: str = ""
    rank: int | None = None


def verdict_of(diagnosis: Diagnosis) -> Verdict:
    """The part of a diagnosis that a list shows."""
    if diagnosis.root is None:
        return Verdict(verdict=diagnosis.verdict)
    root = diagnosis.findings[diagnosis.root]
    return Verdict(verdict=diagnosis.verdict, code=root.code, title=root.title, rank=root.where.rank)


def keep(run: Run, diagnosis: Diagnosis) -> bool:
    """Keep what was found; False for a run that has not ended, and where the folder can't be written."""
    status = run.reload().status
    if status is None or status.state != "ended":
        return False
    wanted = verdict_of(diagnosis)
    if kept(run) == wanted:
        return True
    try:
        write_record(run.folder / VERDICT_FILE, wanted)
    except (MswbError, OSError):
        return False
    return True


def kept(run: Run) -> Verdict | None:
    """What was found when the run was last diagnosed after its end; None when it never was."""
    try:
        return read_record(run.folder / VERDICT_FILE, Verdict)
    except MswbError:
        return None
