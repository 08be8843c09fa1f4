"""The MindIR graph that a conversion builds: values with what is known of them, and one method an operator call.

What a converter of an operator needs to know of a value is its data type, its rank, the sizes that are fixed, and its
content where it is constant; all of it is known before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mswb.convert.mindir import schema
from mswb.convert.mindir.primitives import known
from mswb.convert.wire import Data

Shape = tuple["int | None", ...]
"""Sizes of the dimensions; None for one that is only known when the model runs."""
Array = np.ndarray[Any, Any]
Constant = bool | int | float | str | tuple[Any, ...] | list[Any] | None | Array
"""What an operator may be given in place of a value: it becomes a constant of the graph."""

NUMBERS: Mapping[str, int] = {name: number for number, (name, _) in schema.DTYPES.items() if number not in (17, 18)}
"""TensorProto.DataType by name; the numbers are ONNX's, too."""
TYPE_IDS: Mapping[str, int] = {
    "bool": 30, "int8": 32, "int16": 33, "int32": 34, "int64": 35, "uint8": 37, "uint16": 38, "uint32": 39,
    "uint64": 40, "float16": 42, "float32": 43, "float64": 44, "bfloat16": 45, "complex64": 48, "complex128": 49,
}  # fmt: skip
"""What a data type is called where it is an input of an operator (Cast, Argmax)."""
SMALL = 1024
"""Bytes up to which a tensor is written as a constant; a longer one is a parameter."""
_BOOL, _INT, _FLOAT, _STRING, _TENSORS, _TUPLE, _NONE = 9, 7, 1, 8, 19, 20, 25


@dataclass(frozen=True, slots=True)
class Value:
    """A result in the graph.

    Attributes:
        dtype: the name of its data type as numpy spells it; "tuple" for several values, "" where it is not known.
        shape: its sizes; None where not even the rank is known.
        array: its content, where it is constant.
    """

    name: str
    dtype: str = ""
    shape: Shape | None = None
    array: Array | None = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None where it is not known."""
        return None if self.shape is None else len(self.shape)

    @property
    def fixed(self) -> tuple[int, ...] | None:
        """All sizes, when every one is known."""
        if self.shape is None or None in self.shape:
            return None
        return tuple(size for size in self.shape if size is not None)


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape of an element-wise result; None where a rank is not known."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    return tuple(_common(sizes) for sizes in zip(*((1,) * (rank - len(one)) + one for one in known), strict=True))


def _common(sizes: tuple[int | None, ...]) -> int | None:
    fixed = {size for size in sizes if size is not None and size != 1}
    return fixed.pop() if len(fixed) == 1 else None if None in sizes else 1


@dataclass(slots=True)
class Names:
    """The names that are taken in a model that is built."""

    names: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    """The next number for each name that was asked for."""

    def name(self, wanted: str) -> str:
        """A name like this one that nothing has yet."""
        base = re.sub(r"[^\w.:/-]", "_", wanted) or "value"
        name, number = base, self.counts.get(base, 1)
        while name in self.names:
            name, number = f"{base}_{number}", number + 1
        self.counts[base] = number
        self.names.add(name)
        return name


@dataclass(slots=True)
class Shared(Names):
    """What all graphs of one model share: names, primitives, constants that were written already, and parameters."""

    primitives: dict[Any, schema.Primitive] = field(default_factory=dict)
    parameters: list[schema.Tensor] = field(default_factory=list)
    functions: list[schema.Graph] = field(default_factory=list)

    def primitive(self, op_type: str, attributes: Mapping[str, Any], kind: int) -> str:
        """The name of a primitive with these attributes, which equal calls share."""
        key = (op_type, kind, tuple((name, _key(value)) for name, value in sorted(attributes.items())))
        if key not in self.primitives:
            written = tuple(replace(attribute_of(value), name=name) for name, value in attributes.items())
            self.primitives[key] = schema.Primitive(
                name=f"{op_type}:{len(self.primitives)}",
                op_type=op_type,
                attribute=written,
                instance_name=op_type,
                prim_type=kind,
            )
        return self.primitives[key].name or ""


class Builder:
    """One graph under construction: the entry graph, or a function of it."""

    def __init__(self, name: str, shared: Shared | None = None) -> None:
        self.shared = Shared() if shared is None else shared
        self.name = self.shared.name(name)
        self.scope = ""
        """What the results of the operator that is being converted are named after."""
        self.nodes: list[schema.Node] = []
        self.inputs: list[schema.Value] = []
        self._constants: dict[Any, Value] = {}

    # -- values from outside

    def input(self, name: str, dtype: str, shape: Shape | None) -> Value:
        """An input of the graph."""
        dims = (-2,) if shape is None else tuple(-1 if size is None else size for size in shape)
        value = Value(self.shared.name(name), dtype, shape)
        tensor = schema.Tensor(dims=dims, data_type=NUMBERS[dtype], name=value.name)
        self.inputs.append(schema.Value(name=value.name, tensor=(tensor,)))
        return value

    def parameter(self, name: str, dtype: str, dims: tuple[int, ...], data: Data) -> Value:
        """A weight: its content in memory, or where it lies in a file."""
        own = self.shared.name(name)
        self.shared.parameters.append(
            schema.Tensor(dims=dims, data_type=NUMBERS[dtype], name=own, ref_key=own, raw_data=data)
        )
        return Value(own, dtype, dims)

    def constant(self, content: Constant) -> Value:
        """A constant; equal ones are written once. A long tensor becomes a parameter."""
        if isinstance(content, list):
            content = tuple(content)
        key = _key(content)
        if key not in self._constants:
            self._constants[key] = self._constant(content)
        return self._constants[key]

    def _constant(self, content: Constant) -> Value:
        if isinstance(content, np.ndarray):
            dims, dtype = tuple(content.shape), content.dtype.name
            if content.nbytes > SMALL:
                name = f"{self.scope or self.name}.constant"
                value = self.parameter(name, dtype, dims, np.ascontiguousarray(content).tobytes())
                return replace(value, array=content)
            value = Value(self.shared.name("constant"), dtype, dims, content)
        else:
            kind = "tuple" if isinstance(content, tuple) else type(content).__name__
            value = Value(self.shared.name("constant"), kind, None)
        attribute = replace(attribute_of(content), name="value")
        self.nodes.append(
            schema.Node(output=(value.name,), name=value.name, op_type="Constant", attribute=(attribute,))
        )
        return value

    # -- calls

    def op(
        self,
        primitive: str,
        *inputs: Value | Constant,
        dtype: str | None = None,
        shape: Shape | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Value:
        """Call an operator of MindSpore and return its result.

        Args:
            inputs: values, or what becomes a constant. Of an operator that takes its arguments as inputs all must be
                given, in the order of ``primitives.toml``.
            dtype: of the result; that of the first input unless given.
            shape: of the result, where it is known; for element-wise ones that of the broadcast inputs.
            attributes: those of the primitive, for operators that have them.
        """
        return self.call(f"REF::{self._primitive(primitive, attributes)}", primitive, inputs, dtype, shape)

    def call(
        self,
        target: str,
        title: str,
        inputs: Sequence[Value | Constant],
        dtype: str | None = None,
        shape: Shape | None = None,
    ) -> Value:
        """Call what ``target`` names: a primitive, a function or a closure."""
        given = [one if isinstance(one, Value) else self.constant(one) for one in inputs]
        name = self.shared.name(f"{self.scope}/{title}" if self.scope else title)
        kind = dtype if dtype is not None else given[0].dtype if given else ""
        self.nodes.append(
            schema.Node(
                input=tuple(one.name for one in given),
                output=(name,),
                name=name,
                op_type=target,
                domain=f"Default/{self.scope}",
            )
        )
        return Value(name, kind, shape)

    def ops(
        self,
        primitive: str,
        *inputs: Value | Constant,
        results: Sequence[tuple[str, Shape | None]],
        attributes: Mapping[str, Any] | None = None,
    ) -> tuple[Value, ...]:
        """Call an operator with several results, each given by data type and shape."""
        whole = self.op(primitive, *inputs, dtype="tuple", attributes=attributes)
        return tuple(self.item(whole, at, dtype, shape) for at, (dtype, shape) in enumerate(results))

    def item(self, whole: Value, at: int, dtype: str = "", shape: Shape | None = None) -> Value:
        """One of several results."""
        return self.op("TupleGetItem", whole, at, dtype=dtype, shape=shape)

    def tuple(self, parts: Sequence[Value | Constant]) -> Value:
        """Several values as one."""
        return self.op("MakeTuple", *parts, dtype="tuple")

    def _primitive(self, op_type: str, attributes: Mapping[str, Any] | None) -> str:
        kind = schema.FUNCTION if attributes is None and op_type in known().inputs else 1
        return self.shared.primitive(op_type, attributes or {}, kind)

    # -- what most operators need

    def cast(self, value: Value, dtype: str) -> Value:
        """The value in another data type; itself when it has it."""
        return (
            value if value.dtype == dtype else self.op("Cast", value, TYPE_IDS[dtype], dtype=dtype, shape=value.shape)
        )

    def reshape(self, value: Value, shape: Sequence[int] | Value) -> Value:
        """The value with other dimensions: numbers (one may be -1), or an int64 tensor."""
        if isinstance(shape, Value):
            sizes = None if shape.shape is None or shape.shape[0] is None else (None,) * shape.shape[0]
            return self.op("Reshape", value, self.as_tuple(shape), shape=sizes)
        known_shape = tuple(None if size < 0 else size for size in shape)
        return self.op("Reshape", value, tuple(int(size) for size in shape), shape=known_shape)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """The value with its dimensions in another order."""
        shape = None if value.shape is None else tuple(value.shape[at] for at in order)
        return self.op("Transpose", value, tuple(int(at) for at in order), shape=shape)

    def shape_of(self, value: Value) -> Value:
        """The sizes as an int64 tensor: a constant when all are fixed."""
        if value.fixed is not None:
            return self.constant(np.array(value.fixed, np.int64))
        return self.op("TensorShape", value, dtype="int64", shape=(value.rank,))

    def as_tuple(self, value: Value) -> Value:
        """A tensor of integers as a tuple: a constant when its content is known."""
        if value.array is not None:
            return self.constant(tuple(int(one) for one in value.array.reshape(-1)))
        return self.op("TensorToTuple", value, dtype="tuple", attributes={})

    def scalar(self, number: float, dtype: str) -> Value:
        """A constant tensor without dimensions."""
        return self.constant(np.array(number, dtype))

    def finish(self, outputs: Sequence[Value]) -> schema.Graph:
        """The graph, with these results."""
        return schema.Graph(
            name=self.name,
            node=tuple(self.nodes),
            input=tuple(self.inputs),
            output=tuple(_output(value) for value in outputs),
        )


def _output(value: Value) -> schema.Value:
    if value.dtype not in NUMBERS:
        return schema.Value(name=value.name)
    dims = (-2,) if value.shape is None else tuple(-1 if size is None else size for size in value.shape)
    return schema.Value(name=value.name, tensor=(schema.Tensor(dims=dims, data_type=NUMBERS[value.dtype]),))


def attribute_of(content: Any) -> schema.Attribute:
    """A constant or an attribute as MindSpore writes it: elements of a tuple lie in the repeated slots."""
    if isinstance(content, np.ndarray):
        raw = np.ascontiguousarray(content).tobytes()
        number = NUMBERS[content.dtype.name]
        tensor = schema.Tensor(dims=tuple(content.shape), data_type=number, raw_data=raw)
        return schema.Attribute(type=_TENSORS, tensors=(tensor,))
    if isinstance(content, (tuple, list)):
        return schema.Attribute(type=_TUPLE, values=tuple(map(_element, content)))
    if isinstance(content, (bool, np.bool_)):
        return schema.Attribute(type=_BOOL, i=int(content))
    if isinstance(content, (int, np.integer)):
        return schema.Attribute(type=_INT, i=int(content))
    if isinstance(content, (float, np.floating)):
        return schema.Attribute(type=_FLOAT, f=float(content))
    if isinstance(content, str):
        return schema.Attribute(type=_STRING, s=content.encode())
    if content is not None:
        raise TypeError(f"no attribute holds {type(content).__name__}")
    return schema.Attribute(type=_NONE)


def _element(content: Any) -> schema.Attribute:
    one = attribute_of(content)
    if one.i is not None:
        return schema.Attribute(type=one.type, ints=(one.i,))
    if one.f is not None:
        return schema.Attribute(type=one.type, floats=(one.f,))
    return one if one.s is None else schema.Attribute(type=one.type, strings=(one.s,))


def _key(content: Any) -> Any:
    """What tells constants apart: the kind, too, for True is 1 and 1.0 in Python, and -0.0 is 0.0."""
    if isinstance(content, np.ndarray):
        return content.dtype.name, content.shape, content.tobytes()
    if isinstance(content, (tuple, list)):
        return ("tuple", *map(_key, content))
    return type(content).__name__, repr(content)
