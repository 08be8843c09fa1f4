"""MindIR to ONNX: each call by the entry of its primitive, all that can't be converted told at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, helper, numpy_helper

from mswb import __version__
from mswb.convert import primitives
from mswb.convert.blocked import Blocked, grouped
from mswb.convert.facts import plain
from mswb.convert.graph import NUMBERS, Array, Shape, Value
from mswb.convert.layout import rename
from mswb.convert.mindir import schema
from mswb.convert.mindir.primitives import known
from mswb.convert.mindir.reader import read_file
from mswb.convert.onnx.control import Control
from mswb.convert.onnx.graph import IR_VERSION, OPSET, OnnxBuilder, both, declared
from mswb.convert.onnx.node import Refused
from mswb.convert.onnx.weights import LARGE, Stored, Weights, placeholder
from mswb.convert.onnx.writer import LIMIT, write
from mswb.convert.program import Call, Choice, Closure, Walk, array_of, noted, numpy_dtype
from mswb.findings import Finding

NODE_MAP = "mswb.node_map"
"""Where a model notes which result of the model it was made from is which of its own."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for.

    Attributes:
        shapes: sizes of inputs by name; None for one that stays open.
        frozen: inputs whose content is fixed, by name.
        apart: large constants are not copied into the model: they stand beside it.
    """

    shapes: Mapping[str, Sequence[int | None]] | None = None
    frozen: Mapping[str, Array] = field(default_factory=dict)
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Converted:
    """A conversion's result.

    Attributes:
        proto: the ONNX model; None when something is blocked.
        names: the ONNX name of each result of a MindIR node.
        weights: the constants that stand beside the model.
    """

    path: str
    source: schema.Model
    proto: ModelProto | None
    names: Mapping[str, str]
    findings: tuple[Finding, ...]
    weights: Weights = field(default_factory=dict)


def convert(path: str, options: Options = Options()) -> Converted:
    """Convert a MindIR file; nothing is written.

    Raises:
        MswbError: the file can't be read.
    """
    model = read_file(path)
    if model.graph is None:
        return Converted(path, model, None, {}, tuple(_blocked(path, [Blocked("unsupported-form", "", "(graph)",
                                                                               "the file has no graph")])))  # fmt: skip
    try:
        walk = ToOnnx(path, model, options)
        proto = walk.entry(model.graph)
    except (Refused, RecursionError) as problem:
        deep = Refused("its tuples or functions lie too deep in one another")
        refused = problem if isinstance(problem, Refused) else deep
        return Converted(
            path, model, None, {}, tuple(_blocked(path, [_of(plain(model.graph.name or ""), "(graph)", refused)]))
        )
    if walk.blocked or proto is None:
        return Converted(path, model, None, {}, tuple(_blocked(path, walk.blocked)))
    return Converted(path, model, proto, walk.names, tuple(walk.notes), walk.weights)


def save(done: Converted, path: str, *, limit: int = LIMIT) -> int:
    """Write the model of a conversion, and return the bytes of its files.

    Args:
        limit: bytes from which constants go to a file of their own, ``PATH.data``.

    Raises:
        MswbError: ``path-unwritable``.
    """
    if done.proto is None:
        raise ValueError("a conversion that is blocked has no model")
    return write(done.proto, done.weights, path, limit=limit)


def _of(node: str, op: str, refused: Refused) -> Blocked:
    return Blocked("unsupported-form", node, op, refused.reason, refused.nearest, refused.freeze)


def _blocked(path: str, blocked: Sequence[Blocked]) -> Sequence[Finding]:
    return list(grouped(path, blocked, {*primitives.table("TO_ONNX"), *known().names}))


class ToOnnx(Walk):
    """One conversion under way."""

    def __init__(self, path: str, model: schema.Model, options: Options) -> None:
        self.builder = OnnxBuilder()
        self.blocked: list[Blocked] = []
        self.notes: list[Finding] = []
        self.names: dict[str, str] = {}
        self.weights: dict[str, Stored] = {}
        self._options = options
        self._unsure: set[str] = set()
        """Results of calls that are blocked."""
        self._table = primitives.table("TO_ONNX")
        super().__init__(path, model)
        self._control = Control(self)

    def entry(self, graph: schema.Graph) -> ModelProto | None:
        """The model; None when something is blocked."""
        inputs = [self._input(value, graph.name or "") for value in graph.input]
        found = self.run(graph, inputs)
        if self.blocked:
            return None
        outputs = self._outputs(graph, found)
        fed = [declared(one) for one in inputs if one.array is None]
        proto = self.builder.finish(plain(graph.name or "graph"), fed, outputs)
        self._name_outputs(graph, proto)
        outputs = [replace(one, name=value.name) for one, value in zip(outputs, proto.output, strict=True)]
        for name, array in self.builder.constants_of(proto.node, [one.name for one in outputs]).items():
            if self._options.apart and array.nbytes >= LARGE:
                self.weights[name] = Stored(array, array.dtype.name)
            proto.initializer.append(
                placeholder(name, self.weights[name]) if name in self.weights else numpy_helper.from_array(array, name)
            )
        model = helper.make_model(
            proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="mswb",
            producer_version=__version__,
        )  # fmt: skip
        used = {name for node in proto.node for name in node.output}
        kept = {name: value for name, value in self.names.items() if value in used}
        helper.set_model_props(model, {NODE_MAP: json.dumps(kept, separators=(",", ":"))})
        return model

    def _name_outputs(self, graph: schema.Graph, proto: GraphProto) -> None:
        """Give the outputs of a model that was made from ONNX the names that they had there, in place."""
        told = names_told({one.key: one.value for one in self.model.user_info}.get(NODE_MAP))
        origins = {mindir: name for name, mindir in told.items()}
        if len(graph.output) != len(proto.output):
            return
        pairs = ((value.name, origins.get(one.name or "", "")) for one, value in zip(graph.output, proto.output,
                                                                                     strict=True))  # fmt: skip
        new = {ours: self.builder.shared.name(name) for ours, name in pairs if name and name != ours}
        rename(proto, lambda name: new.get(name, name))
        for value in proto.output:
            value.name = new.get(value.name, value.name)
        self.names = {mindir: new.get(name, name) for mindir, name in self.names.items()}

    def _input(self, value: schema.Value, graph: str) -> Value:
        name = _short(value.name or "", graph)
        tensor = value.tensor[0] if value.tensor else None
        dtype = schema.dtype_name(tensor.data_type) if tensor is not None else ""
        if dtype not in NUMBERS or tensor is None:
            raise Refused(f"the input {plain(name)} is no tensor")
        shape: Shape | None = None if -2 in tensor.dims else tuple(None if one < 0 else one for one in tensor.dims)
        for own in (name, value.name or ""):
            if own in self._options.frozen:
                return self.builder.constant(self._options.frozen[own].astype(numpy_dtype(dtype)))
        given = self._options.shapes or {}
        asked = given.get(name, given.get(value.name or ""))
        if asked is not None:
            shape = tuple(asked)
        if shape is None:
            raise Refused(f"how many dimensions the input {plain(name)} has is not said", nearest="--input_shape")
        return Value(self.builder.shared.name(name), dtype, shape)

    def _outputs(self, graph: schema.Graph, found: Any) -> list[Value]:
        """The results, each by a node of its own name."""
        flat = _flat(found)
        made = {name for node in self.builder.nodes for name in node.output}
        outputs: list[Value] = []
        for one in flat:
            value = self.value(one)
            again = value.name not in made or value.name in {other.name for other in outputs}
            if again:
                node = helper.make_node("Identity", [value.name], [self.builder.shared.name("output")])
                self.builder.add(node, [value])
                value = Value(node.output[0], value.dtype, value.shape)
            outputs.append(value)
        said = graph.output if len(graph.output) == len(outputs) else [schema.Value()] * len(outputs)
        return [_ranked(*pair) for pair in zip(outputs, said, strict=True)]

    # -- what a walk asks

    def weight(self, tensor: schema.Tensor) -> Value:
        """A weight, mapped from the file."""
        return self.builder.constant(array_of(self.path, tensor), tensor.ref_key or tensor.name or "weight")

    def constant(self, array: Array) -> Value:
        """A constant tensor."""
        return self.builder.constant(array)

    def value(self, given: Any) -> Value:
        """A tensor: itself, or a number or a tuple of numbers as a constant (int64, float32 or bool).

        Raises:
            Refused: it is none.
        """
        if isinstance(given, Value):
            return given
        if isinstance(given, tuple) and any(isinstance(one, Value) for one in given):
            parts = [self.builder.reshape(self.builder.cast(self.value(one), "int64"), (1,)) for one in given]
            return self.builder.op("Concat", *parts, axis=0)
        array = np.asarray(given)
        if array.dtype.kind not in "biuf":
            raise Refused(f"{type(given).__name__} stands where a tensor belongs")
        return self.builder.constant(array.astype(np.float32) if array.dtype.kind == "f" else array)

    def enter(self, closure: Closure | Choice, arguments: Sequence[Any]) -> Any:
        """The result of a function."""
        return self._control.enter(closure, arguments)

    def decision(self, header: schema.Graph, arguments: Sequence[Any]) -> Choice | None:
        """The choice at the end of a loop's header; None when it has none."""
        values = self._start(header, arguments)
        for node in header.node:
            called = (node.op_type or "").removeprefix(schema.REF)
            target = values.get(called)
            if isinstance(target, Choice):
                return target
            self._keep(values, node, self.node(node, values))
        return None

    def node(self, node: schema.Node, values: dict[str, Any]) -> Any:
        """The result of one node; after something is blocked, one that does not fit is its consequence."""
        try:
            return super().node(node, values)
        except Refused:
            if not self.blocked:
                raise
            return self._guess(noted(node))

    def call(self, call: Call) -> Any:
        """The result of an operator; one that is blocked gives what the writer noted of it."""
        self.builder.scope = plain(call.name)
        lower = self._table.get(call.op)
        if lower is None:
            self._block(call, "unsupported-op")
            return self._guess(call.result)
        try:
            found = lower(call, self.builder)
        except Refused as refused:
            self._block(call, "unsupported-form", refused)
            return self._guess(call.result)
        except Exception as problem:  # an entry counts on what MindSpore promises of its operator
            reason = Refused(
                f"it is not as MindSpore defines it ({type(problem).__name__}: {plain(str(problem))[:200]})"
            )
            self._block(call, "unsupported-form", reason)
            return self._guess(call.result)
        return self._noted(found, call.result)

    def _block(self, call: Call, code: str, refused: Refused | None = None) -> None:
        if refused is not None and any(one.name in self._unsure and not one.dtype for one in _values(call.inputs)):
            return  # of what it is made nothing is known
        reason, nearest, freeze = (refused.reason, refused.nearest, refused.freeze) if refused else ("", "", "")
        self.blocked.append(Blocked(code, plain(call.name), plain(call.op), reason, nearest, freeze))

    def _guess(self, result: Any) -> Any:
        if isinstance(result, tuple) and result and isinstance(result[0], tuple):
            return tuple(map(self._guess, result))
        dtype, shape = result if isinstance(result, tuple) and len(result) == 2 else ("", None)
        value = Value(self.builder.shared.name("unknown"), dtype, shape)
        self._unsure.add(value.name)
        return value

    def _noted(self, found: Any, result: Any) -> Any:
        """A result with what the writer knew of it besides; sizes that a person gave make that worthless."""
        if isinstance(found, tuple) and type(found) is not tuple:  # it knows more of itself than its parts
            return found
        if isinstance(found, (tuple, list)):
            fits = isinstance(result, tuple) and len(result) == len(found) and isinstance(result[0:1], tuple)
            notes = result if fits else (None,) * len(found)
            return tuple(self._noted(one, note) for one, note in zip(found, notes, strict=True))
        known_of = isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str)
        if not isinstance(found, Value) or found.array is not None or not known_of or self._options.shapes:
            return found
        return replace(found, dtype=found.dtype or result[0], shape=both(found.shape, result[1]))

    def _keep(self, values: dict[str, Any], node: schema.Node, found: Any) -> None:
        super()._keep(values, node, found)
        if isinstance(found, Value) and found.array is None and len(node.output) == 1:
            self.names[node.output[0]] = found.name


def names_told(text: str | None) -> dict[str, str]:
    """The names that a note of which result is which holds; none where it can't be read."""
    try:
        told = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(one): str(other) for one, other in told.items()} if isinstance(told, dict) else {}


def _ranked(value: Value, said: schema.Value) -> Value:
    """A result with its rank, which ONNX wants to know: as inferred, else as the file says.

    Raises:
        Refused: it is unknown.
    """
    if value.shape is not None:
        return value
    dims = said.tensor[0].dims if said.tensor else (-2,)
    if -2 in dims:
        raise Refused("how many dimensions a result has is only known when the model runs", nearest="--input_shape")
    return replace(value, shape=tuple(None if one < 0 else one for one in dims))


def _values(given: Any) -> list[Value]:
    if isinstance(given, Value):
        return [given]
    return [value for one in given for value in _values(one)] if isinstance(given, tuple) else []


def _flat(found: Any) -> list[Any]:
    return [leaf for one in found for leaf in _flat(one)] if isinstance(found, tuple) else [found]


def _short(name: str, graph: str) -> str:
    """MindSpore puts the graph's name before that of an input."""
    return name.removeprefix(f"{graph}:") or name
