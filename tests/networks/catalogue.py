"""What a network of the catalogue is, and the inputs that are drawn for it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES: Mapping[str, Sequence[int]] = {
    "n": (2, 5, 1),
    "length": (6, 3, 9),
    "other": (4, 7, 5),
    "h": (8, 12, 10),
    "w": (10, 8, 14),
}
"""What a dynamic dimension is in each of the trials; the export knows none of them."""


@dataclass(frozen=True)
class Given:
    """One input: its dimensions (a name is a dynamic one), data type, and the range of its elements."""

    dims: tuple[int | str, ...]
    dtype: str
    low: float
    high: float

    def draw(self, rng: np.random.Generator, trial: int) -> np.ndarray[Any, Any]:
        """An array of fresh numbers."""
        shape = tuple(SIZES[one][trial] if isinstance(one, str) else one for one in self.dims)
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if np.dtype(self.dtype).kind in "iu":
            return rng.integers(int(self.low), int(self.high), shape).astype(self.dtype)
        return rng.uniform(self.low, self.high, shape).astype(self.dtype)


def f32(*dims: int | str, low: float = -2.0, high: float = 2.0) -> Given:
    """A float32 input."""
    return Given(dims, "float32", low, high)


def f16(*dims: int | str, low: float = -2.0, high: float = 2.0) -> Given:
    """A float16 input."""
    return Given(dims, "float16", low, high)


def i32(*dims: int | str, low: int = -9, high: int = 10) -> Given:
    """An int32 input of numbers from low to below high."""
    return Given(dims, "int32", low, high)


def i64(*dims: int | str, low: int = -9, high: int = 10) -> Given:
    """An int64 input of numbers from low to below high."""
    return Given(dims, "int64", low, high)


def flags(*dims: int | str) -> Given:
    """A bool input."""
    return Given(dims, "bool", 0, 1)


@dataclass(frozen=True)
class Network:
    """One network.

    Attributes:
        name: of the files that it is exported to.
        make: builds the cell.
        inputs: what it is called with.
        half: it computes in half precision and may give float32, which is then as coarse.
    """

    name: str
    make: Callable[[], Any]
    inputs: tuple[Given, ...]
    half: bool = False

    @property
    def trials(self) -> int:
        """How many sets of inputs are drawn: several, of different sizes, where a dimension is dynamic."""
        return 3 if any(isinstance(dim, str) for one in self.inputs for dim in one.dims) else 1

    @property
    def seed(self) -> int:
        """The seed of its weights and inputs."""
        return zlib.crc32(self.name.encode())


NETWORKS: dict[str, Network] = {}
"""Every network by its name, once the modules that define them are imported."""


def layer(name: str, make: Callable[[], Any], *inputs: Given, half: bool = False) -> None:
    """Add a network that is one cell."""
    if name in NETWORKS:
        raise ValueError(f"two networks are called {name}")
    NETWORKS[name] = Network(name, make, inputs, half)
