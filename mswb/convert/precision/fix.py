"""Half precision mended: the smallest set of operators that must be float32 for every result to be near enough.

First the operators that are wrong, then, where coarse inputs are what makes them so, those that give these inputs;
what turns out not to be needed is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mswb.convert.engines.child import EngineError
from mswb.convert.engines.converted import Converted
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.mindir import schema
from mswb.convert.mindir.lift import lift
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.node import Refused
from mswb.convert.precision.half import HALVES, MOVERS
from mswb.convert.verify.alone import cases_of, engine_of
from mswb.convert.verify.exactness import Measured, measure
from mswb.convert.verify.numbers import Target, target
from mswb.convert.verify.result import FAILED, NOT_COMPARED, PASSED, Operator, Options
from mswb.convert.wire import open_source
from mswb.findings import Where, stop

ROUNDS = 40
"""How often operators are added before it is given up."""
PUT_BACK = 24
"""How many operators are tried without, at most."""


@dataclass(frozen=True, slots=True)
class Change:
    """One operator that becomes float32, before and after; ``after`` is None where nothing gives its result now."""

    op: str
    node: str
    output: str
    before: Operator
    after: Operator | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would mend a model.

    Attributes:
        changes: the operators, in the model's order; none when nothing is wrong with it.
        solved: whether every operator and output is near enough then.
        casts, removed: casts that are put in, and casts to half precision that fall away.
        outputs: outputs of the graph that become float32.
        remaining: operators that are wrong for another reason than half precision.
    """

    path: str
    changes: tuple[Change, ...]
    solved: bool
    casts: int
    removed: int
    outputs: tuple[str, ...]
    remaining: tuple[Operator, ...]
    before: Measured
    after: Measured
    model: schema.Model
    engine: str


def propose(
    path: str, options: Options, progress: Callable[[str, float, float], None] = lambda step, done, total: None
) -> Proposal:
    """Find the operators of a MindIR file that must be float32; nothing is written.

    Raises:
        MswbError: the file can't be read, or can't be measured.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mswb-fix-")))
        engine = engine_of(options)
        stack.callback(engine.close)
        subject = target(path)
        inputs = [array for _, array in next(cases_of(subject, options))]
        try:  # the search begins with a measurement
            search = _Search(subject, inputs, engine, folder, options, progress)
            return search.run(lambda: engine.title)
        except (Refused, EngineError) as problem:
            raise stop(
                "fix-not-measured", where=Where(file=path), values={"reason": plain(str(problem)), "file": path}
            ) from None


def save(proposal: Proposal, path: str) -> int:
    """Write the mended model and return its bytes."""
    with open_source(proposal.path) as source:
        return write(proposal.model, path, source)


class _Search:
    """The search for the smallest set of results that must be float32, by their names."""

    def __init__(
        self, subject: Target, inputs: Sequence[Array], engine: MindSpore | Converted, folder: Path, options: Options,
        progress: Callable[[str, float, float], None],
    ) -> None:  # fmt: skip
        self._subject, self._inputs, self._engine = subject, inputs, engine
        self._folder, self._options, self._progress = folder, options, progress
        self._rounds = 0
        self._before = self._measured(subject)
        graph = subject.model.graph
        assert graph is not None
        self._graph = graph
        self._made = {name: node for node in graph.node for name in node.output}
        self._raw = {plain(name): name for name in self._before.dtypes}
        self._ops = {one.output: one.op for one in self._before.operators}

    def run(self, title: Callable[[], str]) -> Proposal:
        """The proposal."""
        before = self._before
        chosen, after = self._grown(frozenset(self._failures()))
        if chosen and sound(after):
            chosen, after = self._shrunk(chosen, after)
        lifted = lift(self._subject.model, chosen, before.dtypes)
        found = {one.output: one for one in after.operators}
        changes = tuple(
            Change(one.op, one.node, one.output, one, found.get(one.output))
            for one in before.operators
            if self._raw.get(one.output) in chosen
        )
        remaining = tuple(one for one in after.operators if one.verdict == FAILED)
        outputs = tuple(map(plain, lifted.outputs))
        return Proposal(
            self._subject.path, changes, sound(after), lifted.casts, lifted.removed, outputs, remaining, before, after,
            lifted.model, title(),
        )  # fmt: skip

    def _failures(self) -> Iterator[str]:
        """The results in half precision that are wrong by themselves, or have no place in its range."""
        wrong = {one.output for one in self._before.operators if one.verdict == FAILED}
        for name, dtype in self._before.dtypes.items():
            extent = self._before.ranges.get(name)
            if dtype in HALVES and (plain(name) in wrong or (dtype == "float16" and extent and extent.overflows)):
                yield name

    def _grown(self, chosen: frozenset[str]) -> tuple[frozenset[str], Measured]:
        after = self._with(chosen)
        for _ in range(ROUNDS):
            if sound(after):
                break
            wrong = {one.output for one in after.operators if one.verdict not in (PASSED, NOT_COMPARED)}
            names = {self._raw[one] for one in wrong if one in self._raw}
            ends = zip(self._graph.output, after.outputs, strict=False)
            names |= {value.name or "" for value, one in ends if one.verdict == FAILED}
            more = {name for name in names if self._is_half(name)} - chosen
            more |= set(self._producers(names, chosen))
            if not more:
                break
            chosen |= more
            after = self._with(chosen)
        return chosen, after

    def _producers(self, names: Collection[str], chosen: Collection[str]) -> Iterator[str]:
        """The nearest results in half precision that these are made of, and what only moved them on the way."""
        waiting, seen = [one for name in names for one in self._inputs_of(name)], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            fresh = self._is_half(name) and name not in chosen
            if fresh:
                yield name
            if not fresh or self._ops.get(plain(name)) in MOVERS:
                waiting += self._inputs_of(name)

    def _inputs_of(self, name: str) -> Sequence[str]:
        return self._made[name].input if name in self._made else ()

    def _is_half(self, name: str) -> bool:
        return self._before.dtypes.get(name) in HALVES and self._ops.get(plain(name)) != "call"

    def _shrunk(self, chosen: frozenset[str], after: Measured) -> tuple[frozenset[str], Measured]:
        """Without those that are not needed; the ones nearest to the start of the model are tried first."""
        order = [name for node in self._graph.node for name in node.output if name in chosen]
        for name in order[:PUT_BACK]:
            found = self._with(chosen - {name})
            if sound(found):
                chosen, after = chosen - {name}, found
        return chosen, after

    def _with(self, chosen: frozenset[str]) -> Measured:
        """The model with these in float32, measured."""
        if not chosen:
            return self._before
        path = self._folder / "lifted.mindir"
        self._subject.save(lift(self._subject.model, chosen, self._before.dtypes).model, path)
        return self._measured(target(str(path)))

    def _measured(self, subject: Target) -> Measured:
        self._rounds += 1
        self._progress("measure", self._rounds, ROUNDS + PUT_BACK)
        return measure(subject, self._inputs, self._engine, self._folder, self._options)


def sound(found: Measured) -> bool:
    """Whether every operator and every output is near enough."""
    verdicts = [*(one.verdict for one in found.operators), *(one.verdict for one in found.outputs)]
    overflows = any(extent.overflows for name, extent in found.ranges.items() if found.dtypes[name] == "float16")
    return not overflows and all(one in (PASSED, NOT_COMPARED) for one in verdicts)
