"""What lies in the folder of a cache and is none of its files: a folder that holds such a thing is not a cache alone.

Folders are recognised by names that anybody may use (``kernel_meta``, ``ir``) or by one file that anybody may copy. So
each name in them, at any depth, must be one that the maker of that cache writes. The tables say which, by what CANN 8,
MindSpore 2.0-2.10 and mswb itself leave.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mswb.cache.filecache.folders import INDEX, SHARD

_ROLE = r"(?:MS_[A-Z]+_?)?"
GRAPHS = re.compile(
    _ROLE + r"(?:compile_dependency\.hash|(?:backend_)?compile_cache_\d+[\w.]*"
    r"|(?:\d+_?)?(?:data_queue_name|backinfo)[\w.]*\.json|group_\d+\.ckpt|mswb-seal\.json)$"
)
KERNEL_FOLDER = re.compile(r"(?:akg_)?kernel_meta(?:_(?:temp_)?\w*\d\w*|_temp_dir)?$")
KERNEL = re.compile(
    r".+\.(?:o|so|info|cce|ptx|cubin)$|buildPidInfo\.json$|op_cache\.(?:ini|lock)$|task_pid_[\d_]+\.txt$"
    r"|Fused_\w+\.json$"
)
_BESIDE_KERNEL = (".json", ".lock", ".h")
"""Suffixes that belong to a kernel only beside its binary ``STEM.o``, or those of its cores (``STEM_mix_aic.o``)."""
SOMAS = re.compile(r"somas_\w+\.(?:json|info|ir)$")
_DUMPS: Mapping[str, re.Pattern[str]] = {
    "ir": re.compile(r".+\.(?:ir|dot|pb|dat)$"),
    "om": re.compile(r"analyze_fail\.\w+$|.+\.(?:ir|om|npy|dat|pb)$"),
    "rdr": re.compile(r".+\.(?:ir|pb|dat)$|\w+\.\w+[\w.-]*\.(?:txt|log|json)$"),
    "graph_kernel_dump": re.compile(r".+\.(?:txt|ir|info|dot)$"),
}
_PLAIN = re.compile(r".*\.mindrecord\d*(?:\.db)?$")
_STORED = re.compile(
    rf"(?:{SHARD.pattern}|{INDEX.pattern}|(?:manifest|stats)\.json$|source\.list$|LOCK$|\.stats\.lock$"
    r"|\.LOCK\.(?:test\.)?[0-9a-f]+$|\.stats\.json\.\d+\.\d+$)"
)
_PACKAGED = re.compile(r"(?!.*\.(?:py|pyi|so)$)")
"""Known by its place in the package, whatever its files; but a package of that name holds code."""
_SPILL = re.compile(r"IMG\d{5}\.LB$")
_TEMPORARY = re.compile(r"\.(?P<of>.+)\.[^.]+\.tmp$")
"""What an interrupted write of ours leaves; ``of`` is the name that it was to have."""
_NO_FOLDER = re.compile(r"(?!)")
_ANY_FOLDER = re.compile(r"")


@dataclass(frozen=True, slots=True)
class _Form:
    """``files`` match all names of files in such a cache, ``folders`` those of folders in it."""

    files: tuple[re.Pattern[str], ...]
    folders: re.Pattern[str] = _NO_FOLDER
    with_companions: bool = False


_KERNELS = _Form((KERNEL,), _ANY_FOLDER, with_companions=True)
_FORMS: Mapping[str, _Form] = {
    "file-cache": _Form((_STORED,)),
    "compile-cache": _Form(
        (GRAPHS, KERNEL, SOMAS), re.compile(rf"somas_meta$|{KERNEL_FOLDER.pattern}"), with_companions=True
    ),
    "kernel-cache": _KERNELS,
    "memory-plan": _Form((SOMAS,)),
    "plain-copy": _Form((_PLAIN,)),
    "cache-spill": _Form((_SPILL,)),
    "package-cache": _Form((_PACKAGED,), _ANY_FOLDER),
}


def belongs(form: str, folder: str, names: Sequence[str]) -> list[bool]:
    """For each name of a file in a folder, whether a cache of this form, lying there, holds such a file.

    Args:
        form: a kind of :data:`mswb.cache.sniff.KINDS`; a file of a form without a table belongs to it.
        folder: the base name of the folder, which decides what a dump holds.
    """
    rules = _of(form, folder)
    if rules is None:
        return [True] * len(names)
    binaries = sorted(name for name in names if KERNEL.match(name)) if rules.with_companions else []
    return [_is_one(_meant(name), rules, binaries) for name in names]


def stranger(path: str, form: str, cancelled: Callable[[], bool] = lambda: False) -> str | None:
    """The first thing in a cache that is none of its files, relative to it; None where all is its own.

    A file is its own. Links are not followed: their names decide. A folder that can't be read is a stranger.
    """
    rules = _of(form, os.path.basename(path))
    if rules is None or os.path.islink(path) or not os.path.isdir(path):
        return None
    found = (name for folder in _folders(path) for name in _strange(folder, path, form, rules))
    return next((os.path.relpath(name, path) for name in found if not cancelled()), None)


def _of(form: str, folder: str) -> _Form | None:
    if form == "dump":
        return _Form((_DUMPS[folder],)) if folder in _DUMPS else None
    return _FORMS.get(form)


def _folders(path: str) -> Iterator[str]:
    pending = [path]
    while pending:
        here = pending.pop()
        yield here
        try:
            with os.scandir(here) as entries:
                pending += sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue


def _strange(folder: str, top: str, form: str, rules: _Form) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        yield folder
        return
    files = [name for name, is_folder in found if not is_folder]
    known = belongs(form, os.path.basename(top), files)
    yield from (os.path.join(folder, name) for name, own in zip(files, known, strict=True) if not own)
    yield from (os.path.join(folder, name) for name, is_folder in found if is_folder and not rules.folders.match(name))


def _is_one(name: str, rules: _Form, binaries: Collection[str]) -> bool:
    if any(pattern.match(name) for pattern in rules.files):
        return True
    stem, suffix = os.path.splitext(name)
    return suffix in _BESIDE_KERNEL and any(one.startswith((stem + ".", stem + "_")) for one in binaries)


def _meant(name: str) -> str:
    found = _TEMPORARY.match(name)
    return found["of"] if found else name
