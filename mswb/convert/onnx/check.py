"""What must hold before an ONNX model is converted: versions, one writer a tensor, no cycle, onnx.checker's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from heapq import heapify, heappop, heappush
from itertools import count

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from mswb.convert.facts import plain
from mswb.convert.onnx.model import every_node, twice
from mswb.findings import Where, stop

OLDEST = 7
"""The lowest opset that is converted; before it, broadcasting had rules of its own."""


def versions(path: str, proto: ModelProto) -> None:
    """See that the opset is there and known; a model of other domains alone needs none, and is given the newest.

    Raises:
        MswbError: ``opset-missing`` or ``opset-too-new``.
    """
    newest = int(onnx.defs.onnx_opset_version())
    found = [one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")]
    domains = {one.domain for one in every_node(proto.graph.node)}
    if not found and proto.opset_import and not domains & {"", "ai.onnx"}:
        found = [newest]
        proto.opset_import.append(onnx.helper.make_opsetid("", newest))
    if not found:
        raise stop("opset-missing", where=Where(file=path))
    if found[0] > newest:
        raise stop("opset-too-new", where=Where(file=path), values={"opset": found[0], "newest": newest})


def raised(path: str, proto: ModelProto) -> ModelProto:
    """The model in the oldest opset that is converted, when it is of an older one and means the same there.

    Raises:
        MswbError: ``opset-too-old``.
    """
    opset = next(one.version for one in proto.opset_import if not one.domain)
    if opset >= OLDEST:
        return proto
    if all(_unchanged(node, opset) for node in every_node(proto.graph.node)):
        result = ModelProto()
        result.CopyFrom(proto)
        next(one for one in result.opset_import if not one.domain).version = OLDEST
        return result
    try:
        if any(node.op_type == "PRelu" for node in every_node(proto.graph.node)):
            raise ValueError("a slope for each channel, which onnx's version converter leaves without dimensions")
        return onnx.version_converter.convert_version(proto, OLDEST)
    except Exception as problem:  # the converter has no base for its errors
        values = {"opset": opset, "oldest": OLDEST}
        raise stop("opset-too-old", where=Where(file=path), evidence=plain(str(problem)), values=values) from None


def _unchanged(node: NodeProto, opset: int) -> bool:
    """Whether an operator is the same in the oldest opset that is converted."""
    try:
        versions = [onnx.defs.get_schema(node.op_type, one, node.domain).since_version for one in (opset, OLDEST)]
    except onnx.defs.SchemaError:
        return False
    return versions[0] == versions[1]


def sorted_nodes(path: str, proto: ModelProto) -> ModelProto:
    """The model with its nodes in an order in which each finds its inputs, and a name for each node.

    Raises:
        MswbError: ``duplicate-tensor``, ``undefined-input`` or ``graph-cycle``.
    """
    graph = proto.graph
    for name, found in Counter(tensor.name for tensor in graph.initializer).items():
        if found > 1:
            raise twice(path, name, "weight")
    known = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input} | {""}
    known |= {tensor.values.name for tensor in graph.sparse_initializer}
    writers: dict[str, NodeProto] = {}
    for node in graph.node:
        for name in filter(None, node.output):
            if name in writers or name in known:
                raise twice(path, name, "tensor")
            writers[name] = node
    everything = known | writers.keys()
    for node in graph.node:
        _see_inputs(path, node, everything)
    order = _order(graph.node, writers)
    if len(order) < len(graph.node):
        done = {id(node) for node in order}
        names = [_title(node) for node in graph.node if id(node) not in done]
        values = {"count": len(names), "path": " → ".join(names[:8]) + (" …" if len(names) > 8 else "")}
        raise stop("graph-cycle", where=Where(node=names[0], file=path), values=values)
    result = ModelProto()
    result.CopyFrom(proto)
    del result.graph.node[:]
    result.graph.node.extend(order)
    _name(result.graph)
    return result


def _title(node: NodeProto) -> str:
    return plain(node.name or next(filter(None, node.output), node.op_type))


def _see_inputs(path: str, node: NodeProto, known: Set[str]) -> None:
    for at, name in enumerate(needs(node)):
        if name not in known:
            values = {"name": _title(node), "index": at, "input": plain(name)}
            raise stop("undefined-input", where=Where(node=_title(node), file=path), values=values)


def _order(nodes: Sequence[NodeProto], writers: dict[str, NodeProto]) -> list[NodeProto]:
    """Kahn's order; of nodes that could come next the first one in the file does."""
    number = {id(node): at for at, node in enumerate(nodes)}
    waiting, readers = {}, dict[int, list[int]]()
    for at, node in enumerate(nodes):
        before = {number[id(writers[name])] for name in needs(node) if name in writers}
        waiting[at] = len(before)
        for one in before:
            readers.setdefault(one, []).append(at)
    ready = [at for at, count in waiting.items() if not count]
    heapify(ready)
    order = []
    while ready:
        at = heappop(ready)
        order.append(nodes[at])
        for reader in readers.get(at, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, reader)
    return order


def needs(node: NodeProto) -> Iterator[str]:
    """What a node reads, the graphs in its attributes included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            yield from free_names(graph)


def free_names(graph: GraphProto) -> Iterator[str]:
    """What a graph reads from the one around it, in the order of its nodes, each once."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer} | {""}
    own |= {name for node in graph.node for name in node.output}
    names = [name for node in graph.node for name in needs(node)] + [value.name for value in graph.output]
    yield from dict.fromkeys(name for name in names if name not in own)


def _name(graph: GraphProto) -> None:
    """Give each node a name of its own."""
    taken = {node.name for node in graph.node if node.name}
    seen: set[str] = set()
    for at, node in enumerate(graph.node):
        if not node.name or node.name in seen:
            base = node.name or f"{node.op_type}_{at}"
            node.name = next(name for name in _numbered(base) if name not in seen and name not in taken)
        seen.add(node.name)


def _numbered(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}_{number}" for number in count(1))


def check(path: str, proto: ModelProto) -> None:
    """See that the onnx package finds nothing wrong.

    Raises:
        MswbError: ``onnx-invalid`` with the checker's own words.
    """
    try:
        onnx.checker.check_model(_with_shapes(proto), full_check=False)
    except onnx.checker.ValidationError as problem:
        reason = plain(str(problem).strip().split("\n")[0])
        raise stop(
            "onnx-invalid", where=Where(file=path), evidence=plain(str(problem)), values={"reason": reason}
        ) from None
    for tensor in (tensor for graph in _graphs(proto.graph) for tensor in graph.initializer):
        if tensor.data_type not in TensorProto.DataType.values():  # the checker takes any
            reason = f"weight {plain(tensor.name)} is of data type {tensor.data_type}, which there is not"
            raise stop("onnx-invalid", where=Where(file=path), values={"reason": reason})


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and those within it."""
    yield graph
    for attribute in (one for node in graph.node for one in node.attribute):
        for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            yield from _graphs(inner)


def _with_shapes(proto: ModelProto) -> ModelProto:
    """The model with a shape at each input and output: the checker wants one, though a rank may be unknown."""
    result = ModelProto()
    result.CopyFrom(proto)
    for value in (*result.graph.input, *result.graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return result
