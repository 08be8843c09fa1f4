"""The node suite of the onnx package, converted and run on real MindSpore, against the suite's own expected outputs.

``python -m tests.benchmarks.onnx_suite [--only WORD,WORD] [--list] [--operators] [--floor COUNT]``: counts; with
--list every case that is not right, with --operators the counts of each operator. It fails when a case is wrong, raises
an error or crashes, when more than FROZEN cases are right with frozen inputs alone, or fewer than --floor are right.
"""

from __future__ import annotations

import argparse
import queue
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
RTOL_HALF = 2**-9
"""The same of half precision: two units in its last place. RTOL is one, and cases that are written out in half round
after every step, in numpy at other places than in any kernel."""
FROZEN = 200
"""Cases that may be right with frozen inputs alone."""
STATES = ("right", "frozen", "refused", "wrong", "error", "crash")
FAILURES = STATES[3:]


@dataclass(frozen=True)
class Outcome:
    """How one case went: one of STATES; "frozen" is right with inputs frozen."""

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
    difference = differs(found, expected, rtol=case.rtol, atol=case.atol)
    return (
        Outcome(case.name, ops, "wrong", difference)
        if difference
        else Outcome(case.name, ops, "frozen" if frozen else "right")
    )


def differs(found: Sequence[Any], expected: Sequence[Any], *, rtol: float = 0, atol: float = 0) -> str:
    """How outputs differ from the expected ones by more than they may; empty when they don't."""
    if len(found) != len(expected):
        return f"{len(found)} outputs instead of {len(expected)}"
    for at, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"output {at}: {ours.dtype} {list(ours.shape)} instead of {theirs.dtype} {list(theirs.shape)}"
        if theirs.dtype.kind == "f":
            allowed = max(rtol, RTOL_HALF if theirs.dtype == np.float16 else RTOL)
            close = np.allclose(ours, theirs, rtol=allowed, atol=max(atol, ATOL), equal_nan=True)
        else:
            close = bool((ours == theirs).all())
        if not close:
            worst = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)
            return f"output {at}: off by {worst:g}"
    return ""


def outcomes_of(words: Sequence[str], jobs: int) -> list[Outcome]:
    """Every case attempted: conversions take turns, while each job's MindSpore runs beside them."""
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for case in [*cases(words), *[None] * jobs]:
        waiting.put(case)

    def work(_: int) -> list[Outcome]:
        with tempfile.TemporaryDirectory() as folder, MindSpore(sys.executable, limit_s=60) as engine:
            return [attempt(case, engine, Path(folder)) for case in iter(waiting.get, None)]

    with ThreadPoolExecutor(jobs) as pool:
        return [one for some in pool.map(work, range(jobs)) for one in some]


def by_operator(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each operator of the cases' graphs: how many cases went how."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for op in one.ops:
            counts[op][one.state] += 1
    for op, states in sorted(counts.items()):
        yield f"{op:30} " + "  ".join(f"{state} {states[state]}" for state in STATES if states[state])


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators, case names or name*")
    parser.add_argument("--list", action="store_true", help="every case that is not right")
    parser.add_argument("--operators", action="store_true", help="counts by operator")
    parser.add_argument("--floor", type=int, default=0, help="fail when fewer cases are right or frozen")
    parser.add_argument("--jobs", type=int, default=1, help="processes of MindSpore")
    options = parser.parse_args()
    outcomes = outcomes_of([word for word in options.only.split(",") if word], options.jobs)
    counts = Counter(one.state for one in outcomes)
    for one in sorted(outcomes, key=lambda one: (one.state, one.ops, one.case)):
        if one.state in FAILURES or (options.list and one.state == "refused"):
            print(f"{one.state:8} {one.case:60} {one.detail}")
    if options.operators:
        print("\n".join(by_operator(outcomes)))
    print(f"{len(outcomes)} cases: " + ", ".join(f"{state} {counts[state]}" for state in STATES))
    failed = sum(counts[state] for state in FAILURES)
    good = counts["right"] + counts["frozen"]
    return int(bool(failed) or counts["frozen"] > FROZEN or good < options.floor)


if __name__ == "__main__":
    sys.exit(main())
