"""What an inventory pane knows, as one value; and the changes that messages make to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mswb.files.items import Item
from mswb.findings import Finding
from mswb.ui.panes.inventory.rows import NO_ROWS, Rows


@dataclass(frozen=True, slots=True)
class Found:
    """What a look has found so far. ``files`` were looked at in ``folders``; ``skipped`` folders are other people's."""

    rows: Rows = NO_ROWS
    notes: tuple[Finding, ...] = ()
    folders: int = 0
    files: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class InventoryState:
    """One pane.

    ``home`` is the project and ``root`` what is looked at now. ``found`` is shown; while a further look goes on it
    stays, and ``seen`` counts the files of that look. ``looked`` tells that one look was finished. ``details`` lie over
    the list on a narrow terminal. ``wanted`` is a path to put the cursor on as soon as it is listed. ``more`` is a path
    and what a closer look at it has told.
    """

    home: str
    root: str
    everywhere: bool = False
    found: Found = Found()
    seen: int = 0
    looking: bool = False
    looked: bool = False
    group: str | None = None
    details: bool = False
    wanted: str | None = None
    more: tuple[str, str] | None = None
    problem: Finding | None = None

    def item(self, row: int | None) -> Item | None:
        """The entry in a row of the table's data."""
        items = self.found.rows.items
        return items[row] if row is not None and 0 <= row < len(items) else None


GROUPS = (None, "kind", "folder")


def new_state(folder: str) -> InventoryState:
    """Nothing is known yet."""
    return InventoryState(folder, folder)


def started(state: InventoryState) -> InventoryState:
    """A look begins."""
    return replace(state, looking=True, seen=0, problem=None)


def received(state: InventoryState, found: Found) -> InventoryState:
    """A look goes on. Its first entries are shown at once, unless a complete list is shown already."""
    if state.looked:
        return replace(state, seen=found.files)
    return replace(state, seen=found.files, found=found)


def finished(state: InventoryState, found: Found) -> InventoryState:
    """A look is complete."""
    return replace(state, found=found, seen=found.files, looking=False, looked=True)


def rearranged(state: InventoryState, rows: Rows) -> InventoryState:
    """The same look with its entries in another order, or with other words."""
    return replace(state, found=replace(state.found, rows=rows))


def failed(state: InventoryState, problem: Finding) -> InventoryState:
    """A look ended early."""
    return replace(state, looking=False, looked=True, problem=problem)


def rooted(state: InventoryState, root: str, wanted: str | None = None) -> InventoryState:
    """Look at another folder from now on; what was found in the last one is gone."""
    return replace(new_state(state.home), root=root, group=state.group, wanted=wanted)


def elsewhere(state: InventoryState) -> InventoryState:
    """With the places outside the folder, or without them again."""
    return replace(state, everywhere=not state.everywhere)


def regrouped(state: InventoryState) -> InventoryState:
    """Group by the next of :data:`GROUPS`."""
    return replace(state, group=GROUPS[(GROUPS.index(state.group) + 1) % len(GROUPS)])


def with_details(state: InventoryState, shown: bool) -> InventoryState:
    """Open or close the details over the list."""
    return replace(state, details=shown)


def settled(state: InventoryState) -> InventoryState:
    """The cursor is where it was wanted."""
    return replace(state, wanted=None)


def told(state: InventoryState, path: str, text: str) -> InventoryState:
    """A closer look at an entry has told this."""
    return replace(state, more=(path, text))


def wanting(state: InventoryState, path: str) -> InventoryState:
    """Put the cursor on a path as soon as it is listed."""
    return replace(state, wanted=path)
