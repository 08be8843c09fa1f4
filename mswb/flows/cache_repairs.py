"""Mending what a verification found: one plan for all entries, applied entry by entry."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from mswb.cache.check import Checked
from mswb.cache.entries import Entry
from mswb.cache.repair import Repair, repairer
from mswb.cache.trash import journal
from mswb.files.safety import printable
from mswb.findings import Where, stop
from mswb.plan import Outcome, Plan, apply

_PACKED = (".gz", ".zlib", ".zz")
"""Ends of names of packed files, which no repair writes."""
_NAMED = 3
"""Names that the words of an operation tell."""


@dataclass(frozen=True, slots=True)
class Repairs:
    """What will be done for each entry. ``hopeless`` are damaged entries that nothing here can mend."""

    parts: tuple[Repair, ...]
    hopeless: tuple[Entry, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """What stands already where a repair would write."""
        return tuple(part.taken for part in self.parts if part.taken)

    @property
    def plan(self) -> Plan:
        """All of it as one plan, to be shown."""
        actions = tuple(action for part in self.parts for action in part.plan.actions)
        return Plan(actions, tuple(warning for part in self.parts for warning in part.plan.warnings))

    def apply(self, plan: Plan) -> list[Outcome]:
        """Do all of it as one operation; ``plan`` is the one that was shown. What fails does not stop the others."""
        with journal.operation(_command(plan)):
            return [outcome for part in self.parts for outcome in apply(part.plan, part.kinds)]


def plan_repairs(found: Sequence[tuple[Entry, Checked | None]], out: str | None = None) -> Repairs:
    """The repairs for what a verification found; what is fine needs none.

    Args:
        found: entries with what their check found (None: nothing could be verified of it).
        out: the file or folder to write instead of the usual one.

    Raises:
        MswbError: ``repair-output-packed``: the file to write has the name of a packed one.
    """
    if out is not None and out.lower().endswith(_PACKED):
        raise stop("repair-output-packed", where=Where(file=out), values={"path": out})
    parts: list[Repair] = []
    hopeless: list[Entry] = []
    for entry, checked in found:
        if not _is_damaged(entry):
            continue
        mend = repairer(entry.form)
        if checked is None or mend is None:
            hopeless.append(entry)
            parts.append(Repair(Plan((), (_unknown(entry),))))
            continue
        repair = mend(entry.path, checked, out)
        parts.append(repair)
        if not repair.plan.actions:
            hopeless.append(entry)
    return Repairs(tuple(parts), tuple(hopeless))


def _command(plan: Plan) -> str:
    """The repair in words, as the trash and an undo tell it."""
    names = list(dict.fromkeys(printable(os.path.basename(action.target), 80) for action in plan.actions))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"mswb cache repair: {', '.join(names[:_NAMED])}{more}"


def _is_damaged(entry: Entry) -> bool:
    return any(finding.severity != "note" for finding in entry.findings)


def _unknown(entry: Entry) -> str:
    return f"{entry.path}: {entry.status}; nothing of this kind can be repaired here"
