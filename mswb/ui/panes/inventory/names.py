"""Names that tell entries apart: the base name, and where several share one, as much of the path as they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from mswb.ui.glyphs import glyph
from mswb.ui.widgets.table.text import fit


def distinct(paths: Sequence[str], width: int) -> list[str]:
    """For each path its shortest ends that no other path has; whole paths where one is the end of another.

    Args:
        paths: relative to where the person is, or absolute.
        width: cells there are. Longer names are cut at their start when they are drawn; those that would look alike
        XX
    """
    names = [path.rpartition("/")[2] for path in paths]
    for alike in _alike(range(len(paths)), names):
        ends = _ends([paths[index] for index in alike])
        for index, end in zip(alike, ends, strict=True):
            names[index] = end
    cut = [fit(name, width, cut="path").strip() for name in names]
    taken = {*names, *cut, ""}
    for alike in _alike(range(len(paths)), cut):
        for is_end in (True, False):
            brief = [_brief(names[index], width, is_end) for index in alike]
            if len(set(brief)) == len(alike) and taken.isdisjoint(brief):
                taken.update(brief)
                for index, name in zip(alike, brief, strict=True):
                    names[index] = name
                break
    return names


def _alike(rows: Iterable[int], names: Sequence[str]) -> list[list[int]]:
    """The rows that share a name, by that name."""
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[names[row]].append(row)
    return [group for group in groups.values() if len(group) > 1]


def _ends(paths: Sequence[str]) -> list[str]:
    """The ends of paths with one base name, each longer by a folder until no two are the same."""
    parts = [path.split("/") for path in paths]
    depths = [1] * len(paths)
    open_ = list(range(len(paths)))
    while open_:
        ends = ["/".join(part[-depth:]) for part, depth in zip(parts, depths, strict=True)]
        open_ = [row for group in _alike(open_, ends) for row in group if depths[row] < len(parts[row])]
        for row in open_:
            depths[row] += 1
    return ["/".join(part[-depth:]) for part, depth in zip(parts, depths, strict=True)]


def _brief(name: str, width: int, is_end: bool) -> str:
    """The first folder as far as there is room, by its end or its beginning, and the base name; "" without room."""
    sign = glyph("ellipsis")
    first, _, rest = name.lstrip("/").partition("/")
    base = f"{sign}/{rest.rpartition('/')[2]}" if "/" in rest else rest
    room = width - cell_len(f"/{base}")
    if not base or room < cell_len(sign) + 1:
        return ""
    return f"{fit(first, min(room, cell_len(first)), cut='start' if is_end else 'end').strip()}/{base}"
