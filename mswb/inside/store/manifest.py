"""``manifest.json``: what a cache is, for whom it was made, and who has written it."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from .columns import Column, columns_from_json, columns_to_json
from .layout import VERSION, InvalidCacheFile
from .writer import sync_folder

NAME = "manifest.json"
FORMAT = "MSWC"
MAX_BYTES = 64 << 20
"""A manifest may list a large source; more than this is not read."""


@dataclass(frozen=True)
class Manifest:
    """The manifest of one cache.

    Attributes:
        name: what its user called it. key: 64 hex digits; the folder has the first 16.
        key_parts: what the key was made of, part by part, so that a change can be named.
        schema: the columns.
        num_samples: how many the source has; None where that was never known.
        source: what it was made from (the writer's own form).
        created: seconds since the epoch.
        versions: of Python, numpy, MindSpore ... when it was created.
        writers: one entry for each process that has written (host, pid, begun, ended, records ...), oldest first.
    """

    name: str
    key: str
    key_parts: Dict[str, Any] = field(default_factory=dict)
    schema: Tuple[Column, ...] = ()
    num_samples: Optional[int] = None
    source: Dict[str, Any] = field(default_factory=dict)
    created: float = 0.0
    versions: Dict[str, str] = field(default_factory=dict)
    writers: List[Dict[str, Any]] = field(default_factory=list)
    version: int = VERSION


_TYPES: Dict[str, Any] = {
    "name": str,
    "key": str,
    "key_parts": dict,
    "num_samples": (int, type(None)),
    "source": dict,
    "created": (int, float),
    "versions": dict,
    "writers": list,
}


def manifest_path(folder: str) -> str:
    """Where the manifest of a cache folder lies."""
    return os.path.join(folder, NAME)


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Replace the manifest wholly or not at all: temporary file, fsync, rename, fsync of the folder.

    Raises:
        OSError: it can't be written; the old one is untouched.
    """
    content = dict(asdict(manifest), format=FORMAT, schema=columns_to_json(manifest.schema))
    write_json(manifest_path(folder), dict(content, crc32=_crc(content)))


def _crc(content: Dict[str, Any]) -> int:
    """The CRC-32 of what a manifest says, however it is set."""
    return zlib.crc32(json.dumps(content, sort_keys=True).encode("ascii"))


def write_json(path: str, content: Any) -> None:
    """Replace a JSON file in the same way (``stats.json`` too).

    Raises:
        OSError: it can't be written; the old one is untouched.
    """
    folder = os.path.dirname(path)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".%s." % os.path.basename(path), suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(content, file, indent=1, sort_keys=True)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(folder)


def read_manifest(folder: str) -> Manifest:
    """The manifest of a cache folder.

    Raises:
        InvalidCacheFile: it is damaged, or of another version.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    path = manifest_path(folder)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidCacheFile(path, 0, "it is no manifest of a file cache")
    if content.get("version") != VERSION:
        reason = "it is of format version %.20r, and this reads version %d" % (content.get("version"), VERSION)
        raise InvalidCacheFile(path, 0, reason, "version-mismatch")
    if content.pop("crc32", None) != _crc(content):
        raise InvalidCacheFile(path, 0, "it was changed after it was written: its CRC is wrong")
    for name, kinds in _TYPES.items():
        if not isinstance(content.get(name), kinds):
            raise InvalidCacheFile(path, 0, "its field %r is missing or of another type" % name)
    try:
        schema = columns_from_json(content["schema"]) if content.get("schema") else ()
    except ValueError as problem:
        raise InvalidCacheFile(path, 0, "its schema can't be read: %s" % problem) from None
    return Manifest(schema=schema, **{name: content[name] for name in _TYPES})


def read_json(path: str) -> Any:
    """The content of a JSON file of a cache.

    Raises:
        InvalidCacheFile: it is no JSON, or too large; names the byte.
        OSError: it can't be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidCacheFile(path, MAX_BYTES, "it is longer than %d bytes" % MAX_BYTES)
    try:
        return json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as problem:
        raise InvalidCacheFile(path, problem.pos, "it is no JSON: %s" % problem.msg) from None
    except UnicodeDecodeError as problem:
        raise InvalidCacheFile(path, problem.start, "it is no UTF-8 text") from None
    except (RecursionError, ValueError) as problem:
        raise InvalidCacheFile(path, 0, "it is no JSON: %s" % problem) from None
