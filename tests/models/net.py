"""Builds an ONNX model call by call, and draws inputs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

Dims = tuple["int | str", ...]
DTYPES = {"noise": np.float32, "share": np.float32, "id": np.int64, "mask": np.int64, "length": np.int64}
"""What an input holds: normal numbers, numbers of 0 to 1, below 20, ones with a few zeros behind, from 1 to the last
dimension's size."""
IDS = 20


class Net:
    """A model under construction; tensors are their names."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[TensorProto] = []
        self.noise = np.random.default_rng(3)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Call an operator with one result."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        """Call an operator with several results."""
        at = len(self.nodes)
        names = [f"{kind}_{at}_{number}" for number in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"/{kind}_{at}", **attributes))
        return names

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant as exporters write it: a node of its own."""
        return self.op("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def number(self, value: float) -> str:
        return self.constant(value, np.float32)

    def weight(self, *shape: int, near: float = 0) -> str:
        """An initializer of noise: with a variance that layers keep, or close to a number."""
        spread = 0.1 if near or len(shape) == 1 else (1 / np.prod(shape[1:] if len(shape) > 2 else shape[:1])) ** 0.5
        array = self.noise.normal(near, spread, shape)
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), f"w{len(self.weights)}"))
        return self.weights[-1].name

    # -- what exporters write for sizes

    def size(self, value: str, axis: int) -> str:
        """One size, as a number."""
        return self.op("Gather", self.op("Shape", value), self.constant(axis), axis=0)

    def sizes(self, *parts: str | int) -> str:
        """Sizes as a vector."""
        ones = [self.constant([part]) if isinstance(part, int) else self.vector(part) for part in parts]
        return self.op("Concat", *ones, axis=0)

    def vector(self, number: str) -> str:
        """A number as a vector of one."""
        return self.unsqueeze(number, 0)

    def unsqueeze(self, value: str, *axes: int) -> str:
        if self.opset < 13:
            return self.op("Unsqueeze", value, axes=axes)
        return self.op("Unsqueeze", value, self.constant(axes))

    def mean(self, value: str, *axes: int) -> str:
        if self.opset < 18:
            return self.op("ReduceMean", value, axes=axes, keepdims=1)
        return self.op("ReduceMean", value, self.constant(axes), keepdims=1)

    def range(self, count: str) -> str:
        return self.op("Range", self.constant(0), count, self.constant(1))

    def slice(self, value: str, first: int, last: int, axis: int, step: int = 1) -> str:
        parts = [self.constant([one]) for one in (first, last, axis, step)]
        return self.op("Slice", value, *parts)

    # -- layers

    def linear(self, value: str, entries: int, results: int) -> str:
        return self.op("Add", self.weight(results), self.op("MatMul", value, self.weight(entries, results)))

    def conv(self, value: str, entries: int, results: int, kernel: int = 3, **attributes: Any) -> str:
        """A convolution that keeps the size where its stride is 1."""
        given = {"kernel_shape": [kernel, kernel], "pads": [kernel // 2] * 4, **attributes}
        weights = self.weight(results, entries // given.get("group", 1), *given["kernel_shape"])
        return self.op("Conv", value, weights, self.weight(results), **given)

    def norm(self, value: str, channels: int) -> str:
        """A batch normalization."""
        around = [self.weight(channels, near=near) for near in (1, 0, 0, 1)]
        return self.op("BatchNormalization", value, *around, epsilon=1e-5)

    def block(self, value: str, entries: int, results: int, **attributes: Any) -> str:
        return self.op("Relu", self.norm(self.conv(value, entries, results, **attributes), results))


@dataclass(frozen=True)
class Model:
    """A network with open dimensions.

    Attributes:
        body: makes it, given the names of its inputs, and returns its outputs.
        inputs: name, what it holds and dimensions of each; names of dimensions are open.
        runs: sizes of the open dimensions.
        ranks: of the outputs, where inference does not find them.
    """

    body: Callable[..., Sequence[str]]
    inputs: Sequence[tuple[str, str, Dims]]
    runs: Sequence[Mapping[str, int]]
    opset: int = 17
    ranks: Sequence[int] = ()

    def proto(self) -> ModelProto:
        """The model, with the types that inference finds."""
        net = Net(self.opset)
        outputs = self.body(net, *(name for name, _, _ in self.inputs))
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[kind])), dims)
            for name, kind, dims in self.inputs
        ]
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(net.nodes, "main_graph", given, results, net.weights)
        bare = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        known = {value.name: value for value in onnx.shape_inference.infer_shapes(bare, data_prop=True).graph.output}
        for at, value in enumerate(bare.graph.output):
            value.CopyFrom(known[value.name])
            if self.ranks:
                kind = value.type.tensor_type.elem_type
                value.CopyFrom(helper.make_tensor_value_info(value.name, kind, [None] * self.ranks[at]))
        return bare

    def draw(self, run: Mapping[str, int], seed: int) -> dict[str, Any]:
        """Inputs of these sizes."""
        noise = np.random.default_rng(seed)
        shapes = {name: [one if isinstance(one, int) else run[one] for one in dims] for name, _, dims in self.inputs}
        return {name: _drawn(kind, shapes[name], noise, run).astype(DTYPES[kind]) for name, kind, _ in self.inputs}


def _drawn(kind: str, shape: Sequence[int], noise: np.random.Generator, run: Mapping[str, int]) -> Any:
    if kind == "id":
        return noise.integers(0, IDS, shape)
    if kind == "length":
        return noise.integers(1, run["t"] + 1, shape)
    if kind == "mask":
        return np.arange(shape[-1]) < noise.integers(1, shape[-1] + 1, (*shape[:-1], 1))
    return noise.random(shape) if kind == "share" else noise.standard_normal(shape)
