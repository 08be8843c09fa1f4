"""Sizes as a person reads them, and amounts as one types them."""

from __future__ import annotations

import math
from typing import Any

import click

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def human_bytes(count: int) -> str:
    """``1.5 GiB`` for 1610612736."""
    size = float(count)
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes every size")


class Amount(click.FloatRange):
    """A finite number from 0 on. Nothing is larger than ``nan``, so that it would select all, or nothing."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises:
            click.BadParameter: it is negative, infinite or no number.
        """
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no amount.", param, ctx)
        return found
