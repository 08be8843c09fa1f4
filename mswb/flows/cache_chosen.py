"""A clean of entries that a person has pointed at: each counts as named by its path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mswb.cache.clean import Selection, plan_clean
from mswb.cache.entries import Entry
from mswb.cache.holders import snapshot
from mswb.cache.server import removal
from mswb.flows.cache_clean import Prepared, is_served


def prepare_chosen(
    entries: Sequence[Entry], root: str, cancelled: Callable[[], bool] = lambda: False, *, system: bool = False
) -> Prepared:
    """The plan that takes exactly these entries; what is in use or belongs to others stays, and the plan says so.

    Args:
        root: the folder whose trash takes what lies in it.
        system: the places outside were looked at, too.
    """
    served = [entry for entry in entries if is_served(entry)]
    plain = [entry for entry in entries if not is_served(entry)]
    wanted = Selection(everything=True, system=system)
    cleaning = plan_clean(plain, wanted, snapshot(cancelled), trash_root=root, cancelled=cancelled)
    left = removal.plan(served)
    actions, warnings = (*cleaning.plan.actions, *left.actions), (*cleaning.plan.warnings, *left.warnings)
    return Prepared(replace(cleaning.plan, actions=actions, warnings=warnings), cleaning)
