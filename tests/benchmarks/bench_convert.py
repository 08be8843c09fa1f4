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
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.benchmarks.common import Context, Row, bench, in_turn, seconds

BLOCKS = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""VGG19 (Simonyan and Zisserman, 2014): channels and convolutions of each block; 143 million weights."""
HIDDEN = (4096, 4096, 1000)


def vgg(path: Path, *, small: bool) -> None:
    """Write the network with random weights; a small one has an eighth of the channels."""
    noise = np.random.default_rng(19)
    shrink, side = (8, 64) if small else (1, 224)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    last, channels, features = "x", 3, side

    def layer(op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def weight(*shape: int) -> str:
        spread = (2 / np.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.01
        array = noise.standard_normal(shape, np.float32) * np.float32(spread)
        weights.append(onnx.numpy_helper.from_array(array, f"w{len(weights)}"))
        return f"w{len(weights) - 1}"

    for wide, count in BLOCKS:
        for _ in range(count):
            inputs = [last, weight(wide // shrink, channels, 3, 3), weight(wide // shrink)]
            last = layer("Relu", [layer("Conv", inputs, kernel_shape=[3, 3], pads=[1, 1, 1, 1])])
            channels = wide // shrink
        last, features = layer("MaxPool", [last], kernel_shape=[2, 2], strides=[2, 2]), features // 2
    last, entries = layer("Flatten", [last]), channels * features**2
    for at, wide in enumerate(HIDDEN):
        last = layer("Gemm", [last, weight(wide // shrink, entries), weight(wide // shrink)], transB=1)
        last, entries = last if at == len(HIDDEN) - 1 else layer("Relu", [last]), wide // shrink
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, side, side])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, entries])
    graph = helper.make_graph(nodes, "vgg19", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))


@bench
def conversion(context: Context) -> Iterator[Row]:
    """``mswb convert`` from start to end."""
    source, target, copy = (context.temp / name for name in ("vgg.onnx", "vgg.mindir", "copy"))
    size = _made(source, context.quick)
    command = [sys.executable, "-m", "mswb", "convert", "--input_file", str(source), "--output_file", str(target)]
    times = 2 if context.quick else 3
    peaks: list[int] = []
    ours, plain = in_turn(times, [lambda: peaks.append(_peak_bytes(command)), lambda: _dd(source, copy)])
    limit = 1e9 if context.quick else 4
    yield Row(f"convert {size / 1e6:.0f} MB, s", ours, limit, "dd conv=fsync", plain, relative=True)
    yield Row("peak memory / file", max(peaks) / size, 1e9 if context.quick else 1.5)
    copy.unlink()


def _made(path: Path, small: bool) -> int:
    """Make the network in a process of its own: the memory that this one once held would count as its children's."""
    subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_convert", str(path), *(["small"] * small)], check=True
    )
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
    """A verification of the small network with every operator measured; the starts of both engines are not counted."""
    from mswb.convert import to_mindir, verify
    from mswb.convert.engines.mindspore import MindSpore
    from mswb.convert.engines.ort import OnnxRuntime
    from mswb.convert.verification import Options

    source, target = str(context.temp / "net.onnx"), str(context.temp / "net.mindir")
    _made(Path(source), True)
    done = to_mindir.convert(source)
    to_mindir.save(done, target)
    x = np.random.default_rng(0).standard_normal((1, 3, 64, 64), np.float32)
    nodes = done.source.proto.graph.node
    with OnnxRuntime() as reference, MindSpore(sys.executable) as engine:
        start = seconds(engine.start)
        start += seconds(lambda: reference.run(done.source, nodes[:1], {"x": x}, [nodes[0].output[0]]))
        names = [name for node in nodes for name in node.output]
        once = seconds(lambda: reference.run(done.source, nodes, {"x": x}, names))
        once += seconds(lambda: engine.run(target, [x]))
    found: list[str] = []
    options = Options(python=sys.executable, untouched=True)
    whole = seconds(lambda: found.append(verify.verify(done.source, target, options).verdict))
    assert found == ["passed"]
    yield Row("verify, s", whole - start, 3, "onnxruntime + MindSpore once", once, relative=True)


if __name__ == "__main__":
    vgg(Path(sys.argv[1]), small="small" in sys.argv[2:])
