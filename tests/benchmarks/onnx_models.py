"""The models that the onnx package brings, converted and run on real MindSpore: all that onnxruntime loads must agree.

``python -m tests.benchmarks.onnx_models [--suite NAME,NAME] [--list]``: counts by suite; with --list every model that
is not right. The suites are the nine light networks, once with the constants that they have for weights and once with
weights that are made; the simple models; and what PyTorch once exported, layers and operators. The expected outputs
are those of the suite; where it has none, those of onnxruntime.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test import loader

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import EngineError, MindSpore
from mswb.findings import MswbError
from tests.benchmarks import light
from tests.benchmarks.onnx_suite import differs

WEIGHTS = "light, with weights"
SUITES = ("light", WEIGHTS, "simple", "pytorch-converted", "pytorch-operator")
STATES = ("right", "wrong", "error", "crash", "refused", "strings", "not loaded")
"""How a model went: "strings" are what it is about, and MindSpore has none; "not loaded" is one that onnxruntime does
not load, and that is not right."""


@dataclass(frozen=True)
class Outcome:
    """How one model went: one of ``STATES``, and why."""

    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True)
class Model:
    """A model file and, where the suite has them, the folder of inputs and expected outputs."""

    name: str
    path: Path
    data: Path | None = None


def models(suite: str, folder: Path) -> Iterator[Model]:
    """The models of a suite; those that are made go to ``folder``."""
    if suite in ("light", WEIGHTS):
        for path in sorted(light.FOLDER.glob("*.onnx")):
            made = folder / "weights.onnx"
            if suite == WEIGHTS:
                onnx.save(light.with_weights(path), str(made))
            yield Model(path.stem, made if suite == WEIGHTS else path)
        return
    for path in sorted((Path(loader.DATA_DIR) / suite).glob("*/model.onnx")):
        yield Model(path.parent.name, path, path.parent / "test_data_set_0")


def attempt(model: Model, engine: MindSpore, folder: Path) -> Outcome:
    """Convert, run and compare one model."""
    proto = onnx.load(str(model.path))
    if _has_strings(proto):
        return Outcome(model.name, "strings")
    state, detail = _tried(model, proto, engine, str(folder / "model.mindir"))
    loaded = state == "right" or _session(model.path) is not None
    return Outcome(model.name, state if loaded else "not loaded", detail)


def _tried(model: Model, proto: ModelProto, engine: MindSpore, target: str) -> tuple[str, str]:
    try:
        done = to_mindir.convert(str(model.path))
        if done.model is None:
            return "refused", "; ".join(sorted({one.title for one in done.findings}))
        to_mindir.save(done, target)
    except MswbError as problem:
        return "refused", str(problem)
    inputs = _stored(model, "input") or _made(proto)
    expected = _stored(model, "output") or _by_onnxruntime(model, inputs)
    try:
        found = engine.run(target, inputs)
    except EngineError as problem:
        return "crash" if problem.crashed else "error", " ".join(str(problem).split())[:300]
    difference = differs(found, expected)
    return ("wrong", difference) if difference else ("right", "")


def _has_strings(proto: ModelProto) -> bool:
    return any(value.type.tensor_type.elem_type == TensorProto.STRING for value in proto.graph.input)


def _stored(model: Model, side: str) -> list[Any]:
    files = sorted(model.data.glob(f"{side}_*.pb"), key=lambda one: int(one.stem.split("_")[1])) if model.data else []
    return [numpy_helper.to_array(TensorProto.FromString(one.read_bytes())) for one in files]


def _made(proto: ModelProto) -> list[Any]:
    """Random numbers for the inputs that are no weights."""
    noise, weights = np.random.default_rng(5), {one.name for one in proto.graph.initializer}
    shapes = [
        [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in proto.graph.input
        if value.name not in weights
    ]
    return [noise.standard_normal(shape, np.float32) for shape in shapes]


def _session(path: Path) -> onnxruntime.InferenceSession | None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:  # whatever it raises, it does not load the model
        return None


def _by_onnxruntime(model: Model, inputs: Sequence[Any]) -> list[Any]:
    session = _session(model.path)
    assert session is not None, model.name
    names = [one.name for one in session.get_inputs()]
    found: list[Any] = session.run(None, dict(zip(names, inputs, strict=True)))
    return found


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default=",".join(SUITES[i] for i in (0, 2, 3, 4)), help=f"of {', '.join(SUITES)}")
    parser.add_argument("--list", action="store_true", help="every model that is not right")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temp, MindSpore(sys.executable) as engine:
        for suite in options.suite.split(","):
            outcomes = [attempt(model, engine, Path(temp)) for model in models(suite, Path(temp))]
            counts = Counter(one.state for one in outcomes)
            total += counts
            print(f"{suite}: {len(outcomes)} models: " + _told(counts), flush=True)
            for one in outcomes if options.list else ():
                if one.state != "right":
                    print(f"    {one.state:10} {one.name:50} {one.detail}")
    print(f"{total.total()} models: " + _told(total))
    return int(any(total[state] for state in ("wrong", "error", "crash", "refused")))


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{state} {counts[state]}" for state in STATES if counts[state] or state in STATES[:5])


if __name__ == "__main__":
    sys.exit(main())
