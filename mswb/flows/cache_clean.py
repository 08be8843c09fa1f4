"""A clean from the selection to the plan: look, verify what only a whole look can tell, choose, see who uses it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mswb.cache.clean import Cleaning, Selection, plan_clean, select
from mswb.cache.entries import Entry
from mswb.cache.holders import snapshot
from mswb.cache.locate import cache_root
from mswb.cache.server import removal
from mswb.cache.trash import journal
from mswb.cache.trash import moves as trash
from mswb.cache.trash import store as trashes
from mswb.flows import cache_checks, caches
from mswb.flows.cache_state import verified, verified_small
from mswb.flows.inventory import within
from mswb.plan import Action, Doer, Outcome, Plan, apply


@dataclass(frozen=True, slots=True)
class Prepared:
    """A clean that is ready: the plan in full, and how each part of it is done."""

    plan: Plan
    cleaning: Cleaning

    def kinds(self, why: str) -> dict[str, Doer]:
        """What does the plan's actions, those in the trash as one operation."""
        return {**removal.KINDS, **self.cleaning.kinds(why)}

    def apply(self, why: str = "mswb cache clean") -> list[Outcome]:
        """Do it; then what earlier emptyings left half done goes, too."""
        with journal.operation(why):
            outcomes = apply(self.plan, self.kinds(why))
        tidy()
        return outcomes


def prepare(
    wanted: Selection,
    environ: Mapping[str, str],
    *,
    for_good: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
    told: cache_checks.Told = lambda step: None,
) -> Prepared:
    """The plan of a clean; nothing changes yet. What has been in the trash for a week is emptied by it, too.

    Raises:
        MswbError: ``path-missing``, ``not-a-record-file``: the path that was named.
    """
    root = cache_root(environ)
    paths = [wanted.path] if wanted.path is not None else [root] if os.path.isdir(root) else []
    entries, notes = caches.collect(paths, cancelled)
    entries = verified(entries, cancelled, told) if wanted.by_state else verified_small(entries)
    seen = snapshot(cancelled)
    outside: list[Entry] = []
    if wanted.system:
        outside, more = caches.everywhere(environ, seen, cancelled)
        notes += more
    known = {entry.path for entry in entries}
    outside = [entry for entry in outside if entry.path not in known]
    chosen, spared = select([*entries, *outside], wanted, {entry.path for entry in outside})
    cleaning = plan_clean(
        [entry for entry in chosen if not is_served(entry)],
        wanted,
        seen,
        for_good=for_good,
        spared=spared,
        trash_root=_trash_root(wanted.path, chosen, root),
        cancelled=cancelled,
    )
    actions = [*cleaning.plan.actions, *_of_servers(outside, wanted), *_expired()]
    warnings = (*cleaning.plan.warnings, *(note.title for note in notes))
    return Prepared(Plan(tuple(actions), warnings), cleaning)


def _of_servers(outside: Sequence[Entry], wanted: Selection) -> list[Action]:
    """What dead servers left that is no file to move: sockets and shared memory."""
    if wanted.dataset is not None or wanted.size_mib is not None:
        return []
    return list(removal.actions(entry for entry in outside if is_served(entry)))


def is_served(entry: Entry) -> bool:
    """Whether it is a socket or a segment of a dataset cache server: no file that could be moved."""
    return entry.form == "dataset-cache" or entry.path.startswith("shm:")


def _expired() -> list[Action]:
    return [trash.empty_action(item) for item in trashes.expired(trashes.items())]


def _trash_root(path: str | None, chosen: Sequence[Entry], root: str) -> str | None:
    """The folder named keeps its trash, unless it is a cache itself, or lies in the root, whose trash is there."""
    if path is None or not os.path.isdir(path):
        return None
    real = os.path.realpath(path)
    if any(entry.path == real for entry in chosen) or within(real, os.path.realpath(root)):
        return None
    return real


def tidy(cancelled: Callable[[], bool] = lambda: False) -> None:
    """Delete what interrupted emptyings left, and trashes that are empty."""
    for folder in trashes.known():
        try:
            trash.sweep(folder, cancelled)
        except OSError:
            continue
    trashes.forget_empty()
    journal.forget(trashes.items(), time.time() - trashes.KEEP_DAYS * trashes.DAY_S)
