"""The operators of MindSpore, one family a file. Each family has two tables by the name of the primitive:

- ``TO_ONNX``: builds it from operators of ONNX;
- ``EVALUATE``: its result in numpy, with all fractions in double precision.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from mswb.convert.tables import Table
from mswb.convert.tables import gather as _gather  # a family is called gather, too


@lru_cache(maxsize=2)
def table(name: str) -> Table:
    """All entries of one table, ``TO_ONNX`` or ``EVALUATE``."""
    return _gather(sys.modules[__name__], name)
