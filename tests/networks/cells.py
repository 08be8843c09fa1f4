"""Cells that the networks are made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import nn

from tests.networks.catalogue import Given, layer


class Function(nn.Cell):
    """A function as a network."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def construct(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def function(*inputs: Given) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the decorated function as a network of its name."""

    def add(one: Callable[..., Any]) -> Callable[..., Any]:
        layer(one.__name__.replace("_", "-"), lambda: Function(one), *inputs)
        return one

    return add


def cell(*inputs: Given) -> Callable[[type[nn.Cell]], type[nn.Cell]]:
    """Add the decorated class of cells, which takes no arguments, as a network of its name."""

    def add(one: type[nn.Cell]) -> type[nn.Cell]:
        layer(one.__name__, one, *inputs)
        return one

    return add


class Model(nn.Cell):
    """A model as it is after training."""

    def __init__(self) -> None:
        super().__init__()
        self.set_train(False)
