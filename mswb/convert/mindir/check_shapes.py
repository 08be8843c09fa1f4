"""Checks of shapes and data types where operators meet weights: a product, a convolution, a bias.

Shapes come from weights, from the graph's inputs, and from what the writer noted at each node (attribute ``shape``).
The loader ignores the notes and infers again, so what disagrees here fails when the model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from mswb.convert.mindir.schema import Attribute, Node, Tensor, dtype_name
from mswb.convert.mindir.scope import Scope, name_of
from mswb.findings import Finding


class Type(NamedTuple):
    """A tensor's type; a dimension of -1 is open."""

    dims: tuple[int, ...]
    dtype: int | None


Types = Mapping[str, Type]
_SAME = ("Load", "Depend")
"""Operators whose result is their first input."""


def shapes(scope: Scope) -> Iterator[Finding]:
    """Products, convolutions and biases whose operands can't go together."""
    types = types_of(scope)
    for graph in scope.model.graphs:
        for node in graph.node:
            rule = _RULES.get(scope.operator(node) or "")
            operands = [types.get(name) for name in node.input[:2]]
            if rule is None or len(operands) < 2:
                continue
            first, second = operands
            if first is None or second is None:
                continue
            yield from _compare(scope, node, rule(scope, node, first.dims, second.dims), first, second)


def _compare(scope: Scope, node: Node, problem: str, first: Type, second: Type) -> Iterator[Finding]:
    op = scope.operator(node)
    values = {"op": op, "shapes": [list(first.dims), list(second.dims)]}
    if problem:
        yield scope.finding("model-shape-mismatch", node, name_of(node), **values, problem=problem)
    if first.dtype and second.dtype and first.dtype != second.dtype:
        pair = f"{dtype_name(first.dtype)} and {dtype_name(second.dtype)}"
        yield scope.finding("model-dtype-mismatch", node, name_of(node), **values, pair=pair)


def types_of(scope: Scope) -> Types:
    """The type of every name that has a whole one: open dimensions are kept, an open rank is not."""
    known: dict[str, Type] = {}
    for graph in scope.model.graphs:
        for value in graph.input:
            _note(known, value.name, value.tensor[0] if value.tensor else None)
        for tensor in graph.parameter:
            _note(known, tensor.name, tensor)
        for node in graph.node:
            if scope.operator(node) in _SAME and node.input and node.input[0] in known and node.output:
                known[node.output[0]] = known[node.input[0]]
            elif len(node.output) == 1:
                _note(known, node.output[0], _noted(node))
    return known


def _note(known: dict[str, Type], name: str | None, tensor: Tensor | None) -> None:
    if name and tensor is not None and -2 not in tensor.dims:
        known[name] = Type(tensor.dims, tensor.data_type)


def _noted(node: Node) -> Tensor | None:
    wanted = "value" if node.op_type == "Constant" else "shape"
    for attribute in node.attribute:
        if attribute.name == wanted and len(attribute.tensors) == 1 and attribute.type == 19:
            return attribute.tensors[0]
    return None


def _product(scope: Scope, node: Node, first: tuple[int, ...], second: tuple[int, ...]) -> str:
    if len(first) != 2 or len(second) != 2 or len(node.input) < 4:
        return ""
    flags = [_flag(scope.constants.get(name)) for name in node.input[2:4]]
    if None in flags:
        return ""
    inner, outer = first[0 if flags[0] else 1], second[1 if flags[1] else 0]
    return f"it multiplies rows of {inner} with columns of {outer}" if _differ(inner, outer) else ""


def _flag(constant: Attribute | None) -> int | None:
    return None if constant is None or constant.type != 9 else constant.i


def _bias(scope: Scope, node: Node, first: tuple[int, ...], second: tuple[int, ...]) -> str:
    if len(first) < 2 or len(second) != 1:
        return ""
    if _differ(first[1], second[0]) and _differ(first[-1], second[0]):
        return f"a bias of {second[0]} for {first[1]} channels"
    return ""


def _convolution(scope: Scope, node: Node, first: tuple[int, ...], second: tuple[int, ...]) -> str:
    settings = _settings(scope, node)
    if len(first) != 4 or len(second) != 4 or settings.get("format", b"NCHW") != b"NCHW":
        return ""
    group = settings.get("group", 1)
    wanted = second[1] * group if isinstance(group, int) and second[1] > 0 else -1
    if _differ(first[1], wanted):
        return f"its weight is made for {wanted} input channels and it gets {first[1]}"
    return ""


def _settings(scope: Scope, node: Node) -> dict[str, object]:
    primitive = scope.primitive(node)
    attributes = (*(primitive.attribute if primitive is not None else ()), *node.attribute)
    return {item.name or "": item.i if item.i is not None else item.s for item in attributes}


def _differ(one: int, other: int) -> bool:
    return one >= 0 and other >= 0 and one != other


_RULES: Mapping[str, Callable[[Scope, Node, tuple[int, ...], tuple[int, ...]], str]] = {
    "MatMul": _product,
    "BiasAdd": _bias,
    "Conv2D": _convolution,
}
