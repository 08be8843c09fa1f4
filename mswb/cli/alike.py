"""Many leftovers of one sort as one line of text: twelve semaphores of dead workers tell a person no more than one."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

LEAST = 3
"""So many of one sort become one line."""
T = TypeVar("T")


def lumped(things: Iterable[T], sort: Callable[[T], Hashable | None]) -> list[list[T]]:
    """The things in their order, those of one sort together where the first of them stands.

    Args:
        sort: what is equal for things alike; None for one that stands alone.
    """
    groups: dict[Hashable, list[T]] = {}
    for number, thing in enumerate(things):
        of = sort(thing)
        groups.setdefault(("alone", number) if of is None else ("alike", of), []).append(thing)
    return [
        part for group in groups.values() for part in ([group] if len(group) >= LEAST else [[one] for one in group])
    ]


def place_of(path: str) -> tuple[str, int | None]:
    """The folder and the owner of a path; no owner where it is gone, or is no path."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        owner = None
    return os.path.dirname(path), owner


def pattern(paths: Sequence[str]) -> str:
    """One text for paths of one folder: ``/dev/shm/sem.mp-* (12)``; the path itself where it is one."""
    return paths[0] if len(paths) == 1 else f"{_common(paths)}* ({len(paths)})"


def _common(paths: Sequence[str]) -> str:
    return os.path.commonprefix(list(paths))  # noqa: RUF071 (the names begin alike, not only their folders)
