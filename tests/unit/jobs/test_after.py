"""What comes after a good end: a command that can't spoil it, and what a member told of its own result."""

from __future__ import annotations

import sys

import pytest

from mswb.jobs import runs
from tests.unit.jobs.conftest import Lab


@pytest.mark.parametrize(("code", "done"), [(0, True), (3, False)])
def test_it_runs_after_a_good_end_only(lab: Lab, code: int, done: bool) -> None:
    mark = lab.folder / "after"
    after = (sys.executable, "-S", "-c", f"open({str(mark)!r}, 'w').close()")
    run = lab.start(lab.command(sys.executable, "-S", "-c", f"raise SystemExit({code})", after=after))
    status = lab.ended(run)
    assert (status.exit_code, mark.exists()) == (code, done)


@pytest.mark.parametrize("after", [("/no/such/program",), (sys.executable, "-S", "-c", "raise SystemExit(5)")])
def test_its_failure_is_not_the_runs(lab: Lab, after: tuple[str, ...]) -> None:
    run = lab.start(lab.command(sys.executable, "-S", "-c", "pass", after=after))
    assert lab.ended(run).exit_code == 0


TELL = """
import json, os
event = {{"time": 1.0, "event": "stale-source", "role": "worker", "pid": 1, "text": "session 7 serves old rows"}}
with open(os.environ["MSWB_EVENTS"], "a") as file:
    file.write("no event: stale-source\\n" + json.dumps(event) + "\\n")
raise SystemExit({code})
"""


@pytest.mark.parametrize(("code", "expected", "told"), [(0, 1, True), (3, 3, False)])
def test_a_flawed_result_is_in_the_record(lab: Lab, code: int, expected: int, told: bool) -> None:
    run = lab.start(lab.command(sys.executable, "-S", "-c", TELL.format(code=code)))
    status = lab.ended(run)
    assert status.exit_code == expected
    assert ("it trained on old rows: session 7" in status.message) is told
    assert runs.run_state(run.reload()) == "failed"
