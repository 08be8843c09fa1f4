"""Real MindIR models of MindSpore 2.10, and ways to change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mswb.convert import wire
from mswb.convert.mindir import reader, writer
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.schema import Attribute, Graph, Model, Node, Primitive, Tensor
from mswb.convert.wire import Source
from mswb.findings import Finding

REAL = Path(__file__).parents[2] / "fixtures" / "convert"
NETS = sorted(path.stem for path in REAL.glob("*.mindir"))
"""Networks exported with ms.export: a perceptron, convolutions, branches, loops, an LSTM, half precision …"""
Change = Callable[[Model, Source], Model]


def changed(name: str, change: Change, folder: Path) -> Path:
    """A copy of a real model, changed."""
    path = folder / "changed.mindir"
    with wire.open_source(str(REAL / f"{name}.mindir")) as source:
        writer.write(change(reader.read(source), source), str(path), source)
    return path


def findings(path: Path) -> tuple[Finding, ...]:
    return lint(str(path)).findings


def codes(path: Path) -> set[str]:
    return {finding.code for finding in findings(path)}


def with_graph(model: Model, change: Callable[[Graph], Graph]) -> Model:
    assert model.graph is not None
    return replace(model, graph=change(model.graph))


def with_nodes(model: Model, change: Callable[[Node], tuple[Node, ...]]) -> Model:
    return with_graph(
        model, lambda graph: replace(graph, node=tuple(new for node in graph.node for new in change(node)))
    )


def with_op(model: Model, op: str, change: Callable[[Node], tuple[Node, ...]]) -> Model:
    """Every node that calls an operator, changed."""
    names = {f"REF::{one.name}" for one in model.primitives if one.op_type == op} | {op}
    return with_nodes(model, lambda node: change(node) if node.op_type in names else (node,))


def with_primitive(model: Model, op: str, change: Callable[[Primitive], Primitive]) -> Model:
    return replace(model, primitives=tuple(change(one) if one.op_type == op else one for one in model.primitives))


def with_weight(model: Model, change: Callable[[Tensor], Tensor]) -> Model:
    """The first weight, changed."""
    return with_graph(model, lambda graph: replace(graph, parameter=(change(graph.parameter[0]), *graph.parameter[1:])))


def without(attributes: tuple[Attribute, ...], name: str) -> tuple[Attribute, ...]:
    return tuple(one for one in attributes if one.name != name)


def data_of(source: Source, tensor: Tensor) -> bytes:
    """The bytes of a weight."""
    assert isinstance(tensor.raw_data, wire.Span)
    return b"".join(source.pieces(tensor.raw_data))
