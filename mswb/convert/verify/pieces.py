"""A model's nodes in runs whose results fit into a budget of memory, and what passes from one run to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from mswb.convert.graph import Array
from mswb.convert.onnx.check import needs
from mswb.convert.onnx.inference import infer
from mswb.convert.onnx.model import types_of

UNKNOWN = 1 << 16
"""Bytes that a result of unknown size is taken for."""


@dataclass(frozen=True, slots=True)
class Run:
    """Nodes that run at once: ``reads`` is what they need from before, ``keeps`` what later ones need of theirs."""

    first: int
    nodes: tuple[NodeProto, ...]
    reads: tuple[str, ...]
    keeps: frozenset[str]


def runs(proto: ModelProto, given: Mapping[str, Array], budget: int) -> list[Run]:
    """The nodes of the main graph, in their order, in as few runs as the budget allows."""
    nodes = proto.graph.node
    bytes_of = _sizes(proto, given)
    starts, held = [0], 0
    for at, node in enumerate(nodes):
        own = sum(bytes_of.get(name, UNKNOWN) for name in node.output if name)
        if held and held + own > budget:
            starts.append(at)
            held = 0
        held += own
    spans = [(start, end) for start, end in zip(starts, [*starts[1:], len(nodes)], strict=True) if end > start]
    last = {name: at for at, node in enumerate(nodes) for name in needs(node)}
    return [_run(nodes[start:end], start, end, last) for start, end in spans]


def _run(nodes: Sequence[NodeProto], start: int, end: int, last: Mapping[str, int]) -> Run:
    made = {name for node in nodes for name in node.output if name}
    reads = tuple(dict.fromkeys(name for node in nodes for name in needs(node) if name not in made))
    return Run(start, tuple(nodes), reads, frozenset(name for name in made if last.get(name, -1) >= end))


def _sizes(proto: ModelProto, given: Mapping[str, Array]) -> dict[str, int]:
    """Bytes of each tensor whose shape follows from these inputs."""
    fixed = ModelProto()
    fixed.CopyFrom(proto)
    del fixed.graph.value_info[:]
    for value in fixed.graph.input:
        if value.name in given:
            dims = given[value.name].shape
            kind = value.type.tensor_type
            del kind.shape.dim[:]
            kind.shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=size) for size in dims)
    try:
        fixed = infer(fixed)
    except Exception:  # what is not known counts as UNKNOWN
        return {}
    return dict(_bytes(fixed))


def _bytes(proto: ModelProto) -> Iterator[tuple[str, int]]:
    for name, (dtype, shape) in types_of(proto):
        if shape is not None and None not in shape and dtype:
            width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
            yield name, width * int(np.prod([size or 0 for size in shape], dtype=np.int64))


class Store:
    """Arrays between runs: in memory when there is one run, else in files of a folder."""

    def __init__(self, folder: Path, first: Mapping[str, Array]) -> None:
        self._folder = folder
        self._first = dict(first)
        self._files: dict[str, Path] = {}

    def keep(self, name: str, array: Array) -> None:
        """Keep an array for later."""
        path = self._folder / f"{len(self._files)}.npy"
        np.save(path, array)
        self._files[name] = path

    def has(self, name: str) -> bool:
        """Whether an array of this name was kept or given."""
        return name in self._first or name in self._files

    def get(self, name: str) -> Array | None:
        """An array that was kept or given; None for another."""
        if name in self._first:
            return self._first[name]
        path = self._files.get(name)
        return None if path is None else np.load(path, allow_pickle=False)

    def all(self, names: Sequence[str]) -> dict[str, Array]:
        """Those of these that there are."""
        found = {name: self.get(name) for name in names}
        return {name: array for name, array in found.items() if array is not None}
