"""Which profile a path means: itself, or the newest of those that lie in the folder."""

from __future__ import annotations

import os
from collections.abc import Callable

from mswb.findings import Where, stop
from mswb.flows import inventory
from mswb.profile.load import CHROME, Profile, load

READABLE = frozenset({*CHROME, "framework-raw", "mindspore-profile", "torch-npu-profile", "profiler-output"})
"""Kinds of :data:`mswb.profile.readers.detect.KINDS` that can be read."""


def open_profile(path: str, cancelled: Callable[[], bool] = lambda: False) -> tuple[Profile, tuple[str, ...]]:
    """The profile at a path, and the paths of others that lie beside it in a folder that holds several.

    Raises:
        MswbError: ``path-missing``, ``unsupported-profile``.
    """
    path = os.path.abspath(path)
    if not os.path.isdir(path) or inventory.claimed_path(path) in READABLE:
        return load(path, cancelled), ()
    items = [
        item
        for batch in inventory.scan(path, ["profile"], cancelled, depth=4)
        for item in batch.items
        if item.kind in READABLE and item.status != "empty"
    ]
    if not items:
        values = {"path": path, "reason": "no profile lies in this folder, four levels down"}
        raise stop("unsupported-profile", where=Where(file=path), values=values)
    newest = max(items, key=lambda item: (item.modified, item.path))
    return load(newest.path, cancelled), tuple(item.path for item in items if item is not newest)
