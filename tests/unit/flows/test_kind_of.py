"""Which pane a path belongs to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mswb.findings import MswbError
from mswb.flows.open_path import kind_of
from tests.unit.inventories import DATA, MODELS, PROFILES, SAMPLES

LAUNCH = Path(__file__).parents[2] / "fixtures" / "launch"
GRAPH = PROFILES / "graph_3step"


@pytest.mark.parametrize(
    "name", ["ok", "sigkill_worker", "glogfile", "py_oom", "ok/msrun_log", "ok/msrun_log/worker_0.log"]
)
def test_logs(name: str) -> None:
    assert kind_of(LAUNCH / name) == "logs"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (DATA, "cache"),
        (DATA / "good.tfrecord", "cache"),
        (SAMPLES / "compile", "cache"),
        (MODELS / "net.ckpt", "cache"),
        (MODELS / "net.onnx", "model"),
        (MODELS / "net.mindir", "model"),
        (PROFILES, "profile"),
        (GRAPH, "profile"),
        (next(GRAPH.iterdir()), "profile"),
        (next((PROFILES / "killed_run").iterdir()), "profile"),
        (next(GRAPH.iterdir()) / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", "profile"),
        (SAMPLES, "folder"),  # some of each
        (MODELS, "folder"),  # checkpoints and models
    ],
)
def test_samples(path: Path, kind: str) -> None:
    assert kind_of(path) == kind


def test_projects(tmp_path: Path) -> None:
    assert kind_of(tmp_path) == "folder"
    (tmp_path / "train.py").write_text("import mindspore")
    shutil.copy(MODELS / "net.onnx", tmp_path)
    shutil.copytree(LAUNCH / "ok" / "msrun_log", tmp_path / "ms_run_log")
    assert kind_of(tmp_path) == "folder"
    assert kind_of(tmp_path / "train.py") == "folder"
    assert kind_of(tmp_path / "ms_run_log") == "logs"


def test_a_copied_script_does_not_hide_the_logs(tmp_path: Path) -> None:
    shutil.copytree(LAUNCH / "ok" / "msrun_log", tmp_path / "logs")
    (tmp_path / "logs" / "train.py").write_text("import mindspore")
    assert kind_of(tmp_path / "logs") == "logs"


def test_only_models(tmp_path: Path) -> None:
    shutil.copy(MODELS / "net.onnx", tmp_path)
    (tmp_path / "README.md").write_text("about it")
    assert kind_of(tmp_path) == "model"


def test_a_profile_with_the_text_that_was_printed(tmp_path: Path) -> None:
    shutil.copytree(GRAPH, tmp_path / "prof")
    (tmp_path / "stdout.txt").write_text("[WARNING] ME(1:2,MainProcess):2026-11-30-10:06:59.590.000 [a/b.py:1] words\n")
    assert kind_of(tmp_path) == "profile"


def test_any_text_is_a_log_and_no_binary(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("hello\n")
    (tmp_path / "program").write_bytes(b"\x7fELF" + bytes(1000))
    assert kind_of(tmp_path / "out.txt") == "logs"
    assert kind_of(tmp_path / "program") == "folder"


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as caught:
        kind_of(tmp_path / "absent")
    assert caught.value.finding.code == "path-missing"
