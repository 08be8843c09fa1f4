"""The facts of a MindIR file."""

from __future__ import annotations

from collections.abc import Iterator

from mswb.convert.facts import GraphFacts, ModelFacts, ValueFacts, WeightFacts, by_count, plain
from mswb.convert.mindir.reader import held, read
from mswb.convert.mindir.schema import Graph, Model, Tensor, Value, dtype_name
from mswb.convert.mindir.scope import Scope, called, scope_of
from mswb.convert.wire import Source


def inspect(source: Source) -> ModelFacts:
    """What an open MindIR file holds; see :func:`mswb.convert.inspect.inspect`."""
    return facts(source.path, read(source), source.size)


def facts(path: str, model: Model, size: int) -> ModelFacts:
    """What a model holds; ``size`` is the file's, in bytes."""
    scope = scope_of(path, model)
    versions = {
        "ir_version": model.ir_version,
        "mind_ir_version": model.mind_ir_version,
        "model_version": model.model_version,
    }
    return ModelFacts(
        path,
        "mindir",
        size,
        plain(f"{model.producer_name or ''} {model.model_version or ''}".strip()),
        tuple((name, plain(str(value))) for name, value in versions.items() if value is not None),
        tuple(_graph(graph) for graph in model.graphs),
        by_count(plain(name) for name in _operators(scope)),
        tuple(_weight(path, tensor) for graph in model.graphs for tensor in graph.parameter),
        tuple((plain(entry.key or ""), plain(entry.value or "")) for entry in model.user_info),
    )


def _operators(scope: Scope) -> Iterator[str]:
    """The operator of each node; calls of functions and closures count under one name."""
    for graph in scope.model.graphs:
        for node in graph.node:
            name = scope.operator(node)
            yield name or ("(call)" if called(node) in scope.names else "(unknown)")


def _graph(graph: Graph) -> GraphFacts:
    return GraphFacts(
        plain(graph.name or ""),
        len(graph.node),
        tuple(_value(value, graph) for value in graph.input),
        tuple(_value(value, graph) for value in graph.output),
    )


def _value(value: Value, graph: Graph) -> ValueFacts:
    """MindSpore puts the graph's name before each name."""
    name = plain((value.name or "").removeprefix(f"{graph.name}:"))
    if not value.tensor:
        return ValueFacts(name, "", None)
    return ValueFacts(name, dtype_name(value.tensor[0].data_type), _shape(value.tensor[0]))


def _shape(tensor: Tensor) -> tuple[int | str, ...] | None:
    """A dimension of -1 is open; -2 alone says that the rank is, too."""
    if tensor.dims == (-2,):
        return None
    return tuple(size if size >= 0 else "?" for size in tensor.dims)


def _weight(path: str, tensor: Tensor) -> WeightFacts:
    at = held(path, tensor)
    name = plain(tensor.ref_key or tensor.name or "")
    return WeightFacts(name, dtype_name(tensor.data_type), tensor.dims, at.length, plain(at.file), at.start)
