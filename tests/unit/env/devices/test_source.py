"""A reading that hangs does not hold up the one who asks."""

from __future__ import annotations

import threading

from mswb.env.devices.source import Source
from tests.waiting import wait_until


def test_slow_readings_give_the_last_value_and_its_age() -> None:
    now, gate, count = [10.0], threading.Event(), [0]

    def read() -> int:
        count[0] += 1
        if count[0] > 1:
            gate.wait(60)
        return count[0]

    source = Source(read, clock=lambda: now[0], patience_s=0.01)
    assert wait_until(lambda: source.latest()[0]) == 1
    wait_until(lambda: source.latest() and source.busy)  # the second reading is under way, and hangs
    now[0] += 9
    assert source.latest() == (1, 9.0)
    assert source.latest() == (1, 9.0)
    assert count[0] == 2  # nobody starts another beside it
    gate.set()
    wait_until(lambda: source.latest()[0] != 1)


def test_nothing_yet() -> None:
    now, gate = [0.0], threading.Event()
    source = Source(lambda: gate.wait(60), clock=lambda: now[0], patience_s=0.01)
    source.latest()
    now[0] = 4.0
    assert source.latest() == (None, 4.0)
    gate.set()


def test_its_own_cadence() -> None:
    now, count = [0.0], [0]

    def read() -> int:
        count[0] += 1
        return count[0]

    source = Source(read, every_s=2.0, patience_s=60.0, clock=lambda: now[0])
    seen = []
    for moment in (0.0, 1.0, 1.9, 2.0, 3.0, 4.5):
        now[0] = moment
        seen.append(source.latest()[0])
    assert seen == [1, 1, 1, 2, 2, 3]
