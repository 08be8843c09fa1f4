"""Networks whose way depends on what they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.models.net import Model, Net

RUNS = ({"n": 1, "t": 5}, {"n": 3, "t": 12}, {"n": 4, "t": 1})
SERIES = [("x", "noise", ("n", "t", 6))]


def _graph(inner: Net, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[str]) -> onnx.GraphProto:
    results = [onnx.ValueInfoProto(name=one) for one in outputs]
    return helper.make_graph(inner.nodes, name, inputs, results, inner.weights)


def _inner(net: Net, prefix: str) -> Net:
    """A graph in a graph: its names are its own."""

    class Named(Net):
        def ops(self, kind: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
            names = [f"{prefix}_{kind}_{len(self.nodes)}_{number}" for number in range(results)]
            self.nodes.append(helper.make_node(kind, inputs, names, names[0], **attributes))
            return names

    return Named(net.opset)


def _cell(net: Net, x: str) -> Sequence[str]:
    """A recurrence that is a loop over the places of the series, as a scripted network is exported."""
    length = net.size(x, 1)
    start = net.op("ConstantOfShape", net.sizes(net.size(x, 0), 8))
    entry, again, bias = net.weight(6, 8), net.weight(8, 8), net.weight(8)
    inner = _inner(net, "body")
    now = inner.op("Gather", x, "i", axis=1)
    sums = inner.op("Add", inner.op("MatMul", now, entry), inner.op("MatMul", "state", again))
    state = inner.op("Tanh", inner.op("Add", sums, bias))
    more = inner.op("Identity", "go")
    row = inner.op("Identity", state)
    given = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        helper.make_tensor_value_info("state", TensorProto.FLOAT, ["n", 8]),
    ]
    body = _graph(inner, "body", given, [more, state, row])
    last, rows = net.ops("Loop", 2, length, net.constant(True, np.bool_), start, body=body)
    return [last, net.op("Transpose", rows, perm=[1, 0, 2])]


def _choice(net: Net, x: str) -> Sequence[str]:
    """One branch for long series, which keeps the first places, and one for short ones, which repeats them."""
    far = net.op("Greater", net.size(x, 1), net.constant(4))
    cut, doubled = _inner(net, "cut"), _inner(net, "doubled")
    then = _graph(cut, "cut", [], [cut.op("Relu", cut.slice(x, 0, 4, 1))])
    other = _graph(doubled, "doubled", [], [doubled.op("Concat", x, doubled.op("Neg", x), axis=1)])
    chosen = net.op("If", far, then_branch=then, else_branch=other)
    return [net.linear(chosen, 6, 3)]


MODELS: Mapping[str, Model] = {
    "loop over a series": Model(_cell, SERIES, RUNS, 13, [2, 3]),
    "two ways": Model(_choice, SERIES, RUNS, 13),
}
