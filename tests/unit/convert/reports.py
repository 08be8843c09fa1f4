"""Reports as literals: what a conversion with verification writes."""

from __future__ import annotations

from typing import Any

from mswb.findings import make


def operator(order: int, op: str, node: str, verdict: str = "passed", **facts: Any) -> dict[str, Any]:
    """One operator of a report."""
    numbers = {"min": -2.5, "max": 3.0, "mean": 0.125, "std": 1.0, "zeros": 0.25, "not_finite": 0}
    wrong = verdict == "failed"
    error = 0.5 if wrong else 2e-7
    return {
        "op": op,
        "node": node,
        "output": f"{node}_out",
        "input_shapes": [[2, 8], [8, 4]],
        "output_shape": [2, 4],
        "dtype": "float32",
        "max_abs_error": error,
        "local_max_abs_error": error,
        "local_scaled_error": error * 1e4,
        "local_cosine": 0.5 if wrong else 1.0,
        "scaled_error": error * 1e4,
        "cosine": 0.5 if wrong else 1.0,
        "close_share": 0.875,
        "nan_count": 0,
        "worst_index": [1, 3],
        "verdict": verdict,
        "reason": "scaled_error" if wrong else "",
        "order": order,
        "statistics": numbers,
        "reference_statistics": {**numbers, "max": 2.5},
        "errors_by_decade": [{"from": 0, "count": 3}, {"from": 1e-7, "count": 4}, {"from": 0.1, "count": 1}],
        "local_errors_by_decade": [{"from": 0, "count": 6}, {"from": 0.1, "count": 2}],
        **facts,
    }


def passed() -> dict[str, Any]:
    """A verification without a fault."""
    operators = [
        operator(0, "Conv", "conv1", output_shape=[2, 64, 112, 112], input_shapes=[[2, 3, 224, 224], [64, 3, 7, 7]]),
        operator(2, "Gemm", "head"),
        operator(
            1, "Relu", "relu1", max_abs_error=0.0, local_max_abs_error=0.0, scaled_error=0.0, local_scaled_error=0.0
        ),
    ]
    return {
        "schema": "mswb.convert/1",
        "tool_version": "0.1.0",
        "findings": [],
        "verdict": "passed",
        "layers": {"structure": "passed", "weights": "passed", "numbers": "passed"},
        "engines": {"reference": "onnxruntime 1.32.0", "target": "MindSpore 2.10.0 CPU"},
        "shapes": [{"x": [2, 3, 224, 224]}, {"x": [3, 3, 224, 224]}],
        "input": "models/net.onnx",
        "output": "models/net.mindir",
        "bytes_written": 46_000_000,
        "operator_counts": [{"op": "Conv", "count": 1}, {"op": "Gemm", "count": 1}, {"op": "Relu", "count": 1}],
        "primitives": [{"op": "Conv2D", "count": 1}],
        "operators": operators,
        "graph_outputs": [
            {"name": "y", "shape_number": 0, "max_abs_error": 2e-7, "scaled_error": 0.002, "cosine": 1.0,
             "verdict": "passed", "reason": ""}
        ],
    }  # fmt: skip


def failed() -> dict[str, Any]:
    """A verification that names a wrong operator, and one behind it."""
    report = passed()
    values = {"name": "softmax", "op": "Softmax", "output": "softmax_out", "detail": "scaled_error 5e+03, limit 1",
              "worst_index": [1, 3]}  # fmt: skip
    finding = make("over-threshold", values=values, lang="en")
    report["findings"] = [
        {
            "code": finding.code,
            "severity": finding.severity,
            "title": finding.title,
            "where": {"node": "softmax", "file": "models/net.mindir"},
            "evidence": "",
            "cause": finding.cause,
            "advice": list(finding.advice),
            "values": values,
            "consequence_of": None,
        }
    ]
    report["verdict"] = report["layers"]["numbers"] = "failed"
    report["operators"] = [
        operator(7, "Softmax", "softmax", "failed"),
        operator(8, "MatMul", "attention/mix", "inherited", max_abs_error=0.25, scaled_error=900.0, cosine=0.71),
        *report["operators"],
        operator(
            3, "Dropout", "drop", "not-compared", max_abs_error=None, local_max_abs_error=None, scaled_error=None,
            local_scaled_error=None, cosine=None, reason="its result depends on chance", worst_index=None,
            statistics=None, reference_statistics=None, errors_by_decade=[], local_errors_by_decade=[],
        ),
    ]  # fmt: skip
    return report
