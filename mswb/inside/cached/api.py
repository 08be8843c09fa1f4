"""``cached``: the one function that a training calls."""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, List, Mapping, Optional, Sequence

from ..store import InvalidCacheFile
from . import key as keys
from .digest import Digester
from .files import digest, list_files
from .opening import Opening, Wishes
from .pipeline import CannotCache
from .roots import paths_among
from .say import say
from .subject import Subject, subject_of

ROOT_VARIABLE = "MSWB_CACHE_ROOT"
_NAME = re.compile(r"[^/\0\n]{1,200}$")


def cache_root() -> str:
    """Where caches lie: MSWB_CACHE_ROOT, else ``~/.mindspore/cache``."""
    return os.environ.get(ROOT_VARIABLE) or os.path.join(os.path.expanduser("~"), ".mindspore", "cache")


def cached(
    source: Any,
    name: str,
    cache_size: int = 1024,
    *,
    column_names: Optional[Sequence[str]] = None,
    version: Optional[str] = None,
    salt: str = "",
    strict: bool = False,
    files: Optional[Iterable[str]] = None,
    root: Optional[str] = None,
    deterministic: bool = False,
    eager: Optional[bool] = None,
    wait: bool = True,
    force: bool = False,
    **options: Any,
) -> Any:
    """A GeneratorDataset that reads ``source`` through a cache on the disk.

    Args:
        source: a MindSpore pipeline without random operations, an object with ``__len__`` and ``__getitem__``, or an
            iterable (or a function that returns one).
        name: names the cache; ``mswb cache clean --dataset NAME`` finds it by this.
        cache_size: MB (2**20 bytes) that it may take; what does not fit is read from the source each time.
        column_names: of a Python source; "data" and "label" by default.
        version: stands for code whose content can't be told; change it when the transform changes.
        salt: any text that makes it another cache.
        strict: tell files apart by their content (sha256), not by size and time; and stop with IndexError when the
            source has another number of samples than the cache.
        files: the files and folders that a Python source reads, where its attributes don't name them.
        root: where caches lie, instead of MSWB_CACHE_ROOT or ``~/.mindspore/cache``.
        deterministic: you answer for it that the source and its transforms give the same each time.
        eager: fill the whole cache now, not while samples are asked for. Sequences always are; with several shards,
            or workers that are spawned and so can't hand over what they read, it is the default.
        wait: while another process fills it, wait for that one; else read from the source meanwhile.
        force: take over the lease of a writer on another host, which can't be seen to be dead.
        options: of the GeneratorDataset: num_parallel_workers (1), python_multiprocessing (False), shuffle, sampler,
            num_shards, shard_id, num_samples, max_rowsize.

    Raises:
        CannotCache: something in it is random, or it is no source at all.
        Unhashable: the content of a transform can't be told: give ``version``.
        ValueError: "Invalid cache file format: PATH at byte N: REASON", where a header or an index is damaged.
        IndexError: ``strict``, and the cache has another number of samples than the source.
    """
    if not isinstance(name, str) or not _NAME.match(name) or name in (".", "..") or name.startswith("."):
        raise ValueError(f"{name!r} can't be the name of a cache: it names a folder")
    if not isinstance(cache_size, (int, float)) or cache_size <= 0:
        raise ValueError(f"cache_size is a number of MB above 0, not {cache_size!r}")
    place = os.path.abspath(root or cache_root())
    digester = Digester(tolerant=version is not None)
    subject = subject_of(source, digester, column_names, options, deterministic)
    if not deterministic and digester.random:
        function, drawn = sorted(digester.random.items())[0]
        raise CannotCache(
            f"cache {name!r}: {function} uses {drawn} at random, and what is cached would be drawn once for all "
            f"epochs: leave that to a map() after the cache, or give deterministic=True"
        )
    listed = list_files(_roots(name, subject, digester) if files is None else files, strict, [place])
    parts = {
        "name": name,
        "salt": salt,
        "version": version,
        "source": {"digest": digest(listed, strict), "strict": strict},
        "code": digester.code,
        "versions": keys.versions(digester.packages),
        "count": subject.count_them() if strict and subject.count_them is not None else subject.number,
        **subject.parts,
    }
    distributed = subject.shards is not None and subject.shards[0] > 1
    lazy = subject.item is not None and not (distributed or _spawns(options) if eager is None else eager)
    wishes = Wishes(name, int(cache_size * (1 << 20)), strict, not lazy, wait, force)
    try:
        return Opening(place, subject, wishes, parts, listed).dataset()
    except InvalidCacheFile as problem:
        raise ValueError(str(problem)) from None


def _roots(name: str, subject: Subject, digester: Digester) -> List[str]:
    """What the source reads, as far as its attributes and its code tell; says what they don't tell."""
    found = paths_among(digester.texts, subject.roots)
    for folder in found.left_out:
        say(f"{name}: {folder} holds the training itself, its files are not watched: name the data with files=[...]")
    if not found.paths and not subject.plain:
        say(f"{name}: no source files known: name them with files=[...]")
    return found.paths


def _spawns(options: Mapping[str, Any]) -> bool:
    """Whether workers will be processes that share nothing with this one (MindSpore 2.5 and later can be told so)."""
    if not options.get("python_multiprocessing") or (options.get("num_parallel_workers") or 1) < 2:
        return False
    from mindspore import dataset as ds

    config = getattr(ds, "config", None)
    method = getattr(config, "get_multiprocessing_start_method", lambda: "fork")
    return str(method()) != "fork"
