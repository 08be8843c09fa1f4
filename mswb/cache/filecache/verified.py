"""When each file cache was last verified as a whole, and with what result: kept among mswb's own files, not in it.

One small file for each cache in ``<state>/verified/``. A cache that has changed since says so by its newest file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from mswb.cache.check import Checked
from mswb.files.safety import make_private_dir, write_atomic
from mswb.files.tree import total
from mswb.findings import MswbError
from mswb.settings import load_settings

_MAX_BYTES = 1 << 16
OFTEN_S = 60.0
"""The same result is not written again so soon: a list verifies small caches each time."""


def remember(path: str, checked: Checked) -> None:
    """Keep the result of a check; where the state folder can't be written it is not kept."""
    path = os.path.realpath(path)
    found = {"status": checked.status, "records": checked.records, "intact_records": checked.intact_records}
    last = recall(path)
    is_known = last is not None and not last["changed_since"] and found.items() <= last.items()
    if last is not None and is_known and time.time() - last["time"] < OFTEN_S:
        return
    content = {"path": path, "time": time.time(), "modified": total(path).modified, **found}
    try:
        place = _place(path)
        make_private_dir(place.parent)
        write_atomic(place, json.dumps(content))
    except MswbError:
        pass


def recall(path: str) -> dict[str, Any] | None:
    """The last check of a cache: when, its status, the samples it read, and whether the cache has changed since."""
    path = os.path.realpath(path)
    try:
        with open(_place(path), "rb") as file:
            content = json.loads(file.read(_MAX_BYTES))
        known = {name: content[name] for name in ("time", "status", "records", "intact_records")}
        if content["path"] != path:
            return None
        return {**known, "changed_since": bool(total(path).modified > content["modified"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _place(path: str) -> Path:
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    return load_settings().state_dir / "verified" / f"{digest}.json"
