"""Runs ONNX models with onnxruntime: the process that :mod:`mswb.convert.engines.ort` starts.

A request is {"model": FILE, "given": NPZ, "names": [..], "mapped": [..], "wanted": [..], "outputs": NPZ,
"evaluate": [OP]}; arrays are named 0, 1, ... in the order of ``names``, weights are mapped from where they lie. An
answer is
{"found": [NAME], "evaluated": [OP], "failed": {NODE: REASON}} or {"error": TEXT}.

The whole model is tried first. Where onnxruntime can't, each operator runs by itself, those that it lacks in the
reference evaluator; with ``evaluate`` null that is not tried.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto

from mswb.convert.engines import onnx_ref
from mswb.convert.graph import NUMBERS, Array
from mswb.convert.onnx.check import needs

NEWEST_IR = 10
"""The file version that pieces of a model are given: any onnxruntime that knows the operators reads it."""


def main() -> None:
    """Serve until stdin ends."""
    with os.fdopen(int(sys.argv[1]), "w") as answers:
        _say(answers, {"ready": onnxruntime.__version__})
        for line in sys.stdin:
            try:
                answer = _serve(json.loads(line))
            except Exception as problem:  # whatever the engines raise is the answer
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            _say(answers, answer)


def _say(answers: Any, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _serve(request: Mapping[str, Any]) -> dict[str, Any]:
    with np.load(request["given"], allow_pickle=False) as arrays:
        given: dict[str, Array] = {name: arrays[str(at)] for at, name in enumerate(request["names"])}
    wanted: list[str] = request["wanted"]
    evaluated, failed = list[str](), dict[str, str]()
    try:
        if request["evaluate"]:
            raise LookupError("some operators are asked of the reference evaluator")
        values = _session(request["model"], {**given, **_mapped(request["mapped"])}, wanted)
    except Exception:  # an operator that it lacks, or inputs that don't fit: which one, the next lines tell
        if request["evaluate"] is None:
            raise
        model = onnx.load(request["model"], load_external_data=True)
        start = {**given, **_mapped(request["mapped"])}
        values, evaluated, failed = _one_by_one(model, start, wanted, request["evaluate"])
    kept = {name: array for name, array in values.items() if _plain(array)}
    np.savez(request["outputs"], **{str(at): array for at, array in enumerate(kept.values())})
    return {"found": list(kept), "evaluated": evaluated, "failed": failed}


def _mapped(weights: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    return {one["name"]: _weight(one) for one in weights}


def _weight(one: Mapping[str, Any]) -> Array:
    dtype, dims = np.dtype(one["dtype"]), tuple(one["dims"])
    count = int(np.prod(dims, dtype=np.int64))
    if not count:
        return np.empty(dims, dtype)
    return np.memmap(one["path"], dtype, "r", one["start"], (count,)).reshape(dims)


def _plain(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.name in NUMBERS and array.dtype.isbuiltin == 1


def _session(model: str | bytes, given: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    asked = {one.name for one in session.get_inputs()}
    found = session.run(list(wanted), {name: array for name, array in given.items() if name in asked})
    return dict(zip(wanted, found, strict=True))


def _one_by_one(
    model: ModelProto, values: dict[str, Any], wanted: Sequence[str], evaluate: Sequence[str]
) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    evaluated, failed = set[str](), dict[str, str]()
    values |= {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    for node in model.graph.node:
        given = {name: values[name] for name in dict.fromkeys(needs(node)) if name in values}
        if len(given) < len(set(needs(node))):
            continue
        piece = _piece(model, node, given)
        names = [one.name for one in piece.graph.output]
        try:
            if node.op_type in evaluate:
                raise LookupError(node.op_type)
            found: Sequence[Any] = list(_session(piece.SerializeToString(), given, names).values())
        except Exception as problem:  # onnxruntime lacks it, or its inputs don't fit
            try:
                found = onnx_ref.run(piece, given)
            except Exception:  # neither can: onnxruntime's words are the better ones
                failed[node.name] = f"{node.op_type}: {problem}"
                continue
            evaluated.add(node.op_type)
        values.update(zip(names, found, strict=True))
    return {name: values[name] for name in wanted if name in values}, sorted(evaluated), failed


def _piece(model: ModelProto, node: NodeProto, given: Mapping[str, Any]) -> ModelProto:
    inputs = [_type(name, array) for name, array in given.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "piece", inputs, outputs)
    piece = onnx.helper.make_model(graph, opset_imports=model.opset_import, functions=model.functions)
    piece.ir_version = min(piece.ir_version, NEWEST_IR)
    return piece


def _type(name: str, array: Any) -> onnx.ValueInfoProto:
    if not isinstance(array, np.ndarray):
        return onnx.ValueInfoProto(name=name)
    return onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
    )


if __name__ == "__main__":
    main()
