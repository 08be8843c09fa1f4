"""What a verification is asked for, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mswb.convert.graph import Array
from mswb.convert.verify.compare import Comparison
from mswb.convert.verify.tensor_stats import Statistics
from mswb.findings import Finding

Shape = tuple[int, ...]
LAYERS = ("structure", "weights", "numbers")
NOTHING = "nothing-compared"
"""The verdict of a verification that compared no numbers."""
PASSED, FAILED, INHERITED, NOT_COMPARED = "passed", "failed", "inherited", "not-compared"
"""Verdicts of an operator: inherited = exact by itself, and its result is off since its inputs are."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked for.

    Attributes:
        python: an interpreter that has MindSpore; "" when there is none.
        inputs_file: an .npz file of inputs; random ones when it is "".
        threshold: the largest absolute error that passes, instead of the limits of each data type.
        frozen: inputs that the conversion made constants.
        untouched: the model is converted as it is in its file, so that onnxruntime can be asked about the file itself.
        written: the ONNX model was made from the MindIR file, not the other way round.
        half: "float16" or "bfloat16" when one side computes in it: fractions are judged by its limits then.
        fractions: the data type of each fraction of the MindIR model by name, for when the two differ in it.
        shapes: how many shapes are tried when sizes are free.
        budget: bytes of intermediate results that are held at once.
        progress: told of each step: its name, how much is done, and of how much.
    """

    python: str = ""
    device: str = "CPU"
    seed: int = 0
    inputs_file: str = ""
    threshold: float | None = None
    frozen: Mapping[str, Array] = field(default_factory=dict)
    untouched: bool = False
    written: bool = False
    half: str = ""
    fractions: Mapping[str, str] = field(default_factory=dict)
    shapes: int = 3
    budget: int = 128 << 20
    limit_s: float = 600.0
    progress: Callable[[str, float, float], None] = lambda step, done, total: None


@dataclass(frozen=True, slots=True)
class Operator:
    """One result of a node of the ONNX model.

    Attributes:
        at: the place of the node in the model's order.
        local: the operator alone, on the reference's inputs; None when it did not run so.
        accumulated: the result in MindSpore's own chain; None when that did not run.
        statistics: of the result in the chain, else of the operator alone; ``reference_statistics`` of the expected.
    """

    at: int
    op: str
    node: str
    output: str
    input_shapes: tuple[Shape, ...]
    output_shape: Shape
    dtype: str
    local: Comparison | None
    accumulated: Comparison | None
    verdict: str
    reason: str = ""
    statistics: Statistics | None = None
    reference_statistics: Statistics | None = None

    @property
    def decisive(self) -> Comparison | None:
        """The comparison that the verdict rests on; of one that passed the one that is nearer to its limit."""
        pairs = [one for one in (self.local, self.accumulated) if one is not None]
        if self.verdict == FAILED:
            return next(iter(pairs), None)
        return max(pairs, key=_over, default=None)

    @property
    def worst(self) -> float:
        """How far over its limit it is: 1 is at the limit."""
        return max((_over(one) for one in (self.local, self.accumulated) if one is not None), default=0.0)

    def as_json(self) -> dict[str, Any]:
        """The keys of a report."""
        shown = self.accumulated or self.local
        local = self.local
        return {
            "op": self.op,
            "node": self.node,
            "output": self.output,
            "input_shapes": [list(shape) for shape in self.input_shapes],
            "output_shape": list(self.output_shape),
            "dtype": self.dtype,
            **{name: getattr(shown, name) if shown else None for name in MEASURES},
            "max_abs_error": self.accumulated.max_abs_error if self.accumulated else None,
            "local_max_abs_error": local.max_abs_error if local else None,
            "local_scaled_error": local.scaled_error if local else None,
            "local_cosine": local.cosine if local else None,
            "verdict": self.verdict,
            "reason": self.reason,
            "order": self.at,
            "statistics": self.statistics.as_json() if self.statistics else None,
            "reference_statistics": self.reference_statistics.as_json() if self.reference_statistics else None,
            "errors_by_decade": _counts(self.accumulated),
            "local_errors_by_decade": _counts(local),
        }


def _counts(one: Comparison | None) -> list[dict[str, Any]]:
    return one.errors.as_json() if one is not None and one.errors is not None else []


MEASURES = (
    "mean_abs_error", "median_abs_error", "p99_abs_error", "scaled_error", "cosine", "close_share", "nan_count",
    "inf_count", "reference_nan_count", "worst_index",
)  # fmt: skip


def _over(one: Comparison) -> float:
    if one.verdict == FAILED and (one.error is None or not one.limit):
        return float("inf")
    if one.error is None or not one.limit:
        return 0.0
    return one.limit / one.error if one.reason == "cosine" and one.error > 0 else one.error / one.limit


@dataclass(frozen=True, slots=True)
class Output:
    """One output of the graph at one shape, from the file as it is."""

    name: str
    shape_number: int
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Verification:
    """The result.

    Attributes:
        verdict: passed, failed, or nothing-compared when the numbers could not be compared.
        layers: the verdict of each layer.
        engines: who computed what.
        shapes: the shape of each input, for each time that the model ran.
        operators: in the model's order; :attr:`worst_first` has the first bad one on top.
    """

    verdict: str
    layers: Mapping[str, str]
    engines: Mapping[str, str]
    shapes: tuple[Mapping[str, Shape], ...]
    operators: tuple[Operator, ...]
    outputs: tuple[Output, ...]
    findings: tuple[Finding, ...]

    @property
    def worst_first(self) -> tuple[Operator, ...]:
        """The operators that are wrong by themselves in the model's order, then what follows from them, then the rest
        by how near to its limit each is."""
        return tuple(sorted(self.operators, key=_place))

    @property
    def first_bad(self) -> Operator | None:
        """The operator to look at."""
        return next((one for one in self.worst_first if one.verdict in (FAILED, INHERITED)), None)

    def as_json(self) -> dict[str, Any]:
        """The keys of a report beside its findings."""
        return {
            "verdict": self.verdict,
            "layers": dict(self.layers),
            "engines": dict(self.engines),
            "shapes": [{name: list(shape) for name, shape in one.items()} for one in self.shapes],
            "operators": [one.as_json() for one in self.worst_first],
            "graph_outputs": [
                {
                    "name": one.name,
                    "shape_number": one.shape_number,
                    "max_abs_error": one.comparison.max_abs_error,
                    "scaled_error": one.comparison.scaled_error,
                    "cosine": one.comparison.cosine,
                    "verdict": one.comparison.verdict,
                    "reason": one.comparison.reason,
                }
                for one in self.outputs
            ],
        }


_ORDER = {FAILED: 0, INHERITED: 1, PASSED: 2, NOT_COMPARED: 3}


def _place(one: Operator) -> tuple[float, ...]:
    order = _ORDER[one.verdict]
    return (order, one.at) if order < 2 else (order, -one.worst, one.at)


def worst_of(verdicts: Iterable[str]) -> str:
    """The verdict of several: failed if one is, passed if one is and none is failed."""
    found = set(verdicts)
    return FAILED if FAILED in found else PASSED if PASSED in found else NOT_COMPARED
