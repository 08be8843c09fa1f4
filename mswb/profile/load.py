"""From a path to the timeline of a profile: a trace, the raw records of the CPU profiler, or a folder with either."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from mswb.files.peek import open_peek
from mswb.findings import Where, stop
from mswb.profile import framework
from mswb.profile.chrome.read import read as read_chrome
from mswb.profile.packed import Unpacked
from mswb.profile.readers import detect
from mswb.profile.timeline import Timeline

CHROME = ("chrome-trace", "kineto-trace", "ascend-trace", "mindspore-trace")
_INSIDE = ("ASCEND_PROFILER_OUTPUT/trace_view.json", "trace_view.json")
_RANK = re.compile(r"(?:^|[._-])rank[_-]?(\d{1,6})(?:[._-]|$)", re.I)
_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile that was read: where it lies, what it is, its rank where that is known."""

    path: str
    kind: str
    timeline: Timeline
    rank: int | None = None


def load(path: str, cancelled: Callable[[], bool] = lambda: False) -> Profile:
    """Read the profile that a file or folder is.

    Raises:
        MswbError: ``path-missing``; ``unsupported-profile``: it is none, or of a kind that is not read yet.
    """
    if not os.path.lexists(path):
        raise stop("path-missing", values={"path": path})
    file = _in_folder(path) if os.path.isdir(path) else path
    if file is None:
        raise _unsupported(path, "no trace and no operator records lie in it")
    if framework.NAME.search(os.path.basename(file)):
        timeline = framework.read(file, cancelled)
        return Profile(file, "framework-raw", timeline, _track_rank(timeline))
    with open_peek(os.path.realpath(file)) as peek:
        guess = detect.sniff_file(peek)
    if guess is None:
        raise _unsupported(file, "its content is that of no known profile")
    if guess.kind not in CHROME:
        raise _unsupported(
            file, f"{detect.KINDS[guess.kind]}: this version reads Chrome traces and CPU operator records"
        )
    with _opened(file) as stream:
        timeline, head, tail = read_chrome(stream, cancelled)
    rank = _header_rank(head, tail)
    rank = _name_rank(file) if rank is None else rank
    tracks = tuple(replace(track, rank=rank) for track in timeline.tracks)
    return Profile(file, guess.kind, replace(timeline, tracks=tracks), rank)


def _in_folder(path: str) -> str | None:
    """The file to read of a profile folder: the analysed trace, else the raw records."""
    for name in _INSIDE:
        candidate = os.path.join(path, name)
        if os.path.isfile(candidate):
            return candidate
    for folder in (os.path.join(path, "FRAMEWORK"), path):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        found = next((name for name in names if framework.NAME.match(name)), None)
        if found is not None:
            return os.path.join(folder, found)
    return None


def _opened(path: str) -> BinaryIO:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    stream = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    return cast(BinaryIO, Unpacked(stream)) if packed else stream


def _header_rank(head: bytes, tail: bytes) -> int | None:
    """``distributedInfo.rank`` of what stands around the events."""
    for text in (head[:_HEAD], tail[:_HEAD]):
        match = re.search(rb'"distributedInfo"\s*:\s*(\{[^{}]*\})', text)
        try:
            rank = json.loads(match.group(1)).get("rank") if match is not None else None
        except ValueError:
            rank = None
        if isinstance(rank, int) and not isinstance(rank, bool):
            return rank
    return None


def _name_rank(path: str) -> int | None:
    """The rank in the name of the file or of a folder around it."""
    for part in reversed(os.path.abspath(path).split(os.sep)[-4:]):
        match = _RANK.search(part)
        if match is not None:
            return int(match.group(1))
    return None


def _track_rank(timeline: Timeline) -> int | None:
    return next((track.rank for track in timeline.tracks), None)


def _unsupported(path: str, reason: str) -> Exception:
    return stop("unsupported-profile", where=Where(file=path), values={"path": path, "reason": reason})
