"""The header's live counters: one thread samples once a second, and only while somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mswb.ui.tasks import Task, Tasks, Ticket

if TYPE_CHECKING:
    from mswb.env.devices.sample import Sample

PERIOD_S = 1.0
SLOW_PERIOD_S = 5.0
"""On a slow link."""


def start(tasks: Tasks, received: Callable[[Sample], None], folder: str, period_s: float = PERIOD_S) -> Task[None]:
    """Sample each ``period_s`` until the task is cancelled; ``received`` gets each sample on the event loop."""

    def work(ticket: Ticket) -> None:
        from mswb.env.devices.sampler import Sampler

        sampler = Sampler(folder=folder)
        try:
            while not ticket.cancelled():
                ticket.send(sampler.sample())
                ticket.wait(period_s)
        finally:
            sampler.close()

    return tasks.start("Counters", work, lambda done: None, received=received, group="counters", quiet=True)
