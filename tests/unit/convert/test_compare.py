"""The comparison of two arrays: what passes, what never may, and the numbers that are told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mswb.convert.verify import compare as module
from mswb.convert.verify.compare import LIMITS, compare

FLOATS = st.floats(-1e6, 1e6, width=32)


def f32(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


@given(arrays(np.float32, array_shapes(min_side=1, max_side=4), elements=FLOATS))
def test_what_is_equal_passes_with_no_error(one: np.ndarray[Any, Any]) -> None:
    found = compare(one, one.copy())
    assert (found.verdict, found.max_abs_error, found.scaled_error, found.close_share) == ("passed", 0.0, 0.0, 1.0)
    assert found.cosine == pytest.approx(1.0)


@given(arrays(np.float32, array_shapes(min_side=1, max_side=5), elements=FLOATS), st.data())
def test_one_wrong_element_is_found_where_it_is(one: np.ndarray[Any, Any], data: st.DataObject) -> None:
    at = tuple(data.draw(st.integers(0, size - 1)) for size in one.shape)
    other = one.copy()
    other[at] += np.float32(max(1.0, float(np.abs(one).max())))
    found = compare(other, one)
    assert (found.verdict, found.worst_index) == ("failed", at)
    assert found.max_abs_error == pytest.approx(float(np.abs(other.astype(float) - one).max()), rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_that_the_reference_has_not_never_passes(dtype: str) -> None:
    expected = np.ones(8, dtype)
    ours = expected.copy()
    ours[3] = np.nan
    for threshold in (None, 1e30, math.inf):
        found = compare(ours, expected, threshold)
        assert (found.verdict, found.nan_count, found.worst_index) == ("failed", 1, (3,))
        assert "NaN" in found.reason


def test_nan_in_the_same_places_is_equal_and_a_number_in_place_of_nan_is_not() -> None:
    expected = f32(1, np.nan, 2)
    assert compare(expected.copy(), expected).verdict == "passed"
    assert compare(f32(1, 0, 2), expected).verdict == "failed"
    assert compare(f32(1, 0, 2), expected, 1e9).verdict == "failed"


def test_infinities_must_be_the_same() -> None:
    expected = f32(1, np.inf, -np.inf)
    assert compare(expected.copy(), expected).verdict == "passed"
    assert compare(f32(1, np.inf, np.inf), expected).verdict == "failed"
    assert compare(f32(1, 3e38, -np.inf), expected).verdict == "failed"
    assert compare(f32(np.inf, np.inf, -np.inf), expected).verdict == "failed"


def test_nothing_compared_is_no_pass() -> None:
    assert compare(np.empty((0, 3), np.float32), np.empty((0, 3), np.float32)).verdict == "not-compared"
    assert compare(f32(np.nan, np.nan), f32(np.nan, np.nan)).verdict == "not-compared"
    assert compare(np.empty(0, np.int64), np.empty(0, np.int64)).verdict == "not-compared"


@pytest.mark.parametrize(
    "ours", [np.ones((2, 3), np.float32), np.ones((3, 2), np.float64), np.ones((1, 3, 2), np.float32), np.ones(6)]
)
def test_another_shape_or_type_fails(ours: np.ndarray[Any, Any]) -> None:
    found = compare(ours, np.ones((3, 2), np.float32))
    assert found.verdict == "failed" and "instead of float32 [3, 2]" in found.reason


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64"])
def test_whole_numbers_are_exact(dtype: str) -> None:
    expected = np.array([[0, 1], [1, 0]]).astype(dtype)
    ours = expected.copy()
    assert compare(ours, expected).verdict == "passed"
    ours[1, 1] = 1
    found = compare(ours, expected, threshold=10.0)
    assert (found.verdict, found.max_abs_error, found.worst_index) == ("failed", 1.0, (1, 1))


def test_differences_of_large_whole_numbers_do_not_wrap_around() -> None:
    assert compare(np.array([-128], np.int8), np.array([127], np.int8)).max_abs_error == 255
    assert compare(np.array([0], np.uint64), np.array([2**64 - 1], np.uint64)).max_abs_error == float(2**64 - 1)


def test_the_threshold_of_the_article_is_absolute() -> None:
    expected = f32(1000.0)
    ours = f32(1000.0 + 6e-5)
    assert compare(ours, expected).verdict == "passed"
    found = compare(ours, expected, 1e-5)
    assert (found.verdict, found.reason, found.limit) == ("failed", "max_abs_error", 1e-5)
    assert found.error == found.max_abs_error


def test_a_small_tensor_that_is_all_wrong_fails_by_its_direction() -> None:
    expected = f32(*np.linspace(1e-6, 5e-6, 50))
    found = compare(np.zeros_like(expected), expected)
    assert (found.verdict, found.reason) == ("failed", "cosine")
    assert compare(-expected, expected).verdict == "failed"


def test_rounding_noise_has_no_direction() -> None:
    assert compare(f32(3e-8, -2e-8), f32(-1e-8, 6e-8)).verdict == "passed"


def test_an_element_that_cancels_is_judged_among_the_others() -> None:
    expected = f32(*np.full(1000, 500.0))
    expected[7] = 1e-3
    ours = expected.copy()
    ours[7] += np.float32(1e-3)
    assert compare(ours, expected).verdict == "passed"
    ours[7] += np.float32(0.1)
    assert compare(ours, expected).verdict == "failed"


def test_the_numbers_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 7)
    noise = np.random.default_rng(1)
    expected = noise.standard_normal((9, 11)).astype(np.float32)
    ours = expected + noise.standard_normal((9, 11)).astype(np.float32) * np.float32(1e-3)
    error = np.abs(ours.astype(float) - expected.astype(float))
    found = compare(ours, expected)
    limits = LIMITS["float32"]
    rms = max(1.0, float(np.sqrt((expected.astype(float) ** 2).mean())))
    assert found.max_abs_error == pytest.approx(error.max(), rel=1e-6)
    assert found.mean_abs_error == pytest.approx(error.mean(), rel=1e-6)
    assert found.median_abs_error == pytest.approx(np.median(error), rel=1e-6)
    assert found.p99_abs_error == pytest.approx(np.sort(error.reshape(-1))[98 - 0], rel=0.2)
    assert found.scaled_error == pytest.approx((error / (limits.atol * rms + limits.rtol * np.abs(expected))).max())
    flat = ours.astype(float).reshape(-1), expected.astype(float).reshape(-1)
    assert found.cosine == pytest.approx(flat[0] @ flat[1] / np.linalg.norm(flat[0]) / np.linalg.norm(flat[1]))
    close = (error < 1e-3 * np.abs(expected)) | (error <= limits.atol * rms)
    assert found.close_share == pytest.approx(close.mean())
    assert found.worst_index == tuple(np.unravel_index(error.argmax(), error.shape))


def test_no_dimension_at_all() -> None:
    assert compare(np.array(1.5, np.float32), np.array(1.0, np.float32)).worst_index == ()
    assert compare(np.array(2, np.int64), np.array(1, np.int64)).worst_index == ()


def test_half_precision_against_single_is_judged_by_what_half_can_hold() -> None:
    single = np.array([0.1234567, -1e9, 3.0], np.float32)
    half = np.array([0.1234567, -65504, 3.0], np.float16)
    assert compare(half, single).verdict == "failed"
    assert compare(half, single, half="float16").verdict == compare(single, half, half="float16").verdict == "passed"
    assert compare(half, single, 1e-6, "float16").verdict == "failed"
    small = np.array([0.13, 3.0], np.float16)
    assert compare(small, np.array([0.1234567, 3.0], np.float32), half="float16").verdict == "passed"
    assert compare(small, np.array([0.1, 3.0], np.float32), half="float16").verdict == "failed"
    for wrong in ([0.1234567, -np.inf, 3.0], [0.1234567, np.nan, 3.0], [0.1234567, 65504, 3.0]):
        assert compare(np.array(wrong, np.float16), single, half="float16").verdict == "failed", wrong
    whole = np.arange(3)
    assert compare(whole, whole.astype(np.int32), half="float16").verdict == "failed"
