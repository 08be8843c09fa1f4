"""What a training is told of its caches: one line on standard error each."""

from __future__ import annotations

import sys
from typing import Set

_said: Set[str] = set()


def say(text: str) -> None:
    """Write a line, once for each text in this process; control characters are escaped."""
    if text not in _said:
        _said.add(text)
        safe = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
        print(f"mswb cache: {safe}", file=sys.stderr, flush=True)
