"""Tables that are spread over the modules of a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

Table = Mapping[str, Callable[..., Any]]


def gather(package: ModuleType, name: str) -> Table:
    """All entries of the tables of this name in the modules of a package.

    Raises:
        ValueError: an entry stands in two of them.
    """
    found: dict[str, Callable[..., Any]] = {}
    for family in sorted(one.name for one in iter_modules(package.__path__)):
        entries: Table = getattr(import_module(f"{package.__name__}.{family}"), name, {})
        twice = found.keys() & entries.keys()
        if twice:
            raise ValueError(f"two entries for {sorted(twice)}")
        found |= entries
    return found
