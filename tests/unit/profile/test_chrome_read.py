"""Events of every phase become spans, counters and tracks with the right times and roles."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from mswb.profile.chrome.read import read
from mswb.profile.timeline import Role, Timeline

PROFILES = Path(__file__).parents[2] / "fixtures/inventory/profile"


def timeline(*events: dict[str, Any]) -> Timeline:
    found, _, _ = read(io.BytesIO(json.dumps(list(events)).encode()))
    return found


def rows(found: Timeline) -> list[tuple[str, int, int, str]]:
    """Name, start, end and role of each span."""
    codes = zip(found.name.tolist(), found.start.tolist(), found.end.tolist(), found.role.tolist(), strict=True)
    return [(found.names[name], start, end, Role(role).name) for name, start, end, role in codes]


def span(name: str, ts: object, dur: object, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, **more}


def test_a_trace_without_names_is_one_device() -> None:
    found = timeline(span("MatMul", "2.500", 1), span("AllReduce-op1", 1, "0.001"), span("ncclKernel", 9, None))
    assert rows(found) == [
        ("AllReduce-op1", 1000, 1001, "COMMUNICATION"),
        ("MatMul", 2500, 3500, "COMPUTE"),
        ("ncclKernel", 9000, 9000, "COMMUNICATION"),
    ]
    assert found.window == (1000, 9000) and (found.events.read, found.events.kept, found.events.dropped) == (3, 3, 0)


def test_large_times_lose_nothing() -> None:
    found, _, _ = read(io.BytesIO(b'[{"ph":"X","name":"a","ts":1796011512228435.516,"dur":0.123}]'))
    assert rows(found) == [("a", 1796011512228435516, 1796011512228435639, "COMPUTE")]


def test_begin_and_end_nest_and_what_is_never_ended_goes_to_the_end() -> None:
    both = {"pid": 1, "tid": 2}
    found = timeline(
        {"ph": "B", "name": "outer", "ts": 0, **both},
        {"ph": "B", "name": "inner", "ts": 1, **both},
        {"ph": "E", "ts": 2, **both},
        {"ph": "E", "ts": 5, **both, "args": {"bytes": 7}},
        {"ph": "E", "ts": 6, **both},
        {"ph": "B", "name": "open", "ts": 7, **both},
        {"ph": "i", "name": "mark", "ts": 9, **both},
        span("last", 8, 2),
    )
    assert [row[:3] for row in rows(found)] == [
        ("outer", 0, 5000),
        ("inner", 1000, 2000),
        ("open", 7000, 10000),
        ("last", 8000, 10000),
    ]
    assert found.columns["bytes"][0] == 7 and found.events.dropped == 1


def test_async_spans_may_overlap() -> None:
    found = timeline(
        {"ph": "b", "cat": "c", "id": "0x1", "name": "one", "ts": 0},
        {"ph": "b", "cat": "c", "id": 2, "name": "two", "ts": 1},
        {"ph": "e", "cat": "c", "id": "0x1", "ts": 3},
        {"ph": "e", "cat": "c", "id": 2, "ts": 4},
    )
    assert [row[:3] for row in rows(found)] == [("one", 0, 3000), ("two", 1000, 4000)]


def test_counters_are_series() -> None:
    count = {"ph": "C", "name": "NPU MEM", "pid": 5}
    found = timeline(
        {**count, "ts": 2, "args": {"hbm": "3.5", "ddr": 1}},
        {**count, "ts": 1, "args": {"hbm": 2}},
        {**count, "args": {}},
    )
    series = {one.name: (one.time.tolist(), one.value.tolist()) for one in found.counters}
    assert series == {"NPU MEM.hbm": ([1000, 2000], [2.0, 3.5]), "NPU MEM.ddr": ([2000], [1.0])}
    assert found.events.dropped == 1


@pytest.mark.parametrize(
    ("process", "thread", "name", "cat", "role"),
    [
        ("Ascend Hardware", "Stream 7", "MatMul", None, "COMPUTE"),
        ("Ascend Hardware", "Stream 7", "Default/GetNext-op1", None, "DATA"),
        ("HCCL", "Group 0", "hcom_allReduce__1", None, "COMMUNICATION"),
        ("Communication", "Plane 3", "Notify_Wait", None, "OVERLAY"),
        ("Overlap Analysis", "Free", "Free", None, "OVERLAY"),
        ("CANN", "Thread 3", "aclnnAdd", None, "HOST"),
        ("CANN", "Thread 3", "aclrtSynchronizeStream", None, "SYNC"),
        ("Python", "main", "ProfilerStep#3", None, "STEP"),
        ("python3", "x", "ncclDevKernel_AllReduce_Sum", "kernel", "COMMUNICATION"),
        ("python3", "x", "ampere_sgemm", "kernel", "COMPUTE"),
        ("python3", "x", "Memcpy HtoD", "gpu_memcpy", "COPY"),
        ("python3", "x", "aten::add", "cpu_op", "HOST"),
        ("python3", "x", "cudaDeviceSynchronize", "cuda_runtime", "SYNC"),
        ("CPU OP", "1", "Default/MatMul-op0", "", "COMPUTE"),
        ("Scope Layer", "0", "Default", "", "OVERLAY"),
    ],
)
def test_roles(process: str, thread: str, name: str, cat: str | None, role: str) -> None:
    found = timeline(
        span(name, 1, 1, cat=cat),
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": thread}},
    )
    assert rows(found) == [(name, 1000, 2000, role)]


def test_launch_and_kernel_have_one_link_however_it_is_written() -> None:
    found = timeline(
        span("launch", 0, 1, cat="cuda_runtime", args={"correlation": 77, "odd": [1]}),
        span("kernel", 5, 1, cat="kernel", args={"correlation": 77, "registers per thread": 32, "shared memory": 0}),
        span("text", 6, 1, args={"connection_id": "a"}),
        span("other", 7, 1, args={"connection_id": "a"}),
        span("none", 8, 1, args=["no object"]),
    )
    links = found.link.tolist()
    assert links[0] == links[1] != 0 and links[2] == links[3] not in (0, links[0]) and links[4] == 0
    assert found.columns["registers"].tolist()[1] == 32.0 and found.columns["shared_memory"].tolist()[1] == 0.0


@pytest.mark.parametrize("path", sorted(PROFILES.rglob("trace_view.json")), ids=lambda path: path.parts[-4])
def test_the_real_traces_of_the_cpu_profiler(path: Path) -> None:
    with open(path, "rb") as file:
        found, _, _ = read(file)
    raw = [event for event in json.loads(path.read_text()) if event["ph"] == "X"]
    assert len(found) == len(raw) and found.events.dropped == 0
    first = min(int(event["ts"].replace(".", "")) for event in raw)
    assert found.window[0] == first
    assert {Role(role).name for role in found.role.tolist()} == {"COMPUTE", "OVERLAY"}
