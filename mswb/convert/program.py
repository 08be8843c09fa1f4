"""A MindIR model as a sequence of calls: what runs or converts one sees operators with their arguments, no wiring.

Constants are Python values, tuples are tuples, functions and closures are entered. :class:`Walk` does that; what a
tensor is, and what an operator gives, a subclass decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mswb.convert.graph import Array
from mswb.convert.handed import Handed
from mswb.convert.mindir import schema
from mswb.convert.mindir.primitives import known
from mswb.convert.mindir.reader import held, wanted_bytes
from mswb.convert.onnx.node import Refused

MAPPED = 1 << 16
"""Bytes from which on a tensor is mapped; a shorter one is read."""
DEEPEST = 100
"""Functions within functions that are entered."""
_WRITING = ("Assign", "IndexAdd", "Inplace", "Scatter")
"""How operators are called that write into their first input, where an attribute says that they write at all."""
_MISSING = object()
_NONE, _TENSOR, _TENSORS, _SEQUENCES = 25, 17, 19, (20, 21)
_MONADS = (23, 24)


@dataclass(frozen=True, slots=True)
class Closure:
    """A function with its first arguments."""

    graph: schema.Graph
    bound: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two closures, by a condition."""

    condition: Any
    yes: Any
    no: Any


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator.

    Attributes:
        op: the primitive, such as ``MatMul``.
        name: of the node.
        inputs: tensors (whatever they are to the walk), tuples of them, and constants: bool, int, float, str, None,
            tuples of these.
        attributes: of the primitive or the node, as Python values; tensors are arrays.
        result: what the writer noted of the result: data type and sizes (None where open); a tuple of these for
            several; None where nothing is noted. Nobody checks it.
    """

    op: str
    name: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    result: Any = None

    def get(self, name: str, default: Any = _MISSING) -> Any:
        """An argument by the name that it has in MindSpore: an input, else an attribute, else the default.

        Raises:
            Refused: it is nowhere, and there is no default.
        """
        names = known().inputs.get(self.op, ())
        if name in names and names.index(name) < len(self.inputs):
            return self.inputs[names.index(name)]
        found = self.attributes.get(name, default)
        if found is _MISSING:
            raise Refused(f"its argument {name} is missing", attribute=name)
        return found

    def input(self, at: int) -> Any:
        """An input by its place.

        Raises:
            Refused: it has fewer.
        """
        if at >= len(self.inputs):
            raise Refused(f"input {at} is missing")
        return self.inputs[at]

    def integers(self, name: str, default: Any = _MISSING) -> tuple[int, ...]:
        """An argument that is one integer or several, as a tuple.

        Raises:
            Refused: it is missing, or only known when the model runs.
        """
        found = self.get(name, default)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if not all(isinstance(one, (int, np.integer)) for one in found):
            raise Refused(f"{name} is only known when the model runs", attribute=name)
        return tuple(int(one) for one in found)


class Walk(ABC):
    """Goes through a model; a subclass says what tensors are and what operators give."""

    def __init__(self, path: str, model: schema.Model) -> None:
        self.path = path
        self.model = model
        self.functions = {graph.name or "": graph for graph in model.graphs}
        self._primitives = {one.name or "": one for one in model.primitives}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._latest: dict[str, Any] = {}
        self._depth = 0
        self._constants = _constants(model.graphs) if len(self.functions) > 1 else {}
        for graph in model.graphs:
            for tensor in graph.parameter:
                self._latest[tensor.name or ""] = self.weight(tensor)
        self._weights = frozenset(self._latest)
        self._arguments = {one.name for graph in model.graphs if graph is not model.graph for one in graph.input}
        self._handed: Handed | None = None

    # -- what a subclass decides

    @abstractmethod
    def weight(self, tensor: schema.Tensor) -> Any:
        """The value of a parameter."""

    @abstractmethod
    def constant(self, array: Array) -> Any:
        """The value of a tensor that is a constant."""

    @abstractmethod
    def call(self, call: Call) -> Any:
        """The result of an operator: a value, or a tuple of values."""

    @abstractmethod
    def enter(self, closure: Closure | Choice, arguments: Sequence[Any]) -> Any:
        """The result of a function."""

    # -- going through

    def run(self, graph: schema.Graph, arguments: Sequence[Any]) -> Any:
        """The result of a graph: a value, or a tuple when it has several.

        Raises:
            Refused: it uses what is not defined, or too many functions lie in one another.
        """
        self._depth += 1
        if self._depth > DEEPEST:
            raise Refused(f"more than {DEEPEST} functions lie in one another")
        try:
            while True:
                values = self._start(graph, arguments)
                following = self._go(graph, values)
                if following is None:
                    return self.results(graph, values)
                graph, arguments = following
        finally:
            self._depth -= 1

    def _go(self, graph: schema.Graph, values: dict[str, Any]) -> tuple[schema.Graph, Sequence[Any]] | None:
        """Run the nodes of a graph; the function that gives its result, where that is only entered (a loop's next
        step), with its arguments."""
        ended = self._last_uses(graph) if len(self.functions) == 1 else {}
        last = graph.output[0].name if len(graph.output) == 1 else None
        for at, node in enumerate(graph.node):
            target = self._called(node, values)
            if target is not None and node.output == (last,):
                following = self.follow(target, [self._look(name, values) for name in node.input])
                if following is not None:
                    return following
            self._keep(values, node, self.node(node, values))
            for name in ended.get(at, ()):
                values.pop(name, None)
        return None

    def _called(self, node: schema.Node, values: Mapping[str, Any]) -> Any:
        """The function or closure that a node calls; None when it calls a primitive."""
        kind = node.op_type or ""
        called = kind.removeprefix(schema.REF)
        if not kind.startswith(schema.REF) or called in self._primitives:
            return None
        target = self._look(called, values)
        if not isinstance(target, (Closure, Choice)):
            raise Refused(f"{called} is called and is no function")
        return target

    def follow(self, target: Closure | Choice, arguments: Sequence[Any]) -> tuple[schema.Graph, Sequence[Any]] | None:
        """The graph to go on with in place of one whose result this call is; None when it has to be entered."""
        return None

    def _last_uses(self, graph: schema.Graph) -> dict[int, list[str]]:
        """The results that no node behind this one reads: they need not be held."""
        last = {name: at for at, node in enumerate(graph.node) for name in node.output}
        last |= {name: at for at, node in enumerate(graph.node) for name in node.input}
        ended: dict[int, list[str]] = {}
        for name in last.keys() - {one.name for one in graph.output}:
            ended.setdefault(last[name], []).append(name)
        return ended

    def _start(self, graph: schema.Graph, arguments: Sequence[Any]) -> dict[str, Any]:
        wanted = [one.name or "" for one in graph.input]
        if len(arguments) < len(wanted):
            raise Refused(f"{graph.name} takes {len(wanted)} arguments and gets {len(arguments)}")
        values = dict(zip(wanted, arguments, strict=False))  # what is more are monads
        if len(self.functions) > 1:
            self._latest.update(values)
        return values

    def results(self, graph: schema.Graph, values: Mapping[str, Any]) -> Any:
        """The outputs of a graph whose nodes have run."""
        found = tuple(self._look(one.name or "", values) for one in graph.output)
        return found[0] if len(found) == 1 else found

    def _keep(self, values: dict[str, Any], node: schema.Node, found: Any) -> None:
        names = node.output
        parts = (found,) if len(names) == 1 else found
        for name, one in zip(names, parts, strict=False):
            values[name] = one
            if len(self.functions) > 1:
                self._latest[name] = one

    def _look(self, name: str, values: Mapping[str, Any]) -> Any:
        """A value; a function may use what is defined around it."""
        if name in values:
            return values[name]
        if name in self._latest:
            return self._latest[name]
        if name in self.functions:
            return Closure(self.functions[name])
        if name in self._constants:
            return self._constant_of(self._constants[name])
        raise Refused(f"nothing defines {name}")

    def node(self, node: schema.Node, values: dict[str, Any]) -> Any:
        """The result of one node."""
        kind = node.op_type or ""
        if kind == "Constant":
            return self._constant_of(node)
        target = self._called(node, values)
        if target is not None:
            return self.enter(target, [self._look(name, values) for name in node.input])
        called = kind.removeprefix(schema.REF)
        primitive = self._primitives.get(called) if kind.startswith(schema.REF) else None
        op = (primitive.op_type or "") if primitive is not None else kind
        if op in ("UpdateState", "U", "IO"):
            return None
        inputs = tuple(self._look(name, values) for name in node.input)
        plain = _FRAME.get(op)
        if plain is not None:
            return plain(inputs)
        attributes = self._attributes_of(node, called)
        found = self.call(Call(op, title(node), inputs, attributes, noted(node)))
        if attributes.get("side_effect_mem") and op.startswith(_WRITING):
            self._written(node.input[0], found, values)
        return found

    def _written(self, name: str, found: Any, values: dict[str, Any]) -> None:
        """An operator has written into what it was given: whatever reads that later reads the result.

        The order of the nodes is the order of reading and writing: MindSpore keeps it by Load and UpdateState.
        """
        if name in self._arguments and self._handed is None:
            self._handed = Handed(self.model, {key: one.op_type or "" for key, one in self._primitives.items()})
        if name in values and (name not in self._arguments or self._handed is None or self._handed.alone(name)):
            values[name] = found
        elif name not in self._weights:
            raise Refused("it changes what is read outside of its function, too")
        if len(self.functions) > 1 or name in self._weights:
            self._latest[name] = found

    def raises(self, target: Any) -> bool:
        """Whether a function only ends with an error of Python's."""
        if not isinstance(target, Closure):
            return False
        called = {(node.op_type or "").removeprefix(schema.REF) for node in target.graph.node}
        return any(self._primitives[name].op_type == "raise" for name in called & self._primitives.keys())

    def _constant_of(self, node: schema.Node) -> Any:
        for attribute in node.attribute:
            if attribute.name == "value":
                return self._with_tensors(value_of(self.path, attribute))
        raise Refused(f"the constant {node.name} has no value")

    def _with_tensors(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.constant(value)
        return tuple(map(self._with_tensors, value)) if isinstance(value, tuple) else value

    def _attributes_of(self, node: schema.Node, called: str) -> Mapping[str, Any]:
        primitive = self._primitives.get(called)
        if primitive is not None and called not in self._attributes:
            self._attributes[called] = self._read(primitive.attribute)
        own = self._read(one for one in node.attribute if one.name not in ("shape", "value"))
        return {**own, **self._attributes.get(called, {})}

    def _read(self, attributes: Iterable[schema.Attribute]) -> dict[str, Any]:
        return {one.name or "": value_of(self.path, one) for one in attributes}


def title(node: schema.Node) -> str:
    """What a person calls a node: its scope, such as ``backbone/0-Dense/MatMul-op0``, else its name."""
    scope = (node.domain or "").removeprefix("Default/")
    return scope if scope and scope != "Default" else node.name or (node.output[0] if node.output else "")


def _constants(graphs: Iterable[schema.Graph]) -> dict[str, schema.Node]:
    """The constants of all functions: MindSpore writes one into one function, and others use it as well."""
    return {name: node for graph in graphs for node in graph.node if node.op_type == "Constant" for name in node.output}


def _item(inputs: tuple[Any, ...]) -> Any:
    whole, at = inputs[:2]
    if not isinstance(whole, tuple) or not isinstance(at, int) or not -len(whole) <= at < len(whole):
        raise Refused(f"there is no item {at} to take")
    return whole[at]


def _partial(inputs: tuple[Any, ...]) -> Any:
    target = inputs[0] if inputs else None
    if not isinstance(target, Closure):
        raise Refused("Partial is given no function")
    return Closure(target.graph, (*target.bound, *inputs[1:]))


def _switch(inputs: tuple[Any, ...]) -> Any:
    if len(inputs) != 3:
        raise Refused(f"Switch has {len(inputs)} inputs")
    return Choice(*inputs)


_FRAME = {
    "MakeTuple": lambda inputs: inputs,
    "make_list": lambda inputs: inputs,
    "MakeList": lambda inputs: inputs,
    "TupleGetItem": _item,
    "ListGetItem": _item,
    "tuple_getitem": _item,
    "Load": lambda inputs: inputs[0],
    "Depend": lambda inputs: inputs[0],
    "Return": lambda inputs: inputs[0],
    "Partial": _partial,
    "Switch": _switch,
}
"""Operators that only hand on what they get."""


# -- values in a file


def value_of(path: str, attribute: schema.Attribute) -> Any:
    """An attribute of a file as a Python value: bool, int, float, str, None, an array, or a tuple of these."""
    kind = attribute.type or 0
    if kind in _SEQUENCES:
        return tuple(value_of(path, one) for one in attribute.values) or tuple(_repeated(attribute))
    if kind in (_TENSOR, _TENSORS):
        tensors = attribute.tensors or (() if attribute.t is None else (attribute.t,))
        arrays = tuple(_tensor_of(path, tensor) for tensor in tensors)
        return arrays[0] if len(arrays) == 1 else arrays
    if kind == _NONE or kind in _MONADS:
        return None
    found = next(iter(_single(attribute)), None)
    return bool(found) if kind == 9 and found is not None else found


def _tensor_of(path: str, tensor: schema.Tensor) -> Any:
    """The content of a tensor; the name of its data type where the attribute is a type and holds nothing."""
    held_somewhere = tensor.dims or tensor.raw_data is not None or tensor.external_data is not None
    if held_somewhere or _typed(tensor) is not None:
        return array_of(path, tensor)
    return schema.dtype_name(tensor.data_type)


def _single(attribute: schema.Attribute) -> Iterator[Any]:
    for one in (attribute.i, attribute.f, attribute.d):
        if one is not None:
            yield one
    if attribute.s is not None:
        yield _text(attribute.s)
    yield from _repeated(attribute)


def _repeated(attribute: schema.Attribute) -> Iterator[Any]:
    yield from attribute.ints
    yield from attribute.floats
    yield from attribute.doubles
    yield from map(_text, attribute.strings)


def _text(data: Any) -> str:
    return bytes(data).decode("utf-8", "replace") if isinstance(data, (bytes, bytearray)) else str(data)


def noted(node: schema.Node) -> Any:
    """What the writer noted of a node's result, as in :class:`Call`."""
    for attribute in node.attribute:
        if attribute.name == "shape":
            return _types(attribute)
    return None


def _types(attribute: schema.Attribute) -> Any:
    if attribute.type in _SEQUENCES:
        return tuple(map(_types, attribute.values))
    found = [(schema.dtype_name(one.data_type), _sizes(one.dims)) for one in attribute.tensors]
    return found[0] if len(found) == 1 else tuple(found) or None


def _sizes(dims: tuple[int, ...]) -> tuple[int | None, ...] | None:
    return None if -2 in dims else tuple(None if size < 0 else size for size in dims)


def array_of(path: str, tensor: schema.Tensor) -> Array:
    """The content of a tensor; a weight of a file is mapped, not read.

    Raises:
        Refused: its bytes can't be reached, or are not as many as its shape asks for.
    """
    name = schema.dtype_name(tensor.data_type)
    if name == "string":
        raise Refused(f"{tensor.name or 'a constant'} holds texts")
    dtype, shape = numpy_dtype(name), tuple(tensor.dims)
    if isinstance(tensor.raw_data, (bytes, bytearray)):
        content = np.frombuffer(tensor.raw_data, dtype)
    elif (typed := _typed(tensor)) is not None:
        content = np.array(typed).astype(dtype)
    else:
        content = _mapped(path, tensor, dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if content.size != count:
        raise Refused(f"{tensor.name or 'a constant'} has {content.size} elements instead of {count}")
    return content.reshape(shape)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy data type of this name, bfloat16 included.

    Raises:
        Refused: numpy has none.
    """
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(name)
    except TypeError:
        raise Refused(f"{name} is no data type of tensors") from None


def _typed(tensor: schema.Tensor) -> Sequence[Any] | None:
    lists = (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data)
    return next((one for one in lists if one), None) if tensor.raw_data is None else None


def _mapped(path: str, tensor: schema.Tensor, dtype: np.dtype[Any]) -> Array:
    at = held(path, tensor)
    wanted = wanted_bytes(tensor)
    if at.problem or at.place not in ("raw", "external") or wanted is None or at.length < wanted:
        raise Refused(f"the bytes of {tensor.name or 'a constant'} are not all there")
    count = wanted // dtype.itemsize
    if wanted < MAPPED:
        return np.fromfile(at.file, dtype, count, offset=at.start)
    return np.memmap(at.file, dtype, "r", at.start, (count,))
