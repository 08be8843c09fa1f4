"""The steps that MindSpore leaves of Python's indexing where sizes are open, against numpy's indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mswb.convert.graph import Builder, Value
from tests.unit.convert.primitive_models import agree

X = np.random.default_rng(5).normal(size=(3, 4, 5)).astype(np.float32)
ELLIPSIS, SLICE, TENSOR = 9, 15, 17
ONE, TWO = np.array([1, 2]), np.array([0, 3])


def _index(b: Builder, x: Value, key: tuple[Any, ...], tensors: tuple[Value, ...]) -> Value:
    """x[key] as MindSpore writes it; arrays of the key are given as inputs, in order."""
    kinds = [ELLIPSIS if one is Ellipsis else SLICE if isinstance(one, slice) else TENSOR for one in key]
    types = (*kinds, *(0,) * (8 - len(kinds)))
    waiting = iter(tensors)
    given, behind = [], []
    for axis, one in enumerate(key):
        common = {"tuple_index_types": types, "tuple_index_axis": axis, "expand_dims_mask": 0}
        if isinstance(one, slice):
            ends = (one.start or 0, one.stop or 0, one.step or 1)
            missing = tuple(int(end is None) for end in (one.start, one.stop, one.step))
            whole = b.op("SliceToIndices", x, *ends, dtype="tuple", attributes={**common, "init_by_none": missing})
            given.append(b.item(whole, 0, "int64", (None, 1)))
        elif one is Ellipsis:
            for place in range(X.ndim - len(key) + 1):
                own = {**common, "tuple_index_axis": place, "origin_index_type": "ellipsis_index"}
                behind.append(b.op("NormalizeTupleIndex", x, 0, dtype="int64", attributes=own))
        elif isinstance(one, int):
            own = {**common, "origin_index_type": "int_index"}
            given.append(b.op("NormalizeTupleIndex", x, one, dtype="int64", shape=(), attributes=own))
        else:
            given.append(next(waiting))
    given += behind
    settings = {"tuple_index_types": types, "expand_dims_cnt": 0}
    info = b.op("GetTupleIndexInfo", x, 0, *given, *(1,) * (8 - len(given)), dtype="tuple", attributes=settings)
    final, new = b.item(info, 3, "tuple"), b.item(info, 2, "tuple")
    slices = iter(range(4, 12))
    behind_kinds = [SLICE] * len(behind)
    plain = [one for one in kinds if one != ELLIPSIS] + behind_kinds
    parts = []
    for one, kind in zip(given, plain, strict=True):
        if kind == TENSOR:
            one = b.op("BroadcastTo", one, b.item(info, 1, "tuple"))
            shape = new
        else:
            shape = b.item(info, next(slices), "tuple")
        parts.append(b.op("ExpandDims", b.op("BroadcastTo", b.op("Reshape", one, shape), final), -1))
    order = plain if not behind else _in_place(kinds, len(behind))
    ordered = parts if not behind else [parts[place] for place in order]
    return b.op("GatherNd", x, b.op("Concat", b.tuple(ordered), -1), dtype="float32")


def _in_place(kinds: list[int], behind: int) -> list[int]:
    """The places of what the ellipsis stands for, which is given at the end."""
    at, count = kinds.index(ELLIPSIS), len(kinds) - 1
    return [*range(at), *range(count, count + behind), *range(at, count)]


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), ONE),
        (slice(None), slice(None), TWO),
        (ONE, slice(1, 3)),
        (ONE, slice(None), TWO),
        (ONE, TWO),
        (-1, TWO),
        (slice(None, None, -1), ONE, slice(-3, None)),
        (slice(None), ONE[:, None], TWO),
        (..., TWO),
        (ONE, ..., TWO),
        (-1, ..., TWO),
        (slice(1, None), slice(0, 9, 2), TWO),
    ],
    ids=str,
)
def test_an_index_gives_what_numpys_gives(key: tuple[Any, ...]) -> None:
    tensors = [one for one in key if isinstance(one, np.ndarray)]
    agree(lambda b, x, *given: _index(b, x, key, given), [X, *tensors], [X[key]])
