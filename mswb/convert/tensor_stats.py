"""A tensor in six numbers, and absolute errors counted by decade: what a person looks at when a result is off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mswb.convert.graph import Array

PIECE = 1 << 18
"""Elements that are looked at at once."""
LOWEST, HIGHEST = -46, 309
"""Exponents between which float64 errors are counted; whatever is smaller counts as the lowest."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of the finite elements; of complex numbers their sizes.

    Attributes:
        zeros: the share of all elements that are zero.
        not_finite: how many are NaN or infinite.
    """

    minimum: float
    maximum: float
    mean: float
    std: float
    zeros: float
    not_finite: int = 0

    def as_json(self) -> dict[str, Any]:
        """The keys of a report."""
        return {
            "min": self.minimum,
            "max": self.maximum,
            "mean": self.mean,
            "std": self.std,
            "zeros": self.zeros,
            "not_finite": self.not_finite,
        }


@dataclass(frozen=True, slots=True)
class Errors:
    """How many absolute errors lie in which decade.

    Attributes:
        exact: errors of zero, NaN in the same place among them.
        decades: by exponent e: errors from 10^e to below 10^(e+1).
        infinite: one side is not finite where the other is another number.
    """

    exact: int = 0
    decades: Mapping[int, int] = field(default_factory=dict)
    infinite: int = 0

    def as_json(self) -> list[dict[str, Any]]:
        """``[{"from": 1e-07, "count": 12}, ...]`` in order; 0 for exact ones and "inf" at the end."""
        rows: list[dict[str, Any]] = [{"from": 0, "count": self.exact}] if self.exact else []
        rows += [{"from": float(f"1e{at}"), "count": count} for at, count in sorted(self.decades.items())]
        return [*rows, *([{"from": "inf", "count": self.infinite}] if self.infinite else [])]


def statistics(array: Array) -> Statistics | None:
    """The numbers of a tensor; None when it holds no finite one, or texts.

    Mean and variance of the pieces are joined as by Chan, Golub and LeVeque (1979), so that none is lost in a sum.
    """
    if array.dtype.kind not in "biufc" or not array.size:
        return None
    low, high, mean, spread, count, zeros = math.inf, -math.inf, 0.0, 0.0, 0, 0
    for part in _finite_parts(array.reshape(-1)):
        zeros += int(part.size - np.count_nonzero(part))
        low, high = min(low, float(part.min())), max(high, float(part.max()))
        with np.errstate(over="ignore"):
            own, apart = float(part.mean()), float(part.var()) * part.size
        step, total = own - mean, count + part.size
        spread += apart + step * step * count * part.size / total
        mean += step * part.size / total
        count = total
    if not count:
        return None
    return Statistics(low, high, mean, math.sqrt(spread / count), zeros / array.size, array.size - count)


def _finite_parts(flat: Array) -> Iterator[Array]:
    for start in range(0, flat.size, PIECE):
        part = flat[start : start + PIECE]
        wide = (np.abs(part) if part.dtype.kind == "c" else part).astype(np.float64)
        finite = np.isfinite(wide)
        if not finite.all():
            wide = wide[finite]
        if wide.size:
            yield wide


class Counter:
    """Counts absolute errors, a piece at a time."""

    def __init__(self) -> None:
        self._bins = np.zeros(HIGHEST - LOWEST + 1, np.int64)
        self._exact = 0
        self._infinite = 0

    def add(self, errors: Array) -> None:
        """Count errors; NaN among them stands for NaN on both sides."""
        some = errors[errors > 0]
        self._exact += errors.size - some.size
        if not some.size:
            return
        with np.errstate(all="ignore"):
            exponents = np.floor(np.log10(some))
        infinite = np.isinf(exponents)
        if infinite.any():
            self._infinite += int(np.count_nonzero(infinite))
            exponents = exponents[~infinite]
        places = np.clip(exponents, LOWEST, HIGHEST).astype(np.int64) - LOWEST
        self._bins += np.bincount(places, minlength=self._bins.size)

    def found(self) -> Errors:
        """The counts so far."""
        places = np.flatnonzero(self._bins)
        return Errors(
            int(self._exact), {int(at) + LOWEST: int(self._bins[at]) for at in places}, int(self._infinite)
        )  # fmt: skip
