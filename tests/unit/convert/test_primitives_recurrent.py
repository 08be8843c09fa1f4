"""LSTM and GRU: our ONNX in onnxruntime and our evaluation against their equations, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mswb.convert.graph import Array
from tests.unit.convert.primitive_models import run_onnx, same, several, written

RNG = np.random.default_rng(11)
STEPS, BATCH, HIDDEN = 4, 2, 3


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _cell(x: Array, h: Array, c: Array, w: Array, r: Array, bias: Array) -> tuple[Array, Array]:
    """The equations of an LSTM with the gates input, forget, cell, output."""
    gates = x @ w.T + h @ r.T + bias
    i, f, g, o = (gates[:, at * HIDDEN : (at + 1) * HIDDEN] for at in range(4))
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _rolled(x: Array, h: Array, c: Array, weights: Any) -> tuple[Array, Array, Array]:
    outputs = []
    for one in x:
        h, c = _cell(one, h, c, *weights)
        outputs.append(h)
    return np.stack(outputs), h, c


def _agree(make: Any, inputs: list[Array], expected: list[Array], folder: Any) -> None:
    from mswb.convert.evaluator import evaluate
    from mswb.convert.mindir.reader import read_file

    path = written(make, inputs, folder)
    same(run_onnx(path, inputs), expected, 1e-5, "onnx")
    same(evaluate(path, read_file(path), inputs), expected, 1e-5, "evaluation")


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (1, 2), (2, 1)])
def test_an_lstm_of_a_cpu_has_one_flat_weight(layers: int, directions: int, biased: bool, tmp_path: Any) -> None:
    shapes = [(4 * HIDDEN, HIDDEN), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,)]
    kinds = [[RNG.normal(size=shape) for _ in range(layers * directions)] for shape in shapes]
    if not biased:
        kinds[2] = [one * 0 for one in kinds[2]]
    flat = np.concatenate([one.reshape(-1) for kind in kinds[: 3 if biased else 2] for one in kind])
    x = RNG.normal(size=(STEPS, BATCH, HIDDEN))
    h, c = RNG.normal(size=(2, layers * directions, BATCH, HIDDEN))
    inputs = [one.astype(np.float32) for one in (x, h, c, flat.reshape(-1, 1, 1))]
    last: list[tuple[Array, Array]] = []
    for layer in range(layers):
        sides = []
        for way in range(directions):
            at = layer * directions + way
            found, *state = _rolled(x[::-1] if way else x, h[at], c[at], [kind[at] for kind in kinds])
            sides.append(found[::-1] if way else found)
            last.append((state[0], state[1]))
        x = np.concatenate(sides, -1)
    settings = {"input_size": HIDDEN, "hidden_size": HIDDEN, "num_layers": layers, "has_bias": biased,
                "bidirectional": directions == 2, "dropout": 0.0, "proj_size": 0}  # fmt: skip
    expected = [x, np.stack([one for one, _ in last]), np.stack([one for _, one in last])]
    make = several("LSTM", ["float32"] * 3, attributes=settings)
    _agree(make, inputs, [one.astype(np.float32) for one in expected], tmp_path)


def test_an_lstm_of_ascend_has_the_gates_input_cell_forget_output(tmp_path: Any) -> None:
    w, r, bias = RNG.normal(size=(4 * HIDDEN, 5)), RNG.normal(size=(4 * HIDDEN, HIDDEN)), RNG.normal(size=4 * HIDDEN)
    x, h, c = RNG.normal(size=(STEPS, BATCH, 5)), RNG.normal(size=(BATCH, HIDDEN)), RNG.normal(size=(BATCH, HIDDEN))
    y, _, _ = _rolled(x, h, c, (w, r, bias))
    order = np.concatenate([np.arange(HIDDEN) + gate * HIDDEN for gate in (0, 2, 1, 3)])
    weight = np.concatenate([w, r], 1)[order].T
    inputs = [one.astype(np.float32) for one in (x, weight, bias[order], h[None], c[None])]

    def make(b: Any, x: Any, w: Any, bias: Any, h: Any, c: Any) -> Any:
        whole = b.op("DynamicRNN", x, w, bias, None, h, c, dtype="tuple", attributes={})
        return b.item(whole, 0, "float32")

    _agree(make, inputs, [y.astype(np.float32)], tmp_path)


@pytest.mark.parametrize("after", [True, False])
def test_a_gru_of_ascend_has_the_gates_reset_update_new(after: bool, tmp_path: Any) -> None:
    w, r = RNG.normal(size=(5, 3 * HIDDEN)), RNG.normal(size=(HIDDEN, 3 * HIDDEN))
    first, second = RNG.normal(size=(2, 3 * HIDDEN))
    x, state = RNG.normal(size=(STEPS, BATCH, 5)), RNG.normal(size=(BATCH, HIDDEN))
    h, outputs = state, []
    for one in x:
        wi = (one @ w + first).reshape(BATCH, 3, HIDDEN)
        wh = (h @ r + second).reshape(BATCH, 3, HIDDEN)
        reset, update = _sigmoid(wi[:, 0] + wh[:, 0]), _sigmoid(wi[:, 1] + wh[:, 1])
        inner = reset * wh[:, 2] if after else (reset * h) @ r[:, 2 * HIDDEN :] + second[2 * HIDDEN :]
        h = (1 - update) * np.tanh(wi[:, 2] + inner) + update * h
        outputs.append(h)
    inputs = [one.astype(np.float32) for one in (x, w, r, first, second, state)]

    def make(b: Any, x: Any, w: Any, r: Any, one: Any, two: Any, h: Any) -> Any:
        settings = {"gate_order": "rzh", "reset_after": after}
        whole = b.op("DynamicGRUV2", x, w, r, one, two, None, h, dtype="tuple", attributes=settings)
        return b.item(whole, 0, "float32")

    _agree(make, inputs, [np.stack(outputs).astype(np.float32)], tmp_path)
