"""Values as JSON has them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import PurePath
from typing import Any


def to_plain(value: Any) -> Any:
    """JSON types only: dataclasses to objects, paths to texts, non-finite numbers to null with a count beside."""
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(asdict(value))
    if isinstance(value, Mapping):
        plain = {str(key): to_plain(item) for key, item in value.items()}
        lost = sum(isinstance(item, float) and not math.isfinite(item) for item in value.values())
        return {**plain, "non_finite": lost} if lost else plain
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (bytes, PurePath)):
        return os.fsdecode(value)
    return value
