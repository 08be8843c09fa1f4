"""Reductions, places of extremes, running results and softmax: our ONNX and our evaluation against numpy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert.evaluator import evaluate
from mswb.convert.mindir.reader import read_file
from tests.unit.convert.primitive_models import Make, agree, call, run_onnx, same, several, written

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)
TIES = np.round(X)
FEW = settings(max_examples=5, deadline=None)
AXES = st.sampled_from([(), (0,), (1,), (-1,), (0, 2), (1, -1), (0, 1, 2)])
INTEGERS = st.sampled_from(["int8", "uint8", "int16", "int32", "int64"])


def integers(dtype: str) -> Any:
    return RNG.integers(0 if dtype[0] == "u" else -90, 120, (2, 3, 4)).astype(dtype)


def over(axes: tuple[int, ...]) -> Any:
    return axes or None


def soft(x: Any, axis: Any) -> Any:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def fixed(make: Make, inputs: list[Any], expected: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(make, inputs, Path(folder))
        same(run_onnx(path, inputs), expected, 1e-5, "onnx")
        same(evaluate(path, read_file(path), inputs), expected, 1e-5, "evaluation")


# -- reductions


@given(AXES, st.booleans())
@FEW
def test_reductions_of_fractions(axes: tuple[int, ...], keep: bool) -> None:
    for name, function in (("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min),
                           ("ReduceProd", np.prod)):  # fmt: skip
        more = (False,) if name == "ReduceSum" else ()
        expected = function(X, axis=over(axes), keepdims=keep).astype(np.float32)
        agree(call(name, axes, keep, *more), [X], [expected])


@given(AXES, st.booleans(), INTEGERS)
@FEW
def test_integers_wrap_and_means_have_no_remainder(axes: tuple[int, ...], keep: bool, dtype: str) -> None:
    x = integers(dtype)
    total = np.sum(x, axis=over(axes), keepdims=keep, dtype=dtype)
    agree(call("ReduceSum", axes, keep, False), [x], [total])
    count = x.size // total.size
    mean = np.array([int(int(one) / count) for one in total.reshape(-1)]).reshape(total.shape).astype(dtype)
    agree(call("ReduceMean", axes, keep), [x], [mean])
    fixed(call("ReduceProd", axes, keep), [x], [np.prod(x, axis=over(axes), keepdims=keep, dtype=dtype)])
    agree(call("ReduceMax", axes, keep), [x], [np.max(x, axis=over(axes), keepdims=keep)])


def test_newer_operators_make_integers_wide_or_what_is_asked_for() -> None:
    x = integers("int8")
    agree(call("SumExt", (1,), True, None), [x], [np.sum(x, axis=1, keepdims=True, dtype=np.int64)])
    agree(call("ProdExt", 1, False, None), [x > 0], [np.prod(x > 0, axis=1, dtype=np.int64)])
    agree(call("SumExt", None, False, 34), [X], [np.int32(np.trunc(X).sum())])
    agree(call("MeanExt", (0,), False, 43), [x], [x.astype(np.float32).mean(axis=0)])
    agree(call("SumExt", (1,), False, 42), [X], [X.sum(axis=1).astype(np.float16)], 2e-3)


def test_a_sum_over_no_axis_may_be_skipped() -> None:
    agree(call("ReduceSum", (), False, True), [X], [X])
    agree(call("ReduceSum", (), False, False), [X], [X.sum()])


def test_truth() -> None:
    x = TIES > 0
    agree(call("ReduceAll", (1,), False), [x], [x.all(axis=1)])
    agree(call("ReduceAny", (), True), [x], [x.any(keepdims=True)])
    agree(call("ReduceAll", (1,), False), [TIES], [(TIES != 0).all(axis=1)])
    agree(call("ReduceSum", (1,), False, False), [x], [x.any(axis=1)])


def test_what_is_in_one_piece_has_no_axis() -> None:
    x = np.array(2.5, np.float32)
    agree(call("ReduceSum", (), False, False), [x], [x])
    agree(call("ReduceMean", (0,), True), [x], [x])


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_spread(correction: int) -> None:
    agree(call("Var", (1,), correction, True), [X], [X.var(axis=1, ddof=correction, keepdims=True)])
    agree(call("Std", None, correction, False), [X], [X.std(ddof=correction)])
    both = several("VarMean", ["float32"] * 2, (0, 2), correction, False)
    agree(both, [X], [X.var(axis=(0, 2), ddof=correction), X.mean(axis=(0, 2))])
    both = several("ReduceStd", ["float32"] * 2, (1,), bool(correction), False)
    agree(both, [X], [X.std(axis=1, ddof=min(correction, 1)), X.mean(axis=1)])


def test_norms() -> None:
    for order, name in ((1.0, "one"), (2.0, "two"), (3.0, "three"), (float("inf"), "largest")):
        expected = np.linalg.norm(X, order, axis=1)
        agree(call("Norm", order, (1,), False, None), [X], [expected])
        agree(call("LpNorm", axis=(1,), p=order, keep_dims=False), [X], [expected]) if name != "largest" else None
    agree(call("LpNorm", axis=(0, 2), p=2, keep_dims=True), [X], [np.sqrt(np.square(X).sum((0, 2), keepdims=True))])
    agree(call("LinalgVectorNorm", 0.0, (1,), False, None), [TIES], [(TIES != 0).sum(1).astype(np.float32)])


def test_other_reductions() -> None:
    agree(call("LogSumExp", (1,), True), [X], [np.log(np.exp(X).sum(1, keepdims=True))])
    agree(call("CountNonZero", (1,)), [TIES], [np.count_nonzero(TIES, axis=1)])
    holes = X.copy()
    holes[0, 1, 2] = np.nan
    agree(call("Nansum", (1,), False, None), [holes], [np.nansum(holes, axis=1)])
    agree(call("Max"), [X], [X.max()])
    agree(call("AnyExt", 1, True), [TIES], [(TIES != 0).any(axis=1, keepdims=True)])


def test_an_axis_that_only_the_run_tells() -> None:
    agree(call("ReduceSum", True, False), [X, np.array([1], np.int64)], [X.sum(axis=1, keepdims=True)])


# -- places


@given(st.sampled_from([0, 1, 2, -1]), st.booleans(), st.sampled_from(["float32", "float16", "int32", "int16"]))
@FEW
def test_places_are_those_of_the_first(axis: int, keep: bool, dtype: str) -> None:
    x = (TIES * 2).astype(dtype)
    largest, smallest = (one(x, axis=axis, keepdims=keep) for one in (np.argmax, np.argmin))
    agree(several("ArgMaxWithValue", ["int64", dtype], axis, keep), [x], [largest, x.max(axis=axis, keepdims=keep)])
    agree(several("MinDim", [dtype, "int64"], axis, keep), [x], [x.min(axis=axis, keepdims=keep), smallest])
    agree(call("ArgMaxExt", axis, keep), [x], [largest])


def test_places_have_the_data_type_that_is_asked_for() -> None:
    agree(call("Argmax", -1, 34), [TIES], [TIES.argmax(-1).astype(np.int32)])
    agree(call("Argmin", 1, 35), [TIES], [TIES.argmin(1)])
    agree(call("ArgMaxExt", None, False), [X], [X.argmax()])
    agree(call("ArgMaxExt", None, True), [X], [X.argmax().reshape(1, 1, 1)])


def test_the_middle() -> None:
    x = X.reshape(3, 8)
    place = np.argsort(x, axis=1, kind="stable")[:, 3:4]
    agree(several("MedianDim", ["float32", "int64"], 1, True), [x], [np.take_along_axis(x, place, 1), place])
    agree(call("MedianExt"), [x], [np.sort(x.reshape(-1))[11]])
    whole = several("MedianDim", ["int32", "int64"], -1, False)
    agree(whole, [np.array([[3, 1, 2]], np.int32)], [np.array([2], np.int32), np.array([2])])
    holes = x.copy()
    holes[1, 5] = np.nan
    options = {"axis": 1, "keep_dims": False, "global_median": False}
    lost = np.where(np.isnan(holes).any(1), np.nan, np.sort(x, 1)[:, 3]).astype(np.float32)
    places = np.where(np.isnan(lost), 5, place[:, 0])
    both = several("Median", ["float32", "int64"], attributes={**options, "ignore_nan": False})
    agree(both, [holes], [lost, places])
    found = np.array([np.sort(row[~np.isnan(row)])[(np.sum(~np.isnan(row)) - 1) // 2] for row in holes])
    places = np.array([int(np.flatnonzero(row == one)[0]) for row, one in zip(holes, found, strict=True)])
    agree(several("Median", ["float32", "int64"], attributes={**options, "ignore_nan": True}), [holes], [found, places])


# -- running results


@given(st.sampled_from([0, 1, -1]), st.booleans(), st.booleans(), st.sampled_from(["float32", "int8", "int32"]))
@FEW
def test_running_sums_and_products(axis: int, exclusive: bool, reverse: bool, dtype: str) -> None:
    x = X if dtype == "float32" else integers(dtype)

    def expected(function: Any, first: int) -> Any:
        given = np.flip(x, axis) if reverse else x
        if exclusive:
            given = np.roll(given, 1, axis)
            np.moveaxis(given, axis, 0)[0] = first
        found = function(given, axis, dtype=dtype)
        return np.flip(found, axis) if reverse else found

    agree(call("CumSum", axis, exclusive, reverse), [x], [expected(np.cumsum, 0)])
    agree(call("CumProd", axis, exclusive, reverse), [x], [expected(np.cumprod, 1)])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_running_extremes_point_to_the_last_of_equals(dtype: str) -> None:
    x = np.array([[2, 1, 2, 3, 0], [0, 0, -1, -1, 4]], dtype)
    agree(several("Cummax", [dtype, "int64"], 1), [x],
          [np.maximum.accumulate(x, 1), np.array([[0, 0, 2, 3, 3], [0, 1, 1, 1, 4]])])  # fmt: skip
    agree(several("Cummin", [dtype, "int32"], 1), [x],
          [np.minimum.accumulate(x, 1), np.array([[0, 1, 1, 1, 4], [0, 1, 2, 3, 3]], np.int32)])  # fmt: skip


def test_a_running_extreme_stays_what_is_no_number() -> None:
    x = np.array([1, np.nan, 5, np.nan, 2], np.float32)
    agree(several("Cummax", ["float32", "int64"], 0), [x],
          [np.array([1, np.nan, np.nan, np.nan, np.nan], np.float32), np.array([0, 1, 1, 3, 3])])  # fmt: skip


def test_running_logarithms_of_sums() -> None:
    make = call("CumulativeLogsumexp", np.array(1, np.int32), exclusive=False, reverse=True)
    agree(make, [X * 40], [np.flip(np.logaddexp.accumulate(np.flip(X * 40, 1), 1), 1)])


def test_running_results_along_an_axis_that_only_the_run_tells() -> None:
    for axis in (0, 1, 2, -1, -3):
        agree(call("CumProd", False, False), [X, np.array(axis)], [np.cumprod(X, axis)])
    agree(call("CumSum", True, False), [X, np.array(1)], [np.cumsum(X, 1) - X])


# -- softmax


@given(st.sampled_from([0, 1, -1]), st.sampled_from(["float32", "float16", "float64"]))
@FEW
def test_softmax_along_one_axis(axis: int, dtype: str) -> None:
    x = X.astype(dtype)
    rtol = 2e-3 if dtype == "float16" else 1e-5
    exact = soft(x.astype(np.float64), axis)
    agree(call("Softmax", (axis,)), [x], [exact.astype(dtype)], rtol)
    agree(call("LogSoftmax", axis), [x], [np.log(exact).astype(dtype)], rtol)


def test_softmax_along_two_axes_and_where_none_is_given() -> None:
    agree(call("Softmax", (0, 2)), [X], [soft(X, (0, 2))])
    agree(call("LogSoftmaxExt", None, None), [X], [np.log(soft(X, 0))])
    agree(call("LogSoftmaxExt", None, None), [X[0]], [np.log(soft(X[0], 1))])
    agree(call("Softmax", (1,)), [X * 1000], [soft(X * 1000, 1)])
