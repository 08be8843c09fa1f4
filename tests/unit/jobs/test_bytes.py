"""Paths and variables that are no UTF-8: they reach the processes byte by byte."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mswb.findings import MswbError
from mswb.jobs import runs
from mswb.jobs.spec import JobSpec, read_record, write_record
from tests.unit.jobs.conftest import Lab

GBK = os.fsdecode("训练".encode("gbk"))


def test_a_record_keeps_odd_bytes(tmp_path: Path) -> None:
    spec = JobSpec(
        id="1", kind="launch", title="训练", cwd=f"/data/{GBK}", env={GBK: GBK}, processes=(), worker_logs={3: GBK}
    )
    write_record(tmp_path / "spec.json", spec)
    assert read_record(tmp_path / "spec.json", JobSpec) == spec


def test_a_broken_record_with_odd_bytes_is_still_named(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text('{"id": "\U0010dc80"}', encoding="utf-8")
    with pytest.raises(MswbError) as caught:
        read_record(tmp_path / "spec.json", JobSpec)
    assert caught.value.finding.code == "path-unreadable"


def test_a_job_in_a_gbk_folder_with_a_gbk_variable(lab: Lab) -> None:
    folder = lab.folder / GBK
    folder.mkdir()
    code = "import os; open('seen', 'wb').write(os.environb[b'WORD'] + b' ' + os.getcwdb())"
    run = lab.start(lab.command(sys.executable, "-c", code, cwd=str(folder), env={**os.environ, "WORD": GBK}))
    assert lab.ended(run).exit_code == 0
    assert (folder / "seen").read_bytes() == os.fsencode(f"{GBK} {folder}")
    assert runs.read_status(run).cwd == str(folder)
