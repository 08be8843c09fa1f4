"""How devices spend their time, against sums done by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mswb.profile.chrome.read import read
from mswb.profile.devices import CAUSES, Usage, devices, lanes, usage
from mswb.profile.timeline import Timeline


def timeline(*events: dict[str, Any]) -> Timeline:
    names = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((1, "Python"), (2, "Ascend Hardware"), (3, "HCCL"))
    ]
    found, _, _ = read(io.BytesIO(json.dumps([*names, *events]).encode()))
    return found


def span(pid: int, name: str, start: float, end: float, tid: int = 0, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start, **more}


def used(found: Timeline) -> Usage:
    (device,) = devices(found)
    return usage(lanes(found, device), *found.window)


def test_overlap_and_idle_by_hand() -> None:
    found = used(
        timeline(
            span(1, "start", 0, 1),
            span(2, "MatMul", 10, 40),
            span(2, "Add", 30, 50, tid=1),
            span(3, "hcom_allReduce_1", 45, 70),
            span(2, "MatMul", 80, 100),
        )
    )
    assert (found.window, found.compute, found.communication) == (100_000, 60_000, 25_000)
    assert (found.overlap, found.busy, found.idle) == (5_000, 80_000, 20_000)
    assert found.by_cause == {
        "communication": 20_000,
        "host": 1_000,
        "unknown": 19_000,
        "data": 0,
        "sync": 0,
        "copy": 0,
    }


def test_every_cause_in_its_order() -> None:
    found = used(
        timeline(
            span(2, "MatMul", 0, 10),
            span(2, "Default/GetNext-op1", 10, 20),
            span(1, "DataLoader.__next__", 15, 30),
            span(1, "dist.all_reduce", 25, 40),
            span(2, "MEMCPY_ASYNC", 38, 50, tid=2),
            span(1, "aclrtSynchronizeStream", 45, 60),
            span(1, "launch", 55, 70),
            span(2, "MatMul", 90, 100),
        )
    )
    assert found.by_cause == {
        "data": 20_000,
        "communication": 10_000,
        "copy": 10_000,
        "sync": 10_000,
        "host": 10_000,
        "unknown": 20_000,
    }


def test_a_span_around_everything_explains_nothing() -> None:
    found = used(timeline(span(1, "main", 0, 100), span(2, "MatMul", 0, 10), span(2, "MatMul", 90, 100)))
    assert found.by_cause["unknown"] == 80_000 and found.by_cause["host"] == 0


def test_devices_are_told_apart_by_their_numbers() -> None:
    labels = [{"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": f"GPU {pid}"}} for pid in (7, 10)]
    kernels = [span(pid, "gemm", 0, pid, cat="kernel") for pid in (10, 7)]
    found = timeline(*labels, *kernels)
    assert [device.device for device in devices(found)] == [7, 10]
    assert [usage(lanes(found, device), *found.window).compute for device in devices(found)] == [7_000, 10_000]


def test_without_device_work_there_is_no_device() -> None:
    assert devices(timeline(span(1, "host only", 0, 5))) == () == devices(timeline())


SPANS = st.lists(
    st.builds(
        span,
        st.sampled_from([1, 2, 3]),
        st.sampled_from(["MatMul", "GetNext", "hcom_x", "fetch", "aclrtSynchronizeStream", "Memcpy", "barrier"]),
        st.integers(0, 30),
        st.integers(30, 60),
        st.integers(0, 2),
    ),
    max_size=10,
)


@given(SPANS, st.integers(-5, 65), st.integers(-5, 65))
def test_the_sums_are_exact_in_every_window(events: list[dict[str, Any]], one: int, two: int) -> None:
    found = timeline(*events)
    low, high = sorted((one * 1000, two * 1000))
    for device in devices(found):
        part = usage(lanes(found, device), low, high)
        assert part.busy == part.compute + part.communication - part.overlap
        assert part.idle == part.window - part.busy >= 0
        assert set(part.by_cause) == set(CAUSES) and min(part.by_cause.values()) >= 0
        assert sum(part.by_cause.values()) == part.window - part.compute
        assert part.overlap <= min(part.compute, part.communication) <= max(part.window, 0)
        assert np.isscalar(part.compute)
