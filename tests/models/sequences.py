"""Networks on series: batch and length are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import numpy_helper

from tests.models.net import Model, Net

SERIES = [("x", "noise", ("n", "t", 6))]
RUNS = ({"n": 1, "t": 5}, {"n": 3, "t": 17}, {"n": 4, "t": 1})


def _zeros(net: Net, *parts: str | int) -> str:
    """The state that an exporter starts from, of the size of the batch."""
    return net.op("ConstantOfShape", net.sizes(*parts), value=numpy_helper.from_array(np.zeros(1, np.float32)))


def _layer(net: Net, kind: str, gates: int, x: str, entries: int, lengths: str = "", **attributes: object) -> list[str]:
    """A layer in both directions with 8 units; what it gives and its last state."""
    weights = net.weight(2, gates * 8, entries), net.weight(2, gates * 8, 8), net.weight(2, gates * 16)
    state = _zeros(net, 2, net.size(x, 1), 8)
    states = [state, state] if kind == "LSTM" else [state]
    given = {"hidden_size": 8, "direction": "bidirectional", **attributes}
    whole, last, *_ = net.ops(kind, 1 + len(states), x, *weights, lengths, *states, **given)
    joined = net.op("Transpose", whole, perm=[0, 2, 1, 3])
    return [net.op("Reshape", joined, net.constant([0, 0, -1])), last]


def _bilstm(net: Net, x: str) -> Sequence[str]:
    x, _ = _layer(net, "LSTM", 4, net.op("Transpose", x, perm=[1, 0, 2]), 6)
    x, last = _layer(net, "LSTM", 4, x, 16)
    return [net.linear(net.op("Transpose", x, perm=[1, 0, 2]), 16, 3), last]


def _gru(net: Net, x: str, lengths: str) -> Sequence[str]:
    """Each series ends where its length says."""
    x = net.op("Transpose", x, perm=[1, 0, 2])
    x, last = _layer(net, "GRU", 3, x, 6, net.op("Cast", lengths, to=6), linear_before_reset=1)
    return [net.op("Transpose", x, perm=[1, 0, 2]), last]


def _audio(net: Net, x: str) -> Sequence[str]:
    """Strided convolutions on sound, each normed over groups of channels, and the shares of letters."""
    x = net.unsqueeze(x, 1)
    for entries, results, kernel, stride in ((1, 8, 10, 5), (8, 8, 3, 2)):
        x = net.conv(x, entries, results, kernel_shape=[kernel], pads=[0, 0], strides=[stride])
        sizes = net.op("Shape", x)
        apart = net.op("Reshape", x, net.constant([0, 4, -1]))
        scaled = net.op("InstanceNormalization", apart, net.weight(4, near=1), net.weight(4), epsilon=1e-5)
        x = net.op("Mul", net.op("Reshape", scaled, sizes), net.weight(results, 1, near=1))
        x = net.op("Elu", x)
    return [net.op("LogSoftmax", net.linear(net.op("Transpose", x, perm=[0, 2, 1]), 8, 5), axis=-1)]


def _causal(net: Net, x: str) -> Sequence[str]:
    """Dilated convolutions that see the past alone, with gates; running sums beside them."""
    x = net.op("Transpose", x, perm=[0, 2, 1])
    for reach in (1, 2, 4):
        padded = net.op("Pad", x, net.constant([0, 0, 2 * reach, 0, 0, 0]), net.number(0.0))
        deep = net.conv(padded, 6, 12, kernel_shape=[3], pads=[0, 0], dilations=[reach])
        front, back = net.ops("Split", 2, deep, net.constant([6, 6]), axis=1)
        x = net.op("Add", x, net.op("Mul", net.op("Tanh", front), net.op("Sigmoid", back)))
    return [x, net.op("CumSum", x, net.constant(2))]


LENGTHS = ("lengths", "length", ("n",))
SOUND = ({"n": 1, "t": 333}, {"n": 3, "t": 200}, {"n": 2, "t": 61})
MODELS: Mapping[str, Model] = {
    "bilstm": Model(_bilstm, SERIES, RUNS, 14),
    "gru": Model(_gru, [*SERIES, LENGTHS], RUNS, 13),
    "audio": Model(_audio, [("x", "noise", ("n", "t"))], SOUND, 13, [3]),
    "causal convolutions": Model(_causal, SERIES, RUNS, 13),
}
