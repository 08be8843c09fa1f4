"""One conversion from file to file, as a person asks for it: changes first, then the operators, then a check of what
was made, and only then a file."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

from onnx import ModelProto

from mswb.convert import adjust, layout, to_mindir, wire
from mswb.convert.facts import ValueFacts, by_count, plain
from mswb.convert.graph import Array
from mswb.convert.mindir import lint, schema
from mswb.convert.mindir.reader import refuse_others
from mswb.convert.onnx.check import OLDEST
from mswb.convert.onnx.model import OnnxModel, every_node, load, type_of
from mswb.convert.precision import weights as precise_weights
from mswb.findings import Finding, Where, make, stop

SOURCE_SHA256 = "mswb.source_sha256"
"""Where a MindIR file notes what it was made from."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        layout: of the edges: NCHW leaves them as the model has them.
        shapes: sizes of inputs by name; None for one that stays open.
        overrides: attributes by operator or node.
        frozen: inputs that become constants.
        mode: the precision: FP32 leaves the model's own, FP16 and MIXED make it half.
    """

    source: str
    target: str
    layout: str = "NCHW"
    shapes: Mapping[str, adjust.Sizes] = field(default_factory=dict)
    overrides: adjust.Overrides = field(default_factory=dict)
    frozen: Mapping[str, Array] = field(default_factory=dict)
    mode: str = "FP32"


@dataclass(frozen=True, slots=True)
class Done:
    """How it went.

    Attributes:
        converted: model, source, and MindIR name of each ONNX tensor.
        bytes_written: of the file; 0 when something is blocked and there is none.
        operators: those of the source, by count.
        findings: errors when it is blocked, else notes and warnings.
        reference: the model with the changes that were asked for, in its own precision.
    """

    request: Request
    reference: OnnxModel
    converted: to_mindir.Converted
    bytes_written: int
    operators: tuple[tuple[str, int], ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether a file was written."""
        return self.bytes_written > 0

    @property
    def primitives(self) -> tuple[tuple[str, int], ...]:
        """MindSpore's operators in the model that was made, by count."""
        return () if self.converted.model is None else primitives_of(self.converted.model)


def kind_of(path: str) -> str:
    """Whether a file is "onnx" or "mindir", by its content.

    Raises:
        MswbError: ``not-a-model``, ``encrypted``, ``path-missing`` or ``path-unreadable``.
    """
    with wire.open_source(path) as source:
        return refuse_others(source, "")


def beside(path: str) -> str:
    """Where the result goes when nothing is said: beside the model, as .mindir."""
    return f"{os.path.splitext(path)[0]}.mindir"


def perform(request: Request) -> Done:
    """Convert a file and write the result, unless something is blocked.

    Raises:
        MswbError: the model can't be read, an option does not fit it, or the file can't be written.
    """
    notes: list[Finding] = []
    operators: list[str] = []

    def prepare(proto: ModelProto, weights: Collection[str]) -> None:
        operators.extend(_title(node) for node in every_node(proto.graph.node))
        notes.extend(_prepared(request, proto, weights))

    with ExitStack() as stack:
        beside_it = stack.enter_context(ThreadPoolExecutor(1))  # hashing lets the conversion have the interpreter
        digest = beside_it.submit(sha256_of, request.source)
        reference = load(request.source, to_mindir.kept(), prepare)
        source, told = _precise(reference, request, stack)
        converted = to_mindir.convert_model(source, to_mindir.Options(frozen=request.frozen))
        if converted.model is not None:
            made_from = schema.Entry(key=SOURCE_SHA256, value=digest.result())
            model = replace(converted.model, user_info=(*converted.model.user_info, made_from))
            converted = replace(converted, model=model)
        return _written(request, reference, converted, operators, [*notes, *told])


def _precise(model: OnnxModel, request: Request, stack: ExitStack) -> tuple[OnnxModel, Sequence[Finding]]:
    """The model in the precision that is asked for; what is converted of its weights waits beside the target."""
    if request.mode == "FP32":
        return model, ()
    folder = os.path.dirname(os.path.abspath(request.target))
    try:
        apart = stack.enter_context(TemporaryDirectory(dir=folder, prefix=".mswb-"))
        return precise_weights.in_precision(model, request.mode, os.path.join(apart, "weights"))
    except OSError as problem:
        raise stop("path-unwritable", values={"path": request.target, "reason": problem.strerror}) from None


def _written(
    request: Request, reference: OnnxModel, converted: to_mindir.Converted, operators: Sequence[str],
    notes: list[Finding],
) -> Done:  # fmt: skip
    """Write what was converted, unless something is blocked."""
    problems = [*converted.findings]
    if converted.model is not None:
        problems += lint.findings(request.target, converted.model)
    if converted.source.opset < OLDEST:
        values = {"opset": converted.source.opset, "oldest": OLDEST}
        notes.append(make("opset-raised", where=Where(file=request.source), values=values))
    blocked = converted.model is None or any(one.severity == "error" for one in problems)
    written = 0 if blocked else to_mindir.save(converted, request.target)
    return Done(request, reference, converted, written, by_count(operators), (*problems, *notes))


def sha256_of(path: str) -> str:
    """The SHA-256 of a file.

    Raises:
        MswbError: it can't be read.
    """
    digest = hashlib.sha256()
    with wire.open_source(path) as source:
        for piece in source.pieces(wire.Span(0, source.size)):
            digest.update(piece)
    return digest.hexdigest()


def _title(node: Any) -> str:
    domain = node.domain if node.domain != "ai.onnx" else ""
    return plain(f"{domain}.{node.op_type}" if domain else node.op_type)


def _prepared(request: Request, proto: ModelProto, weights: Collection[str]) -> list[Finding]:
    """Make the changes that are asked for, and tell of each."""
    changes, unused = adjust.override(proto, request.overrides)
    adjust.fix_shapes(proto, request.shapes, weights)
    adjust.check_frozen(proto, request.frozen, weights)
    edges = layout.channels_last(proto, weights) if request.layout == "NHWC" else None
    notes = told_overrides(request.source, proto, changes, unused)
    return notes if edges is None else [*notes, told_edges(request.source, edges)]


def told_overrides(
    path: str, proto: ModelProto, changes: Sequence[adjust.Change], unused: Sequence[str]
) -> list[Finding]:
    """What is told of attributes that were overridden, and of names that the model has not."""
    notes = [
        make(
            "attribute-overridden",
            where=Where(node=one.node, file=path),
            values={"name": one.node, "op": one.op, "attribute": one.attribute, "old": one.old, "new": one.new},
        )
        for one in changes
    ]
    has = ", ".join(sorted({plain(node.op_type) for node in proto.graph.node})[:12])
    where = Where(file=path)
    return notes + [make("custom-op-unused", where=where, values={"name": plain(name), "has": has}) for name in unused]


def told_edges(path: str, edges: Sequence[layout.Edge]) -> Finding:
    """What is told of inputs and outputs that were transposed."""
    names = ", ".join(f"{one.kind} {plain(one.name)}" for one in edges)
    values = {"count": len(edges), "names": names or "no input or output of four dimensions"}
    return make("layout-transposed", where=Where(file=path), values=values)


def primitives_of(model: schema.Model) -> tuple[tuple[str, int], ...]:
    """The operators that a MindIR model calls, by count."""
    types = {f"{schema.REF}{one.name}": one.op_type or "" for one in model.primitives}
    counts = Counter(types[node.op_type] for graph in model.graphs for node in graph.node if node.op_type in types)
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def edges_of(done: Done) -> tuple[list[ValueFacts], list[ValueFacts]]:
    """The inputs that a program feeds, and the outputs, in the model's order."""
    source = done.converted.source
    inputs = adjust.inputs_of(source.proto, source.weights)
    fed = [_facts(value) for name, value in inputs.items() if name not in done.request.frozen]
    return fed, [_facts(value, source.types.get(value.name)) for value in source.proto.graph.output]


def _facts(value: Any, known: tuple[str, Sequence[int | None] | None] | None = None) -> ValueFacts:
    dtype, shape = type_of(value)
    if known is not None and known[1] is not None and (shape is None or None in shape):
        dtype, shape = known[0], tuple(known[1])
    if shape is None:
        return ValueFacts(plain(value.name), dtype, None)
    names = [plain(dim.dim_param) for dim in value.type.tensor_type.shape.dim] or [""] * len(shape)
    sizes = (name or "?" if size is None else size for size, name in zip(shape, names, strict=False))
    return ValueFacts(plain(value.name), dtype, tuple(sizes))
