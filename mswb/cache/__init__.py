"""What training leaves and reads on the disk: caches, data files, checkpoints.

In a training script: ``from mswb.cache import cached``; see mswb/docs/cached.md. Python 3.9+, nothing is imported here.
"""

from __future__ import annotations

from typing import Any

_OFFERED = ("CannotCache", "Unhashable", "cached", "patch")


def __getattr__(name: str) -> Any:
    """What runs in the training interpreter, imported when it is asked for."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("mswb.inside.cached"), name)
