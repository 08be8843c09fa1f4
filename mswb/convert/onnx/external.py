"""Where the external data of an ONNX tensor lie: only ever in a regular file in the folder of the model."""

from __future__ import annotations

import os
from typing import Any

from mswb.convert.facts import plain
from mswb.findings import MswbError, Where, stop


def place(model: str, tensor: Any, wanted: int) -> tuple[str, int]:
    """The file and the byte at which a tensor's data start; ``wanted`` are its bytes.

    Raises:
        MswbError: ``external-data-escape``, ``external-data-missing`` or ``weight-short``.
    """
    entries = {entry.key: entry.value or "" for entry in tensor.external_data}
    location, name = plain(entries.get("location", "")), plain(tensor.name or "")
    folder = os.path.dirname(os.path.abspath(model))
    path = os.path.join(folder, location)
    where = Where(node=name, file=model, offset=tensor.at.start)
    inside = os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
    if os.path.isabs(location) or not inside or ".." in location.split("/"):
        raise stop("external-data-escape", where=where, values=_told(name, path, "it may only lie below that folder"))
    if not os.path.isfile(path):
        raise stop("external-data-missing", where=where, values=_told(name, path, f"there is no file {location}"))
    start = _number(entries.get("offset"), where, name)
    length = _number(entries.get("length"), where, name) or os.path.getsize(path) - start
    if length < wanted or os.path.getsize(path) < start + wanted:
        raise _short(where, name, tensor, wanted, max(0, min(length, os.path.getsize(path) - start)), location)
    return path, start


def _told(name: str, file: str, reason: str) -> dict[str, str]:
    return {"kind": "weight", "name": name, "file": file, "reason": reason}


def _number(text: str | None, where: Where, name: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        values = {"reason": f"the place of the external data of {name} is no number: {plain(text)[:40]}"}
        raise stop("not-a-model", where=where, values=values)
    return int(text)


def _short(where: Where, name: str, tensor: Any, wanted: int, found: int, location: str) -> MswbError:
    values = {
        "kind": "weight",
        "name": name,
        "dtype": str(tensor.data_type),
        "shape": str(list(tensor.dims)),
        "bytes_wanted": wanted,
        "bytes_found": found,
        "held_in": location,
    }
    return stop("weight-short", where=where, values=values)
