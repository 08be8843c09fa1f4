"""Where caches gather outside the project: one table of places, each with who makes it and when it may go.

Looked at only when a person asks for all places. Nothing here is deleted, and what belongs to other users is listed
with what the directory says of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROOT_VARIABLE = "MSWB_CACHE_ROOT"
_SITE = re.compile(r"python3\.\d+$")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder (or a set of files) of one maker. ``removable`` says when it may go, ``moved_by`` what moves it.

    ``prefixes`` narrow it to the files whose names begin so; empty means all of it.
    """

    kind: str
    path: str
    detail: str
    removable: str
    moved_by: str = ""
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """A place by its default below the home folder, and the variable that moves it."""

    kind: str
    path: str
    variable: str
    below: str
    detail: str
    removable: str


_NO_JOB = "no job runs; they are compiled again"
_YOURS = "you no longer need them; they are downloaded again"
_HOME = (
    _Known("kernel-cache", "atc_data/kernel_cache", "ASCEND_CACHE_PATH", "kernel_cache", "compiled operators", _NO_JOB),
    _Known(
        "tuning-base", "atc_data/aoe_data", "ASCEND_CACHE_PATH", "aoe_data", "tuning results", "asked: costly to redo"
    ),
    _Known("log-archive", "ascend/log", "ASCEND_PROCESS_LOG_PATH", "", "logs of CANN", "they are old"),
    _Known("download", ".mindspore", "", "", "downloads of mindcv, mindocr and the like", _YOURS),
    _Known("download", ".mindnlp", "MINDNLP_CACHE", "", "models and data of mindnlp", _YOURS),
    _Known("download", ".mscache", "", "", "models of mindspore_hub", _YOURS),
    _Known("download", ".cache/huggingface", "HF_HOME", "", "models and data of Hugging Face", _YOURS),
    _Known("download", ".cache/modelscope", "MODELSCOPE_CACHE", "", "models and data of ModelScope", _YOURS),
)


def cache_root(environ: Mapping[str, str]) -> str:
    """The folder of the file caches: MSWB_CACHE_ROOT, or ``~/.mindspore/cache``; whether or not it exists."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(os.path.expanduser(environ.get(ROOT_VARIABLE) or os.path.join(home, ".mindspore", "cache")))


def places(environ: Mapping[str, str], prefixes: Sequence[str] = ()) -> tuple[Place, ...]:
    """The places that exist here.

    Args:
        environ: HOME and the variables that move a place.
        prefixes: installation prefixes of the Pythons whose ``mindspore/cache`` is looked for.
    """
    home = environ.get("HOME") or os.path.expanduser("~")
    found = [_moved(known, environ, home) for known in _HOME]
    found.append(Place("cache-server", "/tmp/mindspore", "dataset cache servers: sockets, logs", "no server runs"))
    found.append(
        Place(
            "shared-memory",
            "/dev/shm",
            "semaphores and buffers of Python workers",
            "the processes that made them are gone",
            prefixes=("sem.mp-", "psm_"),
        )
    )
    found += [_in_package(site) for prefix in prefixes for site in _sites(prefix)]
    unique = {place.path: place for place in found if os.path.isdir(place.path)}
    return tuple(unique.values())


def _moved(known: _Known, environ: Mapping[str, str], home: str) -> Place:
    moved = environ.get(known.variable) if known.variable else ""
    path = os.path.join(moved, known.below) if moved and known.below else moved or os.path.join(home, known.path)
    return Place(known.kind, path, known.detail, known.removable, known.variable)


def _sites(prefix: str) -> list[str]:
    library = os.path.join(prefix, "lib")
    try:
        names = sorted(os.listdir(library))
    except OSError:
        return []
    return [os.path.join(library, name, "site-packages") for name in names if _SITE.match(name)]


def _in_package(site: str) -> Place:
    path = os.path.join(site, "mindspore", "cache")
    return Place("package-cache", path, "a cache inside the installed package", "no job runs")
