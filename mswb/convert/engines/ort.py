"""The reference: onnxruntime with its optimisations off, in a child process, a piece of the model at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

import mswb
from mswb.convert.engines.child import Child
from mswb.convert.graph import Array
from mswb.convert.onnx.check import needs
from mswb.convert.onnx.model import OnnxModel, Weight


@dataclass(frozen=True, slots=True)
class Found:
    """Results of a run.

    Attributes:
        arrays: by name; what is no tensor of a data type of numpy is left out.
        evaluated: the operators that ran in ONNX's reference evaluator.
        failed: why a node ran in neither engine, by its name.
    """

    arrays: dict[str, Array]
    evaluated: tuple[str, ...]
    failed: Mapping[str, str]


class OnnxRuntime:
    """A process that runs ONNX models."""

    def __init__(self, limit_s: float = 600.0) -> None:
        here = str(Path(mswb.__file__).parents[1])
        paths = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-W", "ignore", "-m", "mswb.convert.engines.ort_run", "{}"]
        self._child = Child(command, "onnxruntime", limit_s, {**os.environ, "PYTHONPATH": paths})

    def __enter__(self) -> OnnxRuntime:
        return self

    def __exit__(self, *_: Any) -> None:
        self._child.close()

    @property
    def title(self) -> str:
        """Name and version, once it has started."""
        return f"onnxruntime {self._child.version}"

    def run_file(self, path: str, given: Mapping[str, Array], wanted: Sequence[str]) -> Found:
        """Results of a model file as it is.

        Raises:
            EngineError: onnxruntime can't run it.
        """
        return self._run(os.path.abspath(path), given, (), wanted, None)

    def run(
        self, model: OnnxModel, nodes: Sequence[NodeProto], given: Mapping[str, Array], wanted: Sequence[str],
        evaluate: Iterable[str] = (),
    ) -> Found:  # fmt: skip
        """Results of some nodes of a model.

        Args:
            given: all that the nodes read which none of them makes; weights are known.
            evaluate: operators that are to run in the reference evaluator.

        Raises:
            EngineError: the process died, or took too long.
        """
        weights = [model.weights[name] for name in _read(nodes) if name in model.weights]
        path = self._child.folder / "piece.onnx"
        path.write_bytes(_piece(model, nodes, given, weights, wanted).SerializeToString())
        return self._run(str(path), given, weights, wanted, sorted(evaluate))

    def _run(
        self, path: str, given: Mapping[str, Array], weights: Sequence[Weight], wanted: Sequence[str],
        evaluate: Sequence[str] | None,
    ) -> Found:  # fmt: skip
        inputs, outputs = (str(self._child.folder / name) for name in ("given.npz", "found.npz"))
        np.savez(inputs, **{str(at): array for at, array in enumerate(given.values())})
        mapped = [
            {
                "name": one.name,
                "dtype": one.dtype,
                "dims": one.dims,
                "path": os.path.abspath(one.path),
                "start": one.span.start,
            }
            for one in weights
        ]
        request = {
            "model": path, "given": inputs, "names": list(given), "mapped": mapped, "wanted": list(wanted),
            "outputs": outputs, "evaluate": evaluate,
        }  # fmt: skip
        answer = self._child.ask(request)
        with np.load(outputs, allow_pickle=False) as arrays:
            found = {name: arrays[str(at)] for at, name in enumerate(answer["found"])}
        return Found(found, tuple(answer["evaluated"]), answer["failed"])


def _read(nodes: Sequence[NodeProto]) -> list[str]:
    return list(dict.fromkeys(name for node in nodes for name in needs(node)))


def _piece(
    model: OnnxModel, nodes: Sequence[NodeProto], given: Mapping[str, Array], weights: Sequence[Weight],
    wanted: Sequence[str],
) -> ModelProto:  # fmt: skip
    read = set(_read(nodes)) | set(wanted)
    types = [(name, array.dtype, array.shape) for name, array in given.items() if name in read]
    types += [(one.name, np.dtype(one.dtype), one.dims) for one in weights]
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(dtype), list(shape))
        for name, dtype, shape in types
    ]
    graph = onnx.helper.make_graph(
        list(nodes), "piece", inputs, [onnx.ValueInfoProto(name=name) for name in wanted],
        [tensor for tensor in model.proto.graph.initializer if tensor.name in read],
    )  # fmt: skip
    piece = onnx.helper.make_model(graph, opset_imports=model.proto.opset_import, functions=list(model.proto.functions))
    piece.ir_version = min(int(model.proto.ir_version) or 8, 10)
    return piece
