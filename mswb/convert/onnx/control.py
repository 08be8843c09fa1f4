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
from mswb.convert.onnx.graph import OnnxBuilder, declared
from mswb.convert.onnx.node import Refused
from mswb.convert.program import Choice, Closure

if TYPE_CHECKING:
    from mswb.convert.to_onnx import ToOnnx


@dataclass(frozen=True, slots=True)
class Again:
    """What the body of a loop gives: the next state of the loop with this header."""

    header: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a body gives that leaves its loop in some cases: whether it does, the next state, and the result.

    Where it leaves the state stays what it was, and where it goes on the result is anything.
    """

    left: Value
    again: Again
    result: Any


def _mentioned(graph: schema.Graph, functions: Mapping[str, schema.Graph]) -> set[str]:
    named = {name for node in graph.node for name in (*node.input, (node.op_type or "").removeprefix(REF))}
    return named & functions.keys()


class Control:
    """The control flow of one conversion."""

    def __init__(self, walk: ToOnnx) -> None:
        self._walk = walk
        self._named = {name: _mentioned(graph, walk.functions) for name, graph in walk.functions.items()}
        self._open: list[str] = []
        self._states: list[Any] = []
        """The state of each open loop, as its header takes it."""
        self._heads: list[str] = []
        """Loops whose header is being read."""

    def enter(self, target: Closure | Choice, arguments: Sequence[Any]) -> Any:
        """The result of a function that is called."""
        if isinstance(target, Choice):
            return self._choose(target, arguments)
        if not isinstance(target, Closure):
            raise Refused("a value is called that is no function")
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
        return self._if(condition, lambda: self.enter(choice.yes, arguments), lambda: self.enter(choice.no, arguments))

    def _if(self, condition: Value, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """The result of one of two ways."""
        outer = self._walk.builder
        ways = [self._inside(outer, make) for make in (yes, no)]
        if _loop_of(ways[0][1]) != _loop_of(ways[1][1]) or any(isinstance(found, Leaving) for _, found in ways):
            ways = self._alike(outer, ways)
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
        return _like(ways[0][1], iter(values))

    def _alike(self, outer: OnnxBuilder, ways: Sequence[tuple[OnnxBuilder, Any]]) -> list[tuple[OnnxBuilder, Any]]:
        """Two ways, one of which leaves the loop around them, as what both give."""
        if not self._open:
            raise Refused("one of its branches goes on with a loop that does not lie around it")
        given = [self._leaving(found) for _, found in ways]
        results = [one.result for one in given if one.result is not None]
        if len({_loop_of(one) for one in results}) != 1 or any(isinstance(one, Leaving) for one in results):
            raise Refused("a loop that is left from its middle to different places has no form in ONNX")
        return [(builder, one if one.result is not None else self._filled(outer, builder, one, results[0]))
                for (builder, _), one in zip(ways, given, strict=True)]  # fmt: skip

    def _leaving(self, found: Any) -> Leaving:
        if isinstance(found, Leaving):
            return found
        if _loop_of(found) == self._open[-1]:
            return Leaving(self._walk.value(False), found, None)
        return Leaving(self._walk.value(True), Again(self._open[-1], self._states[-1]), found)

    def _filled(self, outer: OnnxBuilder, builder: OnnxBuilder, one: Leaving, result: Any) -> Leaving:
        """A way that goes on, with some result of the right kind."""
        self._walk.builder = builder
        try:
            anything = [self._anything(self._walk.value(leaf)) for leaf in _leaves(result)]
        finally:
            self._walk.builder = outer
        return Leaving(one.left, one.again, _like(result, iter(anything)))

    def _anything(self, value: Value) -> Value:
        """A tensor of the kind of another, 1 where that is open."""
        if value.shape is None:
            raise Refused("the rank of what a loop that is left in its middle gives is unknown")
        sizes = np.array([1 if size is None else size for size in value.shape], np.int64)
        builder = self._walk.builder
        return builder.op("Expand", builder.constant(np.zeros((), value.dtype)), builder.constant(sizes))

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
            inner, new, again, leaving = self._body(header, arguments, state, shapes)
            wider = [_common(one, other.shape) for one, other in zip(shapes, new, strict=False)]
            if wider == shapes:
                break
            shapes = wider
        builder, inputs = inner
        more = [self._anything(one) for one in new[len(state) :]]
        inputs += [declared(Value(outer.shared.name("left"), one.dtype, one.shape)) for one in new[len(state) :]]
        graph = builder.finish("body", inputs, [again, *new])
        names = [outer.shared.name(f"{outer.scope}/Loop" if outer.scope else "Loop") for _ in new]
        given = [flag, *state, *more]
        node = helper.make_node("Loop", ["", *(one.name for one in given)], names, name=names[0], body=graph)
        outer.add(node, given)
        final = [Value(name, one.dtype, shape) for name, one, shape in zip(names, state, shapes, strict=False)]
        last = self._header(header, _like(tuple(arguments), iter(final)))
        after = self._ways(header, last)[1]
        if leaving is None:
            return self.enter(after, ())
        left, *result = [Value(name, one.dtype, one.shape)
                         for name, one in zip(names[len(state) :], new[len(state) :], strict=True)]  # fmt: skip
        return self._if(left, lambda: _like(leaving.result, iter(result)), lambda: self.enter(after, ()))

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
    ) -> tuple[tuple[OnnxBuilder, list[Any]], list[Value], Value, Leaving | None]:
        """The body of the Loop: its builder and inputs, the next state, and whether it goes on; how it is left."""
        outer = self._walk.builder
        shared = outer.shared
        own = [Value(shared.name("state"), one.dtype, shape) for one, shape in zip(state, shapes, strict=True)]
        count, going = Value(shared.name("iteration"), "int64", ()), Value(shared.name("going"), "bool", ())

        def make() -> tuple[list[Value], Value, Leaving | None]:
            builder = self._walk.builder
            before = _like(tuple(arguments), iter(own))
            body = self._ways(header, self._header(header, before))[0]
            self._open.append(header.name or "")
            self._states.append(before)
            try:
                found = self._walk.run(body.graph, body.bound)
            finally:
                self._open.pop()
                self._states.pop()
            leaving = found if isinstance(found, Leaving) else None
            state = found if leaving is None else leaving.again
            if _loop_of(state) != header.name:
                raise Refused(f"the loop {header.name} goes on in a way that has no form in ONNX")
            new = self._flat(builder, state)
            for one, other in zip(new, own, strict=True):
                if one.dtype != other.dtype:
                    raise Refused("its state changes its data type")
            again = self._header(header, _like(tuple(arguments), iter(new)))
            flag = self._walk.value(again.condition)
            flat = builder.reshape(flag, ()) if flag.shape != () else flag
            if leaving is not None:
                flat = builder.op("And", flat, builder.op("Not", leaving.left))
                new += self._flat(builder, (leaving.left, leaving.result))
            return new, self._flat(builder, flat)[0], leaving

        builder, (new, flag, leaving) = self._inside(outer, make)
        return (builder, [declared(count), declared(going), *map(declared, own)]), new, flag, leaving


def _loop_of(found: Any) -> str | None:
    """The header of the loop that goes on with this, in each case; None for a result."""
    return found.header if isinstance(found, Again) else None


def _leaves(found: Any) -> list[Any]:
    if isinstance(found, Again):
        return _leaves(found.arguments)
    if isinstance(found, Leaving):
        return _leaves((found.left, found.again, found.result))
    if isinstance(found, tuple):
        return [leaf for one in found for leaf in _leaves(one)]
    return [] if found is None else [found]


def _like(found: Any, values: Any) -> Any:
    """These values in the same tuples."""
    if isinstance(found, Again):
        return Again(found.header, tuple(_like(one, values) for one in found.arguments))
    if isinstance(found, Leaving):
        return Leaving(*(_like(one, values) for one in (found.left, found.again, found.result)))
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
