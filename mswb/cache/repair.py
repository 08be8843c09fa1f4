"""Mending one entry: every kind that can be mended has a function that plans it; nothing changes until it is applied.

A repairer is a function ``plan(path, checked, out) -> Repair``. It writes new files beside the old ones and never into
them; what it replaces goes to the trash first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import cast

from mswb.cache.check import Checked
from mswb.plan import Doer, Plan

REPAIRERS: Mapping[str, str] = {
    "tfrecord": "mswb.cache.data.tfrecord.salvage:plan",
    "mindrecord": "mswb.cache.data.mindrecord.salvage:plan",
    "mindrecord-index": "mswb.cache.data.mindrecord.salvage:plan",
    "compile-cache": "mswb.cache.compile.verify:plan",
    "file-cache": "mswb.cache.filecache:plan",
}
"""``module:function`` for each kind of :data:`mswb.cache.sniff.KINDS` that can be mended."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A plan, and what its own kinds of action do. A plan without actions says in its warnings why there is none.

    ``taken`` is what stands already where the repair would write; "" where that is not the reason.
    """

    plan: Plan
    kinds: Mapping[str, Doer] = field(default_factory=dict)
    taken: str = ""


Repairer = Callable[[str, Checked, str | None], Repair]
"""Takes the entry's path, what its check found, and the file or folder to write instead of the usual one."""


def repairer(form: str) -> Repairer | None:
    """The repairer for a kind of entry; None when nothing of it can be mended."""
    target = REPAIRERS.get(form)
    if target is None:
        return None
    module, _, name = target.partition(":")
    return cast(Repairer, getattr(import_module(module), name))
