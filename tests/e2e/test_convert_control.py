"""Branches, loops and scans on real MindSpore against onnxruntime, at shapes that the conversion never saw."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.mindir.lint import lint
from tests.unit.convert.onnx_models import model_of, saved

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]


def _of(*shape: int) -> Any:
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % count) / count + 0.1).reshape(shape).astype(np.float32)


def _int(value: int) -> Any:
    return np.array(value, np.int64)


YES, NO = np.array(True), np.array(False)
X = (_of(2, 3), _of(4, 3), _of(1, 3))
Runs = Sequence[Sequence[Any]]
CASES: dict[str, tuple[str, Runs]] = {
    "if, with what is around it": (
        """g (float[n,3] x, bool c) => (float[n,3] y) {
            h = Abs(x)
            y = If(c) <
                then_branch = t () => (float[n,3] a) { one = Constant<value = float {1.0}>() a = Add(h, one) },
                else_branch = e () => (float[n,3] b) { b = Mul(x, h) }>
        }""",
        [(X[0], YES), (X[1], NO), (X[2], YES)],
    ),
    "if, results of different sizes": (
        """g (float[n,3] x, bool c) => (float[p,3] y, float[n,3] z) {
            w = Constant<value = float[3] {1.0, 2.0, 3.0}>()
            y, z = If(c) <
                then_branch = t () => (float[n,3] a, float[n,3] a2) { a = Add(x, w) a2 = Neg(x) },
                else_branch = e () => (float[m,3] b, float[n,3] b2) { b = Concat<axis=0>(x, x) b2 = Identity(x) }>
        }""",
        [(X[0], YES), (X[1], NO), (X[2], YES)],
    ),
    "if, results of another number of dimensions": (
        """g (float[n,3] x, bool c) => (float[w] y) {
            flat = Constant<value = int64[1] {-1}>()
            v = If(c) <
                then_branch = t () => (float[n,3] a) { a = Neg(x) },
                else_branch = e () => (float[m] b) { b = Reshape(x, flat) }>
            y = Reshape(v, flat)
        }""",
        [(X[0], YES), (X[1], NO), (X[2], YES)],
    ),
    "while, at most so many steps": (
        """g (float[n,3] x, int64 most, bool c) => (float[n,3] y, float[s,n,3] rows) {
            y, rows = Loop(most, c, x) <
                body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2, float[n,3] r) {
                two = Constant<value = float {2.0}>()
                limit = Constant<value = float {100.0}>()
                v2 = Mul(v, two)
                sum = ReduceSum<keepdims=0>(v2)
                k2 = Less(sum, limit)
                r = Add(v2, x)
            }>
        }""",
        [(X[0], _int(3), YES), (X[1], _int(100), YES), (X[2], _int(1), YES)],
    ),
    "while, with nothing but a condition": (
        """g (float[n,3] x, bool c) => (float[n,3] y, float[s,3] rows) {
            y, rows = Loop(, c, x) <body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2, float[3] r) {
                two = Constant<value = float {2.0}>()
                limit = Constant<value = float {100.0}>()
                zero = Constant<value = int64[1] {0}>()
                v2 = Mul(v, two)
                sum = ReduceSum<keepdims=0>(v2)
                k2 = Less(sum, limit)
                r = ReduceSum<keepdims=0>(v2, zero)
            }>
        }""",
        [(X[0], YES), (X[1], YES)],
    ),
    "a state that grows": (
        """g (float[n,3] x, int64 most) => (float[p,3] y) {
            t = Constant<value = bool {1}>()
            y = Loop(most, t, x) <body = b (int64 i, bool k, float[q,3] v) => (bool k2, float[r,3] v2) {
                k2 = Identity(k)
                v2 = Concat<axis=0>(v, x)
            }>
        }""",
        [(X[0], _int(3)), (X[2], _int(5)), (X[1], _int(0))],
    ),
    "a state that grows from a constant, as often as there are rows": (
        """g (float[n,3] x) => (float[p,3] y) {
            t = Constant<value = bool {1}>()
            z = Constant<value = int64 {0}>()
            first = Constant<value = float[1,3] {1.0, 2.0, 3.0}>()
            shape = Shape(x)
            most = Gather<axis=0>(shape, z)
            y = Loop(most, t, first) <body = b (int64 i, bool k, float[q,3] v) => (bool k2, float[r,3] v2) {
                k2 = Identity(k)
                v2 = Concat<axis=0>(v, first)
            }>
        }""",
        [(X[0],), (X[1],)],
    ),
    "a state that grows until it is long enough": (
        """g (float[n,3] x, bool c) => (float[a,3] y) {
            y = Loop(, c, x) <body = b (int64 i, bool k, float[p,3] v) => (bool k2, float[q,3] v2) {
                zero = Constant<value = int64 {0}>()
                limit = Constant<value = int64 {9}>()
                v2 = Concat<axis=0>(v, x)
                shape = Shape(v2)
                rows = Gather<axis=0>(shape, zero)
                k2 = Less(rows, limit)
            }>
        }""",
        [(X[0], YES), (X[1], YES), (X[2], NO)],
    ),
    "collected numbers of another type": (
        """g (float[n,3] x, int64 most) => (float[n,3] y, bool[s,n,3] odd, float16[s] half) {
            t = Constant<value = bool {1}>()
            y, odd, half = Loop(most, t, x) <
                body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2, bool[n,3] z, float16 h) {
                k2 = Identity(k)
                f = Cast<to=1>(i)
                v2 = Add(v, f)
                z = Greater(v2, x)
                h = Cast<to=10>(i)
            }>
        }""",
        [(X[0], _int(3)), (X[1], _int(1)), (X[2], _int(4))],
    ),
    "a branch in a loop": (
        """g (float[n,3] x, int64 most) => (float[n,3] y) {
            t = Constant<value = bool {1}>()
            y = Loop(most, t, x) <body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2) {
                k2 = Identity(k)
                two = Constant<value = int64 {2}>()
                f = Cast<to=1>(i)
                early = Less(i, two)
                v2 = If(early) <
                    then_branch = t2 () => (float[n,3] a) { a = Add(v, x) },
                    else_branch = e2 () => (float[n,3] b2) { b2 = Mul(v, f) }>
            }>
        }""",
        [(X[0], _int(3)), (X[1], _int(5)), (X[2], _int(1))],
    ),
    "a loop that is written out": (
        """g (float[n,3] x) => (float[n,3] y, float[5,n,3] rows) {
            t = Constant<value = bool {1}>()
            five = Constant<value = int64 {5}>()
            y, rows = Loop(five, t, x) <
                body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2, float[n,3] r) {
                k2 = Identity(k)
                f = Cast<to=1>(i)
                v2 = Add(v, f)
                r = Identity(v2)
            }>
        }""",
        [(one,) for one in X],
    ),
    "scan": (
        """g (float[b,3] s, float[t,b,3] x) => (float[b,3] y, float[t,b,3] rows) {
            y, rows = Scan<num_scan_inputs=1,
                body = g2 (float[b,3] v, float[b,3] one) => (float[b,3] v2, float[b,3] r) {
                v2 = Add(v, one)
                r = Mul(v2, one)
            }>(s, x)
        }""",
        [(X[0], _of(4, 2, 3)), (X[2], _of(5, 1, 3)), (X[1], _of(1, 4, 3))],
    ),
    "scan backwards along another axis": (
        """g (float[b,3] s, float[b,t,3] x) => (float[b,3] y, float[b,t,3] rows) {
            y, rows = Scan<num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1],
                           scan_output_directions=[1],
                           body = g2 (float[b,3] v, float[b,3] one) => (float[b,3] v2, float[b,3] r) {
                v2 = Add(v, one)
                r = Mul(v2, one)
            }>(s, x)
        }""",
        [(X[0], _of(2, 4, 3)), (X[2], _of(1, 5, 3)), (X[1], _of(4, 1, 3))],
    ),
    "a sequence of pieces whose lengths the run tells": (
        """g (float[n,3] x, int64[2] lengths) => (float[p,3] y, int64 count) {
            one = Constant<value = int64 {1}>()
            s = SplitToSequence<axis = 0>(x, lengths)
            y = SequenceAt(s, one)
            count = SequenceLength(s)
        }""",
        [(X[0], np.array([1, 1])), (X[1], np.array([1, 3])), (X[1], np.array([3, 1]))],
    ),
    "a sequence that is built and taken apart": (
        """g (float[n,3] x, float[m,3] z) => (float[p,3] y, float[n,3] first, int64 count) {
            one = Constant<value = int64 {1}>()
            zero = Constant<value = int64 {0}>()
            s = SequenceConstruct(x, z)
            double = Add(x, x)
            s2 = SequenceInsert(s, double, one)
            y = ConcatFromSequence<axis=0>(s2)
            s3 = SequenceErase(s2, zero)
            first = SequenceAt(s3, zero)
            count = SequenceLength(s3)
        }""",
        [(X[0], X[1]), (X[1], X[2]), (X[2], X[2])],
    ),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=60) as running:
        yield running


@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime_runs_it(name: str, engine: MindSpore, tmp_path: Path) -> None:
    text, runs = CASES[name]
    model = model_of(text)
    path, target = saved(model, tmp_path), tmp_path / "net.mindir"
    done = to_mindir.convert(str(path))
    assert done.model is not None, [one.title for one in done.findings]
    to_mindir.save(done, str(target))
    assert not lint(str(target)).has_errors
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [value.name for value in model.graph.input]
    for inputs in runs:
        expected = session.run(None, dict(zip(names, inputs, strict=True)))
        found = engine.run(str(target), inputs)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
