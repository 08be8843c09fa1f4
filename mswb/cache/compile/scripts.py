"""Which script a cache was compiled from, where nothing says so: the scripts that lie around it are tried.

A match of the hash is proof. No match says that every script here has changed since, or that it lies elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mswb.cache.compile.dependency import Dependency, combine, dependency, read_source, search_path

ABOVE = 4
"""Folders above the graphs in which scripts are looked for; usually ``PROJECT/CACHE/rank_0/graph_cache``."""
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
    """What was found: a match, or the scripts in the cache's own project that no longer fit.

    ``doubts`` say why a script that fits no more may be the right one all the same.
    """

    match: Match | None
    near: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_script(
    folder: str, digest: str, installed: Sequence[str] = (), cancelled: Callable[[], bool] = lambda: False
) -> Search:
    """Look for the script whose dependency hash is ``digest`` around a folder of graphs.

    Args:
        installed: folders of installed packages.
    """
    near: list[str] = []
    doubts: list[str] = []
    close = set(_close(folder))
    for script in _scripts(folder):
        if cancelled():
            break
        depends = dependency(script, search_path(script, installed=installed))
        if depends.digest == digest:
            return Search(Match(script, depends))
        if _alone(depends) == digest:
            return Search(Match(script, depends, partly=True))
        if os.path.dirname(script) in close:
            near.append(script)
            doubts += [depends.doubt] if depends.doubt else []
    return Search(None, tuple(near), tuple(doubts))


def _alone(depends: Dependency) -> str | None:
    own = [one for one in depends.files if one[0] == depends.script]
    return combine(own) if own else None


def _home(folder: str) -> str:
    """The folder that MS_COMPILER_CACHE_PATH named."""
    parent = os.path.dirname(folder)
    ranked = os.path.basename(folder) == "graph_cache" and _RANK.match(os.path.basename(parent))
    return os.path.dirname(parent) if ranked else folder


def _close(folder: str) -> tuple[str, ...]:
    """The folders whose scripts must be meant: where the cache lies, and the one above."""
    home = _home(folder)
    return home, os.path.dirname(home)


def _scripts(folder: str) -> Iterator[str]:
    """Scripts that use MindSpore, the nearest first."""
    count = 0
    for place in _places(folder):
        for name in _names(place):
            path = os.path.join(place, name)
            if not name.endswith(".py") or not os.path.isfile(path):
                continue
            data = read_source(path)
            if data is not None and _USES_MINDSPORE.search(data):
                yield path
                count += 1
                if count == MAX_SCRIPTS:
                    return


def _places(folder: str) -> Iterator[str]:
    """The folder, those above it, and those beside each."""
    above = [folder]
    while len(above) <= ABOVE and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    seen: set[str] = set()
    for place in above:
        inner = [os.path.join(place, name) for name in _names(place) if not name.startswith((".", "_"))]
        folders = [one for one in inner if os.path.isdir(one) and not os.path.islink(one)]
        for one in (place, *folders[:MAX_FOLDERS]):
            if one not in seen:
                seen.add(one)
                yield one


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
