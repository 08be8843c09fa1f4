"""What is wrong with a MindIR file, found without MindSpore: everything that its loader hides.

The loader says "Load MindIR failed." for most defects, and nothing at all for the worst ones. Each check is a
function of a :class:`~mswb.convert.mindir.scope.Scope`; add one to :data:`CHECKS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mswb.convert import sniff, wire
from mswb.convert.facts import ModelFacts
from mswb.convert.mindir import check_calls, check_graph, check_shapes, check_weights
from mswb.convert.mindir.inspect import facts
from mswb.convert.mindir.reader import read, refuse_others
from mswb.convert.mindir.schema import Model
from mswb.convert.mindir.scope import Scope, scope_of
from mswb.findings import Finding, Where, make, stop

LIMIT = 50
"""Findings of one code that are told; the others are counted."""

CHECKS: tuple[Callable[[Scope], Iterator[Finding]], ...] = (
    check_graph.header,
    check_weights.weights,
    check_weights.constants,
    check_graph.twice,
    check_graph.references,
    check_graph.calls,
    check_calls.operators,
    check_calls.arguments,
    check_calls.attributes,
    check_calls.functions,
    check_calls.old_version,
    check_calls.constants,
    check_calls.untyped_inputs,
    check_shapes.shapes,
)


@dataclass(frozen=True, slots=True)
class Lint:
    """The result: findings, the errors first, and what was looked at."""

    facts: ModelFacts
    findings: tuple[Finding, ...]

    @property
    def has_errors(self) -> bool:
        """Whether the model can't be relied on."""
        return any(finding.severity == "error" for finding in self.findings)


def lint(path: str) -> Lint:
    """Check a MindIR file.

    Raises:
        MswbError: ``path-missing``, ``path-unreadable``, ``not-a-model``, ``truncated``, ``encrypted``, or
            ``lint-mindir-only`` for an ONNX model.
    """
    with wire.open_source(path) as source:
        if refuse_others(source, "") != "mindir":
            raise stop("lint-mindir-only", where=Where(file=path), values={"what": sniff.KINDS["onnx"]})
        model, size = read(source), source.size
    return Lint(facts(path, model, size), tuple(findings(path, model)))


def findings(path: str, model: Model) -> list[Finding]:
    """What is wrong with a model; ``path`` is where external weights are looked for."""
    scope = scope_of(path, model)
    found = _limited(path, (finding for check in CHECKS for finding in check(scope)))
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


_ORDER = {"error": 0, "warning": 1, "note": 2}


def _limited(path: str, found: Iterable[Finding]) -> list[Finding]:
    counts: Counter[str] = Counter()
    kept = []
    for finding in found:
        counts[finding.code] += 1
        if counts[finding.code] <= LIMIT:
            kept.append(finding)
    more = {code: count - LIMIT for code, count in counts.items() if count > LIMIT}
    return kept + [
        make("lint-more", where=Where(file=path), values={"code": code, "count": count}) for code, count in more.items()
    ]
