"""How a cell's value reads: counts, bytes, durations, times and ages as short text, and such text read back."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from numbers import Real
from typing import Any, Literal

Kind = Literal["text", "number", "bytes", "seconds", "time", "age", "severity"]
"""What a column holds. ``seconds`` and ``age`` are durations in seconds (an age is drawn coarsely), ``time`` is a Unix
time, ``severity`` a word of :mod:`mswb.ui.glyphs` (error, warning, running …) that is drawn with its sign."""
NUMERIC: frozenset[Kind] = frozenset({"number", "bytes", "seconds", "time", "age"})
UNKNOWN = "-"
"""What stands for a value that is not known."""

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DAY = 86400
_AGES = ((1, 60, "s"), (60, 60, "m"), (3600, 48, "h"), (_DAY, math.inf, "d"))


def is_missing(value: Any) -> bool:
    """Whether a value is None or NaN: it is unknown, and sorts last in both directions."""
    return value is None or value != value


def draw(kind: Kind, value: Any) -> str:
    """The text of a value; the text of the value itself where it does not fit its kind."""
    if value is None:
        return UNKNOWN
    form = _DRAW.get(kind)
    if form is None or isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return str(number) if kind == "number" or math.isinf(number) else UNKNOWN
    return form(value)


def number_text(value: Any) -> str:
    """Whole numbers in full (with commas from 10,000), others with four digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{float(value):.4g}" if 1e-4 <= abs(value) < 1e6 else f"{float(value):.3e}"


def bytes_text(value: Any) -> str:
    """A size in binary units: ``512 B``, ``1.5 GiB``."""
    size, step = float(value), 0
    while abs(size) >= 1023.95 and step < len(_BYTES) - 1:
        size, step = size / 1024, step + 1
    return f"{size:.0f} B" if step == 0 else f"{size:.1f} {_BYTES[step]}"


def seconds_text(value: Any) -> str:
    """A duration with three digits below a minute (``12.3 ms``), then ``4m05s`` and ``2h03m``."""
    span = abs(float(value))
    sign = "-" if value < 0 else ""
    if span >= 59.95:
        whole = round(span)
        return f"{sign}{_clock(whole)}"
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if span >= unit * 0.9995:
            return f"{sign}{_three(span / unit)} {name}"
    return f"{sign}{_three(span * 1e9)} ns" if span else "0 s"


def age_text(value: Any) -> str:
    """How long ago, in one unit: ``3s``, ``5m``, ``2h``, ``4d``."""
    span = max(0.0, float(value))
    unit, _, name = next(row for row in _AGES if span < row[0] * row[1])
    return f"{int(span // unit)}{name}"


def time_text(value: Any, now: float | None = None) -> str:
    """A Unix time as local clock time: of today ``09:41:07``, of this year ``03-08 09:41``, else the date."""
    try:
        moment, today = time.localtime(float(value)), time.localtime(now)
    except (ValueError, OverflowError, OSError):
        return str(value)
    if moment[:3] == today[:3]:
        return time.strftime("%H:%M:%S", moment)
    return time.strftime("%m-%d %H:%M" if moment.tm_year == today.tm_year else "%Y-%m-%d", moment)


def quantity(kind: Kind, text: str) -> float | None:
    """The number that a text such as ``1.5GiB``, ``300ms``, ``5m`` or ``09:30`` means in a column of this kind."""
    if kind == "time":
        return _moment(text)
    match = _QUANTITY.fullmatch(text.strip().replace(",", ""))
    if match is None:
        return None
    factor = _UNITS[kind].get(match["unit"].lower()) if kind in _UNITS else None if match["unit"] else 1.0
    return None if factor is None else float(match["number"]) * factor


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _clock(whole: int) -> str:
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 2 * _DAY:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // _DAY}d{whole % _DAY // 3600:02}h"


def _moment(text: str) -> float | None:
    """A date, a date with a time, or a clock time of today."""
    today = time.strftime("%Y-%m-%d")
    for candidate in (text, f"{today} {text}", f"{today} 0{text}"):
        try:
            return datetime.fromisoformat(candidate).timestamp()
        except (ValueError, OverflowError, OSError):
            continue
    return None


_QUANTITY = re.compile(
    r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf)\s*(?P<unit>[a-zA-Zµ]*)", re.IGNORECASE
)
_SIZES = {letter: 1024.0**power for power, letter in enumerate(("b", "k", "m", "g", "t", "p"))}
_SPANS = {
    "": 1.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0,
    "h": 3600.0, "d": float(_DAY),
}  # fmt: skip
_UNITS: Mapping[str, Mapping[str, float]] = {
    "bytes": {"": 1.0, **_SIZES, **{f"{k}b": v for k, v in _SIZES.items()}, **{f"{k}ib": v for k, v in _SIZES.items()}},
    "seconds": _SPANS,
    "age": _SPANS,
    "number": {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9},
}
_DRAW: Mapping[str, Callable[[Any], str]] = {
    "number": number_text,
    "bytes": bytes_text,
    "seconds": seconds_text,
    "age": age_text,
    "time": time_text,
}
