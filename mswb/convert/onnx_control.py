"""Functions of a MindIR model in ONNX: built in place, a choice as If, one that calls itself as Loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

from mswb.convert.graph import Value
from mswb.convert.mindir import schema
from mswb.convert.mindir.schema import REF
from mswb.convert.onnx_graph import OnnxBuilder, declared
from mswb.convert.onnx_node import Refused
from mswb.convert.program import Choice, Closure

if TYPE_CHECKING:
    from mswb.convert.to_onnx import ToOnnx


@dataclass(frozen=True, slots=True)
class Again:
    """What the body of a loop gives: the next state of the loop with this header."""

    header: str
    arguments: tuple[Any, ...]


def _mentioned(graph: schema.Graph, functions: Mapping[str, schema.Graph]) -> set[str]:
    named = {name for node in graph.node for name in (*node.input, (node.op_type or "").removeprefix(REF))}
    return named & functions.keys()


class Control:
    """The control flow of one conversion."""

    def __init__(self, walk: ToOnnx) -> None:
        self._walk = walk
        self._named = {name: _mentioned(graph, walk.functions) for name, graph in walk.functions.items()}
        self._open: list[str] = []
        self._heads: list[str] = []
        """Loops whose header is being read."""

    def enter(self, target: Closure | Choice, arguments: Sequence[Any]) -> Any:
        """The result of a function that is called."""
        if isinstance(target, Choice):
            return self._choose(target, arguments)
        name, given = target.graph.name or "", (*target.bound, *arguments)
        if name in self._open:
            return Again(name, given)
        if self._reaches(name, name):
            return self._loop(target.graph, given)
        return self._walk.run(target.graph, given)

    def _reaches(self, name: str, wanted: str) -> bool:
        """Whether a function calls another or hands it on, itself or through others; not by way of a loop around it."""
        seen, waiting = set(self._open), list(self._named[name])
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting.extend(self._named[one])
        return wanted in seen.difference(self._open)

    # -- choices

    def _choose(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        condition = self._walk.value(choice.condition)
        if condition.array is not None:
            return self.enter(choice.yes if bool(condition.array) else choice.no, arguments)
        if self._walk.raises(choice.yes) != self._walk.raises(choice.no):  # a check of its inputs: it has no result
            return self.enter(choice.no if self._walk.raises(choice.yes) else choice.yes, arguments)
        outer = self._walk.builder
        yes = self._inside(outer, lambda: self.enter(choice.yes, arguments))
        no = self._inside(outer, lambda: self.enter(choice.no, arguments))
        ways = (yes, no)
        if _loop_of(yes[1]) != _loop_of(no[1]):
            raise Refused("a loop that is left from its middle (break) has no form in ONNX")
        parts = [self._flat(builder, found) for builder, found in ways]
        if [one.dtype for one in parts[0]] != [one.dtype for one in parts[1]]:
            raise Refused("its branches give different data types")
        names = [outer.shared.name(f"{outer.scope}/If" if outer.scope else "If") for _ in parts[0]]
        graphs = [builder.finish(title, [], flat)
                  for (builder, _), title, flat in zip(ways, ("then", "else"), parts, strict=True)]  # fmt: skip
        flag = outer.reshape(condition, ()) if condition.shape != () else condition
        node = helper.make_node("If", [flag.name], names, name=names[0], then_branch=graphs[0], else_branch=graphs[1])
        outer.add(node, [flag])
        values = [Value(name, one.dtype, _common(one.shape, other.shape))
                  for name, one, other in zip(names, *parts, strict=True)]  # fmt: skip
        return _like(yes[1], iter(values))

    def _inside(self, outer: OnnxBuilder, make: Callable[[], Any]) -> tuple[OnnxBuilder, Any]:
        """Build into a graph of its own."""
        self._walk.builder = outer.inner()
        try:
            found = make()
            return self._walk.builder, found
        finally:
            self._walk.builder = outer

    def _flat(self, builder: OnnxBuilder, found: Any) -> list[Value]:
        """The tensors of a result, each given by a node of this graph."""
        made = {name for node in builder.nodes for name in node.output}
        flat = [self._walk.value(one) for one in _leaves(found)]
        return [one if one.name in made else builder.op("Identity", one, dtype=one.dtype, shape=one.shape)
                if one.array is None else _written(builder, one) for one in flat]  # fmt: skip

    # -- loops

    def _loop(self, header: schema.Graph, arguments: Sequence[Any]) -> Any:
        outer = self._walk.builder
        state = [self._walk.value(one) for one in _leaves(tuple(arguments))]
        first = self._header(header, _like(tuple(arguments), iter(state)))
        self._ways(header, first)
        going = self._walk.value(first.condition)
        flag = outer.reshape(going, ()) if going.shape != () else going
        shapes = [one.shape for one in state]
        while True:  # sizes that a step changes are open; each round opens at least one more
            inner, new, again = self._body(header, arguments, state, shapes)
            wider = [_common(one, other.shape) for one, other in zip(shapes, new, strict=True)]
            if wider == shapes:
                break
            shapes = wider
        builder, inputs = inner
        graph = builder.finish("body", inputs, [again, *new])
        names = [outer.shared.name(f"{outer.scope}/Loop" if outer.scope else "Loop") for _ in state]
        node = helper.make_node("Loop", ["", flag.name, *(one.name for one in state)], names, name=names[0], body=graph)
        outer.add(node, [flag, *state])
        final = [Value(name, one.dtype, shape) for name, one, shape in zip(names, state, shapes, strict=True)]
        last = self._header(header, _like(tuple(arguments), iter(final)))
        after = self._ways(header, last)[1]
        return self.enter(after, ())

    def _header(self, header: schema.Graph, arguments: Any) -> Choice:
        """What the header of a loop decides, without following it."""
        name = header.name or ""
        found = None
        if name not in self._heads:
            self._heads.append(name)
            try:
                found = self._walk.decision(header, arguments)
            finally:
                self._heads.pop()
        if found is None:
            raise Refused(f"the function {header.name} calls itself and is no loop with a condition at its head")
        return found

    def _ways(self, header: schema.Graph, choice: Choice) -> tuple[Closure, Closure]:
        """The body, and what comes after."""
        ways = (choice.yes, choice.no)
        if not all(isinstance(way, Closure) for way in ways):
            raise Refused(f"the loop {header.name} goes on in a way that has no form in ONNX")
        goes_on = [self._reaches(way.graph.name or "", header.name or "") for way in ways]
        if goes_on != [True, False]:
            raise Refused(f"the loop {header.name} goes on in a way that has no form in ONNX")
        return choice.yes, choice.no

    def _body(
        self, header: schema.Graph, arguments: Sequence[Any], state: Sequence[Value], shapes: Sequence[Any]
    ) -> tuple[tuple[OnnxBuilder, list[Any]], list[Value], Value]:
        """The body of the Loop: its builder and inputs, the next state, and whether it goes on."""
        outer = self._walk.builder
        shared = outer.shared
        own = [Value(shared.name("state"), one.dtype, shape) for one, shape in zip(state, shapes, strict=True)]
        count, before = Value(shared.name("iteration"), "int64", ()), Value(shared.name("going"), "bool", ())

        def make() -> tuple[list[Value], Value]:
            builder = self._walk.builder
            body = self._ways(header, self._header(header, _like(tuple(arguments), iter(own))))[0]
            self._open.append(header.name or "")
            try:
                found = self._walk.run(body.graph, body.bound)
            finally:
                self._open.pop()
            if _loop_of(found) != header.name:
                raise Refused(f"the loop {header.name} goes on in a way that has no form in ONNX")
            new = self._flat(builder, found)
            for one, other in zip(new, own, strict=True):
                if one.dtype != other.dtype:
                    raise Refused("its state changes its data type")
            again = self._header(header, _like(tuple(arguments), iter(new)))
            flag = self._walk.value(again.condition)
            flat = builder.reshape(flag, ()) if flag.shape != () else flag
            return new, self._flat(builder, flat)[0]

        builder, (new, flag) = self._inside(outer, make)
        return (builder, [declared(count), declared(before), *map(declared, own)]), new, flag


def _loop_of(found: Any) -> str | None:
    """The header of the loop that goes on with this; None for a result."""
    return found.header if isinstance(found, Again) else None


def _leaves(found: Any) -> list[Any]:
    if isinstance(found, Again):
        return _leaves(found.arguments)
    if isinstance(found, tuple):
        return [leaf for one in found for leaf in _leaves(one)]
    return [] if found is None else [found]


def _like(found: Any, values: Any) -> Any:
    """These values in the same tuples."""
    if isinstance(found, Again):
        return Again(found.header, tuple(_like(one, values) for one in found.arguments))
    if isinstance(found, tuple):
        return tuple(_like(one, values) for one in found)
    return None if found is None else next(values)


def _common(one: Any, other: Any) -> Any:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(first if first == second else None for first, second in zip(one, other, strict=True))


def _written(builder: OnnxBuilder, constant: Value) -> Value:
    """A constant as the result of a node: what a graph gives must be made in it."""
    name = builder.shared.name("constant")
    tensor = numpy_helper.from_array(np.asarray(constant.array), name)
    builder.add(helper.make_node("Constant", [], [name], name=name, value=tensor))
    return Value(name, constant.dtype, constant.shape)
