"""The operators of ONNX, one family a file: each builds its operators from those of MindSpore (``TO_MINDIR``)."""

from __future__ import annotations

import sys
from functools import lru_cache

from mswb.convert.tables import Table, gather


@lru_cache(maxsize=1)
def table() -> Table:
    """ONNX operator, with its domain unless that is ONNX's own → the function that builds it."""
    return gather(sys.modules[__name__], "TO_MINDIR")
