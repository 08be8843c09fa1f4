"""SQLite exports of profilers, told by the tables they create. Read as bytes: no database is opened."""

from __future__ import annotations

from dataclasses import dataclass

from mswb.files.items import Guess
from mswb.files.peek import Peek

MAGIC = b"SQLite format 3\0"
_LEAF, _INTERIOR = 0x0D, 0x05
_PAGES = 12
"""Pages of the schema that are looked at."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """All of ``tables`` must be created by the file."""

    tables: tuple[bytes, ...]
    kind: str
    detail: str


_RULES = (
    _Rule((b"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", b"StringTable"), "nvprof", "nvprof database"),
    _Rule((b"CUPTI_ACTIVITY_KIND_KERNEL", b"StringIds"), "nsys", "with GPU kernels"),
    _Rule((b"TARGET_INFO_SESSION_START_TIME", b"StringIds"), "nsys", "without GPU kernels"),
    _Rule((b"STRING_IDS", b"COMPUTE_TASK_INFO"), "ascend-db", "operators and tasks"),
    _Rule((b"STRING_IDS", b"CANN_API"), "ascend-db", "host calls"),
    _Rule((b"STRING_IDS", b"PYTORCH_API"), "ascend-db", "framework calls"),
    _Rule((b"CommAnalyzerBandwidth",), "ascend-db", "communication analysis"),
    _Rule((b"ClusterTimeSummary",), "ascend-db", "cluster analysis"),
    _Rule((b"ClusterStepTraceTime",), "ascend-db", "cluster analysis"),
)


def sniff(peek: Peek) -> Guess | None:
    """A profiler's database, or None for anybody else's."""
    if not peek.head.startswith(MAGIC):
        return None
    schema = _schema(peek)
    for rule in _RULES:
        if all(table in schema for table in rule.tables):
            names = ", ".join(table.decode("ascii") for table in rule.tables)
            return Guess(rule.kind, rule.detail, f"an SQLite file that creates {names}", _cut(peek))
    return None


def _cut(peek: Peek) -> str:
    pages = int.from_bytes(peek.head[28:32], "big")
    return "truncated" if pages * _page_size(peek) > peek.size else ""


def _page_size(peek: Peek) -> int:
    size = int.from_bytes(peek.head[16:18], "big")
    return 65536 if size == 1 else size


def _schema(peek: Peek) -> bytes:
    """The raw pages of the schema's b-tree (sqlite.org/fileformat2.html, section 1.6), as far as the budget reaches."""
    size = _page_size(peek)
    if size < 512 or size & (size - 1):
        return b""
    first = peek.at(0, size)
    pages = [first]
    if first[100:101] == bytes([_INTERIOR]):
        pages += [peek.at((number - 1) * size, size) for number in _children(first)[:_PAGES]]
    return b"".join(pages)


def _children(page: bytes) -> list[int]:
    """The pages below an interior page of the schema: one in front of each cell, and the right-most one."""
    count = int.from_bytes(page[103:105], "big")
    starts = [int.from_bytes(page[112 + 2 * index : 114 + 2 * index], "big") for index in range(min(count, 500))]
    numbers = [int.from_bytes(page[start : start + 4], "big") for start in starts]
    numbers.append(int.from_bytes(page[108:112], "big"))
    return [number for number in numbers if number > 1]
