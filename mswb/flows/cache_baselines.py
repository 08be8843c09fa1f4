"""Baselines of data files and of the folders they lie in: made of good files, compared at every verification."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from mswb.cache import baseline
from mswb.cache.baseline import Baseline
from mswb.cache.check import Options, Watch
from mswb.cache.entries import Entry
from mswb.findings import Finding, Where, make
from mswb.flows.cache_checks import Step, verify

FORMS = frozenset(baseline.PIECES)
"""Kinds of :data:`mswb.cache.sniff.KINDS` that a baseline tells more of than whether they are the same."""


def make_all(
    entries: Sequence[Entry],
    jobs: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    told: Callable[[Step], None] = lambda step: None,
) -> Iterator[tuple[Entry, Baseline | None]]:
    """Verify data files and write the baseline of each good one; None with what is damaged, which gets none.

    Raises:
        MswbError: a baseline can't be written.
    """
    data = [entry for entry in entries if entry.form in FORMS]
    for _, entry, _ in verify(data, Options(baseline=False), jobs, cancelled, told):
        if any(finding.severity == "error" for finding in entry.findings):
            yield entry, None
            continue

        def report(done: int, total: int | None, unit: str, path: str = entry.path) -> None:
            told(Step(0, len(data), path, done, total, unit))

        made = baseline.make(entry.path, entry.form, Watch(cancelled, report))
        baseline.write(made)
        yield entry, made


def missing(paths: Sequence[str], entries: Sequence[Entry]) -> list[Finding]:
    """The files that the baselines of these folders, and of those that the entries lie in, name and that have gone."""
    folders = {os.path.abspath(path) for path in paths if os.path.isdir(path)}
    folders |= {os.path.dirname(entry.path) for entry in entries}
    found: list[Finding] = []
    for folder in sorted(folders):
        for fault in baseline.compare_set(folder):
            values = {"what": "file", "reason": fault.reason, "path": fault.file or folder}
            found.append(make(fault.code, where=Where(file=fault.file), values=values))
    return found
