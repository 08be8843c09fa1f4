"""The entries as columns of the table: the damaged ones first, then the largest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.panes.inventory.names import distinct

_WORST_FIRST = {"error": 0, "warning": 1, "note": 2, "": 3}
_COLOURS = {"error": "error", "warning": "warning", "note": "text-muted"}
HERE = "."
NAME_CELLS = 22
"""The width of the column of names."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The entries in the order of the table's data, and its columns. ``places`` counts the folders they lie in."""

    items: tuple[Item, ...] = ()
    arrays: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    size_bytes: int = 0
    disk_bytes: int = 0
    places: int = 0


def rows_of(items: Sequence[Item], root: str, now: float) -> Rows:
    """The columns for ``items`` found in ``root``; ages are told at ``now`` (seconds since the epoch)."""
    from mswb.flows.inventory import kind_words, severity_of

    def order(item: Item) -> tuple[int, int, str]:
        return _WORST_FIRST[severity_of(item.kind, item.status) or ""], -item.size_bytes, item.path

    ordered = tuple(sorted(items, key=order))
    arrays: dict[str, Sequence[Any]] = {
        "key": [f"{item.kind} {item.path}" for item in ordered],
        "name": names_of(ordered, root),
        "kind": [kind_words(item.kind) for item in ordered],
        "status": [
            f"{severity_of(item.kind, item.status) or ''} {item.status}" if item.status else "" for item in ordered
        ],
        "size": [item.size_bytes for item in ordered],
        "age": [max(0.0, now - item.modified) for item in ordered],
        "files": [item.files for item in ordered],
        "detail": [printable(item.detail) for item in ordered],
        "folder": [printable(folder_of(item, root)) for item in ordered],
    }
    return Rows(
        ordered,
        arrays,
        sum(item.size_bytes for item in ordered),
        sum(item.disk_bytes for item in ordered),
        len({os.path.dirname(item.path) for item in ordered}),
    )


NO_ROWS = Rows(
    arrays={key: [] for key in ("key", "name", "kind", "status", "size", "age", "files", "detail", "folder")}
)


def names_of(items: Sequence[Item], root: str, known: Sequence[str | None] = ()) -> list[str]:
    """What entries are called in a table, each by another name.

    Args:
        known: names that entries have of their own, None for those that have none.
    """

    def path_of(item: Item, own: str | None) -> str:
        if own:
            return f"{os.path.basename(item.path)}/{own}"  # its folder is named by a key: that tells it apart
        folder = folder_of(item, root)
        return name_of(item, root) if folder == HERE else f"{folder}/{os.path.basename(item.path)}"

    own = known or [None] * len(items)
    return distinct([printable(path_of(item, one)) for item, one in zip(items, own, strict=True)], NAME_CELLS)


def name_of(item: Item, root: str) -> str:
    """The base name; "." for the folder that is looked at."""
    return HERE if item.path == root else os.path.basename(item.path)


def folder_of(item: Item, root: str) -> str:
    """The folder that an entry lies in, below ``root`` where it does."""
    parent = os.path.dirname(item.path)
    if item.path == root or parent == root:
        return HERE
    return parent[len(root) :].lstrip("/") if parent.startswith(root.rstrip("/") + "/") else parent


def status_text(value: str) -> str:
    """A status with its sign: the sign and the word both tell."""
    severity, _, status = value.partition(" ")
    if not status:
        return "-"
    return f"{glyph(severity)} {status}" if severity else status


def status_colour(value: str) -> str:
    """The theme variable of a status."""
    return _COLOURS.get(value.partition(" ")[0], "text-muted")
