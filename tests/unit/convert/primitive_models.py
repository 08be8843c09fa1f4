"""Small MindIR models of single operators, and what our ONNX and our evaluation make of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from mswb.convert import to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.graph import Array, Builder, Value
from mswb.convert.mindir import writer
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.schema import Model

Make = Callable[..., "Value | Sequence[Value]"]
"""Given a builder and the inputs, the results."""


def written(make: Make, inputs: Sequence[Array], folder: Path, free: bool = False) -> str:
    """A MindIR file with the inputs' data types and sizes; ``free``: only the last of several sizes is known."""
    b = Builder("graph")
    shapes = [(*(None,) * (one.ndim - 1), *one.shape[-1:]) if one.ndim > 1 else (None,) * one.ndim for one in inputs]
    given = [b.input(f"x{at}", one.dtype.name, shapes[at] if free else one.shape) for at, one in enumerate(inputs)]
    found = make(b, *given)
    graph = b.finish([found] if isinstance(found, Value) else list(found))
    path = folder / "model.mindir"
    model = Model(
        ir_version="0.1.0",
        producer_name="MindSpore",
        graph=graph,
        primitives=tuple(b.shared.primitives.values()),
    )
    writer.write(model, str(path))
    return str(path)


def run_onnx(path: str, inputs: Sequence[Array]) -> list[Array]:
    """The model as ONNX, run by onnxruntime."""
    done = to_onnx.convert(path)
    assert done.proto is not None, [(one.title, one.values) for one in done.findings]
    onnx.checker.check_model(done.proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(done.proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    used = {one.name for one in session.get_inputs()}
    names = [one.name for one in done.proto.graph.input]
    found = session.run(None, {name: one for name, one in zip(names, inputs, strict=True) if name in used})
    return [np.asarray(one) for one in found]


def agree(
    make: Make,
    inputs: Sequence[Array],
    expected: Sequence[Any],
    rtol: float = 1e-5,
    sizes: Sequence[bool] = (False, True),
) -> None:
    """Both give what is expected, with ``sizes`` known and open; data types are exact."""
    for free in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = written(make, inputs, Path(folder), free)
            same(run_onnx(path, inputs), expected, rtol, "onnx")
            same(evaluate(path, read_file(path), inputs), expected, rtol, "evaluation")


def same(found: Sequence[Array], expected: Sequence[Any], rtol: float, who: str) -> None:
    """Results are as expected; an evaluation's fractions are in double precision."""
    assert len(found) == len(expected), who
    for one, wanted in zip(found, map(np.asarray, expected), strict=True):
        assert one.shape == wanted.shape, who
        if who == "onnx" or wanted.dtype.kind != "f":
            assert one.dtype == wanted.dtype, who
        np.testing.assert_allclose(one.astype(np.float64), wanted.astype(np.float64), rtol, rtol, err_msg=who)


def call(primitive: str, *more: Any, **attributes: Any) -> Make:
    """One call with constants behind its inputs; attributes for operators that have them."""
    return lambda b, *given: b.op(primitive, *given, *more, attributes=attributes or None)


def several(primitive: str, results: Sequence[str], *more: Any, attributes: Mapping[str, Any] | None = None) -> Make:
    """One call with several results of these data types."""
    return lambda b, *given: b.ops(
        primitive, *given, *more, results=[(dtype, None) for dtype in results], attributes=attributes
    )
