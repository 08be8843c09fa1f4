"""What a benchmark module needs: a registry, rows with a bar, and small measuring helpers.

A module ``bench_NAME.py`` holds functions marked with :func:`bench`; each takes a :class:`Context` and yields rows.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Context:
    """Where a benchmark works. ``cache`` outlives the run (peers' environments); ``quick`` asks for small sizes."""

    temp: Path
    cache: Path
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One measured thing.

    Args:
        what: what was measured, the unit included.
        ours: our figure.
        limit: the bar: for ours / ``peer_value`` when ``relative``, else for ours itself.
        peer: the peer's name; with ``peer_value`` None it is missing.
        relative: judge the ratio to the peer. Without, a peer is only shown.
    """

    what: str
    ours: float
    limit: float
    peer: str = ""
    peer_value: float | None = None
    relative: bool = False

    @property
    def ratio(self) -> float | None:
        return None if not self.peer_value else self.ours / self.peer_value

    @property
    def ok(self) -> bool | None:
        """Whether the bar holds; None when it can't be told, because the peer is missing."""
        if not self.relative:
            return self.ours <= self.limit
        return None if self.ratio is None else self.ratio <= self.limit


Bench = Callable[[Context], Iterable[Row]]
REGISTRY: dict[str, Bench] = {}


def bench(function: Bench) -> Bench:
    """Register ``function`` under its own name."""
    REGISTRY[function.__name__] = function
    return function


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def best_of(times: int, action: Callable[[], object]) -> float:
    """The least wall time of some calls: the machine's other users only ever add."""
    return min(seconds(action) for _ in range(times))


def in_turn(times: int, actions: Sequence[Callable[[], object]]) -> list[float]:
    """The least wall time of each action, run by turns so that a slow spell of the machine meets all of them."""
    rounds = [[seconds(action) for action in actions] for _ in range(times)]
    return [min(column) for column in zip(*rounds, strict=True)]


def median_run(times: int, command: Sequence[str], **arguments: object) -> float:
    """Median wall time of a command; its output is dropped.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    run = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **arguments)  # type: ignore[call-overload]  # noqa: E731
    return statistics.median(seconds(run) for _ in range(times))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(rows: Sequence[tuple[str, Row]]) -> Iterator[str]:
    """The rows as aligned text."""
    header = ("bench", "what", "ours", "peer", "its figure", "ratio", "bar", "ok")
    cells = [header, *(_cells(name, row) for name, row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _cells(name: str, row: Row) -> tuple[str, ...]:
    peer_value = "" if not row.peer else "missing" if row.peer_value is None else f"{row.peer_value:.4g}"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    bar = f"<= {row.limit:g}" + (" x" if row.relative else "")
    verdict = {True: "ok", False: "TOO MUCH", None: "?"}[row.ok]
    return (name, row.what, f"{row.ours:.4g}", row.peer, peer_value, ratio, bar, verdict)
