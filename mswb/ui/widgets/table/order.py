"""Sorting: stable, what is unknown last in both directions, as lists or as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mswb.ui.widgets.table.coded import Rows, is_array
from mswb.ui.widgets.table.units import is_missing


def sorted_rows(keys: Sequence[Any] | Any, rows: Rows, reverse: bool) -> Rows:
    """``rows`` by their key. Rows of equal keys stay in their order, also when reversed.

    Args:
        keys: a key for each data row: numbers, with None or NaN for unknown; an array of integers is known throughout.
    """
    return _sorted_array(keys, rows, reverse) if is_array(keys) else _sorted_list(keys, rows, reverse)


def _sorted_list(keys: Sequence[Any], rows: Rows, reverse: bool) -> list[int]:
    known = [row for row in rows if not is_missing(keys[row])]
    unknown = [row for row in rows if is_missing(keys[row])]
    known.sort(key=keys.__getitem__, reverse=reverse)
    return known + unknown


def _sorted_array(keys: Any, rows: Rows, reverse: bool) -> Any:
    import numpy as np

    every = isinstance(rows, range)
    rows = np.arange(len(rows), dtype=np.int32) if every else np.asarray(rows, np.int32)
    taken = keys if every else keys[rows]
    missing = np.isnan(taken) if taken.dtype.kind == "f" else np.zeros(len(taken), bool)
    known = np.flatnonzero(~missing) if missing.any() else None
    if known is not None:
        taken = taken[known]
    turn = np.argsort(taken[::-1], kind="stable")[::-1] if reverse else np.argsort(taken, kind="stable")
    if reverse:
        turn = len(taken) - 1 - turn
    if known is None:
        return rows[turn]
    return rows[np.concatenate([known[turn], np.flatnonzero(missing)])]
