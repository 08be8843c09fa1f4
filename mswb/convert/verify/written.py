"""The verification of an ONNX file against the MindIR file that it was made from.

With MindSpore, operator by operator as always. Without it, the file in onnxruntime against our own evaluation of the
MindIR model in double precision: the results of the chain, not of each operator alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import NodeProto

from mswb.convert import to_onnx
from mswb.convert.engines.child import EngineError
from mswb.convert.engines.ort import OnnxRuntime
from mswb.convert.evaluator import Evaluation
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.onnx.model import OnnxModel, load, types_of
from mswb.convert.onnx.node import Refused
from mswb.convert.onnx.weights import without
from mswb.convert.onnx_conversion import with_frozen
from mswb.convert.to_mindir import kept
from mswb.convert.verify import inputs as given
from mswb.convert.verify.alone import EVALUATOR
from mswb.convert.verify.compare import LIMITS, Comparison, compare, compare_wide
from mswb.convert.verify.conversion import (
    TOLD,
    layered,
    operator_finding,
    output_finding,
    tried,
    verify,
    without_numbers,
)
from mswb.convert.verify.numbers import RANDOM, Target, paired, target
from mswb.convert.verify.pieces import Store, runs
from mswb.convert.verify.result import (
    FAILED,
    INHERITED,
    NOT_COMPARED,
    Operator,
    Options,
    Output,
    Verification,
    worst_of,
)
from mswb.convert.verify.tensor_stats import statistics
from mswb.findings import Finding, Where, make, stop

HALVES = ("bfloat16", "float16")


def verify_pair(path: str, mindir: str, options: Options) -> Verification:
    """Verify a MindIR file against an ONNX file, whichever was made from the other.

    Raises:
        MswbError: a file can't be read, or the inputs don't fit.
    """
    source, subject = load(path, kept()), target(mindir)
    if paired(source, subject).names != subject.names:
        return verify_written(path, mindir, options)
    return verify_made(source, mindir, replace(options, untouched=True))


def verify_made(source: OnnxModel, mindir: str, options: Options) -> Verification:
    """Verify a MindIR file against the ONNX model that it was made from, perhaps in another precision.

    Raises:
        MswbError: the file can't be read, or the inputs don't fit.
    """
    types = fractions(mindir)
    theirs, ours = _halves(source, types)
    half = next((one for one in HALVES if one in theirs ^ ours), "")
    return verify(source, mindir, replace(options, half=half, fractions=types if half else {}))


def verify_written(path: str, mindir: str, options: Options) -> Verification:
    """Verify an ONNX file against the MindIR file that it was made from.

    Raises:
        MswbError: a file can't be read, or the inputs don't fit.
    """
    source, types = load(path, kept()), fractions(mindir)
    theirs, ours = _halves(source, types)
    half = next((one for one in HALVES if one in theirs | ours), "")
    asked = replace(options, written=True, untouched=True, half=half, fractions=types if half else {})
    if options.python:
        return verify(source, mindir, asked)
    return layered(mindir, lambda: _numbers(source, paired(source, target(mindir)), asked))


def fractions(mindir: str) -> dict[str, str]:
    """The data type of each result of a MindIR file that is a fraction, by its own name.

    A file need not note them; its conversion to ONNX knows them.
    """
    done = to_onnx.convert(mindir, to_onnx.Options(apart=True))
    if done.proto is None or done.source.graph is None:
        return {}
    inferred = onnx.shape_inference.infer_shapes(without(done.proto, done.weights.keys()))
    types = {name: dtype for name, (dtype, _) in types_of(inferred)}
    found = {ours: types.get(name, "") for ours, name in done.names.items()}
    names = (value.name or "" for value in done.source.graph.input)
    found |= dict(zip(names, (types.get(value.name, "") for value in done.proto.graph.input), strict=False))
    return {name: dtype for name, dtype in found.items() if dtype in LIMITS}


def _halves(source: OnnxModel, ours: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """The half precisions that each side computes in."""
    return {dtype for dtype, _ in source.types.values()} & set(HALVES), set(ours.values()) & set(HALVES)


@dataclass(frozen=True, slots=True)
class _Case:
    inputs: Mapping[str, Array]
    expected: Sequence[Array]
    found: Mapping[str, Array]


def _numbers(source: OnnxModel, subject: Target, options: Options) -> Verification:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mswb-verify-")))
        runtime = stack.enter_context(OnnxRuntime(options.limit_s))
        cases: list[_Case] = []
        operators: list[Operator] = []
        reason = ""
        names = [value.name for value in source.proto.graph.output]
        for ways in tried(given.declared(source.proto, list(source.weights)), options):
            for inputs in ways:
                exact = Store(_new(folder, f"exact{len(cases)}"), {}) if not cases else None
                try:
                    expected = _evaluated(subject, inputs, options, exact)
                    found = runtime.run_file(source.path, inputs, names).arrays
                except (EngineError, Refused) as problem:
                    reason = reason or plain(" ".join(str(problem).split()))[:300]
                    continue
                if exact is not None:
                    operators = list(
                        _operators(source, subject, inputs, exact, runtime, _new(folder, "chain"), options)
                    )
                cases.append(_Case(inputs, expected, found))
                break
            if len(cases) >= options.shapes:
                break
        if not cases:
            return without_numbers(subject.path, f"no Python with MindSpore was found, and {reason or 'no inputs fit'}")
        return _told(source, subject, cases, operators, options, runtime.title)


def _new(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir(exist_ok=True)
    return path


def _evaluated(subject: Target, inputs: Mapping[str, Array], options: Options, exact: Store | None) -> Sequence[Array]:
    """The outputs in double precision; every result that has a name in ONNX is kept."""
    wanted = set(subject.names.values())

    def seen(name: str, value: object) -> None:
        if exact is not None and name in wanted and isinstance(value, np.ndarray) and not exact.has(name):
            exact.keep(name, value)

    arrays = list(with_frozen(subject.model, inputs.values(), options.frozen))
    return Evaluation(subject.path, subject.model, seen)(arrays)


def _operators(
    source: OnnxModel, subject: Target, inputs: Mapping[str, Array], exact: Store, runtime: OnnxRuntime,
    folder: Path, options: Options,
) -> Iterator[Operator]:  # fmt: skip
    """The results in the file's own chain; what is off behind what was off already is inherited."""
    store, bad = Store(folder, inputs), set[str]()
    for run in runs(source.proto, inputs, options.budget):
        options.progress("operators", run.first, len(source.proto.graph.node))
        named = [
            (at, node, name)
            for at, node in enumerate(run.nodes, run.first)
            for name in node.output
            if exact.has(subject.names.get(name, "")) and node.op_type not in RANDOM
        ]
        asked = dict.fromkeys([*(name for _, _, name in named), *sorted(run.keeps)])
        made = {name for node in run.nodes for name in node.output}
        found = runtime.run(source, run.nodes, store.all(run.reads), [name for name in asked if name in made]).arrays
        for name in run.keeps & found.keys():
            store.keep(name, found[name])
        for at, node, name in named:
            wanted = exact.get(subject.names[name])
            if name in found and wanted is not None:
                yield _operator(source, at, node, name, found[name], wanted, bad, options)
        for node in run.nodes:
            if bad.intersection(node.input):
                bad.update(node.output)


def _operator(
    source: OnnxModel, at: int, node: NodeProto, name: str, ours: Array, exact: Array, bad: set[str], options: Options
) -> Operator:
    shown = _against(ours, exact, options)
    verdict = INHERITED if shown.verdict == FAILED and bad.intersection(node.input) else shown.verdict
    if shown.verdict == FAILED:
        bad.add(name)
    shapes = (source.types.get(one, ("", None))[1] for one in node.input if one)
    known = tuple(tuple(size or 0 for size in shape) for shape in shapes if shape is not None and None not in shape)
    return Operator(
        at, plain(node.op_type), plain(node.name), plain(name), known, ours.shape, ours.dtype.name, None, shown,
        verdict, shown.reason if verdict != "passed" else "", statistics(ours), statistics(exact),
    )  # fmt: skip


def _against(ours: Array, exact: Array, options: Options) -> Comparison:
    """A result against exact arithmetic."""
    if options.half:
        return compare(ours, exact, options.threshold, options.half)
    return compare_wide(ours, exact, None, options.threshold)


def _told(
    source: OnnxModel, subject: Target, cases: Sequence[_Case], operators: Sequence[Operator], options: Options,
    title: str,
) -> Verification:  # fmt: skip
    names = [value.name for value in source.proto.graph.output]
    if any(len(case.expected) != len(names) for case in cases):
        raise stop(
            "verify-inputs", where=Where(file=source.path), values={"reason": "the two have not as many outputs"}
        )
    outputs = [
        Output(plain(name), number, _against(case.found[name], exact, options))
        for number, case in enumerate(cases)
        for name, exact in zip(names, case.expected, strict=True)
        if name in case.found
    ]
    found: list[Finding] = [operator_finding(subject.path, one) for one in operators if one.verdict == FAILED][:TOLD]
    failed = [one for one in outputs if one.comparison.verdict == FAILED]
    found += [output_finding(subject.path, one) for one in (failed if not found else ())][:TOLD]
    verdict = worst_of([*(FAILED for one in found), *(one.comparison.verdict for one in outputs)])
    if verdict == NOT_COMPARED:
        values = {"reason": "no output has elements that could be compared"}
        found.append(make("numbers-not-compared", where=Where(file=subject.path), values=values))
    shapes = tuple({plain(name): array.shape for name, array in case.inputs.items()} for case in cases)
    engines = {"reference": f"{EVALUATOR} (no Python with MindSpore was found)", "target": title}
    return Verification(verdict, {}, engines, shapes, tuple(operators), tuple(outputs), tuple(found))
