"""Files and options that would do harm: memory, endless work, files that are lost; each found by trying to."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import numpy as np
import onnx
import pytest

from mswb.cli.app import run
from mswb.cli.ended import Ended, cleaned_up
from mswb.convert import to_mindir, to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.fold import evaluate as fold
from mswb.convert.graph import Builder
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.inference import infer
from mswb.convert.onnx.node import Refused
from tests.unit.convert.models import REAL, changed, with_nodes
from tests.unit.convert.onnx_models import model_of, saved, small
from tests.unit.convert.test_program import whole

CONV = str(REAL / "conv.mindir")


def test_sizes_that_ask_for_any_memory_are_not_written_out() -> None:
    joins = "\n".join(f"a{at + 1} = Concat<axis=0>({', '.join([f'a{at}'] * 10)})" for at in range(12))
    bomb = model_of(f"g (float[1] x) => (float[n] y) {{ p = Constant<value = int64[1] {{10}}>() "
                    f"a0 = ConstantOfShape(p) {joins} y = Add(a12, x) }}")  # fmt: skip
    found = {one.name: one for one in infer(bomb).graph.value_info}
    assert found["a12"].type.tensor_type.shape.dim[0].dim_value == 10**13


def test_a_few_numbers_that_fold_to_a_long_tensor() -> None:
    node = onnx.helper.make_node("ConstantOfShape", ["shape"], ["y"])
    assert fold(node, [np.array([1 << 34], np.int64)], 17) is None
    assert fold(node, [np.array([3], np.int64)], 17) is not None


@pytest.mark.parametrize(
    "node", ["LRN<size = 1099511627776>(x)", "MaxPool<kernel_shape = [1099511627776, 1]>(x)",
             "MaxPool<kernel_shape = [1, 1], pads = [0, 0, 4398046511104, 0]>(x)"],
)  # fmt: skip
def test_windows_of_any_size_are_refused_at_once(node: str, tmp_path: Path) -> None:
    path = saved(model_of(f"g (float[1,3,8,8] x) => (float[a,b,c,d] y) {{ y = {node} }}"), tmp_path)
    done = to_mindir.convert(str(path))
    assert done.model is None and [one.code for one in done.findings] == ["unsupported-form"]


def test_a_choice_between_what_is_no_function(tmp_path: Path) -> None:
    def plain_branch(node: object) -> tuple[object, ...]:
        from dataclasses import replace

        from mswb.convert.mindir.schema import Node

        assert isinstance(node, Node)
        if not (node.op_type or "").startswith("REF::Switch"):
            return (node,)
        return (replace(node, input=(node.input[0], node.input[0], node.input[2])),)

    path = changed("if", lambda model, source: with_nodes(model, plain_branch), tmp_path)  # type: ignore[arg-type]
    done = to_onnx.convert(str(path))
    assert done.proto is None and done.findings
    with pytest.raises(Refused, match="no function"):
        evaluate(str(path), read_file(str(path)), [np.ones((2, 4), np.float32)])


def test_tuples_that_lie_ten_thousand_deep(tmp_path: Path) -> None:
    builder = Builder("main")
    value = builder.input("x", "float32", (2,))
    for _ in range(10_000):
        value = builder.tuple([value])
    path = tmp_path / "deep.mindir"
    write(whole(builder, builder.finish([value])), str(path))
    done = to_onnx.convert(str(path))
    assert done.proto is None and "deep" in done.findings[0].title
    with pytest.raises(Refused, match="deep"):
        evaluate(str(path), read_file(str(path)), [np.zeros(2, np.float32)])


@pytest.mark.parametrize("command", [["--output_file"], ["--report"]])
def test_a_pipe_is_not_replaced_by_a_file(command: list[str], tmp_path: Path) -> None:
    pipe = tmp_path / "out.json"
    os.mkfifo(pipe)
    wanted = [] if command == ["--output_file"] else ["--output_file", str(tmp_path / "net.onnx")]
    assert run(["convert", "--input_file", CONV, "--to_onnx", *wanted, *command, str(pipe)]) == 2
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and os.listdir(tmp_path) == ["out.json"]


@pytest.mark.parametrize("place", ["input", "output", "twice"])
def test_a_report_takes_no_other_files_place(place: str, tmp_path: Path) -> None:
    source, target, told = tmp_path / "in.json", tmp_path / "out.json", tmp_path / "told.json"
    source.write_bytes(Path(CONV).read_bytes())
    report = {"input": source, "output": target, "twice": told}[place]
    arguments = ["convert", "--input_file", str(source), "--to_onnx", "--output_file", str(target)]
    assert run([*arguments, *["--report", str(report)] * (2 if place == "twice" else 1)]) == 2
    assert source.read_bytes() == Path(CONV).read_bytes() and os.listdir(tmp_path) == ["in.json"]


def test_a_report_that_can_not_be_written_leaves_no_model(tmp_path: Path) -> None:
    arguments = ["convert", "--input_file", CONV, "--to_onnx", "--output_file", str(tmp_path / "net.onnx")]
    assert run([*arguments, "--report", str(tmp_path / "nowhere" / "told.json")]) == 2
    assert not os.listdir(tmp_path)


def test_a_python_without_mindspore_is_named_before_anything_is_written(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    target = tmp_path / "net.onnx"
    arguments = ["convert", "--input_file", CONV, "--to_onnx", "--output_file", str(target), "--verify"]
    assert run([*arguments, "--python", str(python)]) == 2
    assert not target.exists()


@pytest.mark.parametrize(
    "option",
    [
        ["--seed", "-1"], ["--threshold", "-1"], ["--threshold", "nan"], ["--freeze", "x=" + "[" * 50_000],
        ["--custom_op_config", "[" * 100_000], ["--custom_op_config", '{"\\ud800": {"x": 1}}'],
        ["--custom_op_config", '{"Softmax": {"axis": 1180591620717411303424}}'],
    ],
)  # fmt: skip
def test_values_of_options_that_are_none(option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(model_of("g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"), tmp_path)
    assert run(["convert", "--input_file", str(path), *option]) == 2
    assert len(capsys.readouterr().err.strip().split("\n")) == 1 and os.listdir(tmp_path) == ["net.onnx"]


def test_an_array_file_that_claims_more_than_the_memory(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2199023255552,), }"
    huge = tmp_path / "huge.npy"
    huge.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    path = saved(small(), tmp_path)
    assert run(["convert", "--input_file", str(path), "--freeze", f"x={huge}"]) == 2


def test_a_new_model_may_be_read_as_any_other_new_file(tmp_path: Path) -> None:
    path, other = saved(small(), tmp_path), tmp_path / "other"
    other.touch()
    assert run(["convert", "--input_file", str(path)]) == 0
    assert (
        run(["convert", "--input_file", str(tmp_path / "net.mindir"), "--output_file", str(tmp_path / "b.onnx")]) == 0
    )
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("net.mindir", "b.onnx", "other")}
    assert len(modes) == 1


def test_a_chain_of_twenty_thousand_nodes_is_checked(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Relu", [f"v{at}"], [f"v{at + 1}"]) for at in range(20_000)]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [value("v0", 1, [2])], [value("v20000", 1, [2])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    done = to_mindir.convert(str(saved(model, tmp_path)))
    assert done.model is not None and done.model.graph is not None and len(done.model.graph.node) >= 20_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_unwinds(number: signal.Signals) -> None:
    steps: list[str] = []
    outer = signal.signal(number, signal.SIG_DFL)  # behind nohup it is ignored, and stays so
    before = signal.getsignal(number)
    with pytest.raises(Ended) as ended, cleaned_up():
        try:
            os.kill(os.getpid(), number)
        finally:
            steps.append("cleaned up")
    assert steps == ["cleaned up"] and ended.value.exit_code == 128 + number and signal.getsignal(number) == before
    signal.signal(number, outer)
