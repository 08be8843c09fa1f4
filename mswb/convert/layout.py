"""``--input_format NHWC``: the model keeps its own layout, and its edges are transposed.

Kernels and weights stay channels-first, which is what they were made for; a program feeds and gets channels-last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, helper

TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of dimensions that make NCHW of NHWC, and back."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An input or output that is transposed: ``kind`` says which."""

    kind: str
    name: str


def channels_last(proto: ModelProto, weights: Collection[str]) -> list[Edge]:
    """Make every input and output of four dimensions NHWC, in place.

    Args:
        weights: names of inputs that stand for weights.
    """
    graph = proto.graph
    fixed = {tensor.name for tensor in graph.initializer} | set(weights)
    inputs = [value for value in graph.input if value.name not in fixed and _rank(value) == 4]
    given = {value.name for value in graph.input} | fixed
    outputs = [value for value in graph.output if value.name not in given and _rank(value) == 4]
    names = {value.name: _free(graph, f"{value.name}_nchw") for value in (*inputs, *outputs)}
    rename(graph, lambda name: names.get(name, name))
    before = [_transpose(value.name, names[value.name], TO_FIRST) for value in inputs]
    after = [_transpose(names[value.name], value.name, TO_LAST) for value in outputs]
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in (*inputs, *outputs):
        _reorder(value)
    return [Edge("input", value.name) for value in inputs] + [Edge("output", value.name) for value in outputs]


def _rank(value: Any) -> int | None:
    kind = value.type.tensor_type
    return len(kind.shape.dim) if value.type.HasField("tensor_type") and kind.HasField("shape") else None


def _reorder(value: Any) -> None:
    dims = value.type.tensor_type.shape.dim
    sizes = [type(dim).FromString(dim.SerializeToString()) for dim in dims]
    for at, source in enumerate(TO_LAST):
        dims[at].CopyFrom(sizes[source])


def _transpose(source: str, target: str, order: tuple[int, ...]) -> NodeProto:
    return helper.make_node("Transpose", [source], [target], name=f"{source}/layout", perm=list(order))


def _free(graph: GraphProto, wanted: str) -> str:
    taken = set(_names(graph))
    while wanted in taken:
        wanted += "_"
    return wanted


def _names(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from (*node.input, *node.output)
        for inner in _graphs(node):
            yield from _names(inner)
    yield from (value.name for value in (*graph.input, *graph.initializer))


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        yield from (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs)


def rename(graph: GraphProto, new: Callable[[str], str], *, inside: bool = False) -> None:
    """Rename tensors in nodes, and in the graphs in their attributes, which may use what is around them."""
    for node in graph.node:
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
        for inner in _graphs(node):
            rename(inner, new, inside=True)
    for value in (*graph.value_info, *(graph.output if inside else ())):
        value.name = new(value.name)
