"""LSTM and GRU as MindSpore's kernels take them: CPUs from one flat weight, Ascend from matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.indices import integer, joined, part
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

_LSTM_ORDER = (0, 3, 1, 2)
"""The gates of a CPU are input, forget, cell, output; those of ONNX input, output, forget, cell."""
_ASCEND_LSTM_ORDER = (0, 3, 2, 1)
"""Those of Ascend are input, cell, forget, output."""
_GRU_ORDER = (1, 0, 2)
"""Those of Ascend are reset, update, new; those of ONNX update, reset, new."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of an LSTM of a CPU, and where its parts lie in the flat weight."""

    inputs: int
    hidden: int
    layers: int
    directions: int
    biased: bool

    @classmethod
    def of(cls, call: Call) -> Layout:
        """As the attributes tell.

        Raises:
            Refused: it has a projection.
        """
        if integer(call.get("proj_size", 0), "proj_size"):
            raise Refused("a projection of the hidden state (proj_size) is not known", attribute="proj_size")
        return cls(
            integer(call.get("input_size"), "input_size"),
            integer(call.get("hidden_size"), "hidden_size"),
            integer(call.get("num_layers", 1), "num_layers"),
            2 if call.get("bidirectional", False) else 1,
            bool(call.get("has_bias", True)),
        )

    def parts(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
        """Where input weights, recurrent weights and biases of each layer begin and end, with both directions in one.

        All input weights lie before all recurrent ones, and those before the biases.
        """
        gates = 4 * self.hidden * self.directions
        found: list[list[tuple[int, int]]] = []
        at = 0
        for width in (gates * self.inputs, gates * self.hidden, gates if self.biased else 0):
            found.append([(at + layer * width, at + (layer + 1) * width) for layer in range(self.layers)])
            at += width * self.layers
        return found[0], found[1], found[2]


# -- ONNX


def _gates(b: OnnxBuilder, value: Value, order: Sequence[int], axis: int) -> Value:
    """Blocks along a dimension in another order."""
    parts = b.ops("Split", value, count=len(order), axis=axis, num_outputs=len(order))
    return b.op("Concat", *(parts[at] for at in order), axis=axis)


def _flat(b: OnnxBuilder, output: Value) -> Value:
    """[steps, directions, batch, hidden] as [steps, batch, directions and hidden]."""
    return b.op("Reshape", b.transpose(output, (0, 2, 1, 3)), b.ints([0, 0, -1]))


def _single(value: Value) -> Value:
    if value.dtype not in ("float16", "float32"):
        raise Refused(f"onnxruntime has no recurrent operators for {value.dtype}")
    return value


def _lstm(call: Call, b: OnnxBuilder) -> tuple[Value | None, ...]:
    own = _single(tensor(call, 0)).dtype
    x, h, c, weight = (b.cast(tensor(call, at), "float32") for at in range(4))
    layout, flat = Layout.of(call), b.reshape(weight, (-1,))
    rows = (layout.directions, 4 * layout.hidden)
    states: tuple[list[Value], list[Value]] = ([], [])
    for layer, (inner, recurrent, bias) in enumerate(zip(*layout.parts(), strict=True)):
        if layer and layout.inputs != layout.hidden * layout.directions:
            raise Refused("layers of different sizes don't run in MindSpore on a CPU")
        w = _gates(b, b.reshape(part(b, flat, *inner), (*rows, layout.inputs)), _LSTM_ORDER, 1)
        r = _gates(b, b.reshape(part(b, flat, *recurrent), (*rows, layout.hidden)), _LSTM_ORDER, 1)
        both = None
        if layout.biased:
            given = _gates(b, b.reshape(part(b, flat, *bias), rows), _LSTM_ORDER, 1)
            both = b.op("Concat", given, b.constant(np.zeros(rows, np.float32)), axis=1)
        first, last = layer * layout.directions, (layer + 1) * layout.directions
        before = [one if layout.layers == 1 else part(b, one, first, last) for one in (h, c)]
        direction = "bidirectional" if layout.directions == 2 else None
        y, *after = b.ops("LSTM", x, w, r, both, None, *before, count=3, hidden_size=layout.hidden, direction=direction)
        x = _flat(b, y)
        for kept, one in zip(states, after, strict=True):
            kept.append(one)
    found = (x, *(joined(b, kept) for kept in states))
    return (*(b.cast(one, own) for one in found), None, None)


def _no_lengths(call: Call, at: int) -> None:
    if call.input(at) is not None:
        raise Refused("lengths of sequences as an input of the operator are not known")


def _ascend_lstm(call: Call, b: OnnxBuilder) -> tuple[Value | None, ...]:
    """x [steps, batch, inputs], one matrix [inputs and hidden, 4 hidden], one bias, lengths, first states."""
    own = _single(tensor(call, 0)).dtype
    x, weight, bias, h, c = (b.cast(tensor(call, at), "float32") for at in (0, 1, 2, 4, 5))
    _no_lengths(call, 3)
    if weight.fixed is None:
        raise Refused("the sizes of its weight are only known when the model runs")
    rows, gates = weight.fixed
    hidden = gates // 4
    turned = _gates(b, b.transpose(weight, (1, 0)), _ASCEND_LSTM_ORDER, 0)
    w, r = (part(b, turned, *ends, 1) for ends in ((0, rows - hidden), (rows - hidden, rows)))
    both = b.op("Concat", _gates(b, bias, _ASCEND_LSTM_ORDER, 0), b.constant(np.zeros(gates, np.float32)), axis=0)
    given = [b.unsqueeze(one, [0]) for one in (w, r, both)]
    y, _, _ = b.ops("LSTM", x, *given, None, h, c, count=3, hidden_size=hidden)
    found = b.cast(b.squeeze(y, [1]), own)
    return found, found, *(None,) * 6


def _ascend_gru(call: Call, b: OnnxBuilder) -> tuple[Value | None, ...]:
    """x [steps, batch, inputs], matrices [inputs, 3 hidden] and [hidden, 3 hidden], biases, lengths, first state."""
    own = _single(tensor(call, 0)).dtype
    x, inner, recurrent, h = (b.cast(tensor(call, at), "float32") for at in (0, 1, 2, 6))
    _no_lengths(call, 5)
    if call.get("gate_order", "rzh") != "rzh":
        raise Refused(f"the order of gates {call.get('gate_order')} is not known", attribute="gate_order")
    if recurrent.fixed is None:
        raise Refused("the sizes of its weight are only known when the model runs")
    hidden = recurrent.fixed[0]
    w, r = (_gates(b, b.transpose(one, (1, 0)), _GRU_ORDER, 0) for one in (inner, recurrent))
    biases = [call.input(at) for at in (3, 4)]
    nothing = b.constant(np.zeros(3 * hidden, np.float32))
    both = b.op("Concat", *(nothing if one is None else _gates(b, b.cast(one, "float32"), _GRU_ORDER, 0)
                            for one in biases), axis=0)  # fmt: skip
    state = b.unsqueeze(h, [0]) if h.rank == 2 else h
    given = [b.unsqueeze(one, [0]) for one in (w, r, both)]
    settings = {"hidden_size": hidden, "linear_before_reset": int(bool(call.get("reset_after", True)))}
    y, _ = b.ops("GRU", x, *given, None, state, count=2, **settings)
    found = b.cast(b.squeeze(y, [1]), own)
    return found, found, *(None,) * 4


# -- numpy


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _steps(x: Array, w: Array, r: Array, bias: Array | float, h: Array, c: Array) -> tuple[Array, Array, Array]:
    """One direction of a layer with the gates input, forget, cell, output."""
    found = np.empty((*x.shape[:2], h.shape[-1]))
    for at, one in enumerate(x):
        enter, keep, new, leave = np.split(one @ w.T + h @ r.T + bias, 4, axis=-1)
        c = _sigmoid(keep) * c + _sigmoid(enter) * np.tanh(new)
        h = _sigmoid(leave) * np.tanh(c)
        found[at] = h
    return found, h, c


def _np_lstm(call: Call) -> tuple[Any, ...]:
    x, h, c, weight = (call.input(at) for at in range(4))
    layout, flat = Layout.of(call), weight.reshape(-1)
    rows = (layout.directions, 4 * layout.hidden)
    states: tuple[list[Array], list[Array]] = ([], [])
    for layer, (inner, recurrent, bias) in enumerate(zip(*layout.parts(), strict=True)):
        w = flat[slice(*inner)].reshape(*rows, -1)
        r = flat[slice(*recurrent)].reshape(*rows, -1)
        both = flat[slice(*bias)].reshape(rows) if layout.biased else np.zeros(rows)
        outputs = []
        for way in range(layout.directions):
            at = layer * layout.directions + way
            y, *after = _steps(x[::-1] if way else x, w[way], r[way], both[way], h[at], c[at])
            outputs.append(y[::-1] if way else y)
            for kept, one in zip(states, after, strict=True):
                kept.append(one)
        x = np.concatenate(outputs, -1)
    return x, np.stack(states[0]), np.stack(states[1]), None, None


def _np_ascend_lstm(call: Call) -> tuple[Any, ...]:
    x, weight, bias, h, c = (call.input(at) for at in (0, 1, 2, 4, 5))
    _no_lengths(call, 3)
    enter, new, keep, leave = np.split(np.concatenate([weight, bias[None]]), 4, axis=1)
    gates = np.concatenate([enter, keep, new, leave], 1)
    hidden = h.shape[-1]
    w, r, both = gates[: -hidden - 1].T, gates[-hidden - 1 : -1].T, gates[-1]
    cells = []
    outputs = []
    h, c = h.reshape(h.shape[-2:]), c.reshape(c.shape[-2:])
    for one in x:
        y, h, c = _steps(one[None], w, r, both, h, c)
        outputs.append(y[0])
        cells.append(c)
    return np.stack(outputs), np.stack(outputs), np.stack(cells), *(None,) * 5


def _np_ascend_gru(call: Call) -> tuple[Any, ...]:
    x, w, r, first, second, h = (call.input(at) for at in (0, 1, 2, 3, 4, 6))
    _no_lengths(call, 5)
    h = h.reshape(h.shape[-2:])
    after = bool(call.get("reset_after", True))
    outputs = []
    for one in x:
        inner = np.split(one @ w + (0.0 if first is None else first), 3, axis=-1)
        outer = np.split(h @ r + (0.0 if second is None else second), 3, axis=-1)
        reset, update = _sigmoid(inner[0] + outer[0]), _sigmoid(inner[1] + outer[1])
        if after:
            new = np.tanh(inner[2] + reset * outer[2])
        else:
            plain = 0.0 if second is None else np.split(second, 3)[2]
            new = np.tanh(inner[2] + (reset * h) @ np.split(r, 3, axis=1)[2] + plain)
        h = (1.0 - update) * new + update * h
        outputs.append(h)
    return np.stack(outputs), np.stack(outputs), *(None,) * 4


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "DynamicGRUV2": _ascend_gru,
    "DynamicRNN": _ascend_lstm,
    "LSTM": _lstm,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "DynamicGRUV2": _np_ascend_gru,
    "DynamicRNN": _np_ascend_lstm,
    "LSTM": _np_lstm,
}
