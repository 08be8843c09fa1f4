"""The look of the Cache pane, in a thread: the project and the file caches, and with all places also the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from mswb.cache.entries import Entry
from mswb.files.items import Item
from mswb.findings import Finding
from mswb.ui.panes.cache.rows import CacheRows
from mswb.ui.panes.inventory.look import SEND_S, SHARE
from mswb.ui.panes.inventory.state import Found
from mswb.ui.tasks import Ticket

Arrange = Callable[[Sequence[Item], Mapping[str, Entry]], CacheRows]
"""Makes rows of items and of what is told beside them."""


def look(
    ticket: Ticket,
    root: str,
    store: str,
    everywhere: bool,
    arrange: Arrange,
    environ: Mapping[str, str] = os.environ,
    send_s: float = SEND_S,
) -> Found:
    """Everything in ``root`` and in the file caches' folder; with ``everywhere`` also servers and the other places."""
    from mswb.flows.cache_facts import beside, outside
    from mswb.flows.inventory import scan, within

    roots = [root] if within(store, root) or not os.path.isdir(store) else [root, store]
    items: dict[str, Item] = {}
    notes: list[Finding] = []
    done = Found()
    sent, cost = -send_s, 0.0
    for place in roots:
        before = done
        for batch in scan(place, ["cache"], ticket.cancelled, ticket.report):
            items.update({item.path: item for item in batch.items})
            notes += batch.notes
            counts = (before.folders + batch.folders, before.files + batch.files, before.skipped + batch.skipped)
            began = time.monotonic()
            if batch.finished or began - sent >= max(send_s, SHARE * cost):
                done = Found(arrange(tuple(items.values()), {}), tuple(notes), *counts)
                ticket.send(done)
                sent = time.monotonic()
                cost = sent - began
    told: dict[str, Entry] = {}
    if everywhere:
        more, told, problems = outside(environ, ticket.cancelled)
        items.update({item.path: item for item in more if item.path not in items})
        notes += problems
    told.update(beside(items.values(), told, ticket.cancelled))
    return Found(arrange(tuple(items.values()), told), tuple(notes), done.folders, done.files, done.skipped)
