"""A MindIR file run without MindSpore: converted to ONNX, data types as they are, and given to onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from mswb.convert import to_onnx
from mswb.convert.engines.child import EngineError
from mswb.convert.engines.ort import OnnxRuntime
from mswb.convert.graph import Array


class Converted:
    """What stands in for MindSpore where there is none."""

    def __init__(self, limit_s: float = 600.0) -> None:
        self._runtime = OnnxRuntime(limit_s)
        self._folder = TemporaryDirectory(prefix="mswb-converted-")

    def __enter__(self) -> Converted:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and take its files away."""
        self._runtime.__exit__()
        self._folder.cleanup()

    @property
    def title(self) -> str:
        """Name and version, once it has run."""
        return f"{self._runtime.title} on a conversion to ONNX (no Python with MindSpore was found)"

    def run(self, model: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a MindIR file.

        Raises:
            EngineError: it can't be converted, or does not run.
        """
        done = to_onnx.convert(model)
        if done.proto is None:
            raise EngineError("; ".join(one.title for one in done.findings[:3]))
        path = os.path.join(self._folder.name, "model.onnx")
        with open(path, "wb") as file:
            file.write(done.proto.SerializeToString())
        graph = done.proto.graph
        given = {value.name: array for value, array in zip(graph.input, inputs, strict=True)}
        wanted = [value.name for value in graph.output]
        found = self._runtime.run_file(path, given, wanted).arrays
        return [found[name] for name in wanted]
