"""What is told of a model, whatever its format: graphs, operators by count, weights, and who made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """An input or output: ``shape`` has numbers and, where a size is open, its name or "?"; None: nothing is said."""

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The entry graph, a function, or a graph in an attribute."""

    name: str
    nodes: int
    inputs: tuple[ValueFacts, ...]
    outputs: tuple[ValueFacts, ...]


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """A weight: its bytes lie at ``offset`` in ``file``; ``bytes`` is what is there, not what its shape asks for."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model file. ``versions`` names the formats' own numbers; ``domain`` of an operator is in its name."""

    path: str
    format: str
    size_bytes: int
    producer: str
    versions: tuple[tuple[str, str], ...]
    graphs: tuple[GraphFacts, ...]
    operators: tuple[tuple[str, int], ...]
    weights: tuple[WeightFacts, ...]
    user_info: tuple[tuple[str, str], ...] = ()

    @property
    def weights_bytes(self) -> int:
        """The bytes of all weights."""
        return sum(weight.bytes for weight in self.weights)

    @property
    def external_files(self) -> tuple[str, ...]:
        """The other files that weights lie in."""
        return tuple(sorted({weight.file for weight in self.weights} - {self.path}))

    @property
    def nodes(self) -> int:
        """Nodes of all graphs."""
        return sum(graph.nodes for graph in self.graphs)


def value_text(value: ValueFacts) -> str:
    """``x float32 [N, 3]``; a shape that is open altogether is [...]."""
    shape = "" if not value.dtype else "[...]" if value.shape is None else f"[{', '.join(map(str, value.shape))}]"
    return " ".join(part for part in (value.name, value.dtype, shape) if part)


def by_count(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Names with how often they stand, the most frequent first."""
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))


def plain(text: str) -> str:
    """Text of a file, made UTF-8 where it is not."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
