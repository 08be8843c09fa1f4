"""The check of MindIR files against real MindSpore: what it exports is fine; what is damaged it refuses, or worse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mswb.convert.inspect import inspect
from mswb.convert.mindir.lint import lint
from tests.e2e.harness import SCRIPTS
from tests.unit.convert.models import changed, codes
from tests.unit.convert.test_lint import CASES

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]
QUIET = {**os.environ, "GLOG_v": "4"}
SHAPES = {"mlp": [[2, 4]], "conv": [[1, 3, 8, 8]], "if": [[2, 4]], "lstm": [[1, 3, 4]]}
SILENT = {"weight-short", "weight-missing", "model-dtype-mismatch", "model-shape-mismatch"}
"""Defects with which MindSpore runs and says nothing; of two weights of one name it keeps one."""


def test_every_export_of_mindspore_is_fine(tmp_path: Path) -> None:
    script = [sys.executable, str(SCRIPTS / "export_models.py"), str(tmp_path)]
    done = subprocess.run(script, env=QUIET, capture_output=True, text=True, cwd=tmp_path, timeout=800)
    assert done.returncode == 0, done.stderr[-2000:]
    names = done.stdout.split()
    assert len(names) > 20
    for name in names:
        path = str(tmp_path / f"{name}.mindir")
        assert lint(path).findings == (), name
        assert "(unknown)" not in dict(inspect(path).operators)


def test_what_mindspore_says_of_each_defect(tmp_path: Path) -> None:
    files = {}
    for number, (case, (name, change)) in enumerate(CASES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        files[str(changed(name, change, folder))] = (case, SHAPES[name])
    asked = json.dumps([[path, shapes] for path, (_, shapes) in files.items()])
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "load_models.py")],
        env=QUIET,
        input=asked,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=800,
    )
    told = {path: (outcome, words) for path, outcome, words in map(json.loads, done.stdout.splitlines())}
    assert set(told) == set(files), done.stderr[-2000:]
    for path, (case, _) in files.items():
        outcome, words = told[path]
        runs = case.strip() in SILENT or case == "duplicate-tensor"
        assert (outcome == "ran") == runs, (case, outcome, words)
        assert case.strip() in codes(Path(path))
    assert {"died", "refused", "failed", "ran"} == {outcome for outcome, _ in told.values()}
