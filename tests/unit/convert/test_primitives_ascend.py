"""Operators of other devices than the CPU, whose results MindSpore documents as PyTorch's: against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from mswb.convert.graph import Builder, Value
from tests.unit.convert.primitive_models import agree, call, several

RNG = np.random.default_rng(2)
X = RNG.normal(size=(4, 5, 3)).astype(np.float32)


def test_rows_and_places_of_a_flat_tensor() -> None:
    agree(lambda b, x, i: b.op("IndexSelect", x, 1, i), [X, np.array([0, 3, 0])], [X[:, [0, 3, 0]]])
    agree(call("Take"), [X, np.array([[0, -1], [7, 2]])], [X.reshape(-1)[[[0, -1], [7, 2]]]])


def test_tensors_as_indices_of_the_first_dimensions() -> None:
    first, second = np.array([[0], [-1]]), np.array([1, 2, 0])
    agree(lambda b, x, i, j: b.op("Index", x, b.tuple([i, j])), [X, first, second], [X[first, second]])


@pytest.mark.parametrize("falling", [False, True])
def test_sorting_with_wide_places(falling: bool) -> None:
    x = np.array([[3, 1, 3, 2], [0, 5, 5, 1]], np.float32)
    order = np.argsort(-x if falling else x, axis=1, kind="stable")
    make = several("SortExt", ["float32", "int64"], 1, falling, True)
    agree(make, [x], [np.take_along_axis(x, order, 1), order])
    agree(call("ArgSort", 1, falling, True), [x], [order])


@pytest.mark.parametrize("kept", [False, True])
def test_the_kth_smallest(kept: bool) -> None:
    order = np.argsort(X, axis=1, kind="stable")[:, 1:2]
    wanted = [np.take_along_axis(X, order, 1), order]
    make = several("Kthvalue", ["float32", "int64"], 2, 1, kept)
    agree(make, [X], wanted if kept else [one[:, 0] for one in wanted])


def test_slices_added_with_a_factor() -> None:
    index, new = np.array([2, 0, 2]), RNG.normal(size=(4, 3, 3)).astype(np.float32)
    wanted = X.copy()
    for at, place in enumerate(index):
        wanted[:, place] += 2.5 * new[:, at]
    agree(lambda b, x, i, n: b.op("IndexAddExt", x, 1, i, n, 2.5), [X, index, new], [wanted])


def test_elements_added_where_an_index_tells() -> None:
    index, new = np.array([[0, 2], [2, 2]]), np.array([[1, 2], [3, 4]], np.float32)
    x = np.zeros((2, 3), np.float32)
    agree(lambda b, x, i, n: b.op("ScatterAddExt", x, 1, i, n), [x, index, new],
          [np.array([[1, 0, 2], [0, 0, 7]], np.float32)])  # fmt: skip


@pytest.mark.parametrize("added", [False, True])
def test_values_put_into_what_they_are_put_into(added: bool) -> None:
    first, second, new = np.array([0, 1, 0]), np.array([1, 2, 1]), np.array([[1.0], [2.0], [3.0]], np.float32)
    wanted = X.copy()
    if added:
        np.add.at(wanted, (first, second), new)
    else:
        first, second, new = first[:2], second[:2], new[:2]
        wanted[first, second] = new

    def make(b: Builder, x: Value, i: Value, j: Value, n: Value) -> Value:
        return b.op("InplaceIndexPut", x, b.tuple([i, j]), n, added)

    agree(make, [X, first, second, new], [wanted])


def test_distinct_values_in_order_with_places_and_counts() -> None:
    x = np.array([[3, 1], [3, 2]])
    make = several("Unique2", ["int64"] * 3, True, True, True)
    agree(make, [x], [np.array([1, 2, 3]), np.array([[2, 0], [2, 1]]), np.array([1, 1, 2])])


@pytest.mark.parametrize("name", ["IndexFillScalar", "InplaceIndexFillScalar"])
def test_slices_filled_with_a_number(name: str) -> None:
    wanted = X.copy()
    wanted[:, :, [0, -1]] = 0.5
    agree(lambda b, x, i: b.op(name, x, -1, i, 0.5), [X, np.array([0, -1])], [wanted])


def test_a_table_of_words() -> None:
    table, words = RNG.normal(size=(6, 2)).astype(np.float16), np.array([[1, 5], [0, 1]], np.int32)
    agree(lambda b, i, w: b.op("Embedding", i, w, None, None, 2.0, False, dtype="float16"), [words, table],
          [table[words]])  # fmt: skip
