"""The third layer of a verification: every operator's result in numbers, against ONNX.

Each operator is measured twice. Alone, on the inputs that the reference had: this blames the right one. And in
MindSpore's own chain, where the errors of all before it add up. Alone does not mean one by one: the graph is cut
behind every operator, so that all of them take their inputs from outside, and run at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from mswb.convert import wire
from mswb.convert.engines.child import EngineError
from mswb.convert.engines.mindspore import MindSpore
from mswb.convert.engines.ort import OnnxRuntime
from mswb.convert.facts import plain
from mswb.convert.graph import NUMBERS, Array
from mswb.convert.mindir import schema
from mswb.convert.mindir.cut import Piece, cut, producers
from mswb.convert.mindir.reader import held, read
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.check import needs
from mswb.convert.onnx.model import OnnxModel
from mswb.convert.program import numpy_dtype
from mswb.convert.to_onnx import NODE_MAP, names_told
from mswb.convert.verify.compare import LIMITS, Comparison, compare
from mswb.convert.verify.pieces import Run, Store, runs
from mswb.convert.verify.result import FAILED, INHERITED, NOT_COMPARED, PASSED, Operator, Options
from mswb.convert.verify.tensor_stats import statistics
from mswb.convert.wire import InFile

RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
"""Operators whose results are other ones each time."""
TRIES = 40
"""Runs that are made to find the operators that MindSpore can't run."""
SECOND_OPINIONS = 3
"""Nodes of one operator, and no more, for which the reference evaluator is asked when onnxruntime disagrees."""


class Item(NamedTuple):
    """A result that is compared: of which node, its name in ONNX and in MindIR."""

    at: int
    node: NodeProto
    name: str
    ours: str


@dataclass(frozen=True, slots=True)
class Target:
    """A MindIR file: its model with all weights as places in files, and the name there of each ONNX tensor."""

    path: str
    model: schema.Model
    names: Mapping[str, str]

    def save(self, model: schema.Model, path: Path) -> str:
        """Write a piece of the model."""
        with wire.open_source(self.path) as source:
            write(model, str(path), source)
        return str(path)


def target(path: str) -> Target:
    """Read a MindIR file that a conversion wrote.

    Raises:
        MswbError: it is no MindIR file.
    """
    with wire.open_source(path) as source:
        model = read(source)
    user = {one.key: one.value for one in model.user_info}
    return Target(path, _placed(path, model), names_told(user.get(NODE_MAP)))


def paired(source: OnnxModel, subject: Target) -> Target:
    """The MindIR file with the names that fit: its own note of ONNX names, or that of a model made from it."""
    if subject.model.graph is None:
        return subject
    ours, theirs = producers(subject.model.graph), {name for node in source.proto.graph.node for name in node.output}
    told = {one.key: one.value for one in source.proto.metadata_props}
    other = {onnx: name for name, onnx in reversed(names_told(told.get(NODE_MAP)).items())}
    best = max(
        (subject.names, other),
        key=lambda names: sum(name in theirs and mindir in ours for name, mindir in names.items()),
    )
    return replace(subject, names=best if best is subject.names else _with_casts(source, best))


def _with_casts(source: OnnxModel, names: Mapping[str, str]) -> dict[str, str]:
    """The names, and those of the same results in another precision."""
    found = dict(names)
    for node in source.proto.graph.node:
        if node.op_type == "Cast" and node.input[0] in found and all(
            source.types.get(name, ("", None))[0] in LIMITS for name in (node.input[0], node.output[0])
        ):  # fmt: skip
            found.setdefault(node.output[0], found[node.input[0]])
    return found


def _placed(path: str, model: schema.Model) -> schema.Model:
    if model.graph is None:
        return model
    weights = tuple(_in_file(path, tensor) for tensor in model.graph.parameter)
    return replace(model, graph=replace(model.graph, parameter=weights))


def _in_file(path: str, tensor: schema.Tensor) -> schema.Tensor:
    at = held(path, tensor)
    if at.problem or at.place not in ("raw", "external"):
        return tensor
    return replace(tensor, raw_data=InFile(at.start, at.start + at.length, at.file), external_data=None)


@dataclass(slots=True)
class Numbers:
    """The comparison of one model with its conversion; :meth:`operators` does it for one set of inputs."""

    source: OnnxModel
    target: Target
    options: Options
    reference: OnnxRuntime
    engine: MindSpore
    folder: Path
    evaluated: set[str] = field(default_factory=set)
    """Operators that ran in the reference evaluator."""
    distrusted: set[str] = field(default_factory=set)
    """Operators where onnxruntime differs from the reference evaluator and MindSpore agrees with the latter."""
    _tries: int = TRIES

    def operators(self, inputs: Mapping[str, Array], fed: Mapping[str, Array]) -> list[Operator]:
        """Measure every operator.

        Args:
            inputs: of the ONNX model, by name.
            fed: of the MindIR model, by its own names.
        """
        graph = self.target.model.graph
        assert graph is not None
        made = producers(graph)
        found: list[Operator] = []
        known = dict(inputs)
        with TemporaryDirectory(dir=self.folder) as one, TemporaryDirectory(dir=self.folder) as other:
            theirs, ours = Store(Path(one), known), Store(Path(other), fed)
            unsure: set[str] = set()
            chained = True
            total = len(self.source.proto.graph.node)
            for run in runs(self.source.proto, inputs, self.options.budget):
                self.options.progress("operators", run.first, total)
                items = self._items(run, made)
                _spread(run, unsure)
                step = _Step(self, run, items, theirs, ours)
                chained = step.measure(chained)
                found += step.told(unsure)
        return found

    def _items(self, run: Run, made: Mapping[str, schema.Node]) -> list[Item]:
        seen: set[str] = set()
        used = {name for node in self.source.proto.graph.node for name in needs(node)}
        used |= {value.name for value in self.source.proto.graph.output}
        items = []
        for at, node in enumerate(run.nodes, run.first):
            for name in node.output:
                ours = self.target.names.get(name, "") if name in used else ""
                if ours in made and ours not in seen:
                    seen.add(ours)
                    items.append(Item(at, node, name, ours))
        return items

    def type_of(self, name: str, array: Array) -> schema.Tensor:
        """The declaration of a tensor as an input: sizes are open where the model leaves them open."""
        shape = self.source.types.get(name, ("", None))[1]
        open_shape = (-1,) * array.ndim if shape is None or len(shape) != array.ndim else shape
        dims = tuple(-1 if size is None else size for size in open_shape)
        return schema.Tensor(dims=dims, data_type=NUMBERS[array.dtype.name], name=name)

    def fitting(self, ours: str, array: Array) -> Array:
        """A fraction in the data type that the MindIR model has it in."""
        wanted = self.options.fractions.get(ours)
        if wanted is None or array.dtype.name not in LIMITS:
            return array
        with np.errstate(over="ignore"):
            return array.astype(numpy_dtype(wanted))

    def run(self, piece: Piece, arrays: Mapping[str, Array]) -> list[Array]:
        """Run a piece of the MindIR model.

        Raises:
            EngineError: it does not run.
        """
        path = self.target.save(piece.model, self.folder / "piece.mindir")
        return self.engine.run(path, [arrays[name] for name in piece.inputs])

    def may_try(self) -> bool:
        """Whether another run may be spent on the search for operators that can't run."""
        self._tries -= 1
        return self._tries >= 0


def _spread(run: Run, unsure: set[str]) -> None:
    """Add what depends on chance."""
    for node in run.nodes:
        if node.op_type in RANDOM or any(name in unsure for name in needs(node)):
            unsure.update(name for name in node.output if name)


@dataclass(slots=True)
class _Step:
    """One run of nodes: its reference, its results in the chain, and alone."""

    parent: Numbers
    now: Run
    items: Sequence[Item]
    theirs: Store
    ours: Store
    expected: dict[str, Array] = field(default_factory=dict)
    chain: dict[str, Array] = field(default_factory=dict)
    alone: dict[str, Array] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def measure(self, chained: bool) -> bool:
        """Run everything; whether MindSpore's own chain goes on behind it."""
        self._refer()
        ready = [item for item in self.items if item.name in self.expected]
        if chained:
            chained = self._chain(ready)
        self._alone(ready)
        if self._second_opinion(ready):
            self.chain_kept()
            self._refer()
            self.alone.clear()
            self._alone(ready)
        for name in self.now.keeps:
            if name in self.expected:
                self.theirs.keep(name, self.expected[name])
        self.chain_kept()
        return chained

    def chain_kept(self) -> None:
        """Keep what later runs read of MindSpore's own results."""
        for item in self.items:
            if item.name in self.now.keeps and item.name in self.chain:
                self.ours.keep(item.ours, self.chain[item.name])

    def _refer(self) -> None:
        casts = {name for node in self.now.nodes if node.op_type == "Cast" for name in node.output}
        wanted = {item.name for item in self.items} | self.now.keeps | (casts & self.parent.target.names.keys())
        names = [name for node in self.now.nodes for name in node.output if name in wanted]
        if not names:
            return
        given = self.theirs.all(self.now.reads)
        found = self.parent.reference.run(self.parent.source, self.now.nodes, given, names, self.parent.distrusted)
        self.parent.evaluated.update(found.evaluated)
        self.expected, self.failed = found.arrays, found.failed

    def _chain(self, items: Sequence[Item]) -> bool:
        """MindSpore's own results, on its own results of the runs before."""
        names = self.parent.target.names
        before: dict[str, tuple[str, Array]] = {}
        for name in self.now.reads:
            array = self.ours.get(names.get(name, ""))
            if array is not None:
                before[names[name]] = (name, array)
        given = {ours: self.parent.type_of(name, array) for ours, (name, array) in before.items()}
        try:
            self.chain = self._found(items, given, {ours: array for ours, (_, array) in before.items()})
        except EngineError:
            return False
        return True

    def _found(
        self, items: Sequence[Item], given: Mapping[str, schema.Tensor], arrays: Mapping[str, Array]
    ) -> dict[str, Array]:
        if not items:
            return {}
        piece = cut(self.parent.target.model, [item.ours for item in items], given)
        fed = {name: self.ours.get(name) for name in piece.inputs if name not in arrays}
        missing = [name for name, array in fed.items() if array is None]
        if missing:
            raise EngineError(f"there is nothing to feed {plain(missing[0])} with")
        found = self.parent.run(piece, {**{name: one for name, one in fed.items() if one is not None}, **arrays})
        if len(found) != len(items):
            raise EngineError(f"{len(found)} results instead of {len(items)}")
        return {item.name: array for item, array in zip(items, found, strict=True)}

    def _alone(self, items: Sequence[Item]) -> None:
        """Each operator on the reference's inputs; where that does not run, half of them at a time."""
        if not items:
            return
        names = self.parent.target.names
        given, arrays = dict[str, schema.Tensor](), dict[str, Array]()
        made = {name for node in (self.parent.target.model.graph or schema.Graph()).node for name in node.output}
        for name in dict.fromkeys(name for item in items for name in needs(item.node)):
            ours, array = names.get(name, ""), self.expected.get(name)
            if array is None:
                array = self.theirs.get(name)
            if ours in made and array is not None:
                array = self.parent.fitting(ours, array)
                given.setdefault(ours, self.parent.type_of(name, array))
                arrays.setdefault(ours, array)
        try:
            self.alone |= self._found(items, given, arrays)
        except EngineError as problem:
            self._divide(items, problem)

    def _divide(self, items: Sequence[Item], problem: EngineError) -> None:
        nodes = list(dict.fromkeys(item.at for item in items))
        if len(nodes) == 1:
            self.errors |= dict.fromkeys((item.name for item in items), _words(problem))
            return
        middle = nodes[len(nodes) // 2]
        for half in ([item for item in items if item.at < middle], [item for item in items if item.at >= middle]):
            if self.parent.may_try():
                self._alone(half)

    def _second_opinion(self, items: Sequence[Item]) -> bool:
        """Whether the reference evaluator sides with MindSpore against onnxruntime in some operator."""
        asked: dict[str, int] = {}
        found: set[str] = set()
        for item in items:
            op, ours = item.node.op_type, self.alone.get(item.name)
            if ours is None or op in self.parent.distrusted or op in RANDOM:
                continue
            if self._compare(ours, item.name).verdict != FAILED or asked.get(op, 0) >= SECOND_OPINIONS:
                continue
            asked[op] = asked.get(op, 0) + 1
            inputs = {name: self.expected.get(name, self.theirs.get(name)) for name in needs(item.node)}
            given = {name: array for name, array in inputs.items() if array is not None}
            other = self.parent.reference.run(self.parent.source, [item.node], given, [item.name], [op])
            theirs = other.arrays.get(item.name)
            if theirs is not None and op in other.evaluated and self._verdict(ours, theirs) == PASSED:
                found.add(op)
        self.parent.distrusted |= found
        return bool(found)

    def _compare(self, ours: Array, name: str) -> Comparison:
        return compare(ours, self.expected[name], self.parent.options.threshold, self.parent.options.half)

    def _verdict(self, ours: Array, theirs: Array) -> str:
        return compare(ours, theirs, self.parent.options.threshold, self.parent.options.half).verdict

    # -- what is told

    def told(self, unsure: set[str]) -> list[Operator]:
        """The operators of this run; ``unsure`` are tensors that depend on chance."""
        found = [self._operator(item, unsure) for item in self.items if item.name in self.expected]
        failed = {node.name for node in self.now.nodes} & self.failed.keys()
        return found + [
            self._missing(item, self.failed[item.node.name]) for item in self.items if item.node.name in failed
        ]

    def _operator(self, item: Item, unsure: set[str]) -> Operator:
        by_chance = item.node.op_type in RANDOM
        local = self.alone.get(item.name) if not by_chance else None
        chain = self.chain.get(item.name) if item.name not in unsure else None
        alone = None if local is None else self._compare(local, item.name)
        accumulated = None if chain is None else self._compare(chain, item.name)
        shapes = self._shapes(item)
        error = self.errors.get(item.name, "")
        if error and any(0 in shape for shape in shapes):
            error = ""  # MindSpore takes no empty input, which is no fault of the operator
        reason = "its result depends on chance" if item.name in unsure else ""
        verdict, why = judged(alone, accumulated, error)
        expected = self.expected[item.name]
        ours = local if chain is None else chain
        theirs = statistics(expected)
        shown = accumulated or alone
        same = shown is not None and shown.max_abs_error == 0
        return Operator(
            item.at, plain(item.node.op_type), plain(item.node.name), plain(item.name), shapes, expected.shape,
            expected.dtype.name, alone, accumulated, verdict, why or reason,
            theirs if same else None if ours is None else statistics(ours), theirs,
        )  # fmt: skip

    def _shapes(self, item: Item) -> tuple[tuple[int, ...], ...]:
        """Shapes of the inputs that are known: constants have those of the model."""
        found = []
        for name in filter(None, item.node.input):
            array = self.expected.get(name, self.theirs.get(name))
            shape = self.parent.source.types.get(name, ("", None))[1]
            if array is not None:
                found.append(tuple(array.shape))
            elif shape is not None and None not in shape:
                found.append(tuple(size or 0 for size in shape))
        return tuple(found)

    def _missing(self, item: Item, reason: str) -> Operator:
        return Operator(
            item.at, plain(item.node.op_type), plain(item.node.name), plain(item.name), self._shapes(item), (), "",
            None, None, NOT_COMPARED, f"the reference does not run: {plain(reason)[:300]}",
        )  # fmt: skip


def judged(alone: Comparison | None, accumulated: Comparison | None, error: str) -> tuple[str, str]:
    """The verdict of an operator, and why: what it does alone counts before what the chain does."""
    if alone is not None and alone.verdict == FAILED:
        return FAILED, alone.reason
    if accumulated is not None and accumulated.verdict == FAILED:
        return (FAILED if alone is None else INHERITED), accumulated.reason
    if alone is None and accumulated is None and error:
        return FAILED, f"it does not run: {error}"
    if any(one is not None and one.verdict == PASSED for one in (alone, accumulated)):
        return PASSED, ""
    return NOT_COMPARED, next((one.reason for one in (alone, accumulated) if one is not None), "")


def _words(problem: EngineError) -> str:
    return plain(" ".join(str(problem).split()))[:600]
