"""Conversion of a model of 500 MB, and its verification.

Peers: ``dd conv=fsync`` of the same file, which is what writing it costs; and for the verification one run of
onnxruntime that gives every result, and one run of the converted file in MindSpore.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.benchmarks.common import Context, Row, bench, in_turn, seconds

BIG, SMALL = "vgg19", "squeezenet"
"""Light networks of the onnx package, with weights made: 575 MB and 5 MB."""


@bench
def conversion(context: Context) -> Iterator[Row]:
    """``mswb convert`` from start to end."""
    source, target, copy = (context.temp / name for name in ("net.onnx", "net.mindir", "copy"))
    size = _made(source, context.quick)
    command = [sys.executable, "-m", "mswb", "convert", "--input_file", str(source), "--output_file", str(target)]
    times = 2 if context.quick else 3
    peaks: list[int] = []
    ours, plain = in_turn(times, [lambda: peaks.append(_peak_bytes(command)), lambda: _dd(source, copy)])
    limit = 1e9 if context.quick else 4
    yield Row(f"convert {size / 1e6:.0f} MB, s", ours, limit, "dd conv=fsync", plain, relative=True)
    yield Row("peak memory / file", max(peaks) / size, 1e9 if context.quick else 1.5)
    copy.unlink()


def _made(path: Path, quick: bool) -> int:
    """Make the network in a process of its own: the memory that this one once held would count as its children's."""
    command = [sys.executable, "-m", "tests.benchmarks.light", SMALL if quick else BIG, str(path)]
    subprocess.run(command, check=True)
    return path.stat().st_size


def _peak_bytes(command: list[str]) -> int:
    """Run a command and return the most memory that it held.

    Raises:
        AssertionError: it failed.
    """
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return usage.ru_maxrss * 1024


def _dd(source: Path, target: Path) -> None:
    command = ["dd", f"if={source}", f"of={target}", "bs=1M", "conv=fsync", "status=none"]
    subprocess.run(command, check=True)


@bench
def verification(context: Context) -> Iterator[Row]:
    """A verification with every operator measured; the starts of both engines are not counted."""
    from mswb.convert import to_mindir
    from mswb.convert.engines.mindspore import MindSpore
    from mswb.convert.engines.ort import OnnxRuntime
    from mswb.convert.verify import conversion as verify
    from mswb.convert.verify.result import Options

    source, target = str(context.temp / "net.onnx"), str(context.temp / "net.mindir")
    _made(Path(source), context.quick)
    done = to_mindir.convert(source)
    to_mindir.save(done, target)
    graph = done.source.proto.graph
    x = np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)
    given = {next(value.name for value in graph.input if value.name not in done.source.weights): x}
    with OnnxRuntime() as reference, MindSpore(sys.executable) as engine:
        start = seconds(engine.start)
        start += seconds(lambda: reference.run(done.source, graph.node[:1], given, [graph.node[0].output[0]]))
        names = [node.output[0] for node in graph.node]
        once = seconds(lambda: reference.run(done.source, graph.node, given, names))
        once += seconds(lambda: engine.run(target, [x]))
    found: list[str] = []
    options = Options(python=sys.executable, untouched=True)
    whole = seconds(lambda: found.append(verify.verify(done.source, target, options).verdict))
    assert found == ["passed"]
    limit = 1e9 if context.quick else 3
    yield Row("verify, s", whole - start, limit, "onnxruntime + MindSpore once", once, relative=True)
