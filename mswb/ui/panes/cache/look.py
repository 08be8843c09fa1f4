"""The look of the Cache pane, in a thread: the project and the file caches, and with all places also the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from mswb.files.items import Item
from mswb.findings import Finding
from mswb.settings import Settings
from mswb.ui.panes.cache.rows import CacheRows
from mswb.ui.panes.inventory.look import SEND_S, SHARE
from mswb.ui.panes.inventory.state import Found
from mswb.ui.tasks import Ticket

Arrange = Callable[[Sequence[Item]], CacheRows]


def look(
    ticket: Ticket,
    root: str,
    store: str,
    settings: Settings,
    everywhere: bool,
    arrange: Arrange,
    environ: Mapping[str, str] = os.environ,
    send_s: float = SEND_S,
) -> Found:
    """Everything in ``root`` and in the file caches' folder; with ``everywhere`` also servers and the other places."""
    from mswb.flows.inventory import places_of, scan, within

    elsewhere = places_of(settings, environ) if everywhere else ()
    roots = [root] if within(store, root) or not os.path.isdir(store) else [root, store]
    items: dict[str, Item] = {}
    notes: list[Finding] = []
    done = Found()
    sent, cost = -send_s, 0.0
    for number, place in enumerate(roots):
        others = elsewhere if number == len(roots) - 1 else ()
        before = done
        for batch in scan(place, ["cache"], ticket.cancelled, ticket.report, others):
            items.update({item.path: item for item in batch.items})
            notes += batch.notes
            counts = (before.folders + batch.folders, before.files + batch.files, before.skipped + batch.skipped)
            began = time.monotonic()
            if batch.finished or began - sent >= max(send_s, SHARE * cost):
                done = Found(arrange(tuple(items.values())), tuple(notes), *counts)
                ticket.send(done)
                sent = time.monotonic()
                cost = sent - began
    return done
