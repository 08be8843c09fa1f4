"""The node suite of the onnx package, converted and run on real MindSpore, against the suite's own expected outputs.

``python -m tests.benchmarks.onnx_suite [--only WORD,WORD] [--list]``: counts; with --list every case that is not right.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_node_model_tests

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import EngineError, MindSpore
from mswb.findings import MswbError

DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
)
"""The data types of arrays that MindSpore has and numpy can hold; cases with others do not count."""
RTOL, ATOL = 1e-3, 1e-5
"""What results may be off, relative and absolute, where a case does not allow more."""


@dataclass(frozen=True)
class Outcome:
    """How one case went: right, frozen (right, with inputs frozen), wrong, error, crash, refused or odd."""

    case: str
    ops: tuple[str, ...]
    state: str
    detail: str = ""


def cases(words: Sequence[str]) -> Iterator[Any]:
    """The cases whose data are arrays of types that MindSpore has."""
    for case in load_node_model_tests():
        if words and not any(_fits(case, word) for word in words):
            continue
        if case.data_sets and all(_has(one) for data in case.data_sets for side in data for one in side):
            yield case


def _fits(case: Any, word: str) -> bool:
    ops = {node.op_type for node in case.model.graph.node}
    return word in ops or case.name == word or (word.endswith("*") and case.name.startswith(word[:-1]))


def _has(one: Any) -> bool:
    return isinstance(one, (np.ndarray, np.generic)) and np.asarray(one).dtype.name in DTYPES


def attempt(case: Any, engine: MindSpore, folder: Path) -> Outcome:
    """Convert and run one case."""
    ops = tuple(sorted({node.op_type for node in case.model.graph.node}))
    model = folder / "case.onnx"
    onnx.save(case.model, str(model))
    given, expected = ([np.asarray(one) for one in side] for side in case.data_sets[0])
    names = [value.name for value in case.model.graph.input][: len(given)]
    frozen: dict[str, Any] = {}
    try:
        done = to_mindir.convert(str(model))
        while done.model is None:
            more = {one.values.get("freeze") for one in done.findings} - {"", None} - frozen.keys()
            wanted = {name: array for name, array in zip(names, given, strict=False) if name in more}
            if not wanted:
                return Outcome(case.name, ops, "refused", "; ".join(sorted({one.title for one in done.findings})))
            frozen |= wanted
            done = to_mindir.convert(str(model), to_mindir.Options(frozen=frozen))
        to_mindir.save(done, str(folder / "case.mindir"))
    except MswbError as problem:
        return Outcome(case.name, ops, "refused", str(problem))
    try:
        kept = [array for name, array in zip(names, given, strict=False) if name not in frozen]
        found = engine.run(str(folder / "case.mindir"), kept)
    except EngineError as problem:
        return Outcome(case.name, ops, "crash" if problem.crashed else "error", " ".join(str(problem).split())[:300])
    difference = differs(found, expected, rtol=max(case.rtol, RTOL), atol=max(case.atol, ATOL))
    return (
        Outcome(case.name, ops, "wrong", difference)
        if difference
        else Outcome(case.name, ops, "frozen" if frozen else "right")
    )


def differs(found: Sequence[Any], expected: Sequence[Any], *, rtol: float = RTOL, atol: float = ATOL) -> str:
    """How outputs differ from the expected ones; empty when they don't."""
    if len(found) != len(expected):
        return f"{len(found)} outputs instead of {len(expected)}"
    for at, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"output {at}: {ours.dtype} {list(ours.shape)} instead of {theirs.dtype} {list(theirs.shape)}"
        if theirs.dtype.kind == "f":
            close = np.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
        else:
            close = bool((ours == theirs).all())
        if not close:
            worst = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)
            return f"output {at}: off by {worst:g}"
    return ""


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators, case names or name*")
    parser.add_argument("--list", action="store_true", help="every case that is not right")
    options = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, MindSpore(sys.executable, limit_s=60) as engine:
        for case in cases([word for word in options.only.split(",") if word]):
            outcomes.append(attempt(case, engine, Path(folder)))
    counts = Counter(one.state for one in outcomes)
    if options.list:
        for one in sorted(outcomes, key=lambda one: (one.state, one.ops)):
            if one.state not in ("right", "frozen"):
                print(f"{one.state:8} {one.case:60} {one.detail}")
    by_op: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for op in one.ops:
            by_op[op][one.state] += 1
    for op, states in sorted(by_op.items()) if options.list else ():
        print(f"{op:30} " + "  ".join(f"{state} {count}" for state, count in sorted(states.items())))
    print(
        f"{len(outcomes)} cases: "
        + ", ".join(f"{state} {counts[state]}" for state in ("right", "frozen", "wrong", "error", "crash", "refused"))
    )
    return int(bool(counts["wrong"] or counts["crash"]))


if __name__ == "__main__":
    sys.exit(main())
