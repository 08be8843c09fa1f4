"""The demo does what it says on whatever interpreter there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.harness import Workspace, marked_processes
from tests.e2e.test_survival import bare_python


@pytest.mark.parametrize("kind", ["plain", pytest.param("mindspore", marks=pytest.mark.mindspore)])
def test_the_planned_failure_is_found(tmp_path: Path, kind: str) -> None:
    workspace = Workspace(tmp_path)
    python = bare_python(tmp_path) if kind == "plain" else sys.executable
    ran = workspace.mswb("demo", "there", "--python", python, "--format", "json")
    assert ran.code == 0, ran.stderr
    assert ran.root["code"] == "script-exception" and ran.root["where"]["rank"] == 1
    assert ran.root["values"]["exception"] == "KeyError"
    assert marked_processes(tmp_path) == []


def test_the_demo_says_what_it_runs(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    command = workspace.command("demo", "there", "--python", bare_python(tmp_path))
    done = subprocess.run(command, cwd=tmp_path, env=workspace.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "a plain Python training (this interpreter has no MindSpore)" in done.stdout
    assert "rank 1 failed first" in done.stdout
