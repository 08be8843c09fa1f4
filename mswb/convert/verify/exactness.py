"""A MindIR model against exact arithmetic: every operator's result, and the same in double precision.

As in :mod:`mswb.convert.verify.numbers` each operator is measured alone, on exact inputs that are rounded only to the
data type that it takes, and in the model's own chain. Here the reference is the model itself, so what it loses by its
data types shows: a Softmax in half precision is as wrong as its inputs are coarse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import numpy as np

from mswb.convert.engines.child import EngineError
from mswb.convert.evaluator import Evaluation
from mswb.convert.facts import plain
from mswb.convert.graph import NUMBERS, Array
from mswb.convert.mindir import schema
from mswb.convert.mindir.cut import cut
from mswb.convert.precision.half import HALVES, MOVERS, SENSITIVE, Range, coarsest, limits_alone, range_of
from mswb.convert.program import noted, numpy_dtype, title
from mswb.convert.verify.compare import LIMITS, Comparison, Limits, compare_wide
from mswb.convert.verify.numbers import RANDOM, TRIES, Target, judged
from mswb.convert.verify.pieces import Store
from mswb.convert.verify.result import FAILED, NOT_COMPARED, Operator, Options
from mswb.convert.verify.tensor_stats import statistics

_WIRING = frozenset({"Depend", "Load", "MakeList", "MakeTuple", "Partial", "Return", "Switch", "UpdateState"})
"""Operators that compute nothing; what reads them reads what they hand on."""


class Engine(Protocol):
    """What runs a MindIR file."""

    def run(self, model: str, inputs: Sequence[Array]) -> list[Array]:
        """Its outputs."""


class Item(NamedTuple):
    """A result that is measured: the name of its value, and the operator that gives it."""

    at: int
    node: schema.Node
    name: str
    op: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The operators, the graph's outputs by place, and the ranges of results in half precision by name."""

    operators: tuple[Operator, ...]
    outputs: tuple[Comparison, ...]
    ranges: Mapping[str, Range]
    dtypes: Mapping[str, str]


def measure(target: Target, inputs: Sequence[Array], engine: Engine, folder: Path, options: Options) -> Measured:
    """Measure every operator of a model, and its outputs.

    Raises:
        Refused: our evaluation lacks an operator.
        EngineError: the model does not run.
    """
    with TemporaryDirectory(dir=folder) as one, TemporaryDirectory(dir=folder) as other:
        found = _Measure(target, inputs, engine, folder, options, Store(Path(one), {}), Store(Path(other), {}))
        return found.all()


@dataclass(slots=True)
class _Measure:
    target: Target
    inputs: Sequence[Array]
    engine: Engine
    folder: Path
    options: Options
    exact: Store
    chain: Store
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    bytes_of: dict[str, int] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    ops: dict[str, str] = field(default_factory=dict)
    made: dict[str, schema.Node] = field(default_factory=dict)
    coarse: dict[str, str] = field(default_factory=dict)
    """The coarsest data type that a result, or anything it depends on, was rounded to."""
    _tries: int = TRIES

    def all(self) -> Measured:
        graph = self._graph
        items = {item.name: item for item in _items(self.target.model)}
        self.ops = {item.name: item.op for item in items.values()}
        self.made = {name: node for node in graph.node for name in node.output}
        evaluation = Evaluation(self.target.path, self.target.model, lambda name, value: self._seen(items, name, value))
        wanted = evaluation(self.inputs)
        given = self.engine.run(self.target.path, self.inputs)
        if len(given) != len(wanted):
            raise EngineError(f"{len(given)} outputs instead of {len(wanted)}")
        operators: list[Operator] = []
        chained = True
        for chunk in _chunks([item for item in items.values() if item.name in self.shapes], self._bytes,
                             self.options.budget):  # fmt: skip
            found, chained = self._chunk(chunk, chained)
            operators += found
        outputs = [
            self._compare(ours, exact, LIMITS.get(coarsest((ours.dtype.name, self.coarse.get(value.name or "", "")))))
            for ours, exact, value in zip(given, wanted, _padded(graph.output, len(given)), strict=True)
        ]
        return Measured(tuple(operators), tuple(outputs), self._ranges(operators), self.dtypes)

    @property
    def _graph(self) -> schema.Graph:
        assert self.target.model.graph is not None
        return self.target.model.graph

    def _seen(self, items: Mapping[str, Item], name: str, value: Any) -> None:
        if name in items and isinstance(value, np.ndarray) and name not in self.shapes:
            self.exact.keep(name, value)
            self.shapes[name] = value.shape
            self.bytes_of[name] = value.nbytes

    def _bytes(self, item: Item) -> int:
        return self.bytes_of[item.name]

    def _chunk(self, items: Sequence[Item], chained: bool) -> tuple[list[Operator], bool]:
        chain: dict[str, Array] = {}
        if chained:
            try:
                chain = self._run(items, self.chain)
            except EngineError:
                chained = False
        for item in items:
            if item.name in chain:
                self.dtypes[item.name] = chain[item.name].dtype.name
                self.chain.keep(item.name, chain[item.name])
            else:
                self.dtypes[item.name] = self._declared(item)
        self._spread(items)
        alone: dict[str, Array] = {}
        errors: dict[str, str] = {}
        for group in ([item for item in items if item.op not in SENSITIVE], [item for item in items if
                                                                              item.op in SENSITIVE]):  # fmt: skip
            if group:
                self._alone(group, alone, errors)
        return [self._operator(item, alone.get(item.name), chain.get(item.name), errors) for item in items], chained

    def _spread(self, items: Sequence[Item]) -> None:
        """Note what each result is rounded to, at some place before it."""
        for item in items:
            found = self.dtypes[item.name]
            for name in self._before(item.node.input):
                found = coarsest((found, self.coarse.get(name, ""))) or found
            self.coarse[item.name] = found

    def _before(self, names: Sequence[str]) -> Iterator[str]:
        """The results among these that are measured, and those behind wiring."""
        for name in names:
            if name in self.shapes:
                yield name
            elif name in self.made:
                yield from self._before(self.made[name].input)

    def _declared(self, item: Item) -> str:
        """The data type of a result that did not run: as the writer noted it, else as the evaluation has it."""
        told = noted(item.node)
        if isinstance(told, tuple) and len(told) == 2 and isinstance(told[0], str):
            return told[0]
        exact = self.exact.get(item.name)
        name = exact.dtype.name if exact is not None else "float32"
        return {"float64": "float32"}.get(name, name)

    def _alone(self, items: Sequence[Item], found: dict[str, Array], errors: dict[str, str]) -> None:
        """Each operator on exact inputs; where that does not run, half of them at a time."""
        try:
            found |= self._run(items, self.exact)
        except EngineError as problem:
            if len(items) == 1:
                errors[items[0].name] = plain(" ".join(str(problem).split()))[:600]
                return
            middle = len(items) // 2
            for half in (items[:middle], items[middle:]):
                self._tries -= 1
                if self._tries >= 0:
                    self._alone(half, found, errors)

    def _run(self, items: Sequence[Item], store: Store) -> dict[str, Array]:
        """The results of these operators; what they read of others comes from a store."""
        own = {item.name for item in items} if store is self.chain else set[str]()
        if store is self.exact and items[0].op in SENSITIVE:  # what moved numbers to it is part of how it gets them
            own = {name for name, op in self.ops.items() if op in MOVERS}
        given = {
            name: self._type(name)
            for name in self.shapes
            if name in self.dtypes and name not in own and (store is self.exact or store.has(name))
        }
        piece = cut(self.target.model, [item.name for item in items], given)
        path = self.target.save(piece.model, self.folder / "piece.mindir")
        fed = dict(zip((value.name or "" for value in self._graph.input), self.inputs, strict=False))
        arrays = [fed[name] if name in fed else self._given(store, name) for name in piece.inputs]
        found = self.engine.run(path, arrays)
        if len(found) != len(items):
            raise EngineError(f"{len(found)} results instead of {len(items)}")
        return {item.name: array for item, array in zip(items, found, strict=True)}

    def _given(self, store: Store, name: str) -> Array:
        array = store.get(name)
        if array is None:
            raise EngineError(f"there is nothing to feed {plain(name)} with")
        with np.errstate(all="ignore"):
            return array.astype(numpy_dtype(self.dtypes[name]))

    def _type(self, name: str) -> schema.Tensor:
        return schema.Tensor(dims=self.shapes[name], data_type=NUMBERS[self.dtypes[name]], name=name)

    def _compare(self, ours: Array, exact: Array, limits: Limits | None) -> Comparison:
        wide = exact if ours.dtype.kind == exact.dtype.kind or exact.dtype.kind in "fc" else exact.astype(ours.dtype)
        return compare_wide(ours, wide, limits, self.options.threshold)

    def _operator(self, item: Item, alone: Array | None, chain: Array | None, errors: Mapping[str, str]) -> Operator:
        exact = self.exact.get(item.name)
        assert exact is not None
        by_chance = item.op in RANDOM
        dtypes = [self.dtypes[item.name], *(self.dtypes[name] for name in self._before(item.node.input))]
        strict, loose = limits_alone(item.op, dtypes), LIMITS.get(self.coarse[item.name])
        local = None if alone is None or by_chance else self._compare(alone, exact, strict)
        accumulated = None if chain is None or by_chance else self._compare(chain, exact, loose)
        if exact.dtype.kind in "iub":
            local, accumulated = (_either_side(one, self.coarse[item.name]) for one in (local, accumulated))
        verdict, reason = judged(local, accumulated, errors.get(item.name, ""))
        shown = chain if chain is not None else alone
        return Operator(
            item.at, plain(item.op), plain(title(item.node)), plain(item.name), self._input_shapes(item),
            exact.shape, self.dtypes[item.name], local, accumulated, verdict, reason,
            None if shown is None else statistics(shown), statistics(exact),
        )  # fmt: skip

    def _input_shapes(self, item: Item) -> tuple[tuple[int, ...], ...]:
        known: dict[str | None, tuple[int, ...]] = {one.name: tuple(one.dims) for one in self._graph.parameter}
        known.update((value.name, array.shape) for value, array in zip(self._graph.input, self.inputs, strict=False))
        known.update(self.shapes)
        return tuple(known[name] for name in item.node.input if name in known)

    def _ranges(self, operators: Sequence[Operator]) -> dict[str, Range]:
        found = {}
        for name, dtype in self.dtypes.items():
            exact = self.exact.get(name) if dtype in HALVES else None
            if exact is not None and exact.dtype.kind == "f":
                found[name] = range_of(exact)
        return found


def _items(model: schema.Model) -> Iterator[Item]:
    """The results of the entry graph that may be tensors; an item of a tuple counts as the operator's that gives it."""
    graph = model.graph
    assert graph is not None
    types = {f"{schema.REF}{one.name}": one.op_type or "" for one in model.primitives}
    made: dict[str, schema.Node] = {}
    for at, node in enumerate(graph.node):
        source = node
        if _op(node, types) in ("TupleGetItem", "tuple_getitem") and node.input and node.input[0] in made:
            source = made[node.input[0]]
        op = _op(source, types)
        for name in node.output:
            made[name] = node
            if node.op_type != "Constant" and op not in _WIRING:
                yield Item(at, source, name, op)


def _op(node: schema.Node, types: Mapping[str, str]) -> str:
    """The primitive of a node; ``call`` for that of a function."""
    kind = node.op_type or ""
    return types.get(kind, "call") if kind.startswith(schema.REF) else kind


def _chunks(items: Sequence[Item], size: Any, budget: int) -> Iterator[Sequence[Item]]:
    start, held = 0, 0
    for at, item in enumerate(items):
        own = size(item)
        if held and held + own > budget:
            yield items[start:at]
            start, held = at, 0
        held += own
    if items[start:]:
        yield items[start:]


def _padded(values: Sequence[schema.Value], count: int) -> Sequence[schema.Value]:
    """One output that is a tuple stands for all of its members."""
    return values if len(values) == count else [schema.Value()] * count


def _either_side(found: Comparison | None, coarse: str) -> Comparison | None:
    """A comparison of whole numbers or truths that rest on half precision: one that differs proves nothing."""
    if found is None or found.verdict != FAILED or coarse not in HALVES:
        return found
    return replace(found, verdict=NOT_COMPARED, reason="what is rounded to half precision may fall on either side")
