"""Inputs for a comparison: fresh random ones at several shapes, or those of a file.

What was converted must not be judged by the values and shapes that the conversion saw; so none of these comes from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto

from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.onnx.model import dtype_name
from mswb.findings import Where, stop

OPEN = "?"
"""The start of the key of a free dimension without a name."""
BATCHES: Sequence[int] = (2, 3, 1, 2, 1, 3, 1, 2, 1)
OTHERS: Sequence[int] = (7, 12, 5, 32, 64, 96, 224, 16, 1)
"""Sizes of free dimensions that are tried in turn, until the model takes three of them: those of the first dimension
of an input, and of others. Networks that halve a picture want multiples of 32."""
TABLES: Mapping[tuple[str, str], tuple[int, int]] = {("", "Gather"): (0, 1), ("", "GatherElements"): (0, 1)}
"""Operators that use an input as an index: which input is looked up, and which is the index."""
THROUGH = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand"})
"""Operators behind which a number is still the same number."""


@dataclass(frozen=True, slots=True)
class Declared:
    """An input of a model: its sizes are numbers, or keys of free dimensions. ``below``: what it indexes has so many
    entries; 0 when it is no index. ``ranked`` is False where the model says nothing of its shape; ``divides``: whole
    numbers are divided by it."""

    name: str
    dtype: str
    dims: tuple[int | str, ...]
    below: int = 0
    ranked: bool = True
    divides: bool = False


def declared(proto: ModelProto, skip: Sequence[str] = ()) -> tuple[Declared, ...]:
    """The inputs of a model, without weights and those in ``skip``."""
    graph = proto.graph
    known = {tensor.name for tensor in graph.initializer} | set(skip)
    return tuple(_declared(graph, value) for value in graph.input if value.name not in known)


def _declared(graph: GraphProto, value: Any) -> Declared:
    tensor = value.type.tensor_type
    dims: list[int | str] = []
    for at, dim in enumerate(tensor.shape.dim if tensor.HasField("shape") else ()):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(int(dim.dim_value))
        else:
            dims.append(dim.dim_param or f"{OPEN}{value.name}:{at}")
    if not tensor.HasField("shape"):
        dims = [f"{OPEN}{value.name}:0", f"{OPEN}{value.name}:1"]
    dtype = dtype_name(tensor.elem_type)
    is_whole = np.dtype(_numpy(dtype)).kind in "iu"
    below = _entries(graph, value.name) if is_whole else 0
    divides = is_whole and _divides(graph, value.name)
    return Declared(value.name, dtype, tuple(dims), below, tensor.HasField("shape"), divides)


def _numpy(dtype: str) -> str:
    return dtype if dtype and dtype not in ("bfloat16", "str") else "float32"


def _entries(graph: GraphProto, name: str) -> int:
    """How many entries the smallest table has that this tensor indexes; 0 for none that is known."""
    sizes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if all(dim.HasField("dim_value") for dim in dims):
            sizes.setdefault(value.name, tuple(dim.dim_value for dim in dims))
    same, found = _same(graph, name), list[int]()
    for node in graph.node:
        table, index = TABLES.get((node.domain, node.op_type), (0, 0))
        if index and len(node.input) > index and node.input[index] in same and sizes.get(node.input[table]):
            dims = sizes[node.input[table]]
            axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
            found += [dims[axis]] if -len(dims) <= axis < len(dims) else []
    return min(found, default=0)


def _same(graph: GraphProto, name: str) -> set[str]:
    """The tensors that hold the numbers of this one."""
    same = {name}
    for node in graph.node:
        if node.op_type in THROUGH and node.input and node.input[0] in same:
            same.update(node.output)
    return same


def _divides(graph: GraphProto, name: str) -> bool:
    """Whether something is divided by this tensor, where 0 has no result."""
    same = _same(graph, name)
    return any(node.op_type in ("Div", "Mod") and node.input[1] in same for node in graph.node if len(node.input) > 1)


def sizes(inputs: Sequence[Declared]) -> Iterator[dict[str, int]]:
    """Sizes for the free dimensions, in the order in which they are tried; one empty choice when none is free."""
    first = {one.dims[0] for one in inputs if one.dims and isinstance(one.dims[0], str)}
    keys = list(dict.fromkeys(dim for one in inputs for dim in one.dims if isinstance(dim, str)))
    if not keys:
        yield {}
        return
    for batch, other in zip(BATCHES, OTHERS, strict=True):
        named = {key: batch if key in first else other for key in keys}
        yield named


def random(
    inputs: Sequence[Declared], chosen: Mapping[str, int], seed: int, *, positive: bool = False, below: int = 10
) -> dict[str, Array]:
    """Random content for every input; the same for the same seed, whatever other inputs there are.

    Args:
        positive: no number is negative, for models that take a logarithm or a root of what they are given.
        below: whole numbers are less, for models that use them as indices in a way that is not known here.
    """
    found = {one.name: _random(one, _shape(one, chosen), seed, below) for one in inputs}
    return {name: np.abs(array) if positive and array.dtype.kind == "f" else array for name, array in found.items()}


def _shape(one: Declared, chosen: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else chosen[dim] for dim in one.dims)


def _random(one: Declared, shape: tuple[int, ...], seed: int, below: int) -> Array:
    """Normal numbers; truth values; whole numbers from 0 on, of bytes all there are, of indices the valid ones."""
    noise = np.random.default_rng([seed, zlib.crc32(one.name.encode("utf-8", "surrogateescape"))])
    dtype = np.dtype(_numpy(one.dtype))
    if dtype.kind == "b":
        return noise.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        return (noise.standard_normal(shape) + 1j * noise.standard_normal(shape)).astype(dtype)
    if dtype.kind in "iu":
        low, high = (0, one.below or below) if dtype.itemsize > 1 or one.below else _all(dtype)
        numbers = noise.integers(low, high, shape)
        return np.where(numbers == 0, 1, numbers).astype(dtype) if one.divides else numbers.astype(dtype)
    return np.asarray(noise.standard_normal(shape)).astype(dtype)


def _all(dtype: np.dtype[Any]) -> tuple[int, int]:
    about = np.iinfo(dtype)
    return int(about.min), int(about.max) + 1


def from_file(path: str, inputs: Sequence[Declared]) -> dict[str, Array]:
    """The arrays of an .npz file, one for each input by name.

    Raises:
        MswbError: ``verify-inputs``: it can't be read, or an array is missing, of another type or another shape.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            given = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, AttributeError) as problem:
        raise _stop(path, f"it is no .npz file of arrays: {plain(str(problem))}") from None
    except Exception as problem:  # zipfile and numpy's header parser have errors of their own
        raise _stop(path, f"it can't be read: {plain(str(problem))}") from None
    wanted = {one.name: one for one in inputs}
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
    if missing or extra:
        told = f"no array for {', '.join(map(plain, missing))}" if missing else ""
        told += ("; " if missing and extra else "") + (f"no input {', '.join(map(plain, extra))}" if extra else "")
        raise _stop(path, told)
    bound: dict[str, int] = {}
    for name, one in wanted.items():
        _see(path, one, given[name], bound)
    return {name: given[name] for name in wanted}


def _see(path: str, one: Declared, array: Array, bound: dict[str, int]) -> None:
    if array.dtype.name != one.dtype:
        raise _stop(path, f"{plain(one.name)} is {array.dtype.name} instead of {one.dtype}")
    if not one.ranked:
        return
    fits = len(array.shape) == len(one.dims) and all(
        size == (dim if isinstance(dim, int) else bound.setdefault(dim, size))
        for size, dim in zip(array.shape, one.dims, strict=True)
    )
    if not fits:
        wanted = [str(bound.get(str(dim), dim)) for dim in one.dims]
        raise _stop(path, f"{plain(one.name)} is {list(array.shape)} instead of [{', '.join(map(plain, wanted))}]")


def _stop(path: str, reason: str) -> Exception:
    return stop("verify-inputs", where=Where(file=path), values={"reason": reason})
