"""What can be cached, seen alike: a MindSpore pipeline, a Python source with numbers, or an iterable."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Sequence, Tuple

from . import key as keys
from .digest import Digester
from .pipeline import CannotCache, analyse, is_dataset, random_access, rows
from .roots import is_plain, paths_in

_DEFAULT_NAMES = {1: ["data"], 2: ["data", "label"]}


class Subject(NamedTuple):
    """What is to be cached, whether pipeline or Python source.

    Attributes:
        item: gives a sample by its number; None where samples only come one after the other.
        items: gives all samples from a number on.
        number: how many there are; None where only the end tells.
        columns: their names; empty where they are not known before the first sample.
        options: of the GeneratorDataset over the cache.
        shuffled, shards: what the options stand for; None where it can't be said in these words.
        parts: for the key.
        roots: files and folders that it reads.
        plain: whether its data are in memory.
        uncached: makes the dataset without a cache.
        count_them: finds out how many there are, where ``number`` does not say it.
    """

    item: Optional[Callable[[int], Any]]
    items: Callable[[int], Generator[Any, None, None]]
    number: Optional[int]
    columns: List[str]
    options: Dict[str, Any]
    shuffled: Optional[bool]
    shards: Optional[Tuple[int, int]]
    parts: Dict[str, Any]
    roots: List[str]
    plain: bool
    uncached: Callable[[], Any]
    count_them: Optional[Callable[[], int]] = None


def subject_of(
    source: Any,
    digester: Digester,
    names: Optional[Sequence[str]],
    options: Dict[str, Any],
    deterministic: bool,
) -> Subject:
    if isinstance(names, str):
        names = [names]
    if not is_dataset(source):
        return _python(source, digester, list(names or []), options)
    found = analyse(source, digester, deterministic)
    given = {"sampler", "num_shards"} & options.keys()
    merged = {**{name: value for name, value in found.sampler.items() if not given or name != "sampler"}, **options}
    parts = {"pipeline": keys.order_of(found.nodes), "columns": None}
    if found.source is not None:
        inner, columns = found.source
        subject = _python(inner, digester, columns, merged)
        return subject._replace(parts={**parts, "columns": columns}, roots=found.roots, uncached=lambda: source)
    shards = found.shards if "num_shards" not in options else (options["num_shards"], options.get("shard_id", 0))
    return Subject(
        None,
        lambda start: rows(found.bare, start),
        None,
        list(source.get_col_names()),
        merged,
        options.get("shuffle", found.shuffled),
        shards,
        parts,
        found.roots,
        found.plain,
        lambda: source,
        lambda: int(copy.deepcopy(found.bare).get_dataset_size()),
    )


def _python(source: Any, digester: Digester, names: List[str], options: Dict[str, Any]) -> Subject:
    """A Python source: one with numbers, an iterable, or a function that returns an iterable."""
    numbered = random_access(source)
    if not numbered and not hasattr(source, "__iter__") and not callable(source):
        kind = type(source).__name__
        raise CannotCache(f"a {kind} is no source: it has neither __len__ and __getitem__, nor __iter__")
    if hasattr(source, "__next__"):
        raise CannotCache("an iterator gives its samples only once: give the iterable, or the function that makes it")
    parts = {"attributes": digester.digest(source, "the source"), "columns": names or None}
    if not numbered and "sampler" not in options:
        options = {"shuffle": False, **options}  # as MindSpore reads an iterable
    shards = (options.get("num_shards") or 1, options.get("shard_id") or 0)

    def items(start: int) -> Generator[Any, None, None]:
        if numbered:
            yield from (source[number] for number in range(start, len(source)))
            return
        for number, sample in enumerate(source if hasattr(source, "__iter__") else source()):
            if number >= start:
                yield sample

    def uncached() -> Any:
        from mindspore import dataset as ds

        width = len(names) or width_of(source[0] if numbered else next(items(0)))
        return ds.GeneratorDataset(source, names or default_names(width), **options)

    return Subject(
        source.__getitem__ if numbered else None,
        items,
        len(source) if numbered else None,
        names,
        options,
        bool(options.get("shuffle")) if "sampler" not in options else None,
        shards,
        parts,
        paths_in(vars(source)) if hasattr(source, "__dict__") else [],
        is_plain(source),
        uncached,
    )


def width_of(sample: Any) -> int:
    """Columns of a sample as a Python source gives it."""
    return len(sample) if isinstance(sample, (tuple, list)) else 1


def default_names(width: int) -> List[str]:
    """Column names for a Python source that was given none."""
    return _DEFAULT_NAMES.get(width) or [f"column_{index}" for index in range(width)]
