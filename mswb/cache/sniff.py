"""What a file or folder is to the Cache pane, by content; the kinds and their names.

A name decides only where content can't: an empty file, a pointer of git-lfs, or damage to the very bytes that tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mswb.cache import checkpoints, leftovers
from mswb.cache.compile import sniff as compiled
from mswb.cache.data import arrays
from mswb.cache.data.mindrecord import sniff as mindrecord
from mswb.cache.data.tfrecord import sniff as tfrecord
from mswb.cache.filecache import folders as filecache
from mswb.files.items import FileFacts, Guess, Item
from mswb.files.peek import Peek, compression, unpacked

KINDS: Mapping[str, str] = {
    "file-cache": "File cache",
    "tfrecord": "TFRecord",
    "mindrecord": "MindRecord",
    "mindrecord-index": "MindRecord index",
    "npy": "NumPy array",
    "npz": "NumPy archive",
    "csv": "CSV table",
    "arrow": "Arrow file",
    "parquet": "Parquet file",
    "hdf5": "HDF5 file",
    "lmdb": "LMDB store",
    "event-file": "Summary events",
    "checkpoint": "Checkpoint",
    "safetensors": "safetensors",
    "torch": "PyTorch weights",
    "pickle": "Pickle",
    "compile-cache": "Compile cache",
    "compile-graph": "Compiled graph",
    "compile-hash": "Compile hash",
    "kernel-cache": "Kernel cache",
    "tuning-base": "Tuning results",
    "memory-plan": "Memory plans",
    "dump": "Compiler dump",
    "plain-copy": "Decrypted copies",
    "cache-spill": "Server spill",
    "cache-server": "Cache server",
    "dataset-cache": "Server socket",
    "download": "Downloads",
    "package-cache": "Cache of a package",
    "shared-memory": "Shared memory",
    "log-archive": "CANN logs",
    "fusion-result": "Fusion results",
}
"""Every kind, with the words that a person reads."""

_SNIFFERS: tuple[Callable[[Peek], Guess | None], ...] = (
    compiled.sniff,
    mindrecord.sniff,
    mindrecord.sniff_index,
    checkpoints.safetensors,
    checkpoints.checkpoint,
    arrays.npy,
    arrays.archive,
    arrays.columnar,
    checkpoints.pickled,
    arrays.csv,
    tfrecord.sniff,
)
_BY_NAME = {
    ".tfrecord": ("tfrecord", "not-a-record-file"),
    ".tfrecords": ("tfrecord", "not-a-record-file"),
    ".mindrecord": ("mindrecord", "not-a-record-file"),
    ".npy": ("npy", "not-recognised"),
    ".npz": ("npz", "not-recognised"),
    ".ckpt": ("checkpoint", "not-recognised"),
    ".safetensors": ("safetensors", "not-recognised"),
    ".parquet": ("parquet", "not-recognised"),
    ".arrow": ("arrow", "not-recognised"),
}
_LFS = b"version https://git-lfs.github.com/spec/"
_ALIKE = ("npy", "npz", "csv", "pickle")
_MANY = 50
"""So many files of one such kind in a folder are one entry: they are the samples of one data set."""


def sniff_file(peek: Peek) -> Guess | None:
    """What a file is, or None when it is nothing that the Cache pane lists."""
    guess = _first(peek)
    if guess is not None:
        return guess
    packed = compression(peek)
    inner = unpacked(peek) if packed else None
    guess = _first(inner) if inner is not None else None
    if guess is not None:
        return replace(
            guess, detail=f"{guess.detail}, {packed}", reason=f"{packed} of: {guess.reason}", status="compressed"
        )
    return _by_name(peek)


def sniff_folder(path: str, names: Sequence[str]) -> Guess | None:
    """What a folder is as a whole: a file cache, or by its name and the names in it (:mod:`mswb.cache.leftovers`)."""
    return filecache.sniff_folder(path, names) or leftovers.sniff_folder(path, names)


def join(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """The entries of one folder, with files that belong together made one. ``files`` holds all its regular files."""
    joined = compiled.join(mindrecord.join(items, files))
    return _with_locks(_collected(joined), files)


def _first(peek: Peek) -> Guess | None:
    return next((guess for guess in (sniffer(peek) for sniffer in _SNIFFERS) if guess is not None), None)


def _by_name(peek: Peek) -> Guess | None:
    """A file that is called a data file but doesn't look like it: the name is why it is listed at all."""
    ending = ".mindrecord" if mindrecord.NAMED.search(peek.lower) else os.path.splitext(peek.lower)[1]
    expected = _BY_NAME.get(ending)
    if expected is None:
        return _other(peek)
    kind, status = expected
    reason = f"its name; the content is no {KINDS[kind]}"
    if not peek.size:
        return Guess(kind, "0 bytes", "its name", "empty")
    if peek.head.startswith(_LFS):
        return Guess(
            kind, "a pointer: the file itself was not fetched (git lfs pull)", "its name, git-lfs text", "lfs-pointer"
        )
    return Guess(kind, f"called {KINDS[kind]}, but not one", reason, status)


def _other(peek: Peek) -> Guess | None:
    if peek.name == "fusion_result.json" and peek.head.lstrip()[:1] in (b"{", b"["):
        return Guess("fusion-result", "operator fusion of CANN", "its name, and JSON")
    if peek.name == "analyze_fail.ir":
        return Guess("dump", "the graph of a compile that failed", "its name")
    return None


def _collected(items: Sequence[Item]) -> list[Item]:
    """Fifty arrays of one folder are one data set, not fifty entries. Damaged ones stay visible."""
    result = list(items)
    for kind in _ALIKE:
        same = [item for item in result if item.kind == kind and not item.status]
        if len(same) >= _MANY:
            taken = set(map(id, same))
            result = [item for item in result if id(item) not in taken]
            result.append(_many(same))
    return result


def _many(same: Sequence[Item]) -> Item:
    first = min(same, key=lambda item: item.path)
    return Item(
        first.kind,
        os.path.dirname(first.path),
        sum(item.size_bytes for item in same),
        sum(item.disk_bytes for item in same),
        max(item.modified for item in same),
        f"{len(same)} files, such as {os.path.basename(first.path)}: {first.detail}",
        "",
        first.reason,
        len(same),
    )


def _with_locks(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """An LMDB store is a folder: data.mdb with lock.mdb."""
    result = []
    for item in items:
        lock = files.get(os.path.join(os.path.dirname(item.path), "lock.mdb")) if item.kind == "lmdb" else None
        if lock is not None:
            item = replace(
                item,
                size_bytes=item.size_bytes + lock.size_bytes,
                disk_bytes=item.disk_bytes + lock.disk_bytes,
                files=2,
            )
        result.append(item)
    return result
