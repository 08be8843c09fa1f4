"""One conversion from MindIR to an ONNX file, or to one in each precision: what is asked for is checked first, the
operators come next, then the precision; what ONNX's own checker has seen is written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import onnx
from onnx import ModelProto, helper

from mswb.convert import adjust, layout, to_onnx
from mswb.convert.conversion import SOURCE_SHA256, primitives_of, sha256_of, told_edges, told_overrides
from mswb.convert.facts import ValueFacts, plain
from mswb.convert.graph import NUMBERS, Array
from mswb.convert.mindir import lint, schema
from mswb.convert.mindir.reader import read_file
from mswb.convert.onnx.inference import infer
from mswb.convert.onnx.model import OnnxModel, every_node, load, type_of, types_of
from mswb.convert.onnx.weights import Weights, without
from mswb.convert.onnx.writer import write
from mswb.convert.precision import modes as precision
from mswb.convert.to_mindir import kept
from mswb.findings import Finding, Where, make

SUFFIX = ".onnx"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        mode: FP32, FP16 or MIXED.
        layout: of the edges: NCHW leaves them as the model has them.
        shapes: sizes of inputs by name; None for one that stays open.
        overrides: attributes by operator of ONNX or node.
        frozen: inputs that become constants.
    """

    source: str
    target: str
    mode: str = "FP32"
    layout: str = "NCHW"
    shapes: Mapping[str, adjust.Sizes] = field(default_factory=dict)
    overrides: adjust.Overrides = field(default_factory=dict)
    frozen: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """How it went.

    Attributes:
        model: what was written; None when something is blocked.
        weights: its constants that stand beside it.
        bytes_written: of the file and, over 2 GB, the one with its constants; 0 when there is none.
        findings: errors when it is blocked, else notes and warnings.
        halves: nodes that compute in float16, of ``nodes`` that compute with fractions.
    """

    request: Request
    source: schema.Model
    model: ModelProto | None
    weights: Weights
    bytes_written: int
    findings: tuple[Finding, ...]
    halves: int = 0
    nodes: int = 0

    @property
    def ok(self) -> bool:
        """Whether a file was written."""
        return self.bytes_written > 0

    @property
    def primitives(self) -> tuple[tuple[str, int], ...]:
        """MindSpore's operators in the source, by count."""
        return primitives_of(self.source)

    @property
    def operators(self) -> tuple[tuple[str, int], ...]:
        """ONNX's operators in what was made, by count."""
        if self.model is None:
            return ()
        counts = Counter(plain(node.op_type) for node in every_node(self.model.graph.node))
        return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def loaded(self) -> OnnxModel:
        """The file that was written, as verifications want it."""
        return load(self.request.target, kept())


def perform(request: Request) -> Done:
    """Convert a file and write the result, unless something is blocked.

    Raises:
        MswbError: the model can't be read, an option does not fit it, or the file can't be written.
    """
    return perform_all(request, {request.mode: request.target})[0]


def perform_all(request: Request, targets: Mapping[str, str]) -> list[Done]:
    """Convert a file once and write it in several precisions: ``targets`` holds the file of each.

    Raises:
        MswbError: the model can't be read, an option does not fit it, or a file can't be written.
    """
    source = read_file(request.source)
    shapes, frozen = _fitting(source, request)
    broken = [one for one in lint.findings(request.source, source) if one.severity == "error"]
    if broken:
        return [Done(request, source, None, {}, 0, tuple(broken))]
    done = to_onnx.convert(request.source, to_onnx.Options(shapes=shapes or None, frozen=frozen, apart=True))
    if done.proto is None:
        return [Done(request, source, None, {}, 0, done.findings)]
    notes = [*done.findings, *_changed(request, done.proto, [*done.weights])]
    ready = [
        (replace(request, mode=mode, target=target), precision.apply(done.proto, mode, done.weights, request.source))
        for mode, target in targets.items()
    ]
    for asked, one in ready:
        problem = _problem(one)
        if problem:
            found = make("onnx-invalid", where=Where(file=request.source), values={"reason": problem})
            return [Done(asked, source, None, {}, 0, (found, *notes))]
    return [
        Done(
            asked, source, one.proto, one.weights, write(one.proto, one.weights, asked.target),
            (*notes, *one.findings), one.halves, one.nodes,
        )
        for asked, one in ready
    ]  # fmt: skip


def is_origin(mindir: str, path: str) -> bool:
    """Whether a MindIR file was made from this file.

    Raises:
        MswbError: one of them can't be read.
    """
    noted = {one.key: one.value for one in read_file(mindir).user_info}.get(SOURCE_SHA256)
    return noted is not None and os.path.isfile(path) and sha256_of(path) == noted


def _problem(one: precision.Precise) -> str:
    """What ONNX's checker says against a model that was made; empty when it is fine."""
    try:
        onnx.checker.check_model(without(one.proto, one.weights.keys()), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as problem:
        return plain(str(problem).strip().split("\n")[0])
    return ""


# -- what is asked for


def _fitting(source: schema.Model, request: Request) -> tuple[dict[str, adjust.Sizes], dict[str, Array]]:
    """Sizes and constants by the names that the inputs will have.

    Raises:
        MswbError: ``usage``: there is no such input, or it does not fit.
    """
    model = _edges(source)
    known = _names(source)
    shapes = {known.get(name, name): sizes for name, sizes in request.shapes.items()}
    frozen = {known.get(name, name): array for name, array in request.frozen.items()}
    adjust.fix_shapes(model, shapes, ())
    adjust.check_frozen(model, frozen, ())
    fixed = {value.name: type_of(value)[1] for value in model.graph.input} if shapes else {}
    return {name: sizes for name, sizes in fixed.items() if sizes is not None}, frozen


def _names(source: schema.Model) -> dict[str, str]:
    """The names of the inputs without the graph's, by the names in the file."""
    graph = source.graph
    prefix = f"{graph.name}:" if graph is not None else ""
    named = [value.name or "" for value in graph.input] if graph is not None else []
    return {name: name.removeprefix(prefix) or name for name in named}


def _edges(source: schema.Model) -> ModelProto:
    """The inputs alone, as ONNX declares them."""
    values = []
    names = _names(source)
    for value in source.graph.input if source.graph is not None else ():
        tensor = value.tensor[0] if value.tensor else schema.Tensor()
        number = NUMBERS.get(schema.dtype_name(tensor.data_type), 0)
        dims = None if -2 in tensor.dims else [None if size < 0 else size for size in tensor.dims]
        values.append(helper.make_tensor_value_info(plain(names[value.name or ""]), number, dims))
    return helper.make_model(helper.make_graph([], "edges", values, []))


def _changed(request: Request, proto: ModelProto, weights: Sequence[str]) -> list[Finding]:
    """Make the changes that are asked for, and tell of each."""
    changes, unused = adjust.override(proto, request.overrides)
    notes = told_overrides(request.source, proto, changes, unused)
    if request.layout == "NHWC":
        notes.append(told_edges(request.source, layout.channels_last(proto, weights)))
    return notes


def with_frozen(source: schema.Model, inputs: Iterable[Array], frozen: Mapping[str, Array]) -> Iterator[Array]:
    """What a MindIR model is fed when its conversion is fed this: in its order, with what was made a constant."""
    names, rest = _names(source), iter(inputs)
    held = {names.get(name, name): array for name, array in frozen.items()}
    for value in source.graph.input if source.graph is not None else ():
        name = names[value.name or ""]
        dtype = schema.dtype_name(value.tensor[0].data_type) if value.tensor else ""
        if name in held:
            yield held[name].astype(dtype)
        else:
            yield from islice(rest, 1)


# -- what is told of it


def edges_of(done: Done) -> tuple[list[ValueFacts], list[ValueFacts]]:
    """The inputs that a program feeds, and the outputs, in the model's order."""
    if done.model is None:
        return [_facts(value) for value in _edges(done.source).graph.input], []
    graph = done.model.graph
    return [_facts(value) for value in graph.input], [_facts(value) for value in graph.output]


def _facts(value: onnx.ValueInfoProto) -> ValueFacts:
    dtype, shape = type_of(value)
    return ValueFacts(plain(value.name), dtype, None if shape is None else tuple("?" if size is None else size
                                                                                 for size in shape))  # fmt: skip


def types_in(done: Done) -> dict[str, tuple[str, Sequence[int | None] | None]]:
    """Data type and shape of each tensor of the model that was written, by name."""
    if done.model is None:
        return {}
    inferred = infer(without(done.model, done.weights.keys()))
    return dict(types_of(inferred))
