"""Profilers' CSV tables, told by their header row: a name may be renamed, re-exported or cut, the columns stay.

Sources of the columns: the MindSpore profiler's documentation and package, CANN's msprof documentation ("Profile data
file references"), MindInsight's analysers.
"""

from __future__ import annotations

from dataclasses import dataclass

from mswb.files.items import Guess
from mswb.files.peek import Peek


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose header holds all of ``columns`` (lower case, blanks and underscores dropped)."""

    columns: tuple[str, ...]
    kind: str
    detail: str


_TABLES = (
    _Table(("opname", "optype", "tasktype", "taskduration(us)"), "operators", "op_summary of CANN"),
    _Table(("name", "type", "acceleratorcore", "duration(us)"), "operators", "kernel_details"),
    _Table(("optype", "coretype", "count", "totaltime(us)"), "operators", "op_statistic"),
    _Table(("kernelname", "kerneltype", "streamid", "tasktime(us)"), "operators", "task_time of CANN"),
    _Table(("fusionop", "originalops"), "operators", "fusion_op: fused kernels and their operators"),
    _Table(("opside", "optype", "opname", "fullopname", "opoccurrences"), "operators", "operators of MindSpore on CPU"),
    _Table(("opside", "optype", "opname", "opfullname", "opoccurrences"), "operators", "operators of MindSpore on GPU"),
    _Table(("optype", "typeoccurrences"), "operators", "operator types"),
    _Table(("name", "type", "opfullname", "streamid", "blockdim"), "operators", "GPU kernels of MindSpore"),
    _Table(("fullopname", "executiontime"), "operators", "AI Core operators"),
    _Table(("name", "inputshapes"), "operators", "operator_details"),
    _Table(("step", "computing", "free"), "steps", "step_trace_time"),
    _Table(("iterationid", "fpstart(us)", "bpend(us)"), "steps", "step_trace of CANN"),
    _Table(("stepnum", "startpoint", "endpoint", "total"), "steps", "step_trace_raw of MindSpore"),
    _Table(("optype", "count", "totaltime(us)", "mintime(us)"), "communication", "communication_statistic"),
    _Table(("stepnum", "communicationcost"), "communication", "hccl_raw of MindSpore"),
    _Table(("name", "size(kb)", "allocationtime(us)"), "memory", "operator_memory"),
    _Table(("component", "timestamp(us)"), "memory", "memory_record"),
    _Table(("timestamp(ns)", "totalallocated(byte)"), "memory", "memory of MindSpore on CPU"),
    _Table(("deviceid", "component", "totalreserved(kb)"), "memory", "npu_module_mem"),
    _Table(("level", "apiname", "time(us)"), "api-statistics", "api_statistic"),
    _Table(("operation", "stage", "occurrences", "avg.time(us)"), "dataset-pipeline", "dataset operations"),
    _Table(("opid", "optype", "numworkers", "outputqueuesize"), "dataset-pipeline", "minddata_pipeline_raw"),
    _Table(("nodename", "starttime(us)", "queuesize"), "dataset-pipeline", "aicpu_mi: device queue"),
    _Table(("timestamp(us)", "node", "computetime(us)"), "dataset-pipeline", "aicpu: preprocessing"),
    _Table(("streamid", "taskid", "hitrate"), "hardware", "l2_cache"),
    _Table(("start", "duration", "gridx", "blockx"), "nvprof", "GPU trace of nvprof"),
    _Table(("type", "time(%)", "calls", "avg", "name"), "nvprof", "summary of nvprof"),
)


def sniff(peek: Peek) -> Guess | None:
    """A profiler's table, by the first row that has several columns."""
    head = peek.head.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in head[:1024] or b"," not in head:
        return None
    for line in head.decode("utf-8", "replace").splitlines()[:8]:
        if line.startswith("==") or "," not in line:
            continue
        columns = {_plain(cell) for cell in line.split(",")}
        table = next((one for one in _TABLES if columns.issuperset(one.columns)), None)
        return Guess(table.kind, table.detail, f"a header row of {len(columns)} columns, its own") if table else None
    return None


def _plain(cell: str) -> str:
    return cell.strip().strip('"').strip().lower().replace(" ", "").replace("_", "")
