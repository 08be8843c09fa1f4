"""The files and folders that a source reads, found by the texts that it and its code hold."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tempfile
from typing import Any, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

MAX_TEXTS = 4_000_000
_SAYS_PATH = re.compile(r"(?i)(dir|path|file|root|folder|data)")
_MINDRECORD = re.compile(r"\d*$")
_PATTERN = re.compile(r"[*?\[%{]")
"""What begins the part of a path that is filled in later: "/data/*.npy", "/data/%d.npy", "/data/{}.npy"."""
_OF_THE_KERNEL = ("/proc/", "/sys/")
_MAX_LINE = 1 << 20


class Found(NamedTuple):
    """Paths that exist, and folders that were left out since they hold the training itself and not its data alone."""

    paths: List[str]
    left_out: List[str]


def paths_in(attributes: Mapping[str, Any], known: Sequence[str] = ()) -> List[str]:
    """The paths among the texts that a source keeps in its attributes: those that exist.

    Names in a list lie below the folders that other attributes name (``root`` and ``names``), and so they are covered.
    """
    return _existing(_texts(attributes.items()), known, frozenset()).paths


def paths_among(texts: Iterable[Tuple[str, Any]], known: Sequence[str] = ()) -> Found:
    """The paths among the texts that a source and its code use: nested attributes, globals, closures, constants.

    Args:
        texts: each with the name of what holds it.
        known: paths that were found already.
    """
    return _existing(_texts(texts), known, frozenset(_places_of_this_process()))


def _existing(texts: Iterable[Tuple[str, str]], known: Sequence[str], not_these: "frozenset[str]") -> Found:
    found, left_out = list(known), []
    here = set(os.listdir())
    seen: Set[str] = set()
    folders = [path.rstrip(os.sep) + os.sep for path in known if os.path.isdir(path)]
    for name, text in texts:
        if text in seen or not _can_be_path(name, text, here):
            continue
        seen.add(text)
        for path in (text, _folder_of_pattern(text)):
            if os.pardir in path.split(os.sep):
                path = os.path.realpath(path)  # "root/../labels" lies not in root
            if any(path.startswith(folder) for folder in folders):
                break
            mode = _mode_of(path)
            if stat.S_ISDIR(mode):
                if os.path.realpath(path) in not_these:
                    left_out.append(path)
                    break
                folders.append(path.rstrip(os.sep) + os.sep)
            elif not stat.S_ISREG(mode):
                continue
            found.append(path)
            found += _parts_of_mindrecord(path)
            break
    return Found(found, left_out)


def _mode_of(path: str) -> int:
    try:
        return os.stat(path).st_mode if path else 0
    except OSError:
        return 0


def _folder_of_pattern(text: str) -> str:
    """The folder whose files a pattern names; an empty text where it is none."""
    head = _PATTERN.split(text, maxsplit=1)[0]
    return head.rpartition(os.sep)[0] if head != text else ""


def _can_be_path(name: str, text: str, here: Set[str]) -> bool:
    """Whether a text is worth a look at the disk.

    Args:
        here: names in the working folder: one of them begins every relative path.
    """
    if not text or len(text) > 4096 or "\0" in text or "\n" in text or text.startswith(_OF_THE_KERNEL):
        return False
    if text in (".", "..", "/"):
        # More often a separator than a folder.
        return _SAYS_PATH.search(name) is not None
    first = text.partition(os.sep)[0]
    return not first or first in here or first in (os.curdir, os.pardir)


def _texts(named: Iterable[Tuple[str, Any]]) -> Iterator[Tuple[str, str]]:
    """All texts and paths in some values, those of shallow ones first; at most :data:`MAX_TEXTS`."""
    left = MAX_TEXTS
    stack: List[Tuple[str, Any, int]] = [(name, value, 0) for name, value in reversed(list(named))]
    while stack and left:
        name, value, depth = stack.pop()
        left -= 1
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, os.PathLike):
            text = os.fspath(value)
            if isinstance(text, str):
                yield name, text
        elif depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
            stack += [(name, item, depth + 1) for item in value]
        elif depth < 4 and isinstance(value, dict):
            stack += [(name, item, depth + 1) for pair in value.items() for item in pair]


def _places_of_this_process() -> Iterator[str]:
    """Folders in which the training, its user or Python itself is at home, and all above them.

    What a function names by a global is listed with all that lies below, so these are no sources.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    for place in (
        os.getcwd(),
        os.path.expanduser("~"),
        tempfile.gettempdir(),
        sys.prefix,
        main and os.path.dirname(main),
    ):
        path = os.path.realpath(place) if place is not None else ""
        while path:
            yield path
            above = os.path.dirname(path)
            path = above if above != path else ""


def _parts_of_mindrecord(path: str) -> List[str]:
    """The index and the other parts of a MindRecord set, of which one file is named."""
    if not os.path.isfile(path + ".db"):
        return []
    folder, name = os.path.split(os.path.abspath(path))
    stem = _MINDRECORD.sub("", name)
    rest = re.compile(re.escape(stem) + r"\d*(\.db)?$")
    return [os.path.join(folder, other) for other in os.listdir(folder) if rest.match(other)]


def images_of_manifest(path: str) -> List[str]:
    """The files that a manifest of MindSpore's ManifestDataset names: one JSON object a line, with ``source``."""
    found: List[str] = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in iter(lambda: file.readline(_MAX_LINE), ""):
                source = _source_in(line)
                if source is not None and os.path.isfile(source):
                    found.append(source)
    except OSError:
        return []
    return found


def _source_in(line: str) -> Optional[str]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    source = content.get("source") if isinstance(content, dict) else None
    return source if isinstance(source, str) and "\0" not in source else None


def is_plain(source: Any, depth: int = 0) -> bool:
    """Whether a source has its data in memory: it is or holds arrays, lists or dictionaries."""
    if isinstance(source, (list, tuple, dict, range)) or hasattr(source, "__array__"):
        return bool(depth == 0 or not hasattr(source, "__len__") or len(source))
    held = getattr(source, "__dict__", {}) if not callable(source) and depth < 4 else {}
    return any(is_plain(value, depth + 1) for value in held.values())
