"""What a MindSpore pipeline is made of: its nodes for the key, its files, what in it is random, and its sampler.

Shuffling and sharding of the source are moved behind the cache: samples are cached in their own order and once for all
ranks, and the dataset over the cache is shuffled and sharded as the source was. That is the same as long as only
operations that look at one row lie between.
"""

from __future__ import annotations

import copy
from typing import Any, Dict, Generator, Iterator, List, NamedTuple, Optional, Tuple

from .digest import Digester
from .randomness import random_operation
from .roots import images_of_manifest, is_plain, paths_in

_ROW_WISE = frozenset({"MapDataset", "RenameDataset", "ProjectDataset"})
_KEPT_SAMPLERS = frozenset({"SequentialSampler", "SubsetSampler"})
"""They choose the same samples in the same order each time, and so stay where they are and count for the key."""
_NO_MATTER_NAMES = """children datasets parent num_parallel_workers cache saved_output_types saved_output_shapes
estimated_output_shapes runtime_context dataset_size python_multiprocessing process_pool callbacks max_rowsize offload
source_len sample_fn prepared_source generator_op"""
_NO_MATTER = frozenset(_NO_MATTER_NAMES.split())
"""Attributes of nodes that do not change what comes out, or that are described by themselves."""
_CODE = frozenset(["operations", "predicate", "per_batch_map", "batch_size_func", "collate_fn", "source"])


class CannotCache(ValueError):
    """A pipeline or a source can't be cached; the text says what stands against it and what to do."""


class Pipeline(NamedTuple):
    """A pipeline that can be cached.

    Attributes:
        bare: the same without shuffling and sharding.
        sampler: the options that make a GeneratorDataset shuffle and shard as it did.
        shuffled, shards: the same as words: whether it shuffles, and (number of shards, this one); None where a sampler
            of another kind chooses.
        nodes: (what, digest) of each node and transform, from the source on.
        roots: the files and folders that it reads.
        plain: whether its data are in memory.
        source: the Python source and its column names, where the pipeline is nothing else than that.
    """

    bare: Any
    sampler: Dict[str, Any]
    shuffled: Optional[bool]
    shards: Optional[Tuple[int, int]]
    nodes: List[Tuple[str, str]]
    roots: List[str]
    plain: bool
    source: Optional[Tuple[Any, List[str]]]


def analyse(dataset: Any, digester: Digester, deterministic: bool = False) -> Pipeline:
    """Look a pipeline over.

    Args:
        deterministic: the user answers for it that nothing in it is random.

    Raises:
        CannotCache: something in it is random, or already cached.
        Unhashable: the content of something in it can't be told.
    """
    chain = list(_chain(dataset))
    leaf = chain[-1]
    moves = not leaf.children and all(type(node).__name__ in _ROW_WISE for node in chain[:-1])
    bare = _copied(dataset)
    bare_leaf = list(_chain(bare))[-1]
    sampler, shuffled, shards = _move_sampler(bare_leaf) if moves else ({"shuffle": False}, False, (1, 0))
    roots: List[str] = []
    nodes: List[Tuple[str, str]] = []
    for node in _all_nodes(bare):
        if not deterministic:
            _refuse_random(node)
        if node.__dict__.get("cache"):
            raise CannotCache(f"{_label(node)} has a DatasetCache already: take one of the two")
        nodes += _node(node, digester)
        roots += _roots(node)
    alone = type(dataset).__name__ == "GeneratorDataset" and random_access(leaf.source)
    source = (leaf.source, list(leaf.column_names or [])) if alone and not getattr(leaf, "collate_fn", None) else None
    plain = all(is_plain(getattr(node, "source", None)) for node in _all_nodes(bare) if not node.children)
    return Pipeline(bare, sampler, shuffled, shards, nodes, roots, plain, source)


def is_dataset(value: Any) -> bool:
    """Whether a value is a MindSpore pipeline; MindSpore is not imported for the answer."""
    return any(kind.__name__ == "Dataset" and kind.__module__.startswith("mindspore.") for kind in type(value).__mro__)


def random_access(source: Any) -> bool:
    """Whether a Python source gives any sample by its number."""
    return hasattr(source, "__getitem__") and hasattr(source, "__len__")


def rows(bare: Any, skip: int = 0) -> Generator[Any, None, None]:
    """The rows of a pipeline as tuples of numpy arrays, once."""
    dataset = _copied(bare)
    dataset = dataset.skip(skip) if skip else dataset
    yield from dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)


def _copied(dataset: Any) -> Any:
    """A copy without consumers: a node may have only one, so that each reading has a pipeline of its own."""
    made = copy.deepcopy(dataset)
    made.parent = []
    return made


def _chain(dataset: Any) -> Iterator[Any]:
    """From the last node down to the first that has none or several before it."""
    yield dataset
    while len(dataset.children) == 1:
        dataset = dataset.children[0]
        yield dataset


def _all_nodes(dataset: Any) -> Iterator[Any]:
    for child in dataset.children:
        yield from _all_nodes(child)
    yield dataset


def _label(node: Any) -> str:
    return type(node).__name__


def _refuse_random(node: Any) -> None:
    if _label(node) == "ShuffleDataset":
        raise CannotCache("shuffle() gives another order in each epoch: call cache() before it")
    if _label(node) == "RandomDataset":
        raise CannotCache("RandomDataset makes its samples at random")
    if not node.children and _is_shuffled(node):
        raise CannotCache(
            f"{_label(node)} is shuffled and its rows are then put together: call cache() before that, or give it "
            f"shuffle=False"
        )
    for operation in getattr(node, "operations", []):
        name = random_operation(operation)
        if name:
            raise CannotCache(
                f"{name} draws at random, and what is cached would be drawn once for all epochs: call cache() before "
                f"the map with {name}"
            )


def _is_shuffled(leaf: Any) -> bool:
    if _label(leaf) == "GeneratorDataset" and not random_access(leaf.source):
        return False
    return bool(leaf.is_shuffled()) if hasattr(leaf, "is_shuffled") else False


def _move_sampler(leaf: Any) -> Tuple[Dict[str, Any], Optional[bool], Optional[Tuple[int, int]]]:
    """Take shuffling and sharding from a source; gives them as options of a GeneratorDataset, and as words."""
    from mindspore import dataset as ds

    shuffled, shards = leaf.shuffle_flag > 0, (leaf.num_shards or 1, leaf.shard_id or 0)
    leaf.shuffle_flag, leaf.num_shards, leaf.shard_id = 0, 1, 0
    if hasattr(leaf, "shuffle_option"):
        leaf.shuffle_option = ds.Shuffle.FALSE
    if not hasattr(leaf, "sampler"):
        return _options(ds, shuffled, shards, None), shuffled, shards
    sampler, name = leaf.sampler, type(leaf.sampler).__name__
    if sampler is None or (_label(leaf) == "GeneratorDataset" and not random_access(leaf.source)):
        leaf.sampler = None
        return {"shuffle": False}, False, (1, 0)
    if name in _KEPT_SAMPLERS and sampler.child_sampler is None:
        return {"shuffle": False}, False, (1, 0)
    if sampler.child_sampler is not None or name == "PKSampler" or getattr(leaf, "has_batch_sampler", False):
        raise CannotCache(
            f"{_label(leaf)} has a {name} that can't be put behind a cache: cache it with another sampler"
        )
    leaf.sampler, leaf.num_samples = ds.SequentialSampler(), 0
    if name == "RandomSampler" and not sampler.replacement:
        return _options(ds, True, (1, 0), sampler.num_samples), True if sampler.num_samples is None else None, (1, 0)
    if name == "DistributedSampler":
        shuffled, shards = bool(sampler.is_shuffled()), (sampler.num_shards, sampler.shard_id)
        return _options(ds, shuffled, shards, sampler.num_samples), shuffled, shards
    return {"sampler": sampler}, None, None


def _options(ds: Any, shuffled: bool, shards: Tuple[int, int], num_samples: Optional[int]) -> Dict[str, Any]:
    if shards[0] > 1:
        return {"sampler": ds.DistributedSampler(shards[0], shards[1], shuffled, num_samples)}
    return {"shuffle": shuffled, "num_samples": num_samples}


def _node(node: Any, digester: Digester) -> Iterator[Tuple[str, str]]:
    """(what, digest) of a node and of each transform that it applies."""
    label = _label(node)
    left_out = _NO_MATTER | _CODE
    plain = {name: value for name, value in vars(node).items() if not name.startswith("_") and name not in left_out}
    taken = len(digester.texts)
    yield label, digester.digest(sorted(plain.items()), label)
    del digester.texts[taken:]  # names of columns and the like; the paths among them are found by _roots
    for name in sorted(_CODE & vars(node).keys()):
        value = getattr(node, name)
        parts = value if name == "operations" else [value]
        for index, part in enumerate(parts):
            if part is not None:
                place = f"{label} {name}[{index}] {_name(part)}" if name == "operations" else f"{label} {name}"
                yield place, digester.digest(part, place)


def _name(operation: Any) -> str:
    return str(getattr(operation, "__qualname__", type(operation).__name__))


def _roots(node: Any) -> List[str]:
    """The paths that a source names in its attributes, or its Python source in its own."""
    if node.children:
        return []
    plain = {name: value for name, value in vars(node).items() if not name.startswith("_") and name not in _NO_MATTER}
    source = getattr(node, "source", None)
    named = images_of_manifest(node.dataset_file) if _label(node) == "ManifestDataset" else []
    return paths_in(plain) + named + (paths_in(vars(source)) if hasattr(source, "__dict__") else [])
