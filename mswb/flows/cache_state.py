"""The state of file caches as it is now: read in full as far as that is quick, and compared with their sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

from mswb.cache import staleness
from mswb.cache.check import Options
from mswb.cache.entries import UNVERIFIED, Entry
from mswb.cache.verified import recalled
from mswb.flows import cache_checks

LIST_BYTES = 256 << 20
"""So much of file caches a list reads in full: a quarter of a second of one core."""


def verified(
    entries: Sequence[Entry],
    cancelled: Callable[[], bool] = lambda: False,
    told: cache_checks.Told = lambda step: None,
    budget_bytes: float = math.inf,
) -> list[Entry]:
    """The entries, with the file caches that a glance found nothing wrong with read in full.

    Args:
        budget_bytes: how much is read at most; the smallest are read first.
    """
    checked = list(entries)
    open_ = [index for index, entry in enumerate(entries) if entry.form == "file-cache" and _is_open(entry)]
    open_.sort(key=lambda index: entries[index].size_bytes)
    sums = accumulate(entries[index].size_bytes for index in open_)
    open_ = [index for index, whole in zip(open_, sums, strict=True) if whole <= budget_bytes]
    found = cache_checks.verify([entries[index] for index in open_], Options(), cancelled=cancelled, told=told)
    for index, entry, _ in found:
        checked[open_[index]] = entry
    return checked


def verified_small(entries: Sequence[Entry]) -> list[Entry]:
    """As :func:`verified`, as much as a list may read without being slow; larger ones by the files of their source.

    Data files come with what their last verification found, while they are the same.
    """
    return recalled([staleness.current(entry) for entry in verified(entries, budget_bytes=LIST_BYTES)])


def _is_open(entry: Entry) -> bool:
    return entry.status in ("ok", UNVERIFIED)
