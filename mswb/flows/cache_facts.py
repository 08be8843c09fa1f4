"""A closer look at one entry: who uses it, and what its kind can tell of itself."""

from __future__ import annotations

import os
from typing import Any

from mswb.cache.holders import FOLDER_VARIABLES, snapshot
from mswb.files.items import Item


def closer(item: Item) -> dict[str, Any]:
    """Facts by name: ``holders`` are the processes that use it, as texts."""
    path = os.path.realpath(item.path)
    return {"holders": [str(one) for one in snapshot().of(path, FOLDER_VARIABLES)]}
