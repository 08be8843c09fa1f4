"""Small profile files: JSON of known keys, MindSpore's raw text records, and formats that only their name tells."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mswb.files.items import Guess, Item
from mswb.files.peek import Peek


@dataclass(frozen=True, slots=True)
class _Keys:
    """A JSON file that holds all of ``keys`` in its head."""

    keys: tuple[bytes, ...]
    kind: str
    detail: str


_JSON = (
    _Keys((b'"Communication Time Info"',), "communication", "communication.json"),
    _Keys((b'"Transport Type"', b'"Transit Size(MB)"'), "communication", "communication_matrix.json"),
    _Keys((b'"op_info"', b'"sampling_interval"', b'"cpu_processor_num"'), "dataset-pipeline", "CPU use"),
    _Keys((b'"op_info"', b'"sampling_interval"', b'"op_type"'), "dataset-pipeline", "queues and workers"),
    _Keys((b'"pipeline_ops"', b'"queue_average_size"'), "dataset-pipeline", "summary"),
    _Keys((b'"start_step"', b'"stop_step"', b'"profiler_level"'), "profiler-config", "dynamic profiling"),
    _Keys((b'"profiler_parameters"',), "profiler-config", "profiler_info"),
    _Keys((b'"rank_id"', b'"ms_version"'), "profiler-config", "profiler_info"),
)
_TEXT = (
    (re.compile(rb"[^\n;]+;HostCpuOps;\d+,"), "operators", "start times of operators on CPU"),
    (re.compile(rb"[^\n;]+;[^\n;]+;-?\d+;input_\d+:"), "operators", "input shapes of operators on CPU"),
    (re.compile(rb"==\d+== NVPROF"), "nvprof", "log of nvprof"),
    (re.compile(rb"GetNext_dequeue_wait \d+ \d+ \d+"), "dataset-pipeline", "device queue"),
)
_ITERATOR = re.compile(r"(?:dataset_iterator|device_queue)_profiling_\d+\.txt$")
_FIVE_NUMBERS = re.compile(rb"\d+ \d+ \d+ -?\d+ \d+\r?\n")
_NAMES = {
    ".nsys-rep": ("nsys-report", "nsys export --type sqlite makes it readable here"),
    ".qdrep": ("nsys-report", "nsys export --type sqlite makes it readable here"),
    ".nvvp": ("nvprof", "database of nvprof, not recognised as SQLite"),
}
_OF_RANK = re.compile(r".*_(\d+)\.(?:json|txt|csv)$")


def sniff_json(peek: Peek) -> Guess | None:
    """A JSON file with keys that only one profiler writes."""
    if peek.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"{":
        return None
    start = peek.start()
    for rule in _JSON:
        if all(key in start for key in rule.keys):
            names = ", ".join(key.decode("ascii").strip('"') for key in rule.keys)
            end = peek.tail(16).rstrip()
            status = "" if end.endswith(b"}") else "truncated"
            return Guess(rule.kind, rule.detail, f"JSON with the keys {names}", status)
    return None


def sniff(peek: Peek) -> Guess | None:
    """A raw text record, by the form of its first line."""
    for pattern, kind, detail in _TEXT:
        if pattern.match(peek.head):
            return Guess(kind, detail, "the form of its first line")
    if _ITERATOR.match(peek.name) and _FIVE_NUMBERS.match(peek.head):
        return Guess("dataset-pipeline", "times of the iterator", "its name, and rows of five numbers")
    return None


def by_name(peek: Peek) -> Guess | None:
    """What has no format that is published: the name is all there is."""
    known = _NAMES.get(os.path.splitext(peek.lower)[1])
    return Guess(known[0], known[1], "its name") if known is not None else None


def join_pipelines(items: Sequence[Item]) -> list[Item]:
    """The dataset pipeline files of one rank in one folder as one entry."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        match = _OF_RANK.match(os.path.basename(item.path)) if item.kind == "dataset-pipeline" else None
        if match is not None:
            groups.setdefault(match.group(1), []).append(item)
    taken = {id(item) for group in groups.values() for item in group}
    rest = [item for item in items if id(item) not in taken]
    return rest + [_pipeline(rank, group) for rank, group in sorted(groups.items(), key=lambda pair: int(pair[0]))]


def _pipeline(rank: str, group: Sequence[Item]) -> Item:
    if len(group) == 1:
        return group[0]
    first = min(group, key=lambda item: item.path)
    return Item(
        "dataset-pipeline",
        first.path,
        sum(item.size_bytes for item in group),
        sum(item.disk_bytes for item in group),
        max(item.modified for item in group),
        f"rank {rank}: {', '.join(sorted({item.detail for item in group}))}",
        next((item.status for item in group if item.status), ""),
        first.reason,
        len(group),
        tuple(sorted(os.path.basename(item.path) for item in group if item is not first)),
    )
