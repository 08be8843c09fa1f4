"""Our own merged log taken apart: each line of ``msrun_*.log`` says before it whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mswb.launch.lines import Line, cut_lines
from mswb.launch.logs import Block, BlockReader

_PREFIX = re.compile(rb"\[(worker|scheduler|launcher)(?:_(\d{1,7}))?\] ")


class Owner(NamedTuple):
    """Who printed a line: "worker", "scheduler", "launcher" or, without a prefix, "unknown"."""

    role: str
    rank: int | None


def split_mixed(lines: Iterable[bytes]) -> Iterator[tuple[Owner, Line]]:
    """Each line with its owner and without the prefix; numbers and offsets are those of the merged log."""
    offset = 0
    for number, raw in enumerate(lines, start=1):
        match = _PREFIX.match(raw)
        begin = match.end() if match is not None else 0
        owner = _owner(match) if match is not None else Owner("unknown", None)
        for line in cut_lines([raw[begin:]], number, offset + begin):
            yield owner, line
        offset += len(raw)


def mixed_blocks(lines: Iterable[bytes]) -> Iterator[tuple[Owner, Block]]:
    """The blocks of each owner as if its lines stood alone; in the order in which they are complete."""
    readers: dict[Owner, BlockReader] = {}
    for owner, line in split_mixed(lines):
        reader = readers.setdefault(owner, BlockReader())
        yield from ((owner, block) for block in reader.feed(line))
    for owner, reader in readers.items():
        yield from ((owner, block) for block in reader.finish())


def _owner(match: re.Match[bytes]) -> Owner:
    return Owner(match.group(1).decode("ascii"), int(match.group(2)) if match.group(2) is not None else None)
