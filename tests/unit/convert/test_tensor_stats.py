"""Tensors in numbers, and errors by decade."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mswb.convert.verify import tensor_stats as module
from mswb.convert.verify.compare import compare
from mswb.convert.verify.tensor_stats import Counter, Errors, statistics

Numbers = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every test has several."""
    monkeypatch.setattr(module, "PIECE", 3)


@given(arrays(np.float32, array_shapes(max_side=5), elements=st.floats(-1e6, 1e6, width=32)))
def test_the_pieces_give_what_the_whole_gives(one: Numbers) -> None:
    found = statistics(one)
    wide = one.astype(np.float64)
    assert found is not None
    assert (found.minimum, found.maximum) == (wide.min(), wide.max())
    assert found.mean == pytest.approx(wide.mean(), abs=1e-9 * (1 + np.abs(wide).max()))
    assert found.std == pytest.approx(wide.std(), abs=1e-6 * (1 + np.abs(wide).max()))
    assert found.zeros == np.mean(one == 0)


def test_what_is_not_finite_is_counted_and_nothing_else() -> None:
    found = statistics(np.array([[1, np.nan, 3, np.inf, 0]], np.float16))
    assert found is not None
    assert (found.minimum, found.maximum, found.not_finite, found.zeros) == (0, 3, 2, 0.2)
    assert found.mean == pytest.approx(4 / 3)


@pytest.mark.parametrize("one", [np.full(4, np.nan), np.empty((0, 3)), np.array(["a"]), np.array([b"a"], object)])
def test_no_number_no_statistics(one: Numbers) -> None:
    assert statistics(one) is None


def test_truth_values_and_complex_numbers_have_them() -> None:
    truth, parts = statistics(np.array([True, False, True])), statistics(np.array([3 + 4j, 0]))
    assert truth is not None and parts is not None
    assert (truth.minimum, truth.maximum, truth.zeros) == (0, 1, 1 / 3)
    assert parts.maximum == 5


@given(st.lists(st.tuples(st.integers(-40, 30), st.floats(1.01, 9.99)), max_size=20), st.integers(0, 5))
def test_every_error_is_in_its_decade(parts: list[tuple[int, float]], exact: int) -> None:
    errors = np.array([float(f"{digits}e{at}") for at, digits in parts] + [0.0] * exact)
    counter = Counter()
    for start in range(0, errors.size, 3):
        counter.add(errors[start : start + 3])
    found = counter.found()
    wanted = {at: sum(other == at for other, _ in parts) for at, _ in parts}
    assert (found.exact, found.decades, found.infinite) == (exact, wanted, 0)


def test_a_comparison_counts_its_errors() -> None:
    expected = np.array([1, 1, 1, np.nan, 1], np.float64)
    ours = np.array([1, 1.25, 1 + 3e-9, np.nan, np.inf])
    found = compare(ours, expected).errors
    assert found == Errors(2, {-9: 1, -1: 1}, 1)
    assert found.as_json() == [
        {"from": 0, "count": 2},
        {"from": 1e-9, "count": 1},
        {"from": 0.1, "count": 1},
        {"from": "inf", "count": 1},
    ]
    assert compare(expected.copy(), expected.copy()).errors == Errors(5)


def test_whole_numbers_are_counted_too() -> None:
    ours, expected = np.array([1, 2, 30], np.int64), np.array([1, 2, 7], np.int64)
    assert compare(ours, expected).errors == Errors(2, {1: 1})
    assert compare(expected, expected).errors == Errors(3, {})
    assert compare(np.array(["a"]), np.array(["b"])).errors is None
