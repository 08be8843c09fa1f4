"""Which kind of profile a file or folder is, by its first bytes, its keys or its columns; the name only helps.

The families: MindSpore and Ascend folders, Chrome traces, CANN's tables, the raw files of MindSpore's CPU profiler and
dataset pipeline, the older GPU files, SQLite exports (nsys, nvprof, Ascend), Perfetto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mswb.files.items import FileFacts, Guess, Item
from mswb.files.peek import Peek, compression, unpacked
from mswb.profile.readers import folders, sqlite, tables, texts, traces

KINDS: Mapping[str, str] = {
    "mindspore-profile": "MindSpore profile",
    "torch-npu-profile": "torch_npu profile",
    "cann-profile": "CANN profile",
    "framework-raw": "Operator records",
    "profiler-output": "Profiler output",
    "chrome-trace": "Chrome trace",
    "kineto-trace": "Kineto trace",
    "ascend-trace": "Ascend trace",
    "mindspore-trace": "CPU trace",
    "perfetto-trace": "Perfetto trace",
    "nsys": "nsys export",
    "nsys-report": "nsys report",
    "nvprof": "nvprof output",
    "ascend-db": "Ascend database",
    "operators": "Operator table",
    "steps": "Step times",
    "communication": "Communication",
    "memory": "Memory records",
    "api-statistics": "API statistics",
    "hardware": "Hardware counters",
    "dataset-pipeline": "Dataset pipeline",
    "profiler-config": "Profiler settings",
}
"""Every kind, with the words that a person reads."""

_SNIFFERS: tuple[Callable[[Peek], Guess | None], ...] = (
    sqlite.sniff,
    traces.perfetto,
    traces.chrome,
    texts.sniff_json,
    tables.sniff,
    texts.sniff,
)


def sniff_file(peek: Peek) -> Guess | None:
    """What profile data a file holds, or None."""
    packed = compression(peek)
    inner = unpacked(peek) if packed else None
    if inner is None:
        return _first(peek) or texts.by_name(peek)
    guess = _first(inner)
    return replace(guess, detail=f"{guess.detail}, {packed}", reason=f"{packed} of: {guess.reason}") if guess else None


def sniff_folder(path: str, names: Sequence[str]) -> Guess | None:
    """What a folder is as a whole, by the names in it and its own."""
    return folders.sniff(path, names)


def join(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """The three files of one rank's dataset pipeline are one entry; everything else stands alone."""
    return texts.join_pipelines(items)


def _first(peek: Peek) -> Guess | None:
    return next((guess for guess in (sniffer(peek) for sniffer in _SNIFFERS) if guess is not None), None)
