"""Complex numbers, which ONNX has no operators for: their evaluation alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.program import Call


def _of(function: Callable[..., Any], count: int = 1) -> Callable[[Call], Any]:
    return lambda call: np.asarray(function(*(np.asarray(call.input(at)) for at in range(count))))


def _polar(size: Any, angle: Any) -> Any:
    return size * np.exp(1j * angle)


EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "Angle": _of(np.angle),
    "Complex": _of(lambda real, imaginary: real + 1j * imaginary, 2),
    "ComplexAbs": _of(np.abs),
    "Polar": _of(_polar, 2),
}
