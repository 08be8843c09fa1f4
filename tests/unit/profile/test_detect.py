"""Which profile a file or folder is: real samples of MindSpore's CPU profiler, and the forms of the others."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from mswb.files.items import Guess
from mswb.profile.readers import detect
from tests.unit.files.test_wire import field
from tests.unit.inventories import PROFILES, SAMPLES, guess_bytes, guess_file, items_of

GRAPH = PROFILES / "graph_3step" / "node1_6906_20261130040509433_ascend_ms"
TRACE = (GRAPH / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes()


def kind(guess: Guess | None) -> str:
    assert guess is not None
    assert guess.kind in detect.KINDS and guess.detail and guess.reason
    return guess.kind


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ASCEND_PROFILER_OUTPUT/trace_view.json", "mindspore-trace"),
        ("FRAMEWORK/cpu_framework_0.txt", "operators"),
        ("FRAMEWORK/cpu_op_execute_timestamp_0.txt", "operators"),
        ("FRAMEWORK/cpu_op_detail_info_0.csv", "operators"),
        ("FRAMEWORK/cpu_op_type_info_0.csv", "operators"),
        ("FRAMEWORK/cpu_ms_memory_record_0.txt", "memory"),
    ],
)
def test_samples(name: str, expected: str) -> None:
    assert kind(guess_file(detect, GRAPH / name)) == expected
    assert kind(guess_bytes(detect, (GRAPH / name).read_bytes(), "renamed")) == expected


def test_other_samples() -> None:
    assert kind(guess_file(detect, PROFILES / "profiler_config.json")) == "profiler-config"
    for path in (SAMPLES / "minddata").iterdir():
        assert kind(guess_file(detect, path)) == "dataset-pipeline"


def test_trace_is_counted_about() -> None:
    guess = guess_bytes(detect, TRACE)
    assert guess is not None
    about = int(guess.detail.split("about ")[1].split()[0])
    assert 0.7 < about / len(json.loads(TRACE)) < 1.4


def test_trace_that_is_cut() -> None:
    guess = guess_bytes(detect, TRACE[: len(TRACE) // 2])
    assert kind(guess) == "mindspore-trace"
    assert guess is not None and guess.status == "truncated"


EVENT = {"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 10, "dur": 5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps([EVENT]), "chrome-trace"),
        ("﻿ \n" + json.dumps([EVENT], indent=1), "chrome-trace"),
        ("[" + json.dumps(EVENT) + ",\n" + json.dumps(EVENT) + ",\n", "chrome-trace"),  # no bracket: allowed
        (json.dumps({"traceEvents": [EVENT], "displayTimeUnit": "ns"}), "chrome-trace"),
        (json.dumps({"displayTimeUnit": "ns", "traceEvents": []}), "chrome-trace"),
        (json.dumps(EVENT) + "\n" + json.dumps(EVENT) + "\n", "chrome-trace"),
        (json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [EVENT]}), "kineto-trace"),
        (json.dumps([{**EVENT, "cat": "cpu_op"}]), "kineto-trace"),
        (
            json.dumps([{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "Ascend Hardware"}}]),
            "ascend-trace",
        ),
        (json.dumps([{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "CPU OP"}}]), "mindspore-trace"),
        (json.dumps({"1": {"collective": {"op": {"Communication Time Info": {}}}}}), "communication"),
        (json.dumps({"1": {"0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 1}}}), "communication"),
        (json.dumps({"pipeline_ops": [], "queue_average_size": []}), "dataset-pipeline"),
        ("==123== NVPROF is profiling process 123\n", "nvprof"),
        ('==1== Profiling result:\n"Start","Duration","Grid X","Block X"\nms,us,,\n', "nvprof"),
        ("GetNext_dequeue_wait 1 2 3\n", "dataset-pipeline"),
        ("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n", "steps"),
        ("Device_id,Model Name,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n", "operators"),
        ("﻿Name,Type,Accelerator Core,Start Time(us),Duration(us)\n", "operators"),
        ("Device_id,Model Name,OP Type,Core Type,Count,Total Time(us)\n", "operators"),
        ("Device_id,OP Type,Count,Total Time(us),Min Time(us)\n", "communication"),
        ("Component,Timestamp(us),Total Allocated(MB)\n", "memory"),
        ("Name,Size(KB),Allocation Time(us)\n", "memory"),
        ("Device_id,Level,API Name,Time(us),Count\n", "api-statistics"),
        ("op_id,op_type,num_workers,output_queue_size\n", "dataset-pipeline"),
        ("Device_Id,Stream Id,Task Id,Hit Rate,Victim Rate\n", "hardware"),
        ("op_side,op_type,op_name,op_full_name,op_occurrences\n", "operators"),
        ("name,type,op_full_name,stream_id,block_dim\n", "operators"),
        ("step_num,start_point,end_point,total,fp_point\n", "steps"),
    ],
)
def test_forms(text: str, expected: str) -> None:
    data = text.encode()
    assert kind(guess_bytes(detect, data)) == expected
    assert kind(guess_bytes(detect, gzip.compress(data), "packed.gz")) == expected


def test_keys_before_the_events_may_be_long() -> None:
    text = json.dumps({"deviceProperties": [{"name": "x" * 3000}] * 30, "schemaVersion": 1, "traceEvents": [EVENT]})
    assert kind(guess_bytes(detect, text.encode())) == "kineto-trace"


@pytest.mark.parametrize(
    "text",
    [
        "\n\x09a line\tof a text that begins with a line feed\n" * 3,
        "[]",
        "{}",
        "[1, 2]",
        '{"a": 1}',
        "a,b\n1,2\n",
        "hello",
        "",
        "Name,Type\nx,y\n",
        json.dumps([{"phone": "X"}]),
    ],
)
def test_what_is_none(text: str) -> None:
    assert guess_bytes(detect, text.encode()) is None


def test_events_far_behind_other_keys() -> None:
    text = json.dumps({"metadata": ["x" * 100] * 1000, "traceEvents": [EVENT] * 500})
    assert kind(guess_bytes(detect, text.encode())) == "chrome-trace"


def test_rank_of_a_kineto_trace() -> None:
    head = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3}, "deviceProperties": []}
    guess = guess_bytes(detect, json.dumps({**head, "traceEvents": [EVENT]}).encode())
    assert guess is not None and "rank 3" in guess.detail


def test_perfetto() -> None:
    packet = field(8, 123456) + field(10, 1) + field(11, field(9, 1))
    descriptor = field(10, 1) + field(60, field(1, 77))
    data = field(1, packet) + field(1, descriptor) + field(1, packet)
    assert kind(guess_bytes(detect, data)) == "perfetto-trace"
    assert kind(guess_bytes(detect, field(1, field(3, 9999) + field(6, field(1, b"clock"))))) == "perfetto-trace"
    cut = guess_bytes(detect, data[:-2])
    assert cut is not None and (cut.kind, cut.status) == ("perfetto-trace", "truncated")


def _database(path: Path, tables: Iterable[str], filler: int = 0) -> Path:
    connection = sqlite3.connect(path)
    for number in range(filler):
        columns = ", ".join(f"column_{index} TEXT" for index in range(30))
        connection.execute(f"CREATE TABLE ENUM_{number}(id INTEGER, {columns})")
    for table in tables:
        connection.execute(f"CREATE TABLE {table}(id INTEGER)")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"), "nsys"),
        (("StringIds", "TARGET_INFO_SESSION_START_TIME"), "nsys"),
        (("StringTable", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"), "nvprof"),
        (("STRING_IDS", "TASK", "COMPUTE_TASK_INFO"), "ascend-db"),
        (("ClusterTimeSummary",), "ascend-db"),
    ],
)
@pytest.mark.parametrize("filler", [0, 40])
def test_databases(tmp_path: Path, tables: tuple[str, ...], expected: str, filler: int) -> None:
    """With 40 further tables the schema needs several pages."""
    assert kind(guess_file(detect, _database(tmp_path / "x.sqlite", tables, filler))) == expected


def test_databases_of_others(tmp_path: Path) -> None:
    assert guess_file(detect, _database(tmp_path / "x.db", ("users", "orders"))) is None
    assert guess_bytes(detect, b"SQLite format 3\0" + b"\xff" * 4000) is None


def test_names_where_nothing_else_tells() -> None:
    assert kind(guess_bytes(detect, b"binary", "run.nsys-rep")) == "nsys-report"


@pytest.mark.parametrize(
    ("path", "names", "expected", "status"),
    [
        (str(GRAPH), ["ASCEND_PROFILER_OUTPUT", "FRAMEWORK", "logs"], "mindspore-profile", ""),
        ("/w/my_host-1_12_20261130040509433_ascend_ms", ["logs"], "mindspore-profile", "empty"),
        ("/w/host_12_20261130040509433_ascend_ms", ["FRAMEWORK", "logs"], "mindspore-profile", ""),
        (
            "/w/host_12_20261130040509_ascend_pt",
            ["ASCEND_PROFILER_OUTPUT", "profiler_info_3.json"],
            "torch-npu-profile",
            "",
        ),
        ("/w/renamed", ["ASCEND_PROFILER_OUTPUT", "profiler_info_7.json"], "mindspore-profile", ""),
        ("/w/PROF_000001_20261130040509433_ABCD", ["device_0", "host"], "cann-profile", ""),
        ("/w/PROF_000001_20261130040509433_ABCD", [], "cann-profile", "empty"),
        ("/w/x", ["device_0", "mindstudio_profiler_output"], "cann-profile", ""),
        ("/w/FRAMEWORK", ["cpu_op_detail_info_0.csv"], "framework-raw", ""),
        ("/w/ASCEND_PROFILER_OUTPUT", ["trace_view.json"], "profiler-output", ""),
    ],
)
def test_folders(path: str, names: list[str], expected: str, status: str) -> None:
    guess = detect.sniff_folder(path, names)
    assert kind(guess) == expected
    assert guess is not None and guess.status == status


@pytest.mark.parametrize("names", [["train.py"], ["FRAMEWORK"], ["logs"], []])
def test_folders_of_others(names: list[str]) -> None:
    assert detect.sniff_folder("/w/output", names) is None


def test_rank_of_a_folder() -> None:
    info = detect.sniff_folder("/w/x", ["ASCEND_PROFILER_OUTPUT", "profiler_info_7.json"])
    assert info is not None and info.detail.startswith("rank 7")
    dynamic = detect.sniff_folder("/w/rank0_start7_stop8/n_1_20261130040621747_ascend_ms", ["FRAMEWORK"])
    assert dynamic is not None and "rank 0, steps 7 to 8" in dynamic.detail and "not analysed" in dynamic.detail


def test_profiles_of_a_folder() -> None:
    items = items_of(PROFILES)
    kinds = sorted((item.kind, item.status, item.files) for item in items.values())
    assert kinds == [
        ("mindspore-profile", "", 6),
        ("mindspore-profile", "", 7),
        ("mindspore-profile", "empty", 1),
        ("profiler-config", "", 1),
    ]


def test_dataset_pipeline_is_one_entry() -> None:
    items = items_of(SAMPLES / "minddata")
    assert len(items) == 1
    item = next(iter(items.values()))
    assert (item.kind, item.files) == ("dataset-pipeline", 3)
    assert item.detail == "rank 0: CPU use, queues and workers, times of the iterator"
    assert len(item.parts) == 2
