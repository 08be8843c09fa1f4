"""Baselines of data files and of the folders they lie in: made of good files, compared at every verification."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mswb.cache import baseline
from mswb.cache.baseline import Baseline
from mswb.cache.check import Options, Watch
from mswb.cache.entries import Entry
from mswb.findings import Finding, MswbError, Where, make
from mswb.flows.cache_checks import Step, verify
from mswb.flows.inventory import within

FORMS = frozenset(baseline.PIECES)
"""Kinds of :data:`mswb.cache.sniff.KINDS` that a baseline tells more of than whether they are the same."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one file. No ``baseline``: the entry's findings say why; ``replaced``: what the old one told."""

    entry: Entry
    baseline: Baseline | None = None
    replaced: str = ""


def make_all(
    entries: Sequence[Entry],
    jobs: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    told: Callable[[Step], None] = lambda step: None,
    replace: bool = False,
) -> Iterator[Made]:
    """Verify data files and write the baseline of each good one; what is damaged gets none.

    Args:
        replace: also of a file that is not what its baseline says; without it that is damage like any other.

    Raises:
        MswbError: a baseline can't be written.
    """
    data = [entry for entry in entries if entry.form in FORMS]
    for _, entry, _ in verify(data, Options(baseline=not replace), jobs, cancelled, told):
        if any(finding.severity == "error" for finding in entry.findings):
            yield Made(entry)
            continue

        def report(done: int, total: int | None, unit: str, path: str = entry.path) -> None:
            told(Step(0, len(data), path, done, total, unit))

        watch = Watch(cancelled, report)
        changed = baseline.compare(entry.path, entry.form, watch)[0] if replace else []
        made = baseline.make(entry.path, entry.form, watch)
        baseline.write(made)
        yield Made(entry, made, changed[0].reason if changed else "")


def keep_set(folder: str, good: Sequence[Baseline], replace: bool = False) -> list[str]:
    """Write which files belong to a folder: those it named already, and the good ones in it.

    Args:
        replace: a file that has gone is forgotten; without it the folder's baseline goes on naming it.

    Returns: the names that were forgotten.

    Raises:
        MswbError: ``baseline-unreadable``, ``path-unwritable``.
    """
    try:
        before = dict(baseline.read_set(folder))
    except MswbError:
        if not replace:
            raise
        before = {}
    gone = [name for name in before if replace and not os.path.lexists(os.path.join(folder, name))]
    kept = {name: member for name, member in before.items() if name not in gone}
    if before or good:
        baseline.make_set([one for one in good if within(one.path, os.path.realpath(folder))], folder, kept)
    return gone


def missing(paths: Sequence[str], entries: Sequence[Entry]) -> list[Finding]:
    """The files that the baselines of these folders, and of those that the entries lie in, name and that have gone."""
    folders = {os.path.abspath(path) for path in paths if os.path.isdir(path)}
    folders |= {os.path.dirname(entry.path) for entry in entries}
    found: list[Finding] = []
    for folder in sorted(folders):
        try:
            faults = baseline.compare_set(folder)
        except MswbError as problem:
            found.append(problem.finding)
            continue
        for fault in faults:
            values = {"what": "file", "reason": fault.reason, "path": fault.file or folder}
            found.append(make(fault.code, where=Where(file=fault.file), values=values))
    return found
