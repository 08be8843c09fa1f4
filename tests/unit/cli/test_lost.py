"""The end of a followed run whose supervisor died: never reported as success."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.cli import stream
from mswb.jobs import runs
from mswb.jobs.procs import pid_namespace
from mswb.jobs.spec import JobSpec, RunStatus, write_record
from mswb.settings import boot_id, host_name


def test_a_run_that_lost_its_supervisor_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, logs = tmp_path / "20260101_000000_1", tmp_path / "logs"
    folder.mkdir()
    logs.mkdir()
    (logs / "worker_0.log").write_text("step 1\n")
    spec = JobSpec(id=folder.name, kind="launch", title="a.py", cwd="/", env={}, processes=(), log_dir=str(logs))
    write_record(folder / "spec.json", spec)
    status = RunStatus(
        id=folder.name, kind="launch", backend="direct", title="a.py", cwd="/", host=host_name(), boot_id=boot_id(),
        pid=1, start_time=1, pid_namespace=pid_namespace(), state="running", created=1.0, heartbeat=1.0,
        log_dir=str(logs),
    )  # fmt: skip
    write_record(folder / "status.json", status)
    assert stream.finish(runs.load_run(folder), form="text") == 1
    said = capsys.readouterr()
    assert "had lost its supervisor" in said.err
    assert "FAILED" in said.out
    assert runs.load_run(folder).status.state == "ended"
