"""A file cache for training: ``from mswb.cache import cached``. Python 3.9+, numpy, and MindSpore where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import cache_root, cached
    from .digest import Unhashable
    from .files import source_changes
    from .method import patch
    from .pipeline import CannotCache

_PLACES = {
    "CannotCache": "pipeline",
    "Unhashable": "digest",
    "cache_root": "api",
    "cached": "api",
    "patch": "method",
    "source_changes": "files",
}

__all__ = ["CannotCache", "Unhashable", "cache_root", "cached", "patch", "source_changes"]


def __getattr__(name: str) -> Any:
    """Each name from its module, imported when it is asked for: a training that caches nothing pays nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
