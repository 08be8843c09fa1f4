"""What an operator is on both sides: its ONNX node with attributes, and the MindSpore calls that stand for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mswb.convert.facts import plain
from mswb.convert.mindir import schema
from mswb.convert.mindir.primitives import known
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.schema import Attribute, Node, Tensor
from mswb.convert.mindir.scope import Scope, name_of, scope_of, shown
from mswb.convert.program import title

MOST_CALLS = 40
"""Calls of MindSpore that are listed for one operator."""
MOST_TEXT = 200
_FRAMEWORK = frozenset({"Constant", "Load", "UpdateState", "Depend", "MakeTuple"})
"""What wires a MindIR graph; the arguments show what it leads to."""
_HIDDEN = frozenset({"input_names", "output_names"})


@dataclass(frozen=True, slots=True)
class Call:
    """One node, all as text.

    Attributes:
        attributes: named ones, and arguments that are constants.
        defaults: attributes that the node leaves to ONNX.
    """

    op: str
    name: str
    inputs: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sides:
    """The ONNX node, if there is one, and the calls that give its result, in order."""

    onnx: Call | None
    mindir: tuple[Call, ...]
    more: int = 0
    """Calls that are not listed."""


class Models:
    """The two models of a conversion, each read when it is first asked.

    Args:
        onnx: the ONNX file; "" where there is none.
        mindir: the MindIR file, the same.
    """

    def __init__(self, onnx: str, mindir: str) -> None:
        self._onnx_path = onnx
        self._mindir_path = mindir

    def of(self, node: str, output: str) -> Sides:
        """An operator by its name and output, as a report has them.

        Raises:
            MswbError: a file can't be read (any more).
        """
        found = self._nodes.get(output) or self._named.get(node)
        if found is not None:
            inputs = {self._names.get(name, name) for name in map(plain, found.input)}
            calls = self._calls(self._names.get(output, output), inputs | self._told) or self._titled(node)
        else:
            calls = [one for one in self._graph.node if output in map(plain, one.output)] or self._titled(node)
        listed = [self._call(one) for one in calls[:MOST_CALLS]]
        return Sides(None if found is None else self._onnx(found), tuple(listed), max(0, len(calls) - MOST_CALLS))

    @cached_property
    def _source(self) -> Any:
        from mswb.convert.onnx.model import load
        from mswb.convert.to_mindir import kept

        return load(self._onnx_path, kept())

    @cached_property
    def _nodes(self) -> Mapping[str, Any]:
        if not self._onnx_path:
            return {}
        return {plain(name): node for node in self._source.proto.graph.node for name in node.output if name}

    @cached_property
    def _named(self) -> Mapping[str, Any]:
        if not self._onnx_path:
            return {}
        return {plain(node.name): node for node in self._source.proto.graph.node if node.name}

    @cached_property
    def _model(self) -> schema.Model:
        return read_file(self._mindir_path) if self._mindir_path else schema.Model()

    @cached_property
    def _scope(self) -> Scope:
        return scope_of(self._mindir_path, self._model)

    @property
    def _graph(self) -> schema.Graph:
        return self._model.graph or schema.Graph()

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """MindIR name of each ONNX tensor."""
        from mswb.convert.verify.numbers import paired, target

        if not self._mindir_path:
            return {}
        subject = target(self._mindir_path)
        subject = paired(self._source, subject) if self._onnx_path else subject
        return {plain(name): ours for name, ours in subject.names.items()}

    @cached_property
    def _told(self) -> set[str]:
        """What is the result of another operator."""
        return set(self._names.values())

    def _titled(self, node: str) -> list[Node]:
        """The node of this name; of an ONNX node that was made from MindIR, the one that its name begins with."""
        titles = [(plain(one), found) for found in self._graph.node for one in {title(found), name_of(found)}]
        return [found for name, found in titles if name and (node == name or node.startswith(f"{name}/"))][-1:]

    def _calls(self, output: str, inputs: set[str]) -> list[Node]:
        """The nodes between an operator's inputs and its output."""
        made = {name: node for node in self._graph.node for name in node.output}
        found, waiting = set[str](), [output]
        while waiting:
            name = waiting.pop()
            node = made.get(name)
            if node is None or name_of(node) in found or (name in inputs and name != output):
                continue
            found.add(name_of(node))
            waiting.extend(node.input)
        return [
            node for node in self._graph.node if name_of(node) in found and self._scope.operator(node) not in _FRAMEWORK
        ]

    def _onnx(self, node: Any) -> Call:
        from onnx import helper

        given = tuple((plain(one.name), _value(helper.get_attribute_value(one))) for one in node.attribute)
        names = {name for name, _ in given}
        rest = tuple((name, text) for name, text in self._defaults(node) if name not in names)
        op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        return Call(plain(op), plain(node.name), tuple(plain(name) for name in node.input if name), given, rest)

    def _defaults(self, node: Any) -> Iterable[tuple[str, str]]:
        from onnx import defs, helper

        versions = {one.domain: one.version for one in self._source.proto.opset_import}
        try:
            known_schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        except defs.SchemaError:
            return ()
        return [
            (name, _value(helper.get_attribute_value(one.default_value)))
            for name, one in known_schema.attributes.items()
            if one.default_value.name
        ]

    def _call(self, node: Node) -> Call:
        op = self._scope.operator(node) or plain(node.op_type or "")
        primitive = self._scope.primitive(node)
        named = known().inputs.get(op, ())
        constants = self._scope.constants
        arguments = [
            (named[at] if at < len(named) else f"[{at}]", attribute_text(constants[name]))
            for at, name in enumerate(node.input)
            if name in constants
        ]
        attributes = [
            (plain(one.name or ""), attribute_text(one))
            for one in (*(primitive.attribute if primitive else ()), *node.attribute)
            if one.name not in _HIDDEN and one.name != "shape"
        ]
        own = f"{self._graph.name}:"  # MindSpore begins the name of each result with its graph's
        inputs = tuple(shown(name.removeprefix(own)) for name in node.input if name not in constants)
        return Call(op, shown(title(node)), inputs, (*arguments, *attributes))


def attribute_text(one: Attribute) -> str:
    """An attribute or constant of MindIR as text."""
    if one.values:
        return f"({', '.join(attribute_text(part) for part in one.values)})"
    if one.tensors or one.t is not None:
        return ", ".join(_tensor_text(tensor) for tensor in (*one.tensors, *([one.t] if one.t else ())))
    several = one.ints or one.floats or one.doubles
    if several:
        return ", ".join(_value(part) for part in several)
    if one.strings:
        return ", ".join(_value(part) for part in one.strings)
    single = next((part for part in (one.s, one.f, one.d, one.i) if part is not None), None)
    if one.type == 9 and one.i is not None:
        return str(bool(one.i))
    return "None" if single is None else _value(single)


def _tensor_text(tensor: Tensor) -> str:
    name = schema.dtype_name(tensor.data_type) or "?"
    return f"{name} {list(tensor.dims)}"


def _value(value: Any) -> str:
    """A value of a protobuf as text."""
    if isinstance(value, bytes):
        return shown(value.decode("utf-8", "surrogateescape"), MOST_TEXT)
    if isinstance(value, float):
        return f"{value:.7g}"
    if isinstance(value, (int, str)):
        return shown(str(value), MOST_TEXT)
    if hasattr(value, "node"):
        return f"graph of {len(value.node)} nodes"
    if hasattr(value, "dims"):
        from onnx import helper

        return f"{helper.tensor_dtype_to_np_dtype(value.data_type).name} {list(value.dims)}"
    if isinstance(value, Iterable):
        return shown(f"[{', '.join(_value(one) for one in value)}]", MOST_TEXT)
    return shown(str(value), MOST_TEXT)
