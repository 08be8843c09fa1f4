"""Products, normalization, losses and linear algebra: our ONNX and our evaluation against formulas written out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert import to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.mindir.reader import read_file
from tests.unit.convert.primitive_models import Make, agree, call, run_onnx, same, several, written

RNG = np.random.default_rng(11)
FEW = settings(max_examples=5, deadline=None)


def draw(*shape: int, dtype: str = "float32") -> Any:
    if dtype.startswith("float"):
        return RNG.normal(size=shape).astype(dtype)
    return RNG.integers(0 if dtype[0] == "u" else -100, 100, shape).astype(dtype)


X = draw(2, 4, 3, 5)


# -- products


@given(
    st.booleans(), st.booleans(), st.sampled_from(["float32", "float64", "float16", "int8", "uint8", "int16", "int64"])
)
@FEW
def test_products_of_matrices(first: bool, second: bool, dtype: str) -> None:
    x = draw(*((4, 3) if first else (3, 4)), dtype=dtype)
    y = draw(*((5, 4) if second else (4, 5)), dtype=dtype)
    left, right = x.T if first else x, y.T if second else y
    wide = np.float64 if dtype.startswith("float") else np.int64
    expected = np.matmul(left.astype(wide), right.astype(wide)).astype(dtype)
    agree(call("MatMul", first, second), [x, y], [expected], 5e-3 if dtype == "float16" else 1e-5)


def test_products_of_batches_and_vectors() -> None:
    a, v = draw(2, 3, 4), draw(4)
    agree(call("BatchMatMul", False, True), [a, a], [a @ a.transpose(0, 2, 1)])
    agree(call("MatMulExt"), [a, v], [a @ v])
    agree(call("MatMulExt"), [v, a.transpose(0, 2, 1)], [v @ a.transpose(0, 2, 1)])
    agree(call("Dot"), [v, v], [v @ v])
    agree(call("Outer"), [v, a[0, 0]], [np.outer(v, a[0, 0])])
    agree(call("Ger"), [v, v], [np.outer(v, v)])


def test_dense_layers() -> None:
    x, w, bias = draw(2, 3, 4), draw(5, 4), draw(5)
    agree(call("Dense", w, bias), [x], [x @ w.T + bias])
    agree(call("Dense", w, None), [x], [x @ w.T])
    agree(call("Dense", w[0], bias[0]), [x], [x @ w[0] + bias[0]])


def test_products_that_are_added() -> None:
    a, m, n = draw(3, 5), draw(3, 4), draw(4, 5)
    agree(call("Addmm", m, n, 0.5, 2.0), [a], [0.5 * a + 2 * (m @ n)])
    agree(call("Addmv", m, n[:, 0], 1, 3), [a[:, 0]], [a[:, 0] + 3 * (m @ n[:, 0])])
    many, more = draw(2, 3, 4), draw(2, 4, 5)
    agree(call("Baddbmm", many, more, 0, 1), [draw(2, 3, 5)], [many @ more])
    agree(call("Addbmm", many, more, 1, 1), [a], [a + (many @ more).sum(0)], 1e-4)

    def sums(b: Any, x: Any, y: Any) -> Any:
        return b.op("EinsumExt", "ij,jk -> ki", b.tuple([x, y]), dtype="float32")

    agree(sums, [m, n], [(m @ n).T])


# -- normalization


def standard(x: Any, axes: Any, epsilon: float) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def test_batch_norm() -> None:
    scale, bias, mean, variance = draw(4), draw(4), draw(4), np.abs(draw(4)) + 0.5
    across = [one[:, None, None] for one in (scale, bias, mean, variance)]

    def make(training: bool) -> Make:
        more = (scale, bias, mean, variance, training, 1e-3, 0.1, 0)
        return lambda b, x: b.ops("BatchNorm", x, *more, results=[("float32", None)] * 5)[0]

    agree(make(False), [X], [(X - across[2]) / np.sqrt(across[3] + 1e-3) * across[0] + across[1]], 1e-4)
    agree(make(True), [X], [standard(X, (0, 2, 3), 1e-3) * across[0] + across[1]], 1e-4)


def test_layer_norm() -> None:
    scale, bias = draw(3, 5), draw(3, 5)
    mean, variance = X.mean((2, 3), keepdims=True), X.var((2, 3), keepdims=True)
    whole = several("LayerNorm", ["float32"] * 3, scale, bias, 2, 2, 1e-5)
    agree(whole, [X], [standard(X, (2, 3), 1e-5) * scale + bias, mean, variance], 1e-4)
    last = several("LayerNorm", ["float32"] * 3, scale[0], bias[0], 2, -1, 1e-5)
    agree(last, [X], [standard(X, (2, 3), 1e-5) * scale[0] + bias[0], mean, variance], 1e-4)
    newer = several("LayerNormExt", ["float32"] * 3, (3, 5), None, None, 1e-5)
    agree(newer, [X], [standard(X, (2, 3), 1e-5), mean, 1 / np.sqrt(variance + 1e-5)], 1e-4)
    half = (X * 30).astype(np.float16)
    exact = half.astype(np.float64)
    own = several("LayerNorm", ["float16", "float32", "float32"], np.ones(5, np.float16), np.zeros(5, np.float16), -1,
                  -1, 1e-5)  # fmt: skip
    moments = [one(exact, -1, keepdims=True).astype(np.float32) for one in (np.mean, np.var)]
    agree(own, [half], [standard(exact, -1, 1e-5).astype(np.float16), *moments], 2e-3)


def test_groups_and_roots_of_squares() -> None:
    scale, bias = draw(4), draw(4)
    rows = X.reshape(2, 2, -1)
    even = standard(rows, -1, 1e-5).reshape(X.shape) * scale[:, None, None] + bias[:, None, None]
    make = several("GroupNorm", ["float32"] * 3, 2, scale, bias, 1e-5)
    agree(make, [X], [even, rows.mean(-1), 1 / np.sqrt(rows.var(-1) + 1e-5)], 1e-4)
    root = 1 / np.sqrt(np.square(X).mean(-1, keepdims=True) + 1e-6)
    gamma = draw(5)
    agree(several("RmsNorm", ["float32"] * 2, gamma, 1e-6), [X], [X * root * gamma, root], 1e-4)
    total = X + X
    root = 1 / np.sqrt(np.square(total).mean(-1, keepdims=True) + 1e-6)
    agree(several("AddRmsNorm", ["float32"] * 3, gamma, 1e-6), [X, X], [total * root * gamma, root, total], 1e-4)


def test_norms_and_neighbours() -> None:
    squares = np.square(X)
    expected = X / np.sqrt(np.maximum(squares.sum(1, keepdims=True), 0.5))
    agree(call("L2Normalize", axis=(1,), epsilon=0.5), [X], [expected])
    around = np.stack([squares[:, max(c - 1, 0) : c + 2].sum(1) for c in range(4)], 1)
    make = call("LRN", depth_radius=1, bias=1.5, alpha=0.3, beta=0.6, norm_region="ACROSS_CHANNELS")
    agree(make, [X], [X / (1.5 + 0.3 * around) ** 0.6], 1e-4)
    size = np.sqrt(squares.sum((0, 2, 3), keepdims=True))
    expected = np.where(size > 5.5, X * (5.5 / (size + 1e-7)), X)
    agree(call("Renorm", p=2.0, dim=1, maxnorm=5.5), [X], [expected])


def test_what_a_batch_norm_leaves_undefined_is_refused(tmp_path: Path) -> None:
    one = np.ones(4, np.float32)

    def make(b: Any, x: Any) -> Any:
        return b.ops("BatchNorm", x, one, one, one, one, False, 1e-3, 0.1, 0, results=[("float32", None)] * 5)[3]

    assert to_onnx.convert(written(make, [X], tmp_path)).proto is None


# -- losses


P, Q = draw(4, 5), np.abs(draw(4, 5)) % 1
LABELS = np.array([0, 3, 2, 4])
LOG = (P - np.log(np.exp(P).sum(1, keepdims=True))).astype(np.float32)
REDUCED: dict[int, Any] = {0: np.sum, 1: np.mean, 2: lambda x: x}


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses_of_pairs(reduction: int) -> None:
    last = REDUCED[reduction]
    x = np.clip(np.abs(P) / 3, 0.01, 0.99)
    weights = np.abs(draw(4, 5))
    entropy = -(Q * np.log(x) + (1 - Q) * np.log(1 - x))
    agree(call("BinaryCrossEntropy", weights, reduction), [x, Q], [last(entropy * weights)], 1e-4)
    positive = np.abs(draw(5))
    logits = -(positive * Q * np.log(1 / (1 + np.exp(-P))) + (1 - Q) * np.log(1 / (1 + np.exp(P))))
    agree(call("BCEWithLogitsLoss", None, positive, reduction), [P, Q], [last(logits)], 1e-4)
    apart = np.abs(P - Q)
    smooth = np.where(apart < 0.7, apart**2 / 1.4, apart - 0.35).astype(np.float32)
    agree(call("SmoothL1Loss", 0.7, reduction), [P, Q], [last(smooth)], 1e-4)
    agree(call("MSELossExt", reduction), [P, Q], [last(apart**2)], 1e-4)
    agree(call("L1LossExt", reduction), [P, Q], [last(apart)], 1e-4)
    word = {0: "sum", 1: "mean", 2: "none"}[reduction]
    target = np.where(Q > 0.4, Q, 0).astype(np.float32)
    expected = np.where(target > 0, target * (np.log(np.maximum(target, 1e-9)) - LOG), 0).astype(np.float32)
    agree(call("KLDivLoss", reduction=word), [LOG, target], [last(expected)], 1e-4)
    crossed = np.maximum(P, 0) - P * Q + np.log1p(np.exp(-np.abs(P)))
    agree(call("SigmoidCrossEntropyWithLogits", reduction=word), [P, Q], [last(crossed)], 1e-4)
    agree(call("SoftMarginLoss", reduction), [P, np.sign(P)], [last(np.log1p(np.exp(-np.abs(P))))], 1e-4)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignored", [-100, 3])
def test_likelihood_of_labels(reduction: int, ignored: int) -> None:
    weights = np.abs(draw(5)) + 0.1
    each = np.where(ignored == LABELS, 0, weights[LABELS]).astype(np.float32)
    losses = -each * LOG[np.arange(4), LABELS]
    expected = losses if reduction == 2 else losses.sum() / (each.sum() if reduction == 1 else 1)
    make = several("NLLLoss", ["float32"] * 2, weights, reduction, ignored)
    agree(make, [LOG, LABELS], [np.float32(expected), each.sum()], 1e-4)


def test_cross_entropy() -> None:
    make = several("SoftmaxCrossEntropyWithLogits", ["float32"] * 2, attributes={})
    agree(make, [P, Q], [-(Q * LOG).sum(1), np.exp(LOG) - Q], 1e-4)
    sparse = call("SparseSoftmaxCrossEntropyWithLogits", is_grad=False)
    agree(sparse, [P, LABELS.astype(np.int32)], [-LOG[np.arange(4), LABELS].mean()], 1e-4)


def test_sums_of_squares() -> None:
    agree(call("L2Loss"), [P], [np.float32(np.square(P).sum() / 2)])
    agree(several("SquareSumAll", ["float32"] * 2, attributes={}), [P, Q], [np.square(P).sum(), np.square(Q).sum()])


def test_margins() -> None:
    over = np.maximum(1 + P - P[np.arange(4), LABELS][:, None], 0) ** 2
    over[np.arange(4), LABELS] = 0
    agree(call("MultiMarginLoss", p=2, margin=1.0, reduction="mean"), [P, LABELS], [(over.sum(1) / 5).mean()], 1e-4)


# -- linear algebra


def fixed(make: Make, inputs: list[Any], expected: list[Any], rtol: float = 1e-4) -> None:
    """With sizes that are known alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(make, inputs, Path(folder))
        same(run_onnx(path, inputs), expected, rtol, "onnx")
        same(evaluate(path, read_file(path), inputs), expected, rtol, "evaluation")


def test_what_onnx_composes() -> None:
    square = draw(2, 3, 3)
    agree(call("MatrixDeterminant"), [square], [np.linalg.det(square)], 1e-4)
    agree(call("MatrixPower", n=5), [square], [np.linalg.matrix_power(square, 5)], 1e-3)
    agree(call("Trace"), [X[0, 0]], [np.trace(X[0, 0])])
    agree(call("TraceV2", 1, 0, 2, None), [X[0]], [np.trace(X[0], 1, 0, 2)])
    whole = draw(3, 4, dtype="int32")
    agree(call("Trace"), [whole], [np.trace(whole, dtype=np.int32)])
    a, b = draw(2, 3), draw(2, 3)
    agree(call("Cross", 1), [a, b], [np.cross(a, b)])
    rows = draw(4, 3)
    pairs = [np.linalg.norm(rows[i] - rows[j]) for i in range(4) for j in range(i + 1, 4)]
    fixed(call("Pdist", p=2.0), [rows], [np.array(pairs, np.float32)])
    for order in (1.0, 2.0, 3.0, float("inf")):
        apart = np.linalg.norm(a[:, None] - b[None], order, axis=-1)
        agree(call("Cdist", order), [a, b], [apart], 1e-4)


def test_linear_systems() -> None:
    square = draw(2, 4, 4)
    positive = square @ square.transpose(0, 2, 1) + np.eye(4, dtype=np.float32)
    lower, right = np.tril(square) + 3 * np.eye(4, dtype=np.float32), draw(2, 4, 2)
    zero_first = np.array([[0, 2, 1], [1, 0, 0], [3, 0, 1]], np.float32)
    cases: list[tuple[Make, list[Any], Any]] = [
        (call("MatrixInverse", adjoint=False), [square], np.linalg.inv(square)),
        (call("MatrixInverse", adjoint=True), [zero_first], np.linalg.inv(zero_first.T)),
        (call("MatrixPower", n=-3), [square], np.linalg.matrix_power(np.linalg.inv(square.astype(np.float64)), 3)),
        (call("MatrixSolve", adjoint=True), [square, right], np.linalg.solve(square.transpose(0, 2, 1), right)),
        (call("MatrixTriangularSolve", lower=True, adjoint=False), [lower, right], np.linalg.solve(lower, right)),
        (call("SolveTriangular", 1, True, False), [lower[0], right[0]], np.linalg.solve(lower[0].T, right[0])),
        (call("SolveTriangular", 0, True, True), [lower[0], right[0, :, 0]],
         np.linalg.solve(np.tril(square[0], -1) + np.eye(4), right[0, :, 0])),
        (call("Cholesky", False), [positive], np.linalg.cholesky(positive)),
        (call("Cholesky", True), [positive], np.linalg.cholesky(positive).transpose(0, 2, 1)),
        (call("CholeskyInverse", False), [lower], np.linalg.inv(lower @ lower.transpose(0, 2, 1))),
        (call("MatrixDeterminant"), [zero_first.astype(np.float64)], np.linalg.det(zero_first)),
    ]  # fmt: skip
    for make, inputs, expected in cases:
        fixed(make, inputs, [np.asarray(expected).astype(inputs[0].dtype)], 2e-3)
    sign, logarithm = np.linalg.slogdet(square)
    fixed(several("LogMatrixDeterminant", ["float32"] * 2, attributes=None), [square], [sign, logarithm], 1e-3)


def test_a_large_matrix_is_not_taken_apart(tmp_path: Path) -> None:
    done = to_onnx.convert(written(call("MatrixInverse", adjoint=False), [np.eye(33, dtype=np.float32)], tmp_path))
    assert done.proto is None and "33 rows" in str(done.findings[0].values)


def test_a_large_convolution_is_evaluated_in_little_memory_and_time() -> None:
    import time
    import tracemalloc

    x, w = draw(1, 32, 64, 64), draw(32, 32, 3, 3)
    attributes = {"stride": (1, 1, 1, 1), "dilation": (1, 1, 1, 1), "pad_mode": "same", "group": 1, "format": "NCHW"}
    with tempfile.TemporaryDirectory() as folder:
        path = written(lambda b, x, w: b.op("Conv2D", x, w, attributes=attributes), [x, w], Path(folder))
        model = read_file(path)
        tracemalloc.start()
        began = time.monotonic()
        evaluate(path, model, [x, w])
        took, peak = time.monotonic() - began, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert took < 10 and peak < 12 * x.size * 8
