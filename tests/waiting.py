"""Waiting for a condition with a deadline; the only way tests wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float = 20.0, step: float = 0.01) -> T:
    """The first true result of ``condition``.

    Raises:
        AssertionError: it stayed false for ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"still {result!r} after {timeout} s")
        pause.wait(step)
