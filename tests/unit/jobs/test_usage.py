"""Processor time and memory of process trees, against real processes and a made-up table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mswb.jobs import usage
from mswb.jobs.usage import TreeMeter
from mswb.signals import ProcessId, identify
from tests.waiting import wait_until

BUSY = "import os\nos.fork()\nos.write(1, b'.')\nwhile True: sum(range(10000))"


@pytest.fixture
def busy() -> Iterator[ProcessId]:
    """A process that works, and a child of it that does the same."""
    words = [sys.executable, "-S", "-c", BUSY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as child:
        try:
            assert child.stdout is not None and child.stdout.read(2) == b".."
            found = identify(child.pid)
            assert found is not None
            yield found
        finally:
            os.killpg(child.pid, 9)


def test_a_tree_that_works(busy: ProcessId) -> None:
    meter = TreeMeter(0.0)
    first = meter.measure({busy})[busy]
    assert first.cpu_percent is None and first.rss_bytes > 1 << 20
    assert len(first.pids) == 2 and busy.pid in first.pids

    def working() -> float | None:
        percent = meter.measure({busy})[busy].cpu_percent
        return percent if percent and percent > 5 else None

    assert wait_until(working, step=0.1)


def test_who_is_gone_or_another_is_not_in_the_answer(busy: ProcessId) -> None:
    other = ProcessId(busy.pid, busy.start_time + 1)
    assert set(TreeMeter(0.0).measure({busy, other, ProcessId(2**22 + 5, 1)})) == {busy}
    assert TreeMeter(0.0).measure(()) == {}


def test_between_two_looks_the_last_answer_is_given_again(busy: ProcessId) -> None:
    meter = TreeMeter(1e6)
    assert meter.measure({busy}) is meter.measure({busy})


def test_trees_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = usage._Seen
    tables = iter(
        [
            {1: seen(0, 10, 100, 1), 2: seen(1, 11, 100, 2), 3: seen(1, 12, 0, 4), 4: seen(2, 13, 50, 8)},
            {1: seen(0, 10, 101, 1), 2: seen(1, 11, 120, 2), 3: seen(1, 99, 7, 4), 5: seen(2, 14, 5, 16)},
        ]
    )
    monkeypatch.setattr(usage, "_table", lambda: next(tables))
    clock = iter([100.0, 100.0, 200.0, 200.0])
    monkeypatch.setattr(usage.time, "monotonic", lambda: next(clock))
    meter = TreeMeter(0.0)
    root, rank = ProcessId(1, 10), ProcessId(2, 11)
    first = meter.measure([root, rank])
    assert (first[root].pids, first[rank].pids) == ({1, 3}, {2, 4})  # a rank is not part of its launcher
    assert (first[root].rss_bytes, first[rank].rss_bytes) == (5, 10)
    second = meter.measure([root, rank])
    ticks = os.sysconf("SC_CLK_TCK")
    assert second[rank].cpu_percent == pytest.approx(100 * (20 + 5) / ticks / 100)  # all of what the new child used
    assert second[root].cpu_percent == pytest.approx(100 * (1 + 7) / ticks / 100)  # pid 3 is another process now
