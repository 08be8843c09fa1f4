"""A file cache for training: ``from mswb.cache import cached``. Python 3.9+, numpy, and MindSpore where it is used."""

from __future__ import annotations

from .api import cache_root, cached
from .digest import Unhashable
from .method import patch
from .opening import source_changes
from .pipeline import CannotCache

__all__ = ["CannotCache", "Unhashable", "cache_root", "cached", "patch", "source_changes"]
