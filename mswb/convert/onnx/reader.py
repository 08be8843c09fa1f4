"""The facts of an ONNX file, read from its fields without the onnx package and without its weights."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from mswb.convert import sniff, wire
from mswb.convert.facts import GraphFacts, ModelFacts, ValueFacts, WeightFacts, by_count, plain
from mswb.convert.mindir.reader import as_error
from mswb.convert.wire import Damage, Source, Span

TABLE = wire.table(
    {
        "Model": "1 ir_version int,2 producer_name text,3 producer_version text,4 domain text,5 model_version int,"
        "7 graph Graph,8 opset_import Opset*,14 metadata_props Entry*,25 functions Function*",
        "Opset": "1 domain text,2 version int",
        "Entry": "1 key text,2 value text",
        "Graph": "1 node Node*,2 name text,5 initializer Tensor*,11 input Value*,12 output Value*",
        "Function": "1 name text,4 input text*,5 output text*,7 node Node*,9 opset_import Opset*,10 domain text",
        "Node": "1 input text*,2 output text*,3 name text,4 op_type text,5 attribute Attribute*,7 domain text",
        "Attribute": "1 name text,6 g Graph,11 graphs Graph*,20 type int",
        "Tensor": "1 dims int*,2 data_type int,4 float_data blob*,5 int32_data blob*,6 string_data blob*,"
        "7 int64_data blob*,8 name text,9 raw_data blob,10 double_data blob*,11 uint64_data blob*,"
        "13 external_data Entry*,14 data_location int",
        "Value": "1 name text,2 type Type",
        "Type": "1 tensor_type TensorType,4 sequence_type blob,5 map_type blob,9 optional_type blob",
        "TensorType": "1 elem_type int,2 shape Shape",
        "Shape": "1 dim Dim*",
        "Dim": "1 dim_value int,2 dim_param text",
    }
)
"""The fields of onnx.proto that are looked at."""

DTYPES = (
    "undefined",
    "float32",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "float64",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
)
"""The names of TensorProto.DataType, by number."""
_TYPED = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")


class Record(SimpleNamespace):
    """One message; what the file lacks is "", 0, None or ()."""

    def __getattr__(self, name: str) -> Any:
        return ()


def inspect(source: Source) -> ModelFacts:
    """What an open ONNX file holds.

    Raises:
        MswbError: ``not-a-model`` or ``truncated``, with the byte.
    """
    try:
        model = wire.decode(source, Span(0, source.size), "Model", TABLE, dict.fromkeys(TABLE, Record))
    except Damage as damage:
        raise as_error(source.path, damage, sniff.KINDS["onnx"]) from None
    graphs = [model.graph, *(graph for node in model.graph.node for graph in _inner(node))] if model.graph else []
    nodes = [*(node for graph in graphs for node in graph.node), *(n for f in model.functions for n in f.node)]
    return ModelFacts(
        source.path,
        "onnx",
        source.size,
        plain(f"{model.producer_name or ''} {model.producer_version or ''}".strip()),
        tuple(_versions(model)),
        (*map(_graph, graphs), *map(_function, model.functions)),
        by_count(_operator(node) for node in nodes),
        tuple(_weight(source.path, tensor) for graph in graphs for tensor in graph.initializer),
        tuple((plain(entry.key or ""), plain(entry.value or "")) for entry in model.metadata_props),
    )


def _inner(node: Record) -> Iterator[Record]:
    """The graphs in a node's attributes, and those in these."""
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.g else []), *attribute.graphs):
            yield graph
            for below in graph.node:
                yield from _inner(below)


def _versions(model: Record) -> Iterator[tuple[str, str]]:
    if model.ir_version:
        yield "ir_version", str(model.ir_version)
    for opset in model.opset_import:
        yield f"opset {plain(opset.domain or 'ai.onnx')}", str(opset.version or 0)


def _operator(node: Record) -> str:
    name = plain(node.op_type or "(none)")
    return f"{plain(node.domain)}.{name}" if node.domain and node.domain != "ai.onnx" else name


def _graph(graph: Record) -> GraphFacts:
    own = {tensor.name for tensor in graph.initializer}
    given = tuple(_value(value) for value in graph.input if value.name not in own)
    return GraphFacts(plain(graph.name or ""), len(graph.node), given, tuple(_value(value) for value in graph.output))


def _function(function: Record) -> GraphFacts:
    given, results = (tuple(ValueFacts(plain(n), "", None) for n in x) for x in (function.input, function.output))
    return GraphFacts(plain(function.name or ""), len(function.node), given, results)


def _value(value: Record) -> ValueFacts:
    tensor = value.type.tensor_type if value.type else None
    name = plain(value.name or "")
    if not tensor:
        return ValueFacts(name, "", None)
    return ValueFacts(name, _dtype(tensor.elem_type), _shape(tensor))


def _shape(tensor: Record) -> tuple[int | str, ...] | None:
    return tuple(_size(dim) for dim in tensor.shape.dim) if tensor.shape else None


def _size(dim: Record) -> int | str:
    if dim.dim_value != ():
        return int(dim.dim_value)
    return plain(dim.dim_param) if dim.dim_param else "?"


def _dtype(number: Any) -> str:
    index = int(number or 0)
    return DTYPES[index] if 0 <= index < len(DTYPES) else f"type {index}"


def _weight(path: str, tensor: Record) -> WeightFacts:
    name, dtype, dims = plain(tensor.name or ""), _dtype(tensor.data_type), tuple(tensor.dims)
    outside = {entry.key: entry.value or "" for entry in tensor.external_data}
    if "location" in outside:
        file = os.path.join(os.path.dirname(path), plain(outside["location"]))
        return WeightFacts(name, dtype, dims, _number(outside.get("length")), file, _number(outside.get("offset")))
    spans = [tensor.raw_data] if tensor.raw_data else [span for field in _TYPED for span in getattr(tensor, field)]
    start = spans[0].start if spans else tensor.at.start
    return WeightFacts(name, dtype, dims, sum(map(len, spans)), path, start)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else 0
