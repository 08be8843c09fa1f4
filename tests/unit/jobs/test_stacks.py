"""Where the ranks of a live run stand: each is asked, none is ended, and what they print is read back."""

from __future__ import annotations

import pytest

from mswb.cli.app import run as mswb
from mswb.findings import MswbError
from mswb.flows.stacks import ask_stacks
from mswb.jobs import control, runs
from mswb.jobs.spec import write_record
from tests.unit.jobs.conftest import Lab


def test_ranks_print_where_they_stand_and_go_on(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lab.start(lab.spec(["standing+forever", "forever"], backend="direct", scheduler="wait:all_done"))
    lab.until(run, "ready_worker_0", "ready_worker_1")
    lab.until_found(run, 2)
    (found,) = ask_stacks(run)  # rank 1 and the scheduler have no handler: the signal would end them
    assert (found.role, found.rank) == ("worker", 0)
    assert found.place.startswith("forever (") and "rank.py:" in found.place
    assert "most recent call first" in found.text
    monkeypatch.setenv("MSWB_STATE_DIR", str(lab.settings["state_dir"]))
    assert mswb(["jobs", "stacks", run.id]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("rank 0  forever (") and any("line" in line for line in rest)
    assert runs.run_state(run.reload()) == "running"
    assert all(one.state != "ended" for one in runs.read_status(run).processes)
    control.request_stop(run, kill=True)
    lab.ended(run)
    assert ask_stacks(run) == []


def test_a_run_of_another_host_is_not_signalled(lab: Lab) -> None:
    run = lab.start(lab.spec(["standing+forever"], backend="direct"))
    lab.until(run, "ready_worker_0")
    elsewhere = lab.settings.runs_dir / "20260101_000000_1"
    elsewhere.mkdir(parents=True)
    status = runs.read_status(run)
    status.host = "elsewhere"
    write_record(elsewhere / "status.json", status)
    with pytest.raises(MswbError) as caught:
        control.request_stacks(runs.load_run(elsewhere))
    assert caught.value.finding.code == "run-elsewhere"
