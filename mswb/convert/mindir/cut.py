"""A piece of a MindIR graph as a model of its own: what gives the wanted results, from what is given.

So one operator, or each of many at once, runs on inputs that come from somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mswb.convert.mindir.schema import REF, Graph, Model, Node, Tensor, Value


@dataclass(frozen=True, slots=True)
class Piece:
    """A model, and what its inputs are: names of the whole model's results and inputs, in order."""

    model: Model
    inputs: tuple[str, ...]


def producers(graph: Graph) -> dict[str, Node]:
    """The node of each result that is computed."""
    return {name: node for node in graph.node if node.op_type != "Constant" for name in node.output}


def cut(model: Model, wanted: Sequence[str], given: Mapping[str, Tensor]) -> Piece:
    """The piece of a model whose outputs are ``wanted``.

    Args:
        wanted: results of nodes of the entry graph.
        given: type of each result that is an input of the piece. One that is wanted too is computed, and whoever
            reads it gets the input all the same.
    """
    graph = model.graph
    assert graph is not None
    made = {name: node for node in graph.node for name in node.output}
    needed, read = _needed(model, made, wanted, given)
    fresh = {name: f"{name}::given" for name in given if name in read}
    nodes = tuple(_renamed(node, fresh) for node in graph.node if any(name in needed for name in node.output))
    own = [value for value in graph.input if value.name in read]
    inputs = [Value(name=new, tensor=(replace(given[name], name=new),)) for name, new in fresh.items()]
    piece = replace(
        graph,
        node=nodes,
        input=(*own, *inputs),
        output=tuple(Value(name=name) for name in wanted),
        parameter=tuple(one for one in graph.parameter if (one.ref_key or one.name) in read or one.name in read),
        at=None,
    )
    called = _called(model, nodes)
    cut_model = replace(
        model, graph=piece, functions=tuple(one for one in model.functions if one.name in called), user_info=(), at=None
    )
    return Piece(cut_model, (*(value.name or "" for value in own), *fresh))


def _needed(
    model: Model, made: Mapping[str, Node], wanted: Sequence[str], given: Mapping[str, Tensor]
) -> tuple[set[str], set[str]]:
    """The results whose nodes belong to the piece, and all that these nodes read."""
    needed, read = set[str](), set[str]()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in needed or name not in made:
            continue
        needed.add(name)
        node = made[name]
        for one in (*node.input, *_free(model, node)):
            read.add(one)
            if one not in given:
                waiting.append(one)
        waiting.append((node.op_type or "").removeprefix(REF))  # a closure is called by the name of its node
    return needed, read


def _free(model: Model, node: Node) -> Iterator[str]:
    """What the functions that a node calls read from the entry graph."""
    called = _called(model, (node,))
    for graph in model.functions:
        if graph.name in called:
            own = {value.name for value in graph.input} | {name for one in graph.node for name in one.output}
            yield from (name for one in graph.node for name in one.input if name not in own)


def _called(model: Model, nodes: Sequence[Node]) -> set[str]:
    """The functions that nodes call or hold, and those that these call."""
    functions = {graph.name or "": graph for graph in model.functions}
    found, waiting = set[str](), list(nodes) if functions else []
    while waiting:
        node = waiting.pop()
        for name in _names(node):
            if name in functions and name not in found:
                found.add(name)
                waiting.extend(functions[name].node)
    return found


def _names(node: Node) -> Iterator[str]:
    yield (node.op_type or "").removeprefix(REF)
    yield from node.input
    for attribute in node.attribute:
        yield from (text.removeprefix(REF) for text in (attribute.ref_attr_name or "",) if text)
        if isinstance(attribute.s, bytes):
            yield attribute.s.decode("utf-8", "replace").removeprefix(REF)


def _renamed(node: Node, fresh: Mapping[str, str]) -> Node:
    if not any(name in fresh for name in node.input):
        return node
    return replace(node, input=tuple(fresh.get(name, name) for name in node.input))
