"""Checks of what nodes call: operators that MindSpore lacks, missing arguments, constants without a value.

The loader takes all of these, or says nothing of their cause; the run fails at another operator, or the process dies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mswb.convert.mindir.primitives import known
from mswb.convert.mindir.schema import DTYPES, FUNCTION, REF, Attribute, Graph, Node
from mswb.convert.mindir.scope import Scope, called, name_of
from mswb.findings import Finding

ATTRIBUTE_INPUTS = 2
"""From this ``mind_ir_version`` on, a function primitive reads its arguments from inputs only."""
_FEWEST = {"Switch": 3, "Partial": 1, "TupleGetItem": 2, "Load": 2, "Depend": 2, "UpdateState": 2}
"""Inputs of the framework's own operators."""
MOST_NEAR = 50
"""Unknown operators for which one with a similar name is looked for."""
DEEPEST = 6
"""Closures in one another that are followed: a Switch of Partials of a Switch …"""
INTEGERS = (2, 3, 4, 5, 6, 7, 12, 13)
STRING, BOOL, TENSORS, TUPLE, LIST = 8, 9, 19, 20, 21
_HOLDERS = {1: "f", STRING: "s", 11: "d", 17: "t", 18: "g", **dict.fromkeys((BOOL, *INTEGERS), "i")}
"""The field that holds a single value of an AttributeType."""
_EMPTY_TYPES = frozenset({TUPLE, LIST, 22, 23, 24, 25, 36})
"""AttributeTypes that are whole without a value: tuples and lists may be empty, the others hold none."""


def operators(scope: Scope) -> Iterator[Finding]:
    """Operators that MindSpore lacks, once each, at the first node that calls it."""
    seen: dict[str, list[Node]] = {}
    for graph in scope.model.graphs:
        for node in graph.node:
            name = scope.operator(node)
            if name is not None and name != "Constant":
                seen.setdefault(name, []).append(node)
    for told, (name, nodes) in enumerate(seen.items()):
        code = "unsupported-op" if name not in known().names else "op-not-on-cpu" if name in known().not_on_cpu else ""
        if code:
            near = known().near(name) if code == "unsupported-op" and told < MOST_NEAR else ""
            hint = f" (near: {near})" if near else ""
            yield scope.finding(code, nodes[0], name_of(nodes[0]), op=name, count=len(nodes), near=hint)


def arguments(scope: Scope) -> Iterator[Finding]:
    """Arguments that an operator reads from its inputs, and the node does not give."""
    for graph in scope.model.graphs:
        for node in graph.node:
            name = scope.operator(node) or ""
            if len(node.input) < _FEWEST.get(name, 0):
                yield scope.finding(
                    "input-missing", node, name_of(node), op=name, found=len(node.input), wanted=_FEWEST[name],
                    missing="",
                )  # fmt: skip
            elif name in known().inputs:
                yield from _missing(scope, node, name)


def _missing(scope: Scope, node: Node, name: str) -> Iterator[Finding]:
    wanted = known().inputs[name]
    missing = wanted[len(node.input) :]
    if not missing:
        return
    primitive = scope.primitive(node)
    given = {item.name for item in (*node.attribute, *(primitive.attribute if primitive else ()))}
    as_attributes = [argument for argument in missing if argument in given]
    values = {"op": name, "found": len(node.input), "wanted": len(wanted), "missing": ", ".join(missing)}
    if not _reads_inputs(scope, node):
        if len(as_attributes) < len(missing) and not node.input:
            yield scope.finding("input-missing", node, name_of(node), **values)
    elif as_attributes:
        yield scope.finding(
            "attribute-not-input", primitive or node, name_of(node), **values, attribute=", ".join(as_attributes)
        )
    else:
        yield scope.finding("input-missing", node, name_of(node), **values)


def _reads_inputs(scope: Scope, node: Node) -> bool:
    """Whether the arguments of a node are inputs: in the old style, the loader turns attributes into inputs."""
    primitive = scope.primitive(node)
    return (scope.model.mind_ir_version or 0) >= ATTRIBUTE_INPUTS and (
        primitive is not None and primitive.prim_type == FUNCTION
    )


def attributes(scope: Scope) -> Iterator[Finding]:
    """Attributes that the kernel of an operator reads, and that are absent or of another type."""
    for graph in scope.model.graphs:
        for node in graph.node:
            op = scope.operator(node) or ""
            wanted = known().attributes.get(op)
            if wanted is None:
                continue
            primitive = scope.primitive(node)
            found = {one.name: one for one in (*node.attribute, *(primitive.attribute if primitive else ()))}
            for name, kind in wanted.items():
                one = found.get(name)
                if not kind.endswith("?") if one is None else not _KINDS[kind.rstrip("?")](one):
                    place = one or primitive or node
                    yield scope.finding("attribute-missing", place, name_of(node), op=op, attribute=name)


_KINDS: Mapping[str, Callable[[Attribute], bool]] = {
    "word": lambda one: one.type in (STRING, *INTEGERS),  # some have a number that stands for the word, too
    "number": lambda one: one.type in (BOOL, *INTEGERS),
    "tuple": lambda one: one.type in (TUPLE, LIST, *INTEGERS),  # in the old style, numbers in ``ints``
}


def old_version(scope: Scope) -> Iterator[Finding]:
    """A file whose arguments are inputs, with a version that says that they are attributes."""
    version = scope.model.mind_ir_version
    if (version or 0) >= ATTRIBUTE_INPUTS:
        return
    for graph in scope.model.graphs:
        for node in graph.node:
            primitive = scope.primitive(node)
            inputs = known().inputs.get(scope.operator(node) or "", ())
            constant = [name for name in node.input[1:] if name in scope.constants]
            if primitive and primitive.prim_type == FUNCTION and len(node.input) == len(inputs) and constant:
                op = scope.operator(node)
                yield scope.finding("attributes-are-inputs", node, name_of(node), op=op, version=version or 0)
                return


def constants(scope: Scope) -> Iterator[Finding]:
    """Constants without a value, or with one that is not of the type they name."""
    for graph in scope.model.graphs:
        for node in graph.node:
            if node.op_type == "Constant":
                problem = _constant_problem(node)
                if problem:
                    attribute = node.attribute[0].name if node.attribute else ""
                    yield scope.finding(
                        "constant-damaged", node, name_of(node), problem=problem, attribute=attribute or "value"
                    )


def _constant_problem(node: Node) -> str:
    if not node.attribute:
        return "it has no attribute"
    return value_problem(node.attribute[0])


def value_problem(attribute: Attribute) -> str:
    """What is wrong with a value, or ""."""
    kind = attribute.type or 0
    if kind in _EMPTY_TYPES:
        return next((found for found in map(_element_problem, attribute.values) if found), "")
    if kind == TENSORS:
        return "" if attribute.tensors else "its type says tensors, and it has none"
    field = _HOLDERS.get(kind)
    if field is None:
        return "" if 26 <= kind <= 40 else f"its type is {kind}, which MindSpore does not know"
    if getattr(attribute, field) is None:
        return f"its type is {kind}, and the field {field} that holds such a value is absent"
    return ""


def _element_problem(attribute: Attribute) -> str:
    """Elements of tuples use the repeated fields (ints, floats, strings)."""
    several = attribute.ints or attribute.floats or attribute.doubles or attribute.strings or attribute.tensors
    return "" if several else value_problem(attribute)


def untyped_inputs(scope: Scope) -> Iterator[Finding]:
    """Inputs of the entry graph that say nothing of their data type."""
    graph = scope.model.graph
    for value in graph.input if graph is not None else ():
        untyped = not value.tensor or value.tensor[0].data_type not in DTYPES
        if untyped and value.attr_info is None:
            yield scope.finding("input-untyped", value, value.name)


def functions(scope: Scope) -> Iterator[Finding]:
    """Calls of functions and closures that give other than one argument for each input."""
    graphs = {graph.name: graph for graph in scope.model.graphs if graph.name}
    makers = {name: node for graph in scope.model.graphs for node in graph.node for name in node.output}
    for graph in scope.model.graphs:
        for node in graph.node:
            if scope.primitive(node) is None and (node.op_type or "").startswith(REF):
                for function, bound in _targets(scope, called(node), graphs, makers):
                    found = bound + len(node.input)
                    if found != len(function.input):
                        name, wanted = function.name or "", len(function.input)
                        yield scope.finding(
                            "call-arguments", node, name_of(node), function=name, found=found, wanted=wanted
                        )


def _targets(
    scope: Scope, name: str, graphs: Mapping[str, Graph], makers: Mapping[str, Node], depth: int = 0
) -> Iterator[tuple[Graph, int]]:
    """The functions that a name may stand for, each with how many arguments are bound to it already."""
    node = makers.get(name)
    if name in graphs:
        yield graphs[name], 0
    elif node is None or depth > DEEPEST:
        return
    elif scope.operator(node) == "Switch":
        for branch in node.input[1:3]:
            yield from _targets(scope, branch, graphs, makers, depth + 1)
    elif scope.operator(node) == "Partial" and node.input:
        for function, bound in _targets(scope, node.input[0], graphs, makers, depth + 1):
            yield function, bound + len(node.input) - 1
