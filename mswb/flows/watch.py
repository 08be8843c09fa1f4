"""Watch a run: what each rank does now, cheaply and without an end, whoever started it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Union

from mswb.flows.runview import Failed, RankView, RunProgress, RunView
from mswb.jobs.runs import Run
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.launch.diagnose import Diagnosis

__all__ = ["Failed", "RankView", "RunProgress", "RunView", "RunWatch", "Source"]

Source = Union[Run, Path]


class RunWatch:
    """Follows one run's logs, record and processes. It owns no thread: one thread calls :meth:`step` in a loop.

    Args:
        source: a run of mswb; a log folder, a folder that holds one, or a log file; or a live run of others.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._settings = settings

    def step(self, timeout: float) -> bool:
        """Wait for news for at most ``timeout`` seconds and take them in; whether the view has changed."""
        raise NotImplementedError

    def snapshot(self, sample: object | None = None) -> RunView:
        """The run as of the last step; ``sample`` (of the devices) adds device memory."""
        raise NotImplementedError

    def close(self) -> None:
        """Give descriptors back."""


def diagnosis(source: Source, cancelled: Callable[[], bool], progress: Callable[[int, int], None]) -> Diagnosis:
    """Why the run ended as it did."""
    raise NotImplementedError
