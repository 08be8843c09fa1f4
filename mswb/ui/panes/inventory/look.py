"""The look itself, in a thread: it sends what it has found a few times a second, ready to be drawn."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from mswb.files.items import Item
from mswb.findings import Finding
from mswb.settings import Settings
from mswb.ui.panes.inventory.rows import rows_of
from mswb.ui.panes.inventory.state import Found
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from mswb.flows.inventory import Domain

SEND_S = 0.25
SHARE = 4
"""Making the rows may take one part in so many of the time between two of them."""


def look(
    ticket: Ticket, root: str, domain: Domain, settings: Settings, everywhere: bool, send_s: float = SEND_S
) -> Found:
    """Everything of one domain in ``root``; with ``everywhere`` also the places outside."""
    from mswb.flows.inventory import places_of, scan

    items: list[Item] = []
    notes: list[Finding] = []
    found, sent, cost = Found(), -send_s, 0.0
    elsewhere = places_of(settings, os.environ) if everywhere else ()
    for batch in scan(root, [domain], ticket.cancelled, ticket.report, elsewhere):
        items += batch.items
        notes += batch.notes
        began = time.monotonic()
        if batch.finished or began - sent >= max(send_s, SHARE * cost):
            rows = rows_of(items, root, time.time())
            found = Found(rows, tuple(notes), batch.folders, batch.files, batch.skipped)
            ticket.send(found)
            sent = time.monotonic()
            cost = sent - began
    return found
