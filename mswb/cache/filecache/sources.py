"""Whether the files that a cache was made from are still what they were, and whether its list of them is.

The manifest holds the SHA-256 of the list. So a list that was emptied, deleted or changed is told from a source that
was; and without the list the source as a whole can still be compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from mswb.cache.check import Fault
from mswb.files.safety import printable
from mswb.inside.cached.files import LIST, Files, compare, digest, list_files, parse

_NAMED = 20
_MAX_LIST = 1 << 30


def source_faults(path: str, source: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with the list of a cache's source, or has changed in the source.

    Args:
        source: as the manifest has it; empty where that can't be read.
    """
    where = os.path.join(path, LIST)
    try:
        old, problem = read_list(where), ""
        if not fits(old, source):
            problem = "it is not the list that the manifest has the checksum of"
    except FileNotFoundError:
        if not source.get("files"):
            return
        old, problem = {}, f"it is lost; it named {printable(str(source['files']), 20)} files of the source"
    except OSError as error:
        old, problem = {}, error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        old, problem = {}, printable(str(error), 200)
    if problem:
        yield Fault("corrupted", f"{LIST}: {problem}", 0, file=where, severity="warning")
        yield from _without_list(path, source)
        return
    strict = any(item.sha256 != "-" for entries in old.values() for item in entries.values())
    changes = compare(old, list_files(old, strict, _own(path)))
    if changes:
        named = {"added": changes.added, "removed": changes.removed, "changed": changes.changed}
        counts = {f"{name}_files": len(paths) for name, paths in named.items()}
        first = {name: [printable(one) for one in paths[:_NAMED]] for name, paths in named.items()}
        yield Fault("stale-source", printable(str(changes)), file=path, values={**first, **counts})


def read_list(path: str) -> Files:
    """The files of a ``source.list``.

    Raises:
        OSError: it can't be read, or is no regular file.
        ValueError: it is damaged.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, encoding="ascii") as file:
        return parse(file.read(_MAX_LIST))


def fits(files: Files, source: Mapping[str, Any]) -> bool:
    """Whether a list is the one that a manifest has the checksum of; also where it has none."""
    known = source.get("digest")
    return not isinstance(known, str) or not known or digest(files, bool(source.get("strict"))) == known


def _without_list(path: str, source: Mapping[str, Any]) -> Iterator[Fault]:
    roots = source.get("roots")
    if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots) or not source.get("digest"):
        return
    if not fits(list_files(roots, bool(source.get("strict")), _own(path)), source):
        yield Fault("stale-source", f"which files have changed can't be told without its {LIST}", file=path)


def _own(path: str) -> list[str]:
    """Folders of caches, which are no part of a source."""
    return [os.path.dirname(os.path.dirname(path))]
