"""Checks of the structure: the header, names that are undefined or stand twice, order, cycles."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from mswb.convert.mindir.schema import NEWEST, REF, Graph, Message, Node
from mswb.convert.mindir.scope import Scope, called, name_of, shown
from mswb.findings import Finding

SHOWN = 8
"""Nodes of a cycle that are named."""


def header(scope: Scope) -> Iterator[Finding]:
    """What the loader demands of the file as a whole; without it, it says only "Load MindIR failed."."""
    model = scope.model
    if model.graph is None:
        yield scope.finding("mindir-field-missing", model, None, field="graph")
        return
    wanted: tuple[tuple[str, Message, object], ...] = (
        ("producer_name", model, model.producer_name),
        ("model_version", model, model.model_version),
        ("graph.name", model.graph, model.graph.name),
        ("graph.output", model.graph, model.graph.output),
    )
    for field, place, value in wanted:
        if not value:
            yield scope.finding("mindir-field-missing", place, model.graph.name, field=field)
    if (model.mind_ir_version or 0) > NEWEST:
        yield scope.finding("mindir-too-new", model, None, version=model.mind_ir_version, newest=NEWEST)


def twice(scope: Scope) -> Iterator[Finding]:
    """Names that two things have: the loader keeps one of them, or refuses the file."""
    model = scope.model
    for graph in model.graphs:
        written = [(name, node) for node in graph.node for name in node.output]
        given = [(value.name, value) for value in graph.input if value.name]
        weights = [(tensor.name, tensor) for tensor in graph.parameter if tensor.name]
        yield from _twice(scope, graph.name, [*given, *weights, *written])
    yield from _twice(scope, None, [(graph.name, graph) for graph in model.graphs if graph.name])
    yield from _twice(scope, None, [(item.name, item) for item in model.primitives if item.name])


def _twice(scope: Scope, graph: str | None, named: Sequence[tuple[str, Message]]) -> Iterator[Finding]:
    counts = Counter(name for name, _ in named)
    seen: set[str] = set()
    for name, place in named:
        if name in seen and counts[name] > 1:
            kind = type(place).__name__.lower()
            yield scope.finding("duplicate-tensor", place, name, count=counts[name], kind=kind, graph=graph or "")
            counts[name] = 1  # one finding a name
        seen.add(name)


def references(scope: Scope) -> Iterator[Finding]:
    """Names that nothing defines, and nodes that stand before what they use."""
    for graph in scope.model.graphs:
        cyclic = cycle(graph)
        if cyclic:
            names = [shown(name_of(node).removeprefix(f"{graph.name}:")) for node in cyclic]
            path = " → ".join([*names[:SHOWN], *(["…"] if len(names) > SHOWN else []), names[0]])
            yield scope.finding("graph-cycle", cyclic[0], name_of(cyclic[0]), path=path, count=len(cyclic))
        yield from _inputs(scope, graph, bool(cyclic))
        for value in graph.output:
            if (value.name or "") not in scope.names:
                yield scope.finding("undefined-output", value, graph.name, output=value.name or "")


def _inputs(scope: Scope, graph: Graph, cyclic: bool) -> Iterator[Finding]:
    later = Counter(name for node in graph.node for name in node.output)
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name not in scope.names:
                yield scope.finding("undefined-input", node, name_of(node), input=name, index=index)
        early = [name for name in node.input if later[name] > 0]
        if early and not cyclic:
            yield scope.finding("node-order", node, name_of(node), input=early[0])
        later.subtract(node.output)


def calls(scope: Scope) -> Iterator[Finding]:
    """References to a primitive or function that the file lacks."""
    for graph in scope.model.graphs:
        for node in graph.node:
            target = called(node)
            if (node.op_type or "").startswith(REF) and target not in scope.primitives and target not in scope.names:
                yield scope.finding("missing-primitive", node, name_of(node), target=target)


def cycle(graph: Graph) -> tuple[Node, ...]:
    """The nodes of one cycle, in the order of the data; () when there is none.

    Functions that call one another are no cycle: that is how a loop is written.
    """
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output}
    needs = [sorted({makers[name] for name in _uses(node) if name in makers}) for node in graph.node]
    rest = _unsortable(needs)
    if not rest:
        return ()
    at, order = min(rest), dict[int, int]()
    while at not in order:  # each of these needs another one of them, so a walk comes back
        order[at] = len(order)
        at = next(other for other in needs[at] if other in rest)
    path = [index for index, place in order.items() if place >= order[at]]
    return tuple(graph.node[index] for index in reversed(path))


def _uses(node: Node) -> Iterable[str]:
    return (*node.input, called(node)) if (node.op_type or "").startswith(REF) else node.input


def _unsortable(needs: Sequence[Sequence[int]]) -> set[int]:
    """The nodes that lie in a cycle or behind one."""
    users: list[list[int]] = [[] for _ in needs]
    waits = [len(each) for each in needs]
    for index, each in enumerate(needs):
        for other in each:
            users[other].append(index)
    ready = deque(index for index, count in enumerate(waits) if not count)
    rest = set(range(len(needs)))
    while ready:
        index = ready.popleft()
        rest.discard(index)
        for user in users[index]:
            waits[user] -= 1
            if not waits[user]:
                ready.append(user)
    return rest
