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
LOWEST = -46
"""The exponent that smaller errors count for, too: float32 has none below."""


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
        zeros += int(np.count_nonzero(part == 0))
        low, high = min(low, float(part.min())), max(high, float(part.max()))
        with np.errstate(over="ignore"):
            own = float(part.mean())
            part -= own
            apart = float(np.dot(part, part))
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
        self._decades: dict[int, int] = {}
        self._exact = 0
        self._infinite = 0

    def add(self, errors: Array) -> None:
        """Count errors; NaN among them stands for NaN on both sides.

        Comparing with each power of ten is exact, and a tenth of the price of a logarithm for each.
        """
        some = errors[errors > 0]
        self._exact += int(errors.size - some.size)
        infinite = int(np.count_nonzero(np.isinf(some)))
        self._infinite += infinite
        if some.size == infinite:
            return
        largest = some.max() if not infinite else some[np.isfinite(some)].max()
        low, high = (math.floor(math.log10(float(one))) for one in (some.min(), largest))
        before = 0
        for at in range(max(low - 1, LOWEST), high + 2):
            below = int(np.count_nonzero(some < float(f"1e{at + 1}")))
            if below > before:
                self._decades[at] = self._decades.get(at, 0) + below - before
            before = below

    def found(self) -> Errors:
        """The counts so far."""
        return Errors(self._exact, dict(self._decades), self._infinite)
