"""A MindIR model computed in numpy, every fraction in double precision: what exact arithmetic would give.

Casts between fractions change nothing, so what half precision loses shows as a difference. Integers keep their type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mswb.convert import primitives
from mswb.convert.facts import plain
from mswb.convert.graph import Array
from mswb.convert.mindir import schema
from mswb.convert.onnx.node import Refused
from mswb.convert.program import Call, Choice, Closure, Walk, array_of

STEPS = 100_000
"""Calls of functions in one evaluation."""


class Evaluation(Walk):
    """One evaluation.

    Args:
        seen: is given the name and result of each node of a graph that is run, in order.
    """

    def __init__(self, path: str, model: schema.Model, seen: Callable[[str, Any], None] | None = None) -> None:
        self._table = primitives.table("EVALUATE")
        self._seen = seen
        self._steps = 0
        super().__init__(path, model)

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for these inputs, in the model's order.

        Raises:
            Refused: an operator has no entry, or a form that it does not know.
        """
        graph = self.model.graph
        if graph is None:
            raise Refused("the file has no graph")
        try:
            with np.errstate(all="ignore"):
                return _flat(self.run(graph, list(map(wide, inputs))))
        except RecursionError:
            raise Refused("its tuples or functions lie too deep in one another") from None

    def weight(self, tensor: schema.Tensor) -> Array:
        """A weight, mapped from the file."""
        return array_of(self.path, tensor)

    def constant(self, array: Array) -> Array:
        """A constant tensor."""
        return wide(array)

    def call(self, call: Call) -> Any:
        """The result of an operator."""
        entry = self._table.get(call.op)
        if entry is None:
            raise Refused(f"{plain(call.op)} has no evaluation")
        inputs = tuple(map(_wide_all, call.inputs))
        try:
            found = entry(Call(call.op, call.name, inputs, call.attributes, call.result))
        except Refused:
            raise
        except Exception as problem:  # the model is not as MindSpore defines its operators
            raise Refused(f"{plain(call.op)} can't be evaluated: {plain(str(problem))[:200]}") from None
        return _arrays(found)

    def enter(self, closure: Closure | Choice, arguments: Sequence[Any]) -> Any:
        """The result of a function."""
        return self.run(*self.follow(closure, arguments))

    def follow(self, target: Closure | Choice, arguments: Sequence[Any]) -> tuple[schema.Graph, Sequence[Any]]:
        """The graph that a call enters, with all its arguments; of a choice the one that its condition tells."""
        self._steps += 1
        if self._steps > STEPS:
            raise Refused(f"more than {STEPS:,} functions are called")
        while isinstance(target, Choice):
            target = target.yes if bool(np.asarray(target.condition)) else target.no
        if not isinstance(target, Closure):
            raise Refused("a value is called that is no function")
        return target.graph, (*target.bound, *arguments)

    def _keep(self, values: dict[str, Any], node: schema.Node, found: Any) -> None:
        super()._keep(values, node, found)
        if self._seen is not None and node.op_type != "Constant":
            for name in node.output:
                self._seen(name, values[name])


def evaluate(path: str, model: schema.Model, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of a model in double precision."""
    return Evaluation(path, model)(inputs)


def wide(array: Array) -> Array:
    """An array with its fractions in double precision."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    is_fraction = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    return array.astype(np.float64) if is_fraction and array.dtype != np.float64 else array


def _wide_all(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(map(_wide_all, given))
    return wide(given) if isinstance(given, np.ndarray) else given


def _arrays(found: Any) -> Any:
    """A result with numpy's scalars as arrays; Python's own stay numbers."""
    if isinstance(found, (tuple, list)):
        return tuple(map(_arrays, found))
    return np.asarray(found) if isinstance(found, (np.generic, np.ndarray)) else found


def _flat(found: Any) -> list[Array]:
    return [leaf for one in found for leaf in _flat(one)] if isinstance(found, tuple) else [np.asarray(found)]
