"""The messages of a MindIR file (package ``mind_ir`` of MindSpore 2.10): our table of them, and a class for each.

Every class has the fields of its message, ``None`` or ``()`` where the file has none; ``at`` is where the message lies
in the file, and ``unknown`` are fields that the table lacks, so that a copy keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mswb.convert import wire
from mswb.convert.wire import Data, Span

TABLE = wire.table(
    {
        "Model": "1 ir_version text,2 producer_name text,3 producer_version text,4 domain text,5 model_version text,"
        "6 doc_string text,7 graph Graph,8 functions Graph*,9 preprocessor blob,10 little_endian int,"
        "11 parallel blob,12 primitives Primitive*,13 mind_ir_version int,14 user_info Entry*",
        "Graph": "1 node Node*,2 name text,3 parameter Tensor*,4 doc_string text,5 input Value*,6 output Value*,"
        "7 bprop_hash text,8 attribute Attribute*,9 bprop_filepath text,10 map_parameter blob*",
        "Node": "1 input text*,2 output text*,3 name text,4 op_type text,5 attribute Attribute*,6 doc_string text,"
        "7 domain text,8 node_attr Attribute*,9 primal_attr Attribute*",
        "Primitive": "1 name text,2 op_type text,3 attribute Attribute*,4 instance_name text,5 prim_type int",
        "Value": "1 name text,2 tensor Tensor*,3 doc_string text,4 denotation text,5 attr_info Attribute",
        "Tensor": "1 dims int*,2 data_type int,3 float_data float*,4 int32_data int*,5 string_data data*,"
        "6 int64_data int*,7 name text,8 doc_string text,9 raw_data blob,10 double_data double*,11 uint64_data int*,"
        "12 external_data External,13 ref_key text,14 min_dims int*,15 max_dims int*,16 compression_type int,"
        "17 quant_params blob*",
        "External": "1 location text,2 start int,3 length int",
        "Attribute": "1 name text,2 f float,3 i int,4 d double,5 s data,6 t Tensor,7 g Graph,8 floats float*,"
        "9 doubles double*,10 ints int*,11 strings data*,12 tensors Tensor*,13 graphs Graph*,14 doc_string text,"
        "15 ref_attr_name text,16 type int,17 values Attribute*,18 seq_info blob,19 functor blob,20 graph_holder blob",
        "Entry": "1 key text,2 value text",
    }
)
"""Field numbers and kinds by message. What nobody here reads (preprocessor, parallel layouts …) stays a span."""

DTYPES: Mapping[int, tuple[str, int]] = {
    1: ("float32", 4),
    2: ("uint8", 1),
    3: ("int8", 1),
    4: ("uint16", 2),
    5: ("int16", 2),
    6: ("int32", 4),
    7: ("int64", 8),
    8: ("string", 0),
    9: ("bool", 1),
    10: ("float16", 2),
    11: ("float64", 8),
    12: ("uint32", 4),
    13: ("uint64", 8),
    14: ("complex64", 8),
    15: ("complex128", 16),
    16: ("bfloat16", 2),
    17: ("float64", 8),
    18: ("qint4x2", 1),
}
"""Name and bytes of an element by TensorProto.DataType; 0 bytes where elements differ in length."""

NEWEST = 3
"""The highest ``mind_ir_version`` that MindSpore 2.10 loads."""
FUNCTION = 2
"""``prim_type`` of a primitive whose arguments are inputs of the node."""
REF = "REF::"
"""What stands before the name of a primitive, function or closure in a node's ``op_type``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What all messages have: where it lies, and the fields that the table lacks."""

    at: Span | None = field(default=None, compare=False, repr=False)
    unknown: tuple[Span, ...] = field(default=(), repr=False)

    @property
    def offset(self) -> int | None:
        """The byte at which it starts; None when it was not read from a file."""
        return None if self.at is None else self.at.start


@dataclass(frozen=True, slots=True, kw_only=True)
class External(Message):
    """A place in another file: ``location`` is relative to the model, ``start`` and ``length`` are bytes."""

    location: str | None = None
    start: int | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor(Message):
    """A tensor, a weight, or only the type of one."""

    dims: tuple[int, ...] = ()
    data_type: int | None = None
    float_data: tuple[float, ...] = ()
    int32_data: tuple[int, ...] = ()
    string_data: tuple[Data, ...] = ()
    int64_data: tuple[int, ...] = ()
    name: str | None = None
    doc_string: str | None = None
    raw_data: Data | None = None
    double_data: tuple[float, ...] = ()
    uint64_data: tuple[int, ...] = ()
    external_data: External | None = None
    ref_key: str | None = None
    min_dims: tuple[int, ...] = ()
    max_dims: tuple[int, ...] = ()
    compression_type: int | None = None
    quant_params: tuple[Data, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Message):
    """A named value; ``type`` says which of the others holds it."""

    name: str | None = None
    f: float | None = None
    i: int | None = None
    d: float | None = None
    s: Data | None = None
    t: Tensor | None = None
    g: Graph | None = None
    floats: tuple[float, ...] = ()
    doubles: tuple[float, ...] = ()
    ints: tuple[int, ...] = ()
    strings: tuple[Data, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    graphs: tuple[Graph, ...] = ()
    doc_string: str | None = None
    ref_attr_name: str | None = None
    type: int | None = None
    values: tuple[Attribute, ...] = ()
    seq_info: Data | None = None
    functor: Data | None = None
    graph_holder: Data | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(Message):
    """An input or output of a graph."""

    name: str | None = None
    tensor: tuple[Tensor, ...] = ()
    doc_string: str | None = None
    denotation: str | None = None
    attr_info: Attribute | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Message):
    """One call: ``op_type`` is an operator's own name, or :data:`REF` and what is called."""

    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    name: str | None = None
    op_type: str | None = None
    attribute: tuple[Attribute, ...] = ()
    doc_string: str | None = None
    domain: str | None = None
    node_attr: tuple[Attribute, ...] = ()
    primal_attr: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Message):
    """The entry graph, or a function: a branch, a loop's header or body."""

    node: tuple[Node, ...] = ()
    name: str | None = None
    parameter: tuple[Tensor, ...] = ()
    doc_string: str | None = None
    input: tuple[Value, ...] = ()
    output: tuple[Value, ...] = ()
    bprop_hash: str | None = None
    attribute: tuple[Attribute, ...] = ()
    bprop_filepath: str | None = None
    map_parameter: tuple[Data, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive(Message):
    """An operator with its attributes, shared by the nodes that call it by ``name``."""

    name: str | None = None
    op_type: str | None = None
    attribute: tuple[Attribute, ...] = ()
    instance_name: str | None = None
    prim_type: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Message):
    """One pair of ``user_info``."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Message):
    """A whole file. ``model_version`` is the version of the MindSpore that wrote it."""

    ir_version: str | None = None
    producer_name: str | None = None
    producer_version: str | None = None
    domain: str | None = None
    model_version: str | None = None
    doc_string: str | None = None
    graph: Graph | None = None
    functions: tuple[Graph, ...] = ()
    preprocessor: Data | None = None
    little_endian: int | None = None
    parallel: Data | None = None
    primitives: tuple[Primitive, ...] = ()
    mind_ir_version: int | None = None
    user_info: tuple[Entry, ...] = ()

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The entry graph, if there is one, and the functions."""
        return (*(() if self.graph is None else (self.graph,)), *self.functions)


CLASSES: Mapping[str, Any] = {
    kind.__name__: kind for kind in (Model, Graph, Node, Primitive, Value, Tensor, External, Attribute, Entry)
}
"""The class of each message of the table."""


def dtype_name(number: int | None) -> str:
    """The name of a data type; its number where it has none."""
    return DTYPES.get(number or 0, (f"type {number}", 0))[0]


def elements(dims: tuple[int, ...]) -> int | None:
    """How many elements a shape has; None for a dynamic one."""
    count = 1
    for size in dims:
        if size < 0:
            return None
        count *= size
    return count
