"""Checks of weights and constants: data type, shape, and as many bytes as these ask for.

MindSpore runs with whatever lies behind a weight that is too short, and says nothing (seen in 2.10: results of 4e24
instead of 3).
"""

from __future__ import annotations

from collections.abc import Iterator

from mswb.convert.mindir.reader import Held, held, wanted_bytes
from mswb.convert.mindir.schema import DTYPES, Tensor, dtype_name
from mswb.convert.mindir.scope import Scope, name_of
from mswb.findings import Finding

_CAUSES = {
    "raw": "raw_data",
    "external": "external_data",
    "typed": "float_data or another typed list, which the loader does not read",
    "none": "nothing",
}


def weights(scope: Scope) -> Iterator[Finding]:
    """Every parameter of every graph."""
    for graph in scope.model.graphs:
        for tensor in graph.parameter:
            yield from _tensor(scope, tensor, tensor.ref_key or tensor.name or "", "weight")


def constants(scope: Scope) -> Iterator[Finding]:
    """Every tensor that a Constant node holds."""
    for graph in scope.model.graphs:
        for node in graph.node:
            if node.op_type == "Constant":
                for attribute in node.attribute:
                    for tensor in (*attribute.tensors, *(() if attribute.t is None else (attribute.t,))):
                        yield from _tensor(scope, tensor, name_of(node), "constant")


def _tensor(scope: Scope, tensor: Tensor, name: str, kind: str) -> Iterator[Finding]:
    if tensor.data_type not in DTYPES:
        yield scope.finding("unsupported-dtype", tensor, name, kind=kind, dtype=dtype_name(tensor.data_type))
        return
    if any(size < 0 for size in tensor.dims):
        yield scope.finding("weight-dynamic", tensor, name, kind=kind, shape=list(tensor.dims))
        return
    wanted = wanted_bytes(tensor)
    if wanted is None or tensor.compression_type or tensor.quant_params:
        return  # texts, and bytes that are packed: their length doesn't follow from the shape
    yield from _length(scope, tensor, name, kind, wanted, held(scope.path, tensor))


def _length(scope: Scope, tensor: Tensor, name: str, kind: str, wanted: int, at: Held) -> Iterator[Finding]:
    values = {
        "kind": kind,
        "dtype": dtype_name(tensor.data_type),
        "shape": list(tensor.dims),
        "bytes_wanted": wanted,
        "bytes_found": at.length,
        "held_in": _CAUSES[at.place],
        "file": at.file,
        "start": at.start,
    }
    if at.problem:
        yield scope.finding(at.problem, tensor, name, **values, reason=at.reason)
    elif at.place in ("none", "typed") and wanted:
        yield scope.finding("weight-missing", tensor, name, **values)
    elif at.length < wanted:
        yield scope.finding("weight-short", tensor, name, **values)
    elif at.length > wanted:
        yield scope.finding("weight-long", tensor, name, **values)
