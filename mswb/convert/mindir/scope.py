"""What the checks of a MindIR model share: the names it may refer to, and how a finding names its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mswb.convert.facts import plain
from mswb.convert.mindir.schema import REF, Attribute, Graph, Message, Model, Node, Primitive
from mswb.findings import Finding, Where, make

LONG = 1500
"""Characters of a value of a finding: a few names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A model that is checked. The loader keeps one table of names for all graphs, so a function may use what the
    entry graph defines."""

    path: str
    model: Model
    primitives: dict[str, Primitive]
    functions: frozenset[str]
    names: frozenset[str]
    constants: dict[str, Attribute]

    def primitive(self, node: Node) -> Primitive | None:
        """What a node calls, when it is a primitive of the model."""
        return self.primitives.get(called(node)) if (node.op_type or "").startswith(REF) else None

    def operator(self, node: Node) -> str | None:
        """The operator of a node; None when it calls a function or a closure, or nothing that there is."""
        name = node.op_type or ""
        if not name.startswith(REF):
            return name
        primitive = self.primitives.get(called(node))
        return None if primitive is None else primitive.op_type or ""

    def finding(self, code: str, place: Message, name: str | None, **values: Any) -> Finding:
        """A finding at a message of the file; ``name`` is the node's, tensor's or graph's."""
        title = shown(name or "")
        known = {key: shown(value, LONG) if isinstance(value, str) else value for key, value in values.items()}
        where = Where(node=title or None, file=self.path, offset=place.offset)
        return make(code, where=where, values={"name": title, **known})


def scope_of(path: str, model: Model) -> Scope:
    """The scope of a model."""
    functions = frozenset(graph.name for graph in model.graphs if graph.name)
    return Scope(
        path,
        model,
        {primitive.name: primitive for primitive in model.primitives if primitive.name},
        functions,
        functions | frozenset(name for graph in model.graphs for name in _defined(graph)),
        {
            node.output[0]: node.attribute[0]
            for graph in model.graphs
            for node in graph.node
            if node.op_type == "Constant" and node.output and node.attribute
        },
    )


def _defined(graph: Graph) -> Iterator[str]:
    yield from (value.name for value in graph.input if value.name)
    yield from (tensor.name for tensor in graph.parameter if tensor.name)
    yield from (name for node in graph.node for name in node.output)


def called(node: Node) -> str:
    """What a node's ``op_type`` refers to."""
    return (node.op_type or "").removeprefix(REF)


def name_of(node: Node) -> str:
    """How a node is called: its name, else its first output."""
    return node.name or (node.output[0] if node.output else "") or node.op_type or ""


def shown(text: str, most: int = 160) -> str:
    """Text of a file that is not quite UTF-8, made so; what is long loses its middle."""
    whole = plain(text)
    return whole if len(whole) <= most else f"{whole[: most // 2]}…{whole[1 - most // 2 :]}"
