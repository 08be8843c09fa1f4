"""What a person changes in a model before it is converted: attributes, sizes of inputs, inputs made constants."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto

from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.onnx.model import every_node, type_of
from mswb.findings import MswbError, stop

Overrides = Mapping[str, Mapping[str, Any]]
Sizes = Sequence["int | None"]
SHAPE_EXAMPLE = '--input_shape "input:[1,3,224,224]"'
_TYPES: Mapping[int, tuple[type, ...]] = {
    AttributeProto.FLOAT: (float, int),
    AttributeProto.INT: (int,),
    AttributeProto.STRING: (str,),
    AttributeProto.FLOATS: (float, int),
    AttributeProto.INTS: (int,),
    AttributeProto.STRINGS: (str,),
}
_LISTS = (AttributeProto.FLOATS, AttributeProto.INTS, AttributeProto.STRINGS)


@dataclass(frozen=True, slots=True)
class Change:
    """An attribute that was overridden; ``old`` and ``new`` as text."""

    node: str
    op: str
    attribute: str
    old: str
    new: str


def usage(problem: str, fix: str) -> MswbError:
    """The error for an option that can't be followed."""
    return stop("usage", values={"problem": plain(problem), "fix": plain(fix)})


# -- attributes


def parse_overrides(text: str) -> Overrides:
    """``{"operator or node": {"attribute": value}}``.

    Raises:
        MswbError: ``usage``.
    """
    example = """--custom_op_config '{"BatchNorm": {"epsilon": 1e-5}}'"""
    try:
        config = json.loads(text)
        json.dumps(config, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:  # a lone surrogate is a ValueError, too
        raise usage(f"--custom_op_config is not JSON: {problem}", f"write {example}") from None
    if not isinstance(config, dict) or not all(isinstance(one, dict) for one in config.values()):
        raise usage("--custom_op_config must be an object of objects", f"write {example}")
    return config


def override(proto: ModelProto, config: Overrides) -> tuple[list[Change], list[str]]:
    """Set attributes in place; also returns the names that no operator and no node of the model has.

    Raises:
        MswbError: ``usage``: the operator has no such attribute, or it is of another type.
    """
    nodes = list(every_node(proto.graph.node))
    changes, unused = [], []
    for name, attributes in config.items():
        found = [node for node in nodes if node.name == name or node.op_type in operator_names(name)]
        if not found:
            unused.append(name)
        for node in found:
            changes += [_set(proto, node, attribute, value) for attribute, value in attributes.items()]
    return changes, unused


def operator_names(name: str) -> tuple[str, ...]:
    """An operator's name, and ONNX's for a name as MindSpore or torch has it: BatchNorm2d → BatchNormalization."""
    base = re.sub(r"(?<=[a-z])[123][dD]$", "", name)
    return name, base, base + "alization" if base.endswith("Norm") else base


def _set(proto: ModelProto, node: NodeProto, name: str, value: Any) -> Change:
    schema = _schema(proto, node)
    known = {} if schema is None else schema.attributes
    title = plain(node.name or node.op_type)
    given = next((one for one in node.attribute if one.name == name), None)
    if schema is not None and name not in known:
        near = get_close_matches(name, known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"it has: {', '.join(sorted(known)) or 'none'}"
        raise usage(f"--custom_op_config: {node.op_type} ({title}) has no attribute {name}", fix)
    kind = int(known[name].type.value) if name in known else given.type if given is not None else 0
    if not _fits(value, kind):
        wanted = AttributeProto.AttributeType.Name(kind).lower()
        raise usage(f"--custom_op_config: {name} of {title} can't be {json.dumps(value)}", f"it is of type {wanted}")
    old = onnx.helper.get_attribute_value(given) if given is not None else _default(known.get(name))
    kept = [one for one in node.attribute if one.name != name]
    value = float(value) if kind == AttributeProto.FLOAT else value
    try:
        made = onnx.helper.make_attribute(name, value, attr_type=kind or None)
    except (ValueError, OverflowError) as problem:
        raise usage(f"--custom_op_config: {name} of {title} can't be {json.dumps(value)[:80]}", str(problem)) from None
    del node.attribute[:]
    node.attribute.extend([*kept, made])
    return Change(title, node.op_type, plain(name), _text(old), _text(value))


def _schema(proto: ModelProto, node: NodeProto) -> Any:
    domain = "" if node.domain == "ai.onnx" else node.domain
    versions = {("" if one.domain == "ai.onnx" else one.domain): one.version for one in proto.opset_import}
    try:
        return onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None


def _fits(value: Any, kind: int) -> bool:
    if not kind:
        return isinstance(value, (int, float, str)) or (isinstance(value, list) and bool(value))
    wanted = _TYPES.get(kind, ())
    parts = value if kind in _LISTS and isinstance(value, list) else [value]
    listed = isinstance(value, list) == (kind in _LISTS)
    return listed and all(isinstance(one, wanted) and not isinstance(one, bool) for one in parts)


def _default(known: Any) -> Any:
    if known is None or not known.default_value.name:
        return None
    return onnx.helper.get_attribute_value(known.default_value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.7g}"
    if value is None:
        return "not set"
    if isinstance(value, bytes):
        return plain(value.decode("utf-8", "surrogateescape"))
    return plain(str(list(value) if not isinstance(value, (str, int)) else value))


# -- sizes of inputs


def parse_shapes(texts: Sequence[str]) -> dict[str, Sizes]:
    """``name:[1,3,224,224]``, several parted by ``;`` or ``,`` or blanks, whatever quotes and blanks are in between.

    A size of -1 or ? stays open. The name "" stands for the only input.

    Raises:
        MswbError: ``usage``.
    """
    shapes: dict[str, Sizes] = {}
    for text in texts:
        found = list(_pieces(text))
        if not found:
            raise usage(f"--input_shape {text!r} names no shape", f"write {SHAPE_EXAMPLE}")
        for name, sizes in found:
            if name in shapes and shapes[name] != sizes:
                raise usage(f"--input_shape gives {name or 'the input'} two shapes", f"write {SHAPE_EXAMPLE}")
            shapes[name] = sizes
    return shapes


def _pieces(text: str) -> Iterator[tuple[str, Sizes]]:
    if "[" not in text and "(" not in text:
        for piece in filter(str.strip, text.split(";")):
            name, _, sizes = piece.rpartition(":")
            yield _bare(name), _sizes(sizes, text)
        return
    *pieces, rest = re.split(r"[\])]", text)
    if rest.strip(_AROUND):
        raise usage(f"--input_shape {text!r}: a bracket is missing", f"write {SHAPE_EXAMPLE}")
    for piece in pieces:
        left, *bracketed = re.split(r"[\[(]", piece, maxsplit=1)
        if not bracketed:
            raise usage(f"--input_shape {text!r}: a bracket is missing", f"write {SHAPE_EXAMPLE}")
        yield _bare(left.strip(_AROUND).removesuffix(":").removesuffix("=")), _sizes(bracketed[0], text)


_AROUND = " \t\r\n,;\"'`“”‘’{}"


def _bare(name: str) -> str:
    return name.strip(_AROUND)


def _sizes(text: str, whole: str) -> Sizes:
    parts = [part for part in re.split(r"[,\sxX×]+", text.strip(_AROUND)) if part]
    if not all(re.fullmatch(r"-1|\?|\d{1,18}", part) for part in parts):
        raise usage(f"--input_shape {whole!r}: {text.strip()!r} is not a list of sizes", f"write {SHAPE_EXAMPLE}")
    return [None if part in ("-1", "?") else int(part) for part in parts]


def fix_shapes(proto: ModelProto, shapes: Mapping[str, Sizes], weights: Collection[str]) -> None:
    """Give inputs these sizes, in place; a named size is the same wherever the model names it.

    Raises:
        MswbError: ``usage``: there is no such input, or its declared shape says otherwise.
    """
    inputs = inputs_of(proto, weights)
    symbols: dict[str, int] = {}
    for name, sizes in shapes.items():
        value = _wanted(inputs, name, "--input_shape")
        kind = value.type.tensor_type
        declared = type_of(value)[1]
        if declared is not None and len(declared) != len(sizes):
            raise usage(f"--input_shape: {value.name} has {len(declared)} dimensions, not {len(sizes)}", _told(value))
        if declared is None:
            kind.shape.SetInParent()
            for _ in sizes:
                kind.shape.dim.add()
        for dim, size in zip(kind.shape.dim, sizes, strict=True):
            if size is None:
                continue
            if dim.HasField("dim_value") and dim.dim_value >= 0 and dim.dim_value != size:
                raise usage(f"--input_shape: {value.name} has the fixed size {dim.dim_value}, not {size}", _told(value))
            if dim.dim_param and symbols.setdefault(dim.dim_param, size) != size:
                problem = f"--input_shape: {dim.dim_param} would be {symbols[dim.dim_param]} and {size}"
                raise usage(problem, "sizes of the same name must be equal")
            dim.dim_value = size
    graph = proto.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in symbols:
                dim.dim_value = symbols[dim.dim_param]


def inputs_of(proto: ModelProto, weights: Collection[str]) -> dict[str, Any]:
    """The inputs that a program feeds."""
    fixed = {tensor.name for tensor in proto.graph.initializer} | set(weights)
    return {value.name: value for value in proto.graph.input if value.name not in fixed}


def _wanted(inputs: Mapping[str, Any], name: str, option: str) -> Any:
    if name in inputs:
        return inputs[name]
    if not name and len(inputs) == 1:
        return next(iter(inputs.values()))
    known = ", ".join(inputs) or "none"
    raise usage(f"{option}: the model has no input {name or 'without a name'}", f"its inputs are: {known}")


def _told(value: Any) -> str:
    dims = [dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?")
            for dim in value.type.tensor_type.shape.dim]  # fmt: skip
    return f"the model declares {value.name}:[{','.join(dims)}]"


# -- inputs that become constants


def parse_frozen(texts: Sequence[str]) -> dict[str, Array]:
    """``NAME=VALUE`` (a number or a JSON list) or ``NAME=FILE.npy``.

    Raises:
        MswbError: ``usage``.
    """
    return dict(_frozen(text) for text in texts)


def _frozen(text: str) -> tuple[str, Array]:
    name, equals, value = text.partition("=")
    fix = "write --freeze axes=[0,1], or --freeze axes=axes.npy"
    if not equals or not name.strip():
        raise usage(f"--freeze {text!r} has no NAME=VALUE", fix)
    try:
        if value.endswith(".npy"):
            return name.strip(), np.asarray(np.load(value, allow_pickle=False))
        array = np.asarray(json.loads(value.replace("True", "true").replace("False", "false")))
    except OSError as problem:
        raise usage(f"--freeze {text[:200]!r}: {value[:200]} can't be read: {problem.strerror}", fix) from None
    except (ValueError, EOFError, RecursionError, MemoryError) as problem:
        reason = "it is larger than the memory" if isinstance(problem, MemoryError) else str(problem)
        raise usage(f"--freeze {text[:200]!r} is no number, list of numbers or .npy file: {reason}", fix) from None
    if array.dtype.kind not in "biuf":
        raise usage(f"--freeze {text!r} is not a number or a list of numbers", fix)
    return name.strip(), array


def check_frozen(proto: ModelProto, frozen: Mapping[str, Array], weights: Collection[str]) -> None:
    """See that what is frozen are inputs, and that the values fit them.

    Raises:
        MswbError: ``usage``.
    """
    inputs = inputs_of(proto, weights)
    for name, array in frozen.items():
        dtype, shape = type_of(_wanted(inputs, name, "--freeze"))
        if shape is not None and not _matches(array.shape, shape):
            raise usage(f"--freeze: {name} can't be of shape {list(array.shape)}", _told(inputs[name]))
        cast = array.astype(dtype or array.dtype)
        if dtype and np.dtype(dtype).kind in "biu" and not np.array_equal(cast, array):
            raise usage(f"--freeze: {name} is of type {dtype}, and the value does not fit it", _told(inputs[name]))


def _matches(found: tuple[int, ...], declared: Sizes) -> bool:
    return len(found) == len(declared) and all(size in (None, real) for size, real in zip(declared, found, strict=True))
