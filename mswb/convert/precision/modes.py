"""The precision of an ONNX model: all in float32, all in float16 as far as it goes, or each operator in what it needs.

Each node computes in one of the two. A Cast stands where a tensor passes from one to the other, once however many read
it; Casts between fractions that the model had are gone. Inputs and outputs of the model keep their data types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.onnx.weights import Weights, parts, without
from mswb.convert.precision import operators as ops
from mswb.convert.precision.graph import FRACTIONS, HALF, Formals, Rewriter, has_graphs
from mswb.findings import Finding, Where, make

MODES = ("FP32", "FP16", "MIXED")
LARGEST = float(np.finfo(np.float16).max)
SMALLEST = float(np.finfo(np.float16).smallest_subnormal) / 2
"""Below, a number rounds to 0 in half precision."""


@dataclass(frozen=True, slots=True)
class Precise:
    """A model in another precision.

    Attributes:
        weights: the constants beside it, in the data types that it wants.
        halves: how many of its nodes compute in float16, of ``nodes`` that compute with fractions.
    """

    proto: ModelProto
    weights: Weights
    findings: tuple[Finding, ...]
    halves: int
    nodes: int


def apply(proto: ModelProto, mode: str, weights: Weights | None = None, path: str = "") -> Precise:
    """The model in the precision of ``mode``; what is given is not changed.

    Args:
        weights: its constants that stand beside it.
        path: the file that findings name.
    """
    stored = dict(weights or {})
    hoisted = _hoisted(proto)
    graph = _Graph(hoisted, stored)
    halves, limited, findings = _halves(graph, mode, path)
    rewriter = Rewriter(hoisted, graph.types, graph.formals, stored, halves=halves, limited=limited)
    model = rewriter.model()
    counted = [at for at, node in enumerate(graph.nodes) if graph.computes(node)]
    return Precise(model, rewriter.weights, tuple(findings), len(halves & set(counted)), len(counted))


def _hoisted(proto: ModelProto) -> ModelProto:
    """A copy of the model whose Constant nodes are initializers."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    outputs = {value.name for value in graph.output}
    found = {node.output[0]: held for node in graph.node if (held := _constant(node)) and node.output[0] not in outputs}
    kept = [node for node in graph.node if not found.keys() & set(node.output)]
    del graph.node[:]
    graph.node.extend(kept)
    for name, tensor in found.items():
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = name
    return copy


def _constant(node: NodeProto) -> TensorProto | None:
    """The fractions that a Constant gives."""
    for one in node.attribute if node.op_type == "Constant" else ():
        found: TensorProto | None = None
        if one.name == "value" and one.t.data_type in FRACTIONS:
            found = one.t
        elif one.name in ("value_float", "value_floats"):
            found = numpy_helper.from_array(np.array(onnx.helper.get_attribute_value(one), np.float32))
        if found is not None:
            return found
    return None


class _Graph:
    """What the choice of a precision wants to know of a model."""

    def __init__(self, proto: ModelProto, weights: Weights) -> None:
        self.nodes: Sequence[NodeProto] = proto.graph.node
        self.weights = weights
        self.outputs = {value.name for value in proto.graph.output}
        self.formals = Formals(proto)
        self.types = _types(proto, weights, self.formals)
        self.constants = {tensor.name: tensor for tensor in proto.graph.initializer}
        for node in self.nodes:
            held = next((one.t for one in node.attribute if one.name == "value"), None)
            if node.op_type == "ConstantOfShape" and held is not None:
                self.constants[node.output[0]] = held
        self.makers = {name: at for at, node in enumerate(self.nodes) for name in node.output if name}
        self.readers: dict[str, list[int]] = {}
        for at, node in enumerate(self.nodes):
            for name in filter(None, node.input):
                self.readers.setdefault(name, []).append(at)

    def is_fraction(self, name: str) -> bool:
        """Whether a tensor is of one of the data types that precision is about."""
        return self.types.get(name) in FRACTIONS

    def computes(self, node: NodeProto) -> bool:
        """Whether a node has to do with fractions at all."""
        return any(self.is_fraction(name) for name in (*node.input, *node.output))

    def computed(self, at: int) -> list[tuple[str, int]]:
        """The fractions that a node reads and that another node computes: name and node."""
        return [
            (name, self.makers[name])
            for name in dict.fromkeys(self.nodes[at].input)
            if name in self.makers and self.is_fraction(name) and name not in self.constants
        ]

    def content(self, name: str) -> Array:
        """The content of a constant."""
        held = self.weights.get(name)
        return held.array if held is not None else numpy_helper.to_array(self.constants[name])


def _types(proto: ModelProto, weights: Weights, formals: Formals) -> dict[str, int]:
    """The data type of each tensor, by ONNX's inference; where that stops, by what the operators promise."""
    bare = without(proto, weights.keys())
    inferred = onnx.shape_inference.infer_shapes(bare, data_prop=False).graph
    found = {
        value.name: value.type.tensor_type.elem_type
        for value in (*inferred.value_info, *inferred.input, *inferred.output)
        if value.type.HasField("tensor_type")
    }
    found |= {tensor.name: tensor.data_type for tensor in inferred.initializer}
    for node in proto.graph.node:
        for number, name in enumerate(node.output):
            twin = formals.twin(node, number)
            if not found.get(name) and twin is not None and twin < len(node.input):
                found[name] = found.get(node.input[twin], 0)
    return found


# -- which nodes compute in half precision


def _halves(graph: _Graph, mode: str, path: str) -> tuple[set[int], set[str], list[Finding]]:
    """The nodes that compute in float16, the constants that are limited to its range, and what is told of both."""
    if mode == "FP32":
        return set(), set(), []
    wide = {at for at, node in enumerate(graph.nodes) if node.op_type in ops.NEVER_HALF or _is_single(node)}
    wide |= _indices(graph)
    if mode == "MIXED":
        wide |= _sensitive(graph)
    risky = _out_of_range(graph, wide)
    limited = {name for name, one in risky.items() if one.is_limited}
    wide |= {at for one in risky.values() if not one.is_limited for at in one.readers}
    every = {at for at, node in enumerate(graph.nodes) if graph.computes(node)}
    return every - wide, limited, [_finding(name, one, path) for name, one in sorted(risky.items())]


def _is_single(node: NodeProto) -> bool:
    """Whether a node gives float32 whatever is asked of it."""
    foreign = node.domain not in ("", "ai.onnx")
    return foreign or has_graphs(node) or (node.op_type == "ConstantOfShape" and not node.attribute)


def _sensitive(graph: _Graph) -> set[int]:
    found: set[int] = set()
    for at, node in enumerate(graph.nodes):
        if node.op_type in ops.EXPONENTIAL:
            found |= {at, *_back(graph, at, ops.MOVING | ops.ARITHMETIC)}
        elif node.op_type in ops.SUMMING:
            found |= {at, *_back(graph, at, ops.MOVING)}
        elif node.op_type in ops.ALONE or (node.op_type == "Cast" and not graph.is_fraction(node.input[0])):
            found.add(at)
    return found


def _indices(graph: _Graph) -> set[int]:
    """What computes sizes and indices: half precision counts to 2048 only."""
    found: set[int] = set()
    through = ops.MOVING | ops.ARITHMETIC | ops.ROUNDING
    for node in graph.nodes:
        to_whole = node.op_type == "Cast" and not graph.is_fraction(node.output[0])
        for number, name in enumerate(node.input):
            if not graph.is_fraction(name) or not (to_whole or not graph.formals.allows(node, number, HALF)):
                continue
            maker = graph.makers.get(name)
            if maker is not None and name not in graph.constants:
                found |= {maker, *(_back(graph, maker, through) if graph.nodes[maker].op_type in through else ())}
    return found


def _back(graph: _Graph, start: int, through: Iterable[str]) -> set[int]:
    """The nodes that make the inputs of a node: back through some operators to one that is none of these.

    A sum or product with a constant, such as a bias, is passed through in any case.
    """
    passed, found = set(through), set[int]()
    waiting = [maker for _, maker in graph.computed(start)]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.add(at)
        op, makers = graph.nodes[at].op_type, graph.computed(at)
        if op in passed or (op in ops.ARITHMETIC and len(makers) == 1):
            waiting += [maker for _, maker in makers]
    return found


# -- constants beyond the range


@dataclass(frozen=True, slots=True)
class _Risk:
    """A constant that half precision has no number for: in which nodes, and whether the largest one will do."""

    readers: tuple[int, ...]
    is_limited: bool
    largest: float
    count: int
    elements: int


def _out_of_range(graph: _Graph, wide: set[int]) -> dict[str, _Risk]:
    found: dict[str, _Risk] = {}
    for name in graph.constants:
        own = graph.makers.get(name)
        readers = [at for at in graph.readers.get(name, ()) if at not in wide]
        if own is not None and graph.nodes[own].op_type == "ConstantOfShape":
            readers = [*readers, own] if own not in wide else []
        if not readers or graph.constants[name].data_type not in (TensorProto.FLOAT, TensorProto.BFLOAT16):
            continue
        largest, count, vanishes = _range(graph.content(name))
        if count or vanishes:
            shown = {one for at in readers for one in _shown(graph, at)}
            limits = bool(count) and not shown and all(graph.nodes[at].op_type in ops.LIMITING for at in readers)
            elements = int(np.prod(graph.constants[name].dims, dtype=np.int64))
            found[name] = _Risk((*readers, *shown), limits, largest, count, elements)
    return found


def _shown(graph: _Graph, start: int) -> set[int]:
    """The nodes on the way from this one to an output of the model, when nothing but moves numbers on it."""
    seen, waiting = {start}, [start]
    while waiting:
        for name in graph.nodes[waiting.pop()].output:
            new = {one for one in graph.readers.get(name, ()) if graph.nodes[one].op_type in ops.MOVING} - seen
            seen |= new
            waiting += new
    reaches = any(name in graph.outputs for at in seen for name in graph.nodes[at].output)
    return seen if reaches else set()


def _range(array: Array) -> tuple[float, int, bool]:
    """The largest finite number by size, how many are too large, and whether all that are not 0 would become 0."""
    largest, count, some, left = 0.0, 0, False, False
    for part in parts(array):
        size = np.abs(part.astype(np.float32))
        size = size[np.isfinite(size)]
        largest = max(largest, float(size.max(initial=0.0)))
        count += int(np.count_nonzero(size > LARGEST))
        some = some or bool(size.any())
        left = left or bool((size > SMALLEST).any())
    return largest, count, some and not left


def _finding(name: str, risk: _Risk, path: str) -> Finding:
    values = {
        "name": plain(name),
        "count": risk.count,
        "elements": risk.elements,
        "size": f"{risk.largest:.3g}",
        "what": "they are limited to ±65504" if risk.is_limited else "what uses them stays in float32",
    }
    code = "fp16-overflow-risk" if risk.count else "fp16-vanishing"
    return make(code, where=Where(node=plain(name), file=path), values=values)
