"""How far the outputs of a model are from exact arithmetic in each precision that it was written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mswb.convert.engines.child import EngineError
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.engines.ort import OnnxRuntime
from mswb.convert.evaluator import evaluate
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.onnx.node import Refused
from mswb.convert.onnx_conversion import Done, with_frozen
from mswb.convert.verify import inputs as given
from mswb.convert.verify.alone import EVALUATOR
from mswb.convert.verify.conversion import tells, tried
from mswb.convert.verify.result import Options


@dataclass(frozen=True, slots=True)
class Errors:
    """What was measured.

    Attributes:
        engines: who computed the reference and who ran the files.
        largest: the largest absolute error of any output, by precision; None where a file did not run.
        shapes: of the inputs.
        reason: why nothing was measured, or a file did not run.
    """

    engines: Mapping[str, str] = field(default_factory=dict)
    largest: Mapping[str, float | None] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    reason: str = ""


def measure(written: Sequence[Done], options: Options) -> Errors:
    """Run the files of one conversion on fresh inputs, against the MindIR model in double precision, or in MindSpore
    where our evaluation lacks an operator.

    Raises:
        MswbError: the inputs of a file don't fit.
    """
    first = written[0]
    assert first.model is not None
    with ExitStack() as stack:
        runtime = stack.enter_context(OnnxRuntime(options.limit_s))
        reason = "no inputs suit it"
        for inputs in _inputs(first, options):
            arrays = list(with_frozen(first.source, inputs.values(), first.request.frozen))
            try:
                expected, title = _reference(first, arrays, options)
            except (EngineError, Refused) as problem:
                reason = plain(" ".join(str(problem).split()))[:300]
                continue
            if not tells({str(at): array for at, array in enumerate(expected)}):
                continue
            largest: dict[str, float | None] = {}
            reasons: list[str] = []
            for one in written:
                largest[one.request.mode], failed = _largest(runtime, one, inputs, expected)
                reasons.append(failed)
            shapes = {plain(name): array.shape for name, array in inputs.items()}
            engines = {"reference": title, "target": runtime.title}
            return Errors(engines, largest, shapes, next(filter(None, reasons), ""))
    return Errors(reason=reason)


def _inputs(done: Done, options: Options) -> Iterator[Mapping[str, Array]]:
    assert done.model is not None
    for ways in tried(given.declared(done.model), options):
        yield from ways


def _reference(done: Done, arrays: Sequence[Array], options: Options) -> tuple[Sequence[Array], str]:
    """What the outputs should be, and who says so."""
    try:
        return evaluate(done.request.source, done.source, arrays), EVALUATOR
    except Refused:
        if not options.python:
            raise
    with MindSpore(options.python, device=options.device, limit_s=options.limit_s) as engine:
        found = engine.run(str(Path(done.request.source).resolve()), arrays)
        return found, engine.title


def _largest(
    runtime: OnnxRuntime, done: Done, inputs: Mapping[str, Array], expected: Sequence[Array]
) -> tuple[float | None, str]:
    """The largest absolute error of a file's outputs; None and the reason when it does not run."""
    assert done.model is not None
    names = [value.name for value in done.model.graph.output]
    try:
        found = runtime.run_file(done.request.target, inputs, names).arrays
    except EngineError as problem:
        return None, plain(" ".join(str(problem).split()))[:300]
    errors = [_error(found[name], exact) for name, exact in zip(names, expected, strict=True) if name in found]
    return max(errors, default=None), ""


def _error(ours: Array, exact: Array) -> float:
    """NaN and infinities that the other side has too are no error."""
    if ours.shape != exact.shape:
        return float("inf")
    if not ours.size:
        return 0.0
    with np.errstate(all="ignore"):
        one, other = ours.astype(np.float64), exact.astype(np.float64)
        error = np.asarray(np.abs(one - other))
    error[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
    return float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max())
