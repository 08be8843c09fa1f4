"""The check of MindIR files. What real MindSpore 2.10 does with each of these files stands beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.convert.mindir.lint import LIMIT, lint
from mswb.convert.mindir.primitives import known
from mswb.convert.mindir.schema import Attribute, External, Model
from mswb.convert.wire import Source
from mswb.findings import MswbError
from tests.unit.convert.models import (
    NETS,
    REAL,
    changed,
    codes,
    data_of,
    findings,
    with_graph,
    with_nodes,
    with_op,
    with_primitive,
    with_weight,
    without,
)
from tests.unit.inventories import MODELS

AXIS = Attribute(name="axis", type=7, i=-1)


@pytest.mark.parametrize("name", NETS)
def test_what_mindspore_exports_is_fine(name: str) -> None:
    assert findings(REAL / f"{name}.mindir") == ()


def _cycle(model: Model, source: Source) -> Model:
    relu = next(one.name for one in model.primitives if one.op_type == "ReLU")
    assert model.graph is not None
    last = next(node.output[0] for node in model.graph.node if node.op_type == f"REF::{relu}")
    return with_op(model, "MatMul", lambda node: (replace(node, input=(last, *node.input[1:])),))


def _typed(value: object) -> Callable[[Model, Source], Model]:
    return lambda m, s: with_op(
        m, "Constant", lambda n: (replace(n, attribute=tuple(replace(a, type=value) for a in n.attribute)),)
    )


CASES = {
    # runs, and answers with garbage
    "weight-short": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, raw_data=data_of(s, w)[:-8]))),
    "weight-missing": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, raw_data=None))),
    "weight-missing ": (
        "mlp",
        lambda m, s: with_weight(m, lambda w: replace(w, raw_data=None, float_data=(0.5,) * 32)),
    ),
    "model-dtype-mismatch": (
        "mlp",
        lambda m, s: with_weight(m, lambda w: replace(w, data_type=10, raw_data=data_of(s, w)[:64])),
    ),
    "model-shape-mismatch": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, dims=(4, 8)))),
    # runs; one of the two is kept
    "duplicate-tensor": ("mlp", lambda m, s: with_graph(m, lambda g: replace(g, parameter=g.parameter * 2))),
    # "Load MindIR failed."
    "duplicate-tensor ": ("mlp", lambda m, s: with_op(m, "ReLU", lambda n: (n, n))),
    "weight-long": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, raw_data=data_of(s, w) + bytes(8)))),
    "unsupported-dtype": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, data_type=99))),
    "undefined-input": ("mlp", lambda m, s: with_op(m, "ReLU", lambda n: ())),
    "undefined-input ": ("if", lambda m, s: replace(m, functions=m.functions[1:])),
    "undefined-output": (
        "mlp",
        lambda m, s: with_graph(m, lambda g: replace(g, output=(replace(g.output[0], name="none"),))),
    ),
    "mindir-field-missing": ("mlp", lambda m, s: with_graph(m, lambda g: replace(g, output=()))),
    "mindir-field-missing ": ("mlp", lambda m, s: replace(m, producer_name=None)),
    "mindir-field-missing  ": ("mlp", lambda m, s: replace(m, ir_version=None, model_version=None)),
    "mindir-too-new": ("mlp", lambda m, s: replace(m, mind_ir_version=99)),
    "node-order": ("mlp", lambda m, s: with_graph(m, lambda g: replace(g, node=g.node[::-1]))),
    "graph-cycle": ("mlp", _cycle),
    "missing-primitive": ("mlp", lambda m, s: replace(m, primitives=m.primitives[1:])),
    "constant-damaged": ("mlp", _typed(99)),
    "constant-damaged ": ("mlp", _typed(17)),
    "input-untyped": (
        "mlp",
        lambda m, s: with_graph(
            m,
            lambda g: replace(g, input=(replace(g.input[0], tensor=(replace(g.input[0].tensor[0], data_type=0),)),)),
        ),
    ),
    # loads; the run fails and names something else
    "input-untyped ": (
        "mlp",
        lambda m, s: with_graph(m, lambda g: replace(g, input=(replace(g.input[0], tensor=()),))),
    ),
    "weight-dynamic": ("mlp", lambda m, s: with_weight(m, lambda w: replace(w, dims=(-1, 4)))),
    "unsupported-op": ("mlp", lambda m, s: with_primitive(m, "ReLU", lambda p: replace(p, op_type="ReluGemm"))),
    "input-missing": ("mlp", lambda m, s: with_op(m, "MatMul", lambda n: (replace(n, input=n.input[:2]),))),
    "input-missing ": ("if", lambda m, s: with_op(m, "Switch", lambda n: (replace(n, input=n.input[:2]),))),
    "call-arguments": ("if", lambda m, s: with_op(m, "Partial", lambda n: (replace(n, input=n.input[:1]),))),
    "attributes-are-inputs": ("mlp", lambda m, s: replace(m, mind_ir_version=None)),
    "attribute-missing": (
        "conv",
        lambda m, s: with_primitive(m, "Conv2D", lambda p: replace(p, attribute=without(p.attribute, "pad_mode"))),
    ),
    "attribute-missing ": (
        "lstm",
        lambda m, s: with_primitive(
            m, "LSTM", lambda p: replace(p, attribute=(*p.attribute, Attribute(name="proj_size", type=1, f=1.0)))
        ),
    ),
    # the process dies: SIGABRT, SIGABRT, SIGSEGV, SIGSEGV, SIGSEGV
    "constant-damaged  ": ("mlp", _typed(19)),
    "constant-damaged   ": ("mlp", lambda m, s: with_op(m, "Constant", lambda n: (replace(n, attribute=()),))),
    "attribute-not-input": (
        "mlp",
        lambda m, s: with_primitive(
            with_op(m, "Softmax", lambda n: (replace(n, input=n.input[:1]),)),
            "Softmax",
            lambda p: replace(p, attribute=(AXIS,)),
        ),
    ),
    "attribute-not-input ": (
        "mlp",
        lambda m, s: with_op(m, "Softmax", lambda n: (replace(n, input=n.input[:1], attribute=(AXIS,)),)),
    ),
    "input-missing  ": ("mlp", lambda m, s: with_op(m, "Softmax", lambda n: (replace(n, input=n.input[:1]),))),
}


@pytest.mark.parametrize("case", CASES)
def test_each_defect_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    name, change = CASES[case]
    path = changed(name, change, tmp_path)
    code = case.strip()
    found = [finding for finding in findings(path) if finding.code == code]
    assert found, codes(path)
    assert found[0].severity == "error"
    assert found[0].where.file == str(path) and 0 <= (found[0].where.offset or 0) < path.stat().st_size
    assert "?" not in found[0].title.replace("(?", "") and "{" not in found[0].title + found[0].cause
    assert code.startswith("mindir-") or found[0].where.node


def test_the_byte_of_a_finding_is_that_of_the_tensor(tmp_path: Path) -> None:
    path = changed("mlp", CASES["weight-short"][1], tmp_path)
    (found,) = findings(path)
    assert found.values["bytes_wanted"] == 128 and found.values["bytes_found"] == 120
    assert found.values["name"] == "0.weight" and found.values["dtype"] == "float32"
    assert b"0.weight" in path.read_bytes()[found.where.offset :][:200]


def test_a_cycle_names_its_nodes(tmp_path: Path) -> None:
    cycle = next(one for one in findings(changed("mlp", _cycle, tmp_path)) if one.code == "graph-cycle")
    path = cycle.values["path"].split(" → ")
    assert cycle.values["count"] == 3 and len(path) == 4 and path[0] == path[-1]


def test_attributes_are_named(tmp_path: Path) -> None:
    (found,) = findings(changed("mlp", CASES["attribute-not-input "][1], tmp_path))
    assert (found.values["attribute"], found.values["op"]) == ("axis", "Softmax")
    (found,) = findings(changed("conv", CASES["attribute-missing"][1], tmp_path))
    assert found.values["attribute"] == "pad_mode"


def test_an_unknown_operator_is_told_with_one_that_is_spelt_alike(tmp_path: Path) -> None:
    path = changed("mlp", lambda m, s: with_primitive(m, "ReLU", lambda p: replace(p, op_type="Relu")), tmp_path)
    (found,) = findings(path)
    assert found.code == "unsupported-op" and "(near: ReLU)" in found.title
    path = changed("mlp", lambda m, s: with_primitive(m, "ReLU", lambda p: replace(p, op_type="RmsNorm")), tmp_path)
    assert "op-not-on-cpu" in codes(path)


def test_what_is_fine_in_the_old_style(tmp_path: Path) -> None:
    """Attributes at the primitive and mind_ir_version 1: MindSpore 2.10 loads and runs it."""

    def old(model: Model, source: Source) -> Model:
        model = with_op(model, "Softmax", lambda n: (replace(n, input=n.input[:1], attribute=(AXIS,)),))
        model = with_op(model, "MatMul", lambda n: (replace(n, input=n.input[:2]),))
        model = with_op(model, "BiasAdd", lambda n: (replace(n, input=n.input[:2]),))
        return replace(model, mind_ir_version=1)

    assert codes(changed("mlp", old, tmp_path)) == set()


def _external(**place: object) -> Callable[[Model, Source], Model]:
    return lambda m, s: with_weight(m, lambda w: replace(w, raw_data=None, external_data=External(**place)))


def test_external_data(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(200))
    assert codes(changed("mlp", _external(location="data", start=64, length=128), tmp_path)) == set()
    assert codes(changed("mlp", _external(location="data", start=100, length=128), tmp_path)) == {"weight-short"}
    assert codes(changed("mlp", _external(location="data", start=2**62, length=128), tmp_path)) == {"weight-short"}
    assert codes(changed("mlp", _external(location="data", start=-5, length=128), tmp_path)) == {"weight-short"}
    assert codes(changed("mlp", _external(location="none", length=128), tmp_path)) == {"external-data-missing"}


@pytest.mark.parametrize("location", ["/etc/passwd", "../x", "a/../../x", "", "a\0b", "..\\x", "link/x", "x" * 5000])
def test_external_data_outside_is_not_opened(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (tmp_path / "x").write_bytes(bytes(200))
    (model / "link").symlink_to(tmp_path)
    assert codes(changed("mlp", _external(location=location, length=128), model)) == {"external-data-escape"}


def test_a_pipe_as_external_data_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert codes(changed("mlp", _external(location="pipe", length=128), tmp_path)) == {"external-data-missing"}


def test_many_findings_of_a_kind_are_counted(tmp_path: Path) -> None:
    path = changed(
        "lstm",
        lambda m, s: with_nodes(m, lambda n: tuple(replace(n, name=f"{n.name}{i}", input=("?",)) for i in range(9))),
        tmp_path,
    )
    found = findings(path)
    assert sum(one.code == "undefined-input" for one in found) == LIMIT
    assert any(one.code == "lint-more" and one.values["count"] > 0 for one in found)


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", "not-a-model", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "not-a-model", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "not-a-model", "HTML"),
        (b"\x10\0\0\0MSL2" + bytes(64), "not-a-model", "Lite model"),
        (b"hello there", "not-a-model", "neither"),
        (b"\x0a\x031.1\x12\x09MindSpore*\x062.10.0", "not-a-model", "neither"),
        (bytes(range(256)), "not-a-model", ""),
        ((REAL / "mlp.mindir").read_bytes()[:3000], "truncated", "wants"),
        ((REAL / "mlp.mindir").read_bytes()[:-3], "truncated", ""),
        ((REAL / "mlp.mindir").read_bytes()[:9], "truncated", ""),
    ],
)
def test_other_files_stop_with_one_sentence(content: bytes, code: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mindir"
    path.write_bytes(content)
    with pytest.raises(MswbError) as stopped:
        lint(str(path))
    finding = stopped.value.finding
    assert (finding.code, stopped.value.exit_code) == (code, 2)
    assert words in finding.title and finding.where.offset is not None and "\n" not in str(stopped.value)


@pytest.mark.parametrize("mode", ["AES-GCM", "AES-CBC", "SM4-CBC"])
def test_an_encrypted_file_names_its_mode(mode: str) -> None:
    with pytest.raises(MswbError) as stopped:
        lint(str(MODELS / f"enc_{mode}.mindir"))
    assert stopped.value.finding.code == "encrypted" and mode in stopped.value.finding.title


def test_an_onnx_file_is_not_checked() -> None:
    with pytest.raises(MswbError) as stopped:
        lint(str(MODELS / "net.onnx"))
    assert stopped.value.finding.code == "lint-mindir-only"


def test_the_table_of_operators() -> None:
    table = known()
    assert table.inputs["Softmax"] == ("input", "axis") and len(table.inputs) > 700
    assert {"Conv2D", "MakeTuple", "make_list", "Depend", "TopK", "LSTM"} <= table.names
    assert table.not_on_cpu < table.names and set(table.attributes) < table.names
