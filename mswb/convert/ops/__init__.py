"""The operators, one family a file. Each family has up to three tables:

- ``TO_MINDIR``: ONNX operator → a function that builds it from operators of MindSpore;
- ``TO_ONNX``: MindSpore primitive → a function that builds it from operators of ONNX;
- ``EVALUATE``: MindSpore primitive → its result in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

Table = Mapping[str, Callable[..., Any]]


@lru_cache(maxsize=3)
def table(direction: str) -> Table:
    """All entries of one direction: ``TO_MINDIR``, ``TO_ONNX`` or ``EVALUATE``."""
    found: dict[str, Callable[..., Any]] = {}
    for family in sorted(one.name for one in iter_modules(__path__)):
        entries: Table = getattr(import_module(f"{__name__}.{family}"), direction, {})
        twice = found.keys() & entries.keys()
        if twice:
            raise ValueError(f"two entries for {sorted(twice)}")
        found |= entries
    return found
