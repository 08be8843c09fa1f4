"""The nine light networks of the onnx package: real architectures whose weights are constants, to save space.

:func:`with_weights` makes weights such as training leaves them, so that results tell something, and files as large as
the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper
from onnx.backend.test import loader

FOLDER = Path(loader.DATA_DIR) / "light"
Make = Callable[[np.random.Generator, tuple[int, ...]], Any]


def _kernel(noise: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """He et al., 2015: the variance of what goes through a layer stays."""
    return noise.standard_normal(shape, np.float32) * np.float32((2 / np.prod(shape[1:])) ** 0.5)


def _near(middle: float) -> Make:
    return lambda noise, shape: noise.uniform(middle - 0.2, middle + 0.2, shape).astype(np.float32)


KINDS: Mapping[tuple[str, int], Make] = {
    ("Conv", 1): _kernel,
    ("Gemm", 1): _kernel,
    ("BatchNormalization", 1): _near(1),
    ("BatchNormalization", 4): _near(1),
    ("Mul", 1): _near(1),
}
"""How a weight is made, by the operator that reads it and the place there; any other lies around zero."""


def with_weights(path: Path) -> ModelProto:
    """A light network with weights."""
    model = onnx.load(str(path))
    graph, noise = model.graph, np.random.default_rng(19)
    shapes = {one.name: tuple(numpy_helper.to_array(one)) for one in graph.initializer}
    constants = {node.output[0]: node for node in graph.node if node.op_type == "ConstantOfShape"}
    sizes = {node.input[0] for node in constants.values()}
    readers = {name: (node, at) for node in reversed(graph.node) for at, name in enumerate(node.input)}
    for name, node in constants.items():
        reader, place = readers[name]
        if reader.op_type == "Unsqueeze":
            reader, place = readers[reader.output[0]]
        make = KINDS.get((reader.op_type, place), _near(0))
        shape = tuple(int(size) for size in shapes[node.input[0]])
        graph.initializer.append(numpy_helper.from_array(make(noise, shape), name))
        graph.node.remove(node)
    for weight in [one for one in graph.initializer if one.name in sizes]:
        graph.initializer.remove(weight)
    weights = sizes | {one.name for one in graph.initializer}
    for value in [one for one in graph.input if one.name in weights]:
        graph.input.remove(value)
    model.ir_version = 8  # from 4 on a weight need not be an input, too
    return model


def save(name: str, target: Path) -> None:
    """Write a network with weights."""
    onnx.save(with_weights(FOLDER / f"light_{name}.onnx"), str(target))


if __name__ == "__main__":
    save(sys.argv[1], Path(sys.argv[2]))
