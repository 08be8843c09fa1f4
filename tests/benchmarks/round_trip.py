"""The node suite of the onnx package from ONNX to MindIR and back, run by onnxruntime, against the suite's own outputs.

``python -m tests.benchmarks.round_trip [--only WORD,WORD] [--list]``: counts by operator; with --list every
case that is not right. MindSpore is not needed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from mswb.convert import to_mindir, to_onnx
from mswb.convert.evaluator import Evaluation
from mswb.convert.mindir.reader import read_file
from mswb.convert.onnx.node import Refused
from mswb.findings import MswbError
from tests.benchmarks.onnx_suite import ATOL, RTOL, Outcome, cases, differs

STATES = ("right", "wrong", "fails", "refused", "one-way")
"""``one-way``: already ONNX to MindIR refuses it; ``fails``: what is written does not load or run."""

TIES = frozenset({"test_dynamicquantizelinear", "test_dynamicquantizelinear_expanded"})
"""Cases whose expected numbers lie on a tie that only rounding to single precision makes."""


def there_and_back(case: Any, folder: Path) -> tuple[Outcome, Outcome]:
    """How one case went, run by onnxruntime and evaluated in double precision."""
    ops = tuple(sorted({node.op_type for node in case.model.graph.node}))
    given, expected = ([np.asarray(one) for one in side] for side in case.data_sets[0])

    def both(state: str, detail: str) -> tuple[Outcome, Outcome]:
        return Outcome(case.name, ops, state, detail), Outcome(case.name, ops, state, detail)

    onnx.save(case.model, str(folder / "case.onnx"))
    names = [value.name for value in case.model.graph.input][: len(given)]
    frozen: dict[str, Any] = {}
    try:
        done = to_mindir.convert(str(folder / "case.onnx"))
        while done.model is None:
            more = {one.values.get("freeze") for one in done.findings} - {"", None} - frozen.keys()
            wanted = {name: array for name, array in zip(names, given, strict=False) if name in more}
            if not wanted:
                return both("one-way", "")
            frozen |= wanted
            done = to_mindir.convert(str(folder / "case.onnx"), to_mindir.Options(frozen=frozen))
        to_mindir.save(done, str(folder / "case.mindir"))
    except MswbError:
        return both("one-way", "")
    kept = [array for name, array in zip(names, given, strict=False) if name not in frozen]
    return _back(case, ops, str(folder / "case.mindir"), kept, expected), _exact(
        case, ops, str(folder / "case.mindir"), kept, expected
    )


def _back(case: Any, ops: tuple[str, ...], path: str, given: Sequence[Any], expected: Sequence[Any]) -> Outcome:
    done = to_onnx.convert(path)
    if done.proto is None:
        reasons = sorted({f"{one.title} {one.values.get('reason', '')}" for one in done.findings})
        return Outcome(case.name, ops, "refused", "; ".join(reasons))
    try:
        onnx.checker.check_model(done.proto, full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(done.proto.SerializeToString(), options)
        known = {one.name for one in session.get_inputs()}
        inputs = {
            one.name: array for one, array in zip(done.proto.graph.input, given, strict=True) if one.name in known
        }
        found = session.run(None, inputs)
    except Exception as problem:  # whatever the checker or the engine says
        return Outcome(case.name, ops, "fails", " ".join(str(problem).split())[:300])
    problem_text = differs(found, expected, rtol=max(case.rtol, RTOL), atol=max(case.atol, ATOL))
    return Outcome(case.name, ops, "wrong" if problem_text else "right", problem_text)


def _exact(case: Any, ops: tuple[str, ...], path: str, given: Sequence[Any], expected: Sequence[Any]) -> Outcome:
    try:
        found = Evaluation(path, read_file(path))(given)
    except Refused as refused:
        return Outcome(case.name, ops, "refused", refused.reason)
    same = [one.astype(other.dtype) if other.dtype.kind == "f" and one.dtype.kind == "f" else one
            for one, other in zip(found, expected, strict=False)]  # fmt: skip
    problem = differs(same, expected, rtol=max(case.rtol, RTOL), atol=max(case.atol, ATOL))
    return Outcome(case.name, ops, "wrong" if problem else "right", problem)


def _table(title: str, outcomes: Sequence[Outcome], listed: bool) -> Counter[str]:
    counts = Counter(one.state for one in outcomes)
    if listed:
        for one in sorted(outcomes, key=lambda one: (one.state, one.ops)):
            if one.state not in ("right", "one-way"):
                print(f"{title:8} {one.state:8} {one.case:60} {one.detail}")
    by_op: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for op in one.ops:
            by_op[op][one.state] += 1
    for op, states in sorted(by_op.items()):
        print(f"{title:8} {op:30} " + "  ".join(f"{state} {states[state]}" for state in STATES if states[state]))
    print(f"{title}: {len(outcomes)} cases: " + ", ".join(f"{state} {counts[state]}" for state in STATES))
    return counts


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators, case names or name*")
    parser.add_argument("--list", action="store_true", help="every case that is not right")
    options = parser.parse_args()
    chosen = cases([word for word in options.only.split(",") if word])
    with tempfile.TemporaryDirectory() as folder:
        pairs = [there_and_back(case, Path(folder)) for case in chosen]
    counts = _table("onnx", [back for back, _ in pairs], options.list)
    exact = [one for _, one in pairs]
    _table("float64", exact, options.list)
    wrong = [one.case for one in exact if one.state == "wrong" and one.case not in TIES]
    return int(bool(counts["wrong"] or counts["fails"] or wrong))


if __name__ == "__main__":
    sys.exit(main())
