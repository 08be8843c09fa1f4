"""A conversion from the workbench on real MindSpore, by keys alone: form, process, table, details, report."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.e2e.desk import ENTER, ESCAPE, LONG, START, Desk
from tests.e2e.harness import Workspace
from tests.waiting import wait_until

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(600)]
NET = """<ir_version: 8, opset_import: ["" : 17]> net (float[n,8] x) => (float[n,4] y)
<float[8,4] w = {0.5,-0.25,1,2,0,0.75,-1,0.5,1.5,0.25,-0.5,1,0.1,0.2,0.3,0.4,
                 -1,1,-1,1,0.5,0.5,0.5,0.5,2,1,0,-1,0.3,0.6,0.9,1.2}> {
    m = MatMul(x, w)
    r = Relu(m)
    y = Softmax(r)
}"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    model = onnx.parser.parse_model(NET)
    for node, name in zip(model.graph.node, ("product", "relu", "softmax"), strict=True):
        node.name = name
    onnx.save(model, str(tmp_path / "net.onnx"))
    return Workspace(tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
def test_a_model_is_converted_verified_and_looked_at(workspace: Workspace, size: tuple[int, int]) -> None:
    with Desk(workspace, size=size) as desk:
        desk.type("4")
        desk.see_row("net.onnx", "ONNX model")
        desk.type(ENTER, "ONNX → MindIR")
        desk.see("mswb convert --input_file net.onnx --verify")
        desk.see("✓ ready")
        desk.type(START)
        desk.see_row("net.onnx → net.mindir", "✓ verification passed", timeout=LONG)
        desk.see_row("✓ structure", "✓ weights", "✓ numbers", "onnxruntime")
        desk.see_row("Softmax", "softmax", "✓ fine")
        assert all(name in desk.text for name in ("product", "relu"))
        desk.type(">>s")  # by node
        desk.see(lambda text: _order(text, "product", "relu", "softmax"))
        desk.type("s")
        desk.see(lambda text: _order(text, "softmax", "relu", "product"))
        desk.type("/", "Enter keeps")
        desk.type(f"op:matmul{ENTER}")
        desk.see_row("operators", "1 of 3")
        desk.see_row("s Sort", "w Report")  # the keys are the table's again
        desk.type(ENTER if size[0] < 140 else "")
        desk.see_row("MatMul product")
        desk.see("Tensors")
        desk.see_row("MindSpore", timeout=LONG)
        desk.type(f"{ESCAPE if size[0] < 140 else ''}w", "Write the report to")
        desk.type(f"\x15r.json{ENTER}", "written:")
        report = json.loads((workspace.folder / "r.json").read_text())
        assert report["verdict"] == "passed" and len(report["operators"]) == 3
        desk.type("1")
        desk.see("No runs here yet")
        desk.type("4")
        desk.see_row("net.onnx → net.mindir", "✓ verification passed")


def _order(text: str, *names: str) -> bool:
    rows = [line for line in text.split("\n") if "✓ fine" in line]
    places = [next((at for at, line in enumerate(rows) if name in line), -1) for name in names]
    return -1 not in places and places == sorted(places)


def test_leaving_ends_what_is_converted(workspace: Workspace) -> None:
    with Desk(workspace) as desk:
        desk.type("4")
        desk.see_row("net.onnx", "ONNX model")
        desk.type(ENTER, "✓ ready")
        desk.type(START, "1 at work")
        desk.type("q")
        desk.see_row("net.onnx", "ONNX model")
        desk.type("q")
        assert desk.terminal.process.wait(30) == 0
    wait_until(lambda: _processes(workspace.folder) == [], LONG)
    assert [one.name for one in workspace.folder.iterdir() if one.name.endswith(".tmp")] == []


def _processes(folder: Path) -> list[str]:
    """Live processes that were started from this workspace."""
    mark, found = f"MSWB_STATE_DIR={folder / 'state'}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
