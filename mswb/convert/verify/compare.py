"""Two arrays in numbers: how far one is from the other, and whether that is near enough.

Everything is computed in double precision, in pieces, so that a tensor is held once more and not ten times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mswb.convert.graph import Array
from mswb.convert.verify.tensor_stats import PIECE, Counter, Errors

__all__ = ["LIMITS", "PIECE", "Comparison", "Limits", "compare"]
NEAR = 1e-3
"""The relative error below which an element counts as close."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How near is near enough.

    Attributes:
        atol, rtol: the scaled error is max |a-b| / (atol * max(1, rms(b)) + rtol * |b|), and may be 1. With the root
            mean square of the expected tensor an element that cancels to almost nothing among large ones is judged by
            what these are rounded to.
        cosine: the least cosine of the two tensors.
        noise: an error up to this is the rounding of numbers near 1; the direction of such a rest says nothing.
        max_abs: when given, it alone decides.
    """

    atol: float
    rtol: float
    cosine: float
    noise: float
    max_abs: float | None = None


LIMITS: Mapping[str, Limits] = {
    "float16": Limits(1e-3, 1e-2, 0.999, 2e-3),
    "bfloat16": Limits(1e-2, 5e-2, 0.999, 2e-2),
    "float32": Limits(1e-5, 1e-4, 0.9999, 5e-7),
    "float64": Limits(1e-9, 1e-8, 0.9999, 1e-15),
    "complex64": Limits(1e-5, 1e-4, 0.9999, 5e-7),
    "complex128": Limits(1e-9, 1e-8, 0.9999, 1e-15),
}
"""By data type; all others (integers, bool) must be equal."""
ROUNDED: Mapping[str, Limits] = {
    name: replace(LIMITS[name], atol=3 * LIMITS[name].atol, rtol=3 * LIMITS[name].rtol, noise=3 * LIMITS[name].noise)
    for name in ("float16", "bfloat16")
}
"""Where only one side computes in this data type: it rounds both operands besides the result."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result.

    Attributes:
        verdict: passed, failed, or not-compared (nothing was there to compare).
        reason: what decided, when it is not passed.
        close_share: the part of the elements whose relative error is below 0.001 or that are within atol.
        nan_count, inf_count: of ours; ``reference_nan_count`` of the expected one.
        limit: what ``error`` may be at most, and ``error`` what it is: the numbers that decided.
        errors: how many absolute errors lie in which decade; None where there are no numbers.
    """

    verdict: str
    reason: str = ""
    elements: int = 0
    max_abs_error: float | None = None
    mean_abs_error: float | None = None
    median_abs_error: float | None = None
    p99_abs_error: float | None = None
    scaled_error: float | None = None
    cosine: float | None = None
    close_share: float | None = None
    nan_count: int = 0
    inf_count: int = 0
    reference_nan_count: int = 0
    worst_index: tuple[int, ...] | None = None
    error: float | None = None
    limit: float | None = None
    errors: Errors | None = None


def compare(ours: Array, expected: Array, threshold: float | None = None, half: str = "") -> Comparison:
    """Compare a result with what it should be.

    Args:
        threshold: the largest absolute error that passes, instead of the limits of the data type.
        half: the data type that one side computes in, by whose limits fractions are judged, whatever their own are.
    """
    if half and ours.shape == expected.shape and all(one.dtype.name in LIMITS for one in (ours, expected)):
        if "float16" in (ours.dtype.name, expected.dtype.name):
            ours, expected = _in_range(ours), _in_range(expected)
        return compare_wide(ours, expected.astype(np.float64), ROUNDED[half], threshold)
    if ours.dtype != expected.dtype or ours.shape != expected.shape:
        reason = f"{ours.dtype.name} {list(ours.shape)} instead of {expected.dtype.name} {list(expected.shape)}"
        return Comparison("failed", reason)
    if not expected.size:
        return Comparison("not-compared", "the tensor is empty")
    limits = LIMITS.get(expected.dtype.name)
    if limits is None:
        return _exact(ours, expected)
    if threshold is not None:
        limits = replace(limits, max_abs=threshold)
    return _close(ours.reshape(-1), expected.reshape(-1), expected.shape, limits)


def _in_range(array: Array) -> Array:
    """Numbers beyond the range of float16 as its largest ones, by which a conversion replaces what means "far away"."""
    largest, wide = float(np.finfo(np.float16).max), array.astype(np.float64)
    return np.where(np.isfinite(wide), np.clip(wide, -largest, largest), wide)


def compare_wide(ours: Array, exact: Array, limits: Limits | None, threshold: float | None = None) -> Comparison:
    """Compare a result with the same computed in double precision.

    Args:
        limits: how near is near enough; those of the result's data type unless given.
        threshold: as in :func:`compare`.
    """
    limits = limits or LIMITS.get(ours.dtype.name)
    if limits is None or exact.dtype.kind not in "fc" or ours.shape != exact.shape or not exact.size:
        return compare(ours, exact, threshold)
    if threshold is not None:
        limits = replace(limits, max_abs=threshold)
    return _close(ours.reshape(-1), exact.reshape(-1), exact.shape, limits)


def _exact(ours: Array, expected: Array) -> Comparison:
    """Integers, bool and texts: every element must be the same."""
    differs = ours != expected
    count = int(np.count_nonzero(differs))
    number = expected.dtype.kind in "iub"
    error = _largest_difference(ours[differs], expected[differs]) if number and count else 0.0
    worst = np.unravel_index(int(np.argmax(differs)), differs.shape) if count else None
    counted = Counter()
    if number:
        counted.add(_differences(ours.reshape(-1), expected.reshape(-1)) if count else np.zeros(expected.size))
    return Comparison(
        "failed" if count else "passed",
        f"{count} of {expected.size} elements differ" if count else "",
        expected.size,
        max_abs_error=error if number else None,
        mean_abs_error=0.0 if number and not count else None,
        close_share=1 - count / expected.size,
        worst_index=None if worst is None else tuple(map(int, worst)),
        error=error if number else float(count),
        limit=0.0,
        errors=counted.found() if number else None,
    )


def _differences(ours: Array, expected: Array) -> Array:
    """Absolute differences of whole numbers, as near as float64 has them."""
    found: Array = np.abs(ours.astype(np.float64) - expected.astype(np.float64))
    return found


def _largest_difference(ours: Array, expected: Array) -> float:
    pairs = zip(ours[:PIECE].tolist(), expected[:PIECE].tolist(), strict=True)
    return float(max(abs(int(one) - int(other)) for one, other in pairs))


@dataclass(slots=True)
class _Sums:
    dot: float = 0.0
    own: float = 0.0
    other: float = 0.0
    close: int = 0
    nan: int = 0
    inf: int = 0
    reference_nan: int = 0
    apart: int = 0
    judged: int = 0
    scaled: float = 0.0


def _pieces(ours: Array, expected: Array) -> Iterator[tuple[int, Array, Array]]:
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    for start in range(0, expected.size, PIECE):
        part = slice(start, start + PIECE)
        yield start, ours[part].astype(wide), expected[part].astype(wide)


def _close(ours: Array, expected: Array, shape: tuple[int, ...], limits: Limits) -> Comparison:
    if np.array_equal(ours, expected):
        return _equal(expected)
    floor = limits.atol * max(1.0, _rms(expected))
    sums, counted = _Sums(), Counter()
    errors = np.empty(expected.size, np.float64 if expected.dtype.itemsize >= 8 else np.float32)
    with np.errstate(all="ignore"):
        for start, one, other in _pieces(ours, expected):
            piece = _add(sums, one, other, floor, limits.rtol)
            counted.add(piece)
            errors[start : start + one.size] = piece
    return replace(_judged(sums, errors, shape, limits), errors=counted.found())


def _equal(expected: Array) -> Comparison:
    """The result for tensors that are the same, which most operators that only move numbers give."""
    return Comparison(
        "passed",
        elements=expected.size,
        max_abs_error=0.0,
        mean_abs_error=0.0,
        median_abs_error=0.0,
        p99_abs_error=0.0,
        scaled_error=0.0,
        cosine=1.0,
        close_share=1.0,
        inf_count=int(np.count_nonzero(np.isinf(expected))),
        error=0.0,
        limit=1.0,
        errors=Errors(exact=expected.size),
    )


def _rms(array: Array) -> float:
    """The root mean square of the elements that are finite."""
    total, count = 0.0, 0
    with np.errstate(all="ignore"):
        for _, part, _ in _pieces(array, array):
            finite = np.abs(part[np.isfinite(part)])
            total += float(np.dot(finite, finite))
            count += finite.size
    return math.sqrt(total / count) if count else 0.0


def _add(sums: _Sums, one: Array, other: Array, floor: float, rtol: float) -> Array:
    """Count a piece; its absolute errors: NaN where both are NaN, infinite where only one is, or infinities differ."""
    nan, missing = np.isnan(one), np.isnan(other)
    error: Array = np.abs(one - other)
    error[one == other] = 0.0
    error[nan != missing] = np.inf
    error[np.isnan(error) & ~(nan & missing)] = np.inf
    judged = ~(nan & missing)
    size = np.abs(other)
    bound = floor + rtol * np.where(np.isfinite(size), size, 0.0)
    scaled = (error / bound)[judged]
    finite = np.isfinite(one) & np.isfinite(other)
    left, right = one[finite], other[finite]
    sums.dot += float(np.vdot(right, left).real)
    sums.own += float(np.vdot(left, left).real)
    sums.other += float(np.vdot(right, right).real)
    sums.close += int(np.count_nonzero((error < NEAR * size) | (error <= floor) | ~judged))
    sums.nan += int(np.count_nonzero(nan))
    sums.inf += int(np.count_nonzero(np.isinf(one)))
    sums.reference_nan += int(np.count_nonzero(missing))
    sums.apart += int(np.count_nonzero(nan & ~missing))
    sums.judged += int(np.count_nonzero(judged))
    sums.scaled = max(sums.scaled, float(scaled.max(initial=0.0)))
    return error


def _judged(sums: _Sums, errors: Array, shape: tuple[int, ...], limits: Limits) -> Comparison:
    length = math.sqrt(sums.own) * math.sqrt(sums.other)
    cosine = sums.dot / length if length else 1.0 if sums.own == sums.other else 0.0
    kept = errors[~np.isnan(errors)]
    if not kept.size:
        return Comparison(
            "not-compared", "every element is NaN, in the reference too", errors.size, nan_count=sums.nan,
            reference_nan_count=sums.reference_nan,
        )  # fmt: skip
    worst = int(np.nanargmax(errors))
    most = float(errors[worst])
    verdict, reason, error, limit = _verdict(sums, most, cosine, limits)
    middle, late = kept.size // 2, min(kept.size - 1, math.ceil(0.99 * (kept.size - 1)))
    kept.partition([middle, late])
    return Comparison(
        verdict,
        reason,
        errors.size,
        max_abs_error=most,
        mean_abs_error=float(kept.mean(dtype=np.float64)),
        median_abs_error=float(kept[middle]),
        p99_abs_error=float(kept[late]),
        scaled_error=sums.scaled,
        cosine=min(cosine, 1.0),
        close_share=sums.close / errors.size,
        nan_count=sums.nan,
        inf_count=sums.inf,
        reference_nan_count=sums.reference_nan,
        worst_index=tuple(int(one) for one in np.unravel_index(worst, shape)),
        error=error,
        limit=limit,
    )


def _verdict(sums: _Sums, most: float, cosine: float, limits: Limits) -> tuple[str, str, float, float]:
    """The verdict, what decided it, and the error and limit that did."""
    largest = limits.atol if limits.max_abs is None else limits.max_abs
    if sums.apart:
        return "failed", f"{sums.apart} NaN that the reference has not", most, largest
    if limits.max_abs is not None:
        fine = most <= limits.max_abs
        return "passed" if fine else "failed", "" if fine else "max_abs_error", most, limits.max_abs
    if not sums.scaled <= 1.0:
        return "failed", "scaled_error", sums.scaled, 1.0
    if cosine < limits.cosine and most > limits.noise:
        return "failed", "cosine", cosine, limits.cosine
    return "passed", "", sums.scaled, 1.0
