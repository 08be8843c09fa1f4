"""LSTM, GRU and RNN from primitive operators, as the ONNX specification writes their equations.

A fixed number of steps is unrolled; one that is only known when the model runs is a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mswb.convert.arith import Num, arange, concat, num, size, where
from mswb.convert.graph import Builder, Value
from mswb.convert.loop import repeat
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_WIDE: Mapping[str, str] = {"float16": "float32", "float32": "float32", "float64": "float64"}
Activation = Callable[[Num], Num]
UNROLLED = 32
"""The most steps that are written out; more are a loop."""


# -- activations


def _hard_sigmoid(alpha: float, beta: float) -> Activation:
    return lambda x: (x * alpha + beta).clip(0.0, 1.0)


def _elu(alpha: float, beta: float) -> Activation:
    return lambda x: where(x > 0.0, x, (x.least(0.0).one("Exp") - 1.0) * alpha)


_ACTIVATIONS: Mapping[str, tuple[tuple[float, ...], Callable[[float, float], Activation]]] = {
    "relu": ((), lambda a, c: lambda x: x.most(0.0)),
    "tanh": ((), lambda a, c: lambda x: x.one("Tanh")),
    "sigmoid": ((), lambda a, c: lambda x: x.one("Sigmoid")),
    "affine": ((1.0, 0.0), lambda a, c: lambda x: x * a + c),
    "leakyrelu": ((0.01,), lambda a, c: lambda x: where(x >= 0.0, x, x * a)),
    "thresholdedrelu": ((1.0,), lambda a, c: lambda x: where(x > a, x, x * 0.0)),
    "scaledtanh": ((1.0, 1.0), lambda a, c: lambda x: (x * c).one("Tanh") * a),
    "hardsigmoid": ((0.2, 0.5), _hard_sigmoid),
    "elu": ((1.0,), _elu),
    "softsign": ((), lambda a, c: lambda x: x / (x.one("Abs") + 1.0)),
    "softplus": ((), lambda a, c: lambda x: x.most(0.0) + ((x.one("Abs") * -1.0).one("Exp") + 1.0).one("Log")),
}
"""Each by its name in lower case: what alpha and beta are where the model does not say, and its formula."""


def _activations(node: OnnxNode, default: Sequence[str], directions: int) -> list[list[Activation]]:
    """Those of each direction; alpha and beta are taken by those that have one, in order."""
    names = [str(name) for name in node.get("activations", [])] or list(default) * directions
    if len(names) != len(default) * directions:
        raise Refused(f"there are {len(names)} activations instead of {len(default) * directions}")
    alphas, betas = (iter(map(float, node.get(f"activation_{name}", []) or [])) for name in ("alpha", "beta"))
    made = [_activation(name, alphas, betas) for name in names]
    return [made[at : at + len(default)] for at in range(0, len(made), len(default))]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    if name.lower() not in _ACTIVATIONS:
        raise Refused(f"{name} is not an activation that ONNX has", attribute="activations")
    defaults, make = _ACTIVATIONS[name.lower()]
    alpha = next(alphas, defaults[0]) if defaults else 0.0
    beta = next(betas, defaults[1]) if len(defaults) > 1 else 0.0
    return make(alpha, beta)


# -- cells


@dataclass(frozen=True)
class Cell:
    """One direction of a layer.

    Attributes:
        recurrent: R [G, H, H] of each gate, transposed; ``bias`` Rb [G, 1, H] or None.
        peepholes: P of input, output and forget gate [1, H]; empty where there are none.
        linear: whether a GRU's reset gate is applied behind the product.
    """

    recurrent: Num
    bias: Num | None
    peepholes: tuple[Num, ...]
    activations: list[Activation]
    clip: float
    coupled: bool
    linear: bool

    def limit(self, x: Num) -> Num:
        """What goes into an activation, held within the clip of the model."""
        return x.clip(-self.clip, self.clip) if self.clip > 0 else x


def _gates(x: Num, count: int) -> list[Num]:
    """[B, G H] gate by gate."""
    width = (x.shape or (None,))[-1]
    assert width is not None
    step = width // count
    return [x.take(num(x.b, np.arange(at * step, (at + 1) * step)), 1) for at in range(count)]


def _rnn_step(cell: Cell, x: Num, state: list[Num]) -> list[Num]:
    return [cell.activations[0](cell.limit(x + state[0].matmul(cell.recurrent)))]


def _lstm_step(cell: Cell, x: Num, state: list[Num]) -> list[Num]:
    h, c = state
    f, g, last = cell.activations
    gates = x + h.matmul(cell.recurrent)
    enter, leave, keep, new = _gates(gates, 4)
    if cell.peepholes:
        enter, keep = enter + cell.peepholes[0] * c, keep + cell.peepholes[2] * c
    enter = f(cell.limit(enter))
    keep = 1.0 - enter if cell.coupled else f(cell.limit(keep))
    c = keep * c + enter * g(cell.limit(new))
    if cell.peepholes:
        leave = leave + cell.peepholes[1] * c
    return [f(cell.limit(leave)) * last(c), c]


def _gru_step(cell: Cell, x: Num, state: list[Num]) -> list[Num]:
    (h,) = state
    f, g = cell.activations
    update, reset, new = _gates(x, 3)
    columns = _gates(cell.recurrent, 3)
    biases = [None, None, None] if cell.bias is None else _gates(cell.bias, 3)
    update = f(cell.limit(update + _plus(h.matmul(columns[0]), biases[0])))
    reset = f(cell.limit(reset + _plus(h.matmul(columns[1]), biases[1])))
    if cell.linear:
        inner = reset * _plus(h.matmul(columns[2]), biases[2])
    else:
        inner = _plus((reset * h).matmul(columns[2]), biases[2])
    new = g(cell.limit(new + inner))
    return [(1.0 - update) * new + update * h]


def _plus(x: Num, bias: Num | None) -> Num:
    return x if bias is None else x + bias


@dataclass(frozen=True)
class Kind:
    """A recurrent operator: its gates, states, default activations and equations."""

    gates: int
    states: int
    activations: tuple[str, ...]
    step: Callable[[Cell, Num, list[Num]], list[Num]]
    apart: bool = False
    """Whether the recurrent bias is not simply added to that of the input."""


_KINDS = {
    "LSTM": Kind(4, 2, ("Sigmoid", "Tanh", "Tanh"), _lstm_step),
    "GRU": Kind(3, 1, ("Sigmoid", "Tanh"), _gru_step, apart=True),
    "RNN": Kind(1, 1, ("Tanh",), _rnn_step),
}


# -- layers


def _layer(node: OnnxNode, b: Builder) -> list[Value]:
    kind = _KINDS[node.op]
    given = num(b, node.input(0))
    if given.dtype not in _WIDE:
        raise Refused(f"recurrent layers of type {given.dtype} are not computed by MindSpore")
    wide = _WIDE[given.dtype]
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(
        str(node.get("direction", "forward"))
    )
    if directions is None:
        raise Refused(f"{node.get('direction')} is not a direction that ONNX has", attribute="direction")
    batch_first = bool(node.get("layout", 0))
    x = given.cast(wide)
    x = x.transpose(1, 0, 2) if batch_first else x
    lengths = num(b, node.input(4)).cast("int64").reshape(-1, 1) if node.has(4) else None
    starts = [_start(node, b, 5 + at, wide, batch_first) for at in range(kind.states)]
    activations = _activations(node, kind.activations, len(directions))
    found = []
    for at, backward in enumerate(directions):
        cell, inputs = _cell(node, b, kind, at, wide, x, activations[at])
        state = [_zeros(inputs, cell) if start is None else start.take(num(b, at), 0) for start in starts]
        found.append(_run(kind, cell, inputs, state, lengths, backward))
    outputs = [concat([one[0].expand(1) for one in found], 1).cast(given.dtype)]
    outputs += [concat([one[1 + at].expand(0) for one in found], 0).cast(given.dtype) for at in range(kind.states)]
    if batch_first:
        outputs = [outputs[0].transpose(2, 0, 1, 3), *(one.transpose(1, 0, 2) for one in outputs[1:])]
    return [one.value for one in outputs]


def _start(node: OnnxNode, b: Builder, at: int, wide: str, batch_first: bool) -> Num | None:
    if not node.has(at):
        return None
    value = num(b, node.input(at)).cast(wide)
    return value.transpose(1, 0, 2) if batch_first else value


def _cell(
    node: OnnxNode, b: Builder, kind: Kind, at: int, wide: str, x: Num, activations: list[Activation]
) -> tuple[Cell, Num]:
    """A direction's cell, and what its input gives to the gates of every step: [T, B, G H]."""
    weight, recurrent = (num(b, node.input(one)).cast(wide).take(num(b, at), 0).transpose(1, 0) for one in (1, 2))
    hidden = (recurrent.shape or (None,))[0]
    if hidden is None:
        hidden = node.get("hidden_size")
    if hidden is None:
        raise Refused("hidden_size is only known when the model runs", attribute="hidden_size")
    width = kind.gates * int(hidden)
    weight = weight.reshape(size(b, weight.value, 0), width)
    recurrent = recurrent.reshape(int(hidden), width)
    inputs, own = x.matmul(weight), None
    if node.has(3):
        bias = num(b, node.input(3)).cast(wide).take(num(b, at), 0).reshape(2, 1, width)
        first, own = bias.take(num(b, 0), 0), bias.take(num(b, 1), 0)
        inputs, own = (inputs + first, own) if kind.apart else (inputs + (first + own), None)
    peepholes: tuple[Num, ...] = ()
    if node.op == "LSTM" and node.has(7):
        rows = num(b, node.input(7)).cast(wide).take(num(b, at), 0).reshape(3, 1, int(hidden))
        peepholes = tuple(rows.take(num(b, one), 0) for one in range(3))
    cell = Cell(
        recurrent,
        own,
        peepholes,
        activations,
        float(node.get("clip", 0.0) or 0.0),
        bool(node.get("input_forget", 0)),
        bool(node.get("linear_before_reset", 0)),
    )
    return cell, inputs


def _zeros(inputs: Num, cell: Cell) -> Num:
    """The state before the first step: [B, H]."""
    hidden = int((cell.recurrent.shape or (0,))[0] or 0)
    rows = arange(size(inputs.b, inputs.value, 1)).reshape(-1, 1) * 0
    return rows.cast(inputs.dtype) + num(inputs.b, np.zeros((1, hidden), inputs.dtype))


def _run(kind: Kind, cell: Cell, inputs: Num, state: list[Num], lengths: Num | None, backward: bool) -> list[Num]:
    """Y [T, B, H] of a direction, and its last states."""
    steps = (inputs.shape or (None,))[0]
    if not steps or steps > UNROLLED:
        return _looped(kind, cell, inputs, state, lengths, backward)
    outputs: list[Num] = [state[0]] * steps
    for at in reversed(range(steps)) if backward else range(steps):
        place = num(inputs.b, at)
        outputs[at], state = _advance(kind, cell, inputs.take(place, 0), state, place, lengths)
    return [concat([one.expand(0) for one in outputs], 0), *state]


def _advance(kind: Kind, cell: Cell, x: Num, state: list[Num], at: Num, lengths: Num | None) -> tuple[Num, list[Num]]:
    """One step: its output and the new state. Sequences that are shorter keep their state and give 0."""
    new = kind.step(cell, x, state)
    if lengths is None:
        return new[0], new
    alive = at < lengths
    kept = [where(alive, one, old) for one, old in zip(new, state, strict=True)]
    return where(alive, new[0], num(x.b, np.array(0.0, x.dtype))), kept


def _looped(kind: Kind, cell: Cell, inputs: Num, state: list[Num], lengths: Num | None, backward: bool) -> list[Num]:
    b = inputs.b
    steps = size(b, inputs.value, 0)
    count = len(state)
    numbers = arange(steps).reshape(-1, 1, 1)
    empty = numbers.cast(inputs.dtype) * 0.0 + _zeros(inputs, cell)
    optional = [one for one in (cell.bias, lengths) if one is not None]
    fixed = [steps, numbers, inputs, cell.recurrent, *cell.peepholes, *optional]

    def go_on(now: list[Num], kept: list[Num]) -> Num:
        return now[0] < kept[0]

    def step(now: list[Num], kept: list[Num]) -> list[Num]:
        (done, output, *old), (total, numbers, inputs, recurrent, *rest) = now, kept
        peepholes = tuple(rest[: len(cell.peepholes)])
        rest = rest[len(cell.peepholes) :]
        bias = rest.pop(0) if cell.bias is not None else None
        own = rest.pop(0) if lengths is not None else None
        at = total - 1 - done if backward else done
        here = Cell(recurrent, bias, peepholes, cell.activations, cell.clip, cell.coupled, cell.linear)
        result, new = _advance(kind, here, inputs.take(at, 0), old, at, own)
        return [done + 1, where(numbers.equal(at), result.expand(0), output), *new]

    found = repeat(b, [num(b, np.array(0, np.int64)), empty, *state], fixed, go_on, step)
    return found[1 : 2 + count]


TO_MINDIR: Mapping[str, Lower] = {"GRU": _layer, "LSTM": _layer, "RNN": _layer}
