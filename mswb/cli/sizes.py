"""Sizes as a person reads them."""

from __future__ import annotations

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def human_bytes(count: int) -> str:
    """``1.5 GiB`` for 1610612736."""
    size = float(count)
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes every size")
