"""What runs after a good end: only then, before the run counts as ended, and it can't spoil it."""

from __future__ import annotations

import sys

import pytest

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
