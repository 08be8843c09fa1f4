"""Which script a cache was compiled from, where nothing says so: the scripts that lie around it are tried.

A match of the hash is proof. No match says that every script here has changed since, or that it lies elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mswb.cache.compile.dependency import Dependency, combine, dependency, read_source, search_path

LEVELS = 3
"""The folder that MS_COMPILER_CACHE_PATH named and those above it that are searched; usually ``PROJECT/CACHE``."""
MAX_SCRIPTS = 300
MAX_FOLDERS = 60
_USES_MINDSPORE = re.compile(rb"^[ \t]*(?:import|from)[ \t]+mindspore\b", re.MULTILINE)
_RANK = re.compile(r"rank_\d+$")


@dataclass(frozen=True, slots=True)
class Match:
    """The script whose hash it is. ``partly``: only the script itself counted, since its folder is in PYTHONPATH."""

    script: str
    depends: Dependency
    partly: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """What was found: a match, or scripts that do not fit.

    Attributes:
        near: those in the nearest folder that has any: of the cache's own project.
        beside: those in folders beside, which may be other projects.
        doubts: why one of the near ones may be the right one all the same.
    """

    match: Match | None
    near: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_script(
    folder: str, digest: str, installed: Sequence[str] = (), cancelled: Callable[[], bool] = lambda: False
) -> Search:
    """Look for the script whose dependency hash is ``digest`` around a folder of graphs.

    The nearest folder with scripts decides: a copy of the project elsewhere proves nothing about this one.

    Args:
        installed: folders of installed packages.
    """
    beside: list[str] = []
    ranked = _home(folder) != folder  # else it was copied by hand, and what lies around it is not its project
    left = MAX_SCRIPTS
    for place, inner in _levels(folder):
        near: list[str] = []
        doubts: list[str] = []
        for script in [*_scripts(place), *(script for one in inner for script in _scripts(one))]:
            left -= 1
            if cancelled() or left < 0:
                return Search(None, (), tuple(beside))
            depends = dependency(script, search_path(script, installed=installed))
            if digest in (depends.digest, _alone(depends)):
                return Search(Match(script, depends, partly=depends.digest != digest))
            if not _USES_MINDSPORE.search(read_source(script) or b""):
                continue  # it may start what does, so it is tried; that it doesn't fit says nothing
            if not ranked and os.path.dirname(script) != folder:
                continue
            own = os.path.dirname(script) == place
            (near if own else beside).append(script)
            doubts += [depends.doubt] if own and depends.doubt else []
        if near:
            return Search(None, tuple(near), tuple(beside), tuple(doubts))
    return Search(None, (), tuple(beside))


def _alone(depends: Dependency) -> str | None:
    own = [one for one in depends.files if one[0] == depends.script]
    return combine(own) if own else None


def _home(folder: str) -> str:
    """The folder that MS_COMPILER_CACHE_PATH named."""
    parent = os.path.dirname(folder)
    ranked = os.path.basename(folder) == "graph_cache" and _RANK.match(os.path.basename(parent))
    return os.path.dirname(parent) if ranked else folder


def _levels(folder: str) -> Iterator[tuple[str, list[str]]]:
    """The folder of the cache and those above it, each with the folders in it."""
    place = _home(folder)
    for level in range(LEVELS):
        last = level == LEVELS - 1
        inner = [os.path.join(place, name) for name in _names(place) if not last and not name.startswith((".", "_"))]
        folders = [one for one in inner if os.path.isdir(one) and not os.path.islink(one)]
        yield place, folders[:MAX_FOLDERS]
        if os.path.dirname(place) == place:
            return
        place = os.path.dirname(place)


def _scripts(place: str) -> Iterator[str]:
    for name in _names(place):
        path = os.path.join(place, name)
        if name.endswith(".py") and os.path.isfile(path):
            yield path


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
