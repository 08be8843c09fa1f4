"""From the workers of a pipeline to the process that writes the cache: samples through a pipe, as plain bytes."""

from __future__ import annotations

import json
import multiprocessing
import threading
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from .rows import Row


class Handover:
    """A pipe that forked workers write into and a thread of the writing process reads.

    Args:
        take: called with number and row of each sample that comes, in the writing process.
    """

    def __init__(self, take: Callable[[int, Row], object]) -> None:
        context = multiprocessing.get_context("fork")
        self._reading, self._writing = context.Pipe(duplex=False)
        self._turn = context.Lock()
        self._take = take
        self._thread = threading.Thread(target=self._receive, name="mswb-handover", daemon=True)
        self._thread.start()

    def give(self, number: int, row: Row) -> bool:
        """In a worker: hand one sample over; False when nobody takes it any more."""
        try:
            with self._turn:
                self._writing.send_bytes(pack(number, row))
        except (OSError, ValueError):
            return False
        return True

    def _receive(self) -> None:
        while True:
            try:
                number, row = unpack(self._reading.recv_bytes())
                self._take(number, row)
            except (EOFError, OSError):
                return


def pack(number: int, row: Row) -> bytes:
    """One sample as bytes: the length of a JSON head (4 bytes), the head, the arrays one after the other."""
    head: Dict[str, Any] = {"id": number, "arrays": [[array.dtype.str, list(array.shape)] for array in row]}
    text = json.dumps(head).encode("ascii")
    pieces: List[bytes] = [len(text).to_bytes(4, "little"), text]
    return b"".join(pieces + [np.ascontiguousarray(array).tobytes() for array in row])


def unpack(data: bytes) -> Tuple[int, Row]:
    """The sample again, its arrays as views."""
    start = 4 + int.from_bytes(data[:4], "little")
    head = json.loads(data[4:start])
    row = []
    for dtype, shape in head["arrays"]:
        array: "np.ndarray[Any, Any]" = np.ndarray(shape, dtype, data, start)
        start += array.nbytes
        row.append(array)
    return int(head["id"]), tuple(row)
