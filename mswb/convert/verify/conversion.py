"""A verification in three layers: the file's structure, its weights, and its numbers against the ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mswb.convert.engines.child import EngineError
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.engines.onnx_ref import TITLE as EVALUATOR
from mswb.convert.engines.ort import OnnxRuntime
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.mindir import lint, schema
from mswb.convert.mindir.reader import held, read_file
from mswb.convert.onnx.model import OnnxModel, load
from mswb.convert.onnx_conversion import with_frozen
from mswb.convert.to_mindir import kept
from mswb.convert.verify import inputs as given
from mswb.convert.verify.compare import PIECE, Comparison, compare
from mswb.convert.verify.numbers import RANDOM, Numbers, paired, target
from mswb.convert.verify.result import (
    FAILED,
    LAYERS,
    NOT_COMPARED,
    NOTHING,
    PASSED,
    Operator,
    Options,
    Output,
    Verification,
    worst_of,
)
from mswb.findings import Finding, Where, make, stop

TOLD = 20
"""Findings of operators that are told; the table has all."""
_WEIGHTS = frozenset(
    {"weight-short", "weight-long", "weight-missing", "weight-dynamic", "unsupported-dtype", "external-data-missing",
     "external-data-escape"}
)  # fmt: skip
"""Findings of the check of a file that are of the second layer."""


def verify_files(source: str, mindir: str, options: Options) -> Verification:
    """Verify a MindIR file against the ONNX file that it was converted from.

    Raises:
        MswbError: one of them can't be read, or the inputs don't fit.
    """
    return verify(load(source, kept()), mindir, replace(options, untouched=True))


def verify(source: OnnxModel, mindir: str, options: Options) -> Verification:
    """Verify a MindIR file against the model that it was converted from.

    Raises:
        MswbError: the file can't be read, or the inputs don't fit.
    """

    def numbers() -> Verification:
        if not options.python:
            return without_numbers(mindir, "no Python with MindSpore was found")
        return _numbers(source, mindir, options)

    return layered(mindir, numbers)


def layered(mindir: str, numbers: Callable[[], Verification]) -> Verification:
    """The verification of a file whose third layer this call measures, when the first two are sound.

    Raises:
        MswbError: the file can't be read.
    """
    model = read_file(mindir)
    linted = lint.findings(mindir, model)
    weights = [one for one in linted if one.code in _WEIGHTS] + list(not_finite(mindir, model))
    structure = [one for one in linted if one.code not in _WEIGHTS]
    layers = {"structure": _layer(structure), "weights": _layer(weights), "numbers": NOT_COMPARED}
    broken = FAILED in layers.values()
    measured = without_numbers(mindir, "") if broken else numbers()
    layers["numbers"] = measured.verdict
    verdict = FAILED if broken else {NOT_COMPARED: NOTHING}.get(measured.verdict, measured.verdict)
    found = () if broken else measured.findings
    shown = {name: layers[name] for name in LAYERS}
    return replace(measured, verdict=verdict, layers=shown, findings=(*found, *structure, *weights))


def without_numbers(mindir: str, reason: str) -> Verification:
    """What is left when no numbers can be compared."""
    found = make("numbers-not-compared", where=Where(file=mindir), values={"reason": reason})
    return Verification(NOT_COMPARED, {}, {}, (), (), (), (found,))


def _layer(found: Sequence[Finding]) -> str:
    return FAILED if any(one.severity == "error" for one in found) else PASSED


def not_finite(path: str, model: schema.Model) -> Iterator[Finding]:
    """Weights that hold NaN or infinities."""
    for tensor in model.graph.parameter if model.graph is not None else ():
        at, dtype = held(path, tensor), schema.dtype_name(tensor.data_type)
        if at.problem or at.place not in ("raw", "external") or dtype not in ("float16", "float32", "float64"):
            continue
        count = at.length // np.dtype(dtype).itemsize
        if not count:
            continue
        content = np.memmap(at.file, dtype, "r", at.start, (count,))
        parts = (content[start : start + PIECE] for start in range(0, count, PIECE))
        odd = sum(int(np.count_nonzero(~np.isfinite(part))) for part in parts)
        if odd:
            name = plain(tensor.ref_key or tensor.name or "")
            values = {"name": name, "count": odd, "elements": count}
            yield make("weight-not-finite", where=Where(node=name, file=path), values=values)


# -- numbers


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs, and what the reference makes of them."""

    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]


def _numbers(source: OnnxModel, mindir: str, options: Options) -> Verification:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mswb-verify-")))
        reference = stack.enter_context(OnnxRuntime(options.limit_s))
        engine = stack.enter_context(MindSpore(options.python, device=options.device, limit_s=options.limit_s))
        try:
            options.progress("start", 0, 1)
            engine.start()
        except EngineError as problem:
            return without_numbers(mindir, f"{options.python}: {plain(str(problem))}")
        numbers = Numbers(source, paired(source, target(mindir)), options, reference, engine, folder)
        options.progress("reference", 0, 1)
        cases = _cases(numbers)
        results: list[dict[str, Array]] = []
        found: list[Finding] = []
        for at, case in enumerate(cases):
            options.progress("outputs", at, len(cases))
            try:
                results.append(_results(numbers, case))
            except EngineError as problem:
                found.append(engine_finding(mindir, problem))
                break
        outputs = _outputs(numbers, cases, results)
        bad = next((one.shape_number for one in outputs if one.comparison.verdict == FAILED), 0)
        operators = numbers.operators(cases[bad].inputs, _fed(numbers, cases[bad].inputs))
        if numbers.distrusted:
            again = [Case(case.inputs, _expected(numbers, case.inputs)[0]) for case in cases]
            outputs = _outputs(numbers, again, results)
        found += _findings(mindir, operators, outputs, numbers)
        titles = (engine.title, reference.title) if options.written else (reference.title, engine.title)
        engines = dict(zip(("reference", "target"), titles, strict=True))
        if numbers.evaluated:
            engines["evaluator"] = f"{EVALUATOR}: {', '.join(sorted(map(plain, numbers.evaluated)))}"
        errors = [FAILED for one in found if one.severity == "error"]
        verdict = worst_of([*errors, *(one.comparison.verdict for one in outputs)])
        if verdict == NOT_COMPARED:
            values = {"reason": "no output has elements that could be compared"}
            found.append(make("numbers-not-compared", where=Where(file=mindir), values=values))
        shapes = tuple({plain(name): one.shape for name, one in case.inputs.items()} for case in cases)
        return Verification(verdict, {}, engines, shapes, tuple(operators), tuple(outputs), tuple(found))


def _cases(numbers: Numbers) -> list[Case]:
    """Inputs that the reference takes: of the file, or random ones at up to three shapes.

    Raises:
        MswbError: ``verify-inputs``: there are none.
    """
    source, options = numbers.source, numbers.options
    declared = given.declared(source.proto, [*source.weights, *options.frozen])
    frozen = _frozen(source, options)
    cases: list[Case] = []
    reason = ""
    for ways in tried(declared, options):
        for one in ways:
            inputs = {**one, **frozen}
            expected, problem = _expected(numbers, inputs)
            reason = reason or problem
            if not problem and (tells(expected) or one is ways[-1]):
                cases.append(Case(inputs, expected))
                break
        if len(cases) >= options.shapes:
            break
    if not cases:
        raise stop("verify-inputs", where=Where(file=source.path), values={"reason": reason or "there are none"})
    return cases


def tried(declared: Sequence[given.Declared], options: Options) -> Iterator[list[dict[str, Array]]]:
    """Inputs at one set of sizes after another; each in the ways that are tried until the results tell something."""
    if options.inputs_file:
        yield [given.from_file(options.inputs_file, declared)]
        return
    for at, sizes in enumerate(given.sizes(declared)):
        seed = options.seed + at
        ways = ((False, 10), (True, 10), (True, 2))
        yield [given.random(declared, sizes, seed, positive=positive, below=below) for positive, below in ways]


def tells(expected: Mapping[str, Array]) -> bool:
    """Whether some result is a number."""
    arrays = [array for array in expected.values() if array.size]
    return any(array.dtype.kind not in "fc" or bool(np.isfinite(array).any()) for array in arrays)


def _frozen(source: OnnxModel, options: Options) -> dict[str, Array]:
    types = {name: dtype for name, (dtype, _) in source.types.items()}
    return {
        name: np.asarray(array).astype(types.get(name) or array.dtype.name) for name, array in options.frozen.items()
    }


def _expected(numbers: Numbers, inputs: Mapping[str, Array]) -> tuple[Mapping[str, Array], str]:
    """The outputs of the ONNX model, and why they are not all there."""
    source, reference = numbers.source, numbers.reference
    names = list(dict.fromkeys(value.name for value in source.proto.graph.output))
    made = {name for node in source.proto.graph.node for name in node.output}
    computed = [name for name in names if name in made]
    passed = {name: inputs[name] for name in names if name in inputs}
    try:
        if numbers.options.untouched and not numbers.distrusted:
            return {**passed, **reference.run_file(source.path, inputs, computed).arrays}, ""
    except EngineError:  # operators that onnxruntime lacks: the pieces tell
        pass
    try:
        found = reference.run(source, source.proto.graph.node, inputs, computed, numbers.distrusted)
    except EngineError as problem:
        return {}, plain(str(problem))
    numbers.evaluated.update(found.evaluated)
    if found.failed:
        return {}, plain(next(iter(found.failed.values())).split("\n")[0])
    return {**passed, **found.arrays}, ""


def _fed(numbers: Numbers, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs by their names in MindIR: they stand in the same order."""
    graph = numbers.target.model.graph
    assert graph is not None
    source, options = numbers.source, numbers.options
    names = [one.name for one in given.declared(source.proto, [*source.weights, *options.frozen])]
    arrays = [inputs[name] for name in names]
    if options.written:
        arrays = list(with_frozen(numbers.target.model, arrays, options.frozen))
    if len(arrays) != len(graph.input):
        values = {"reason": f"the MindIR file has {len(graph.input)} inputs and the ONNX model {len(names)}"}
        raise stop("verify-inputs", where=Where(file=numbers.target.path), values=values)
    return {value.name or "": array for value, array in zip(graph.input, arrays, strict=True)}


def _results(numbers: Numbers, case: Case) -> dict[str, Array]:
    """What MindSpore makes of the file as it is, by the names of the outputs.

    Raises:
        EngineError: it does not run.
    """
    found = numbers.engine.run(numbers.target.path, list(_fed(numbers, case.inputs).values()))
    names = [value.name for value in numbers.source.proto.graph.output]
    if len(found) != len(names):
        raise EngineError(f"{len(found)} outputs instead of {len(names)}")
    return dict(zip(names, found, strict=True))


def _outputs(numbers: Numbers, cases: Sequence[Case], results: Sequence[Mapping[str, Array]]) -> list[Output]:
    """The outputs of the file as it is, compared; what depends on chance is left out."""
    chance, options = _by_chance(numbers.source), numbers.options
    return [
        Output(plain(name), number, compare(array, case.expected[name], options.threshold, options.half))
        for number, (case, found) in enumerate(zip(cases, results, strict=False))
        for name, array in found.items()
        if name in case.expected and name not in chance
    ]


def _by_chance(source: OnnxModel) -> set[str]:
    found: set[str] = set()
    for node in source.proto.graph.node:
        if node.op_type in RANDOM or any(name in found for name in node.input):
            found.update(node.output)
    return found


# -- findings


def engine_finding(path: str, problem: EngineError) -> Finding:
    """That a model does not run."""
    code = "model-crashes" if problem.crashed else "model-does-not-run"
    words = plain(" ".join(str(problem).split()))
    return make(code, where=Where(file=path), evidence=plain(str(problem)), values={"reason": words[:300]})


def _findings(
    path: str, operators: Sequence[Operator], outputs: Sequence[Output], numbers: Numbers
) -> Iterator[Finding]:
    bad = [one for one in operators if one.verdict == FAILED]
    for one in sorted(bad, key=lambda one: one.at)[:TOLD]:
        yield operator_finding(path, one)
    failed = [one for one in outputs if one.comparison.verdict == FAILED]
    for output in () if bad else failed[:TOLD]:
        yield output_finding(path, output)
    for op in sorted(numbers.distrusted):
        yield make("engines-differ", where=Where(file=path), values={"op": plain(op), "trusted": EVALUATOR})


def operator_finding(path: str, one: Operator) -> Finding:
    """What is wrong with an operator."""
    where = Where(node=one.node, file=path)
    values = {"name": one.node, "op": one.op, "output": one.output, "reason": one.reason}
    shown = one.decisive
    if shown is None:
        return make("operator-does-not-run", where=where, values=values)
    if "NaN" in shown.reason:
        return make(
            "nan-introduced", where=where, values={**values, "count": shown.nan_count - shown.reference_nan_count}
        )
    return make("over-threshold", where=where, values={**values, **_measured(shown)})


def output_finding(path: str, one: Output) -> Finding:
    """What is wrong with an output of the graph."""
    shown = one.comparison
    count = shown.nan_count - shown.reference_nan_count
    values = {"name": one.name, "op": "output", "output": one.name, "count": count, **_measured(shown)}
    code = "nan-introduced" if "NaN" in shown.reason else "over-threshold"
    return make(code, where=Where(node=one.name, file=path), values=values)


def _measured(shown: Comparison) -> dict[str, Any]:
    """What decided, in words, and the numbers."""
    return {
        "detail": detail(shown),
        "reason": shown.reason,
        "error": shown.error,
        "limit": shown.limit,
        "worst_index": list(shown.worst_index or ()),
    }


def detail(shown: Comparison) -> str:
    """``scaled_error 12.5, limit 1``, or what else decided."""
    if shown.error is None or shown.limit is None or " " in shown.reason:
        return shown.reason
    return f"{shown.reason or 'scaled_error'} {shown.error:.3g}, limit {shown.limit:g}"
