"""One call of an ONNX operator, as the converter of that operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnx import GraphProto

from mswb.convert.graph import Array, Builder, Value

if TYPE_CHECKING:
    from mswb.convert.to_mindir import Lowering


RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
)
"""Operators that give another result each time."""


class Refused(Exception):
    """A form of an operator that MindSpore has no right answer for.

    Args:
        reason: one clause that tells what can't be converted and why; in English.
        nearest: what works instead, where something does: ``--freeze``, another attribute.
        freeze: the input that would have to be a constant.
    """

    def __init__(self, reason: str, *, nearest: str = "", attribute: str = "", freeze: str = "") -> None:
        super().__init__(reason)
        self.reason, self.nearest, self.attribute, self.freeze = reason, nearest, attribute, freeze


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node of the model.

    Attributes:
        op: the operator; ``version`` the opset of its domain.
        inputs: its values; None for one that is left out.
        outputs: the names of its results; "" for one that nobody wants.
        attributes: by name, as Python values: int, float, str, lists of these, Array, GraphProto.
        results: data type and shape of each result, where ONNX's own inference knows them.
    """

    op: str
    domain: str
    name: str
    version: int
    inputs: tuple[Value | None, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    results: tuple[tuple[str, tuple[int | None, ...] | None], ...]

    def has(self, at: int) -> bool:
        """Whether an input is given."""
        return at < len(self.inputs) and self.inputs[at] is not None

    def input(self, at: int) -> Value:
        """An input that must be there."""
        value = self.inputs[at] if at < len(self.inputs) else None
        if value is None:
            raise Refused(f"input {at} is missing")
        return value

    def optional(self, at: int) -> Value | None:
        """An input, or None."""
        return self.inputs[at] if at < len(self.inputs) else None

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def content(self, at: int, what: str) -> Array:
        """The content of an input that must be constant; ``what`` names it.

        Raises:
            Refused: it is only known when the model runs.
        """
        value = self.input(at)
        if value.array is None:
            raise Refused(f"{what} is only known when the model runs", nearest="--freeze", freeze=value.name)
        return value.array

    def integers(self, name: str, at: int, default: Sequence[int] | None = None) -> list[int] | None:
        """A list of integers that is an attribute in old opsets and an input in new ones."""
        if name in self.attributes:
            given = self.attributes[name]
            return [int(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
        if self.has(at):
            return [int(one) for one in self.content(at, name).reshape(-1)]
        return None if default is None else list(default)

    def rank(self, at: int = 0) -> int:
        """The rank of an input.

        Raises:
            Refused: it is only known when the model runs.
        """
        rank = self.input(at).rank
        if rank is None:
            raise Refused(f"the rank of input {at} is only known when the model runs")
        return rank

    def axis(self, default: int = 0, name: str = "axis", at: int = 0) -> int:
        """An axis attribute, counted from the front."""
        axis, rank = int(self.get(name, default)), self.rank(at)
        if not -rank <= axis < max(rank, 1):
            raise Refused(f"{name} {axis} is outside of {rank} dimensions", attribute=name)
        return axis % rank if rank else 0

    def graph(self, name: str) -> GraphProto:
        """A graph in an attribute."""
        found: GraphProto = self.attributes[name]
        return found


Lower = Callable[[OnnxNode, Builder], "Value | Sequence[Value | None]"]
"""Converts one node: builds it and returns its results."""
Above = Callable[[OnnxNode, Builder, "Lowering"], "Value | Sequence[Value | None]"]
"""The same for operators with graphs in them."""
