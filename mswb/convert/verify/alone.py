"""The verification of a MindIR file that has nothing to be compared with: its numbers against exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mswb.convert import to_onnx
from mswb.convert.engines.child import EngineError
from mswb.convert.engines.converted import Converted
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.mindir import schema
from mswb.convert.onnx.node import Refused
from mswb.convert.precision.half import HALVES, Range
from mswb.convert.verify import inputs as given
from mswb.convert.verify.conversion import (
    TOLD,
    engine_finding,
    layered,
    operator_finding,
    output_finding,
    without_numbers,
)
from mswb.convert.verify.exactness import Measured, measure
from mswb.convert.verify.numbers import Target, target
from mswb.convert.verify.result import FAILED, NOT_COMPARED, Operator, Options, Output, Verification, worst_of
from mswb.findings import Finding, Where, make, stop

EVALUATOR = "mswb's own evaluation in double precision"


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs, and what was measured with them."""

    inputs: tuple[tuple[str, Array], ...]
    measured: Measured


def verify_alone(mindir: str, options: Options) -> Verification:
    """Verify a MindIR file by itself.

    MindSpore runs it, or onnxruntime our conversion where there is no MindSpore; the reference is the model in exact
    arithmetic.

    Raises:
        MswbError: the file can't be read, or the inputs don't fit.
    """
    return layered(mindir, lambda: _numbers(mindir, options))


def engine_of(options: Options) -> MindSpore | Converted:
    """What runs MindIR files: MindSpore, or what stands in for it where there is none."""
    if options.python:
        return MindSpore(options.python, device=options.device, limit_s=options.limit_s)
    return Converted(options.limit_s)


def _numbers(mindir: str, options: Options) -> Verification:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mswb-verify-")))
        engine = engine_of(options)
        stack.callback(engine.close)
        subject = target(mindir)
        cases: list[Case] = []
        found: list[Finding] = []
        try:
            for inputs in cases_of(subject, options):
                options.progress("outputs", len(cases), options.shapes)
                arrays = [array for _, array in inputs]
                cases.append(Case(inputs, measure(subject, arrays, engine, folder, options)))
                if len(cases) >= options.shapes:
                    break
        except Refused as refused:
            return without_numbers(mindir, refused.reason)
        except EngineError as problem:
            if not cases:
                found.append(engine_finding(mindir, problem))
        return _told(mindir, cases, found, engine.title)


def _told(mindir: str, cases: Sequence[Case], found: list[Finding], title: str) -> Verification:
    graph = target(mindir).model.graph
    names = [plain(value.name or "") for value in graph.output] if graph is not None else []
    outputs = [
        Output(names[at] if len(names) == len(case.measured.outputs) else f"output {at}", number, one)
        for number, case in enumerate(cases)
        for at, one in enumerate(case.measured.outputs)
    ]
    shown = next((one for one in cases if _is_bad(one)), cases[0] if cases else None)
    operators = shown.measured.operators if shown is not None else ()
    found += findings_of(mindir, operators, outputs, shown.measured.ranges if shown is not None else {})
    verdicts = [one.verdict for one in operators if one.verdict == FAILED]
    verdicts += [FAILED for one in found if one.severity == "error"]
    verdict = worst_of([*verdicts, *(one.comparison.verdict for one in outputs)])
    if verdict == NOT_COMPARED:
        values = {"reason": "no output has elements that could be compared"}
        found.append(make("numbers-not-compared", where=Where(file=mindir), values=values))
    shapes = tuple({plain(name): array.shape for name, array in case.inputs} for case in cases)
    engines = {"reference": EVALUATOR, "target": title}
    return Verification(verdict, {}, engines, shapes, tuple(operators), tuple(outputs), tuple(found))


def _is_bad(case: Case) -> bool:
    measured = case.measured
    return FAILED in (*(one.verdict for one in measured.operators), *(one.verdict for one in measured.outputs))


def findings_of(
    path: str, operators: Sequence[Operator], outputs: Sequence[Output], ranges: Mapping[str, Range]
) -> Iterator[Finding]:
    """What is wrong, the first in the model's order first."""
    bad = [one for one in operators if one.verdict == FAILED]
    for one in sorted(bad, key=lambda one: one.at)[:TOLD]:
        yield operator_finding(path, one)
    failed = [one for one in outputs if one.comparison.verdict == FAILED]
    for output in () if bad else failed[:TOLD]:
        yield output_finding(path, output)
    for one in operators:
        extent = ranges.get(one.output)
        if extent is not None and extent.overflows and one.dtype == "float16":
            values = {"name": f"{one.op} {one.node}", "count": extent.overflows, "elements": extent.elements,
                      "size": f"{extent.largest:.4g}", "what": "they become infinite here"}  # fmt: skip
            yield make("fp16-overflow-risk", where=Where(node=one.node, file=path), values=values)
    if any(one.dtype in HALVES for one in bad):
        yield make("half-can-be-mended", where=Where(file=path), values={"file": path})


def cases_of(subject: Target, options: Options) -> Iterator[tuple[tuple[str, Array], ...]]:
    """Inputs by name, in the graph's order: of the file, or random ones at several shapes.

    Raises:
        MswbError: ``verify-inputs``: they don't fit.
    """
    graph = subject.model.graph
    if graph is None:
        raise stop("verify-inputs", where=Where(file=subject.path), values={"reason": "the file has no graph"})
    declared = _declared(subject)
    if options.inputs_file:
        arrays = given.from_file(options.inputs_file, declared)
        yield tuple((one.name, arrays[one.name]) for one in declared)
        return
    for at, sizes in enumerate(given.sizes(declared)):
        arrays = given.random(declared, sizes, options.seed + at)
        yield tuple((one.name, arrays[one.name]) for one in declared)


def _declared(subject: Target) -> tuple[given.Declared, ...]:
    """The inputs; what indexes a table is known from the model as ONNX, where it can be converted."""
    converted = to_onnx.convert(subject.path)
    if converted.proto is not None:
        return given.declared(converted.proto)
    assert subject.model.graph is not None
    return tuple(_from(value) for value in subject.model.graph.input)


def _from(value: schema.Value) -> given.Declared:
    name, tensor = value.name or "", value.tensor[0] if value.tensor else schema.Tensor()
    dtype = schema.dtype_name(tensor.data_type)
    if np.dtype(dtype if dtype != "bfloat16" else "float32").kind not in "biufc":
        raise stop("verify-inputs", values={"reason": f"the input {plain(name)} is no tensor of numbers"})
    dims = tuple(size if size >= 0 else f"{given.OPEN}{name}:{at}" for at, size in enumerate(tensor.dims))
    return given.Declared(name, dtype, dims, ranked=-2 not in tensor.dims)
