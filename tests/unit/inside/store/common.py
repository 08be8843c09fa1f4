"""Small caches for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mswb.inside.store import Column, Manifest, StoreWriter, write_manifest

KEY = "c4" * 32
FIXED = (Column("x", "<f4", (3, 5)), Column("y", "<i8", ()))
VARYING = (Column("raw", "bytes", None), Column("text", "str", None), Column("x", "|u1", None))


def fixed(sample_id: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What a sample of FIXED holds."""
    return np.full((3, 5), sample_id, dtype="<f4"), np.array(sample_id)


def make(folder: Path, count: int = 20, *, seal: bool = True, per_shard: int = 8, named: bool = True) -> str:
    """A cache of FIXED with so many samples in shards of ``per_shard``."""
    path = folder / "images" / KEY[:16]
    with StoreWriter(str(path), FIXED, KEY, sync_records=per_shard, shard_bytes=4096 + 192 * per_shard) as writer:
        for sample_id in range(count):
            writer.append(sample_id, fixed(sample_id))
        if seal:
            writer.seal()
    if named:
        write_manifest(str(path), Manifest("images", KEY, schema=FIXED, num_samples=count if seal else None))
    return str(path)


def same(got: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether the values of two samples are equal, with their dtypes and shapes."""
    return len(got) == len(wanted) and all(_same(*pair) for pair in zip(got, wanted, strict=True))


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, np.ndarray):
        alike = got.dtype == wanted.dtype and got.shape == wanted.shape
        return bool(alike and got.tobytes() == wanted.tobytes())
    return type(got) is type(wanted) and bool(got == wanted)
