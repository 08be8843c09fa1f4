"""Whole networks with open dimensions on real MindSpore against onnxruntime, each at three sizes that the conversion
never saw."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore
from tests.models import ALL
from tests.unit.convert.onnx_models import saved

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(600)]
RTOL, ATOL = 1e-4, 1e-5


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=200) as running:
        yield running


@pytest.mark.parametrize("name", ALL)
def test_other_sizes(name: str, engine: MindSpore, tmp_path: Path) -> None:
    model = ALL[name]
    proto = model.proto()
    done = to_mindir.convert(str(saved(proto, tmp_path)))
    assert done.model is not None, [one.title for one in done.findings]
    to_mindir.save(done, str(tmp_path / "net.mindir"))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    told = []
    for seed, run in enumerate(model.runs):
        inputs = model.draw(run, seed)
        expected = session.run(None, inputs)
        found = engine.run(str(tmp_path / "net.mindir"), list(inputs.values()))
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), run
            np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=ATOL, err_msg=str(run))
        told += [float(np.std(one)) for one in expected if one.size]
    assert max(told) > 1e-3, "results that are all alike tell nothing"
