"""Which arguments a function may write into without that whoever calls it would see: nothing reads them afterwards."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mswb.convert.mindir import schema

_MONADS = ("UpdateState", "Constant")


@dataclass(slots=True)
class Reads:
    """Who reads a name: nodes that hand it on to functions, and whether anything else does behind the first of them.

    Attributes:
        passing: what these nodes give, a closure or a result.
        late: something else reads it later, or elsewhere.
    """

    passing: list[str] = field(default_factory=list)
    late: bool = False


class Handed:
    """The arguments of all functions of a model.

    Args:
        operators: what each name of a primitive calls.
    """

    def __init__(self, model: schema.Model, operators: Mapping[str, str]) -> None:
        self._graphs = list(model.graphs)
        self._operators = operators
        self._inputs = {graph.name or "": [one.name or "" for one in graph.input] for graph in self._graphs}
        self._owner = {name: graph for graph, names in self._inputs.items() for name in names}
        self._entry = (model.graph.name or "") if model.graph is not None else ""
        self._reads: dict[str, Reads] = {}
        self._joined: dict[str, str] = {}
        self._sources: dict[str, set[str]] = defaultdict(set)
        self._unknown: set[str] = set()
        self._calls: Counter[str] = Counter()
        for graph in self._graphs:
            self._go(graph)

    def alone(self, name: str) -> bool:
        """Whether this argument may be written into, wherever its function is called."""
        seen, waiting = set[str](), [name]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            owner, sources = self._owner.get(one, ""), self._sources[one]
            if owner == self._entry or owner in self._unknown or not sources or not all(map(self._free, sources)):
                return False
            waiting += [source for source in sources if self._owner.get(source, self._entry) != self._entry]
        return True

    def _free(self, name: str) -> bool:
        """Whether a value that is handed on is read by nothing else in its function."""
        reads = self._reads.get(name)
        if reads is None or reads.late:
            return False
        ways = {self._joined.get(one, one) for one in reads.passing}
        return len(ways) == 1 and not any(self._calls[way] > 1 for way in ways)

    # -- going through

    def _go(self, graph: schema.Graph) -> None:
        closures: dict[str, list[tuple[str, int]]] = {}
        made = {*self._inputs[graph.name or ""], *(name for node in graph.node for name in node.output)}
        for node in graph.node:
            op = self._operator(node)
            result = node.output[0] if node.output else ""
            if op == "Switch":
                closures[result] = [one for name in node.input[1:] for one in self._named(name, closures)]
                self._joined.update(dict.fromkeys(node.input[1:], result))
            elif op == "Partial" and node.input:
                given = node.input[1:]
                targets = self._named(node.input[0], closures)
                self._hand(targets, given, result, made)
                closures[result] = [(function, bound + len(given)) for function, bound in targets]
                self._escape(given, closures)
            elif op not in _MONADS:
                called = (node.op_type or "").removeprefix(schema.REF)
                targets = self._named(called, closures)
                self._calls[called] += 1
                if targets:
                    self._hand(targets, node.input, result, made)
                else:
                    self._read(node.input, made)
                self._escape(node.input, closures)
        self._read((one.name or "" for one in graph.output), made)

    def _operator(self, node: schema.Node) -> str:
        called = (node.op_type or "").removeprefix(schema.REF)
        return self._operators.get(called, node.op_type or "")

    def _named(self, name: str, closures: Mapping[str, list[tuple[str, int]]]) -> list[tuple[str, int]]:
        """The functions that a name stands for, each with how many arguments it has already."""
        return [(name, 0)] if name in self._inputs else closures.get(name, [])

    def _escape(self, names: Iterable[str], closures: Mapping[str, list[tuple[str, int]]]) -> None:
        """A function that is itself an argument may be called from anywhere."""
        self._unknown.update(function for name in names for function, _ in self._named(name, closures))

    def _hand(self, targets: Iterable[tuple[str, int]], given: Iterable[str], result: str, made: set[str]) -> None:
        names = list(given)
        for function, bound in targets:
            for argument, name in zip(self._inputs[function][bound:], names, strict=False):
                self._sources[argument].add(name)
        for name in names:
            reads = self._reads.setdefault(name, Reads())
            reads.passing.append(result)
            reads.late |= name not in made

    def _read(self, names: Iterable[str], made: set[str]) -> None:
        """Other reads: those before the value is handed on, in the same function, don't matter."""
        for name in names:
            reads = self._reads.setdefault(name, Reads())
            reads.late |= bool(reads.passing) or name not in made
