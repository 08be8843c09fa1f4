"""Verdicts of diagnoses: kept in the folder of a run that has ended, told by every later list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mswb.findings import Where, make
from mswb.flows import verdicts
from mswb.flows.known_runs import Lister
from mswb.flows.verdicts import Verdict
from mswb.jobs.runs import load_run
from mswb.jobs.spec import FirstFailure
from mswb.launch.diagnose import Diagnosis
from mswb.settings import Settings
from tests.unit.flows.test_known_runs import no_strangers, settings, write_run

__all__ = ["no_strangers", "settings"]
NAME = "20260101_000000_1"


def found(title: str = "a collective timed out") -> Diagnosis:
    root = replace(make("hang", where=Where(rank=1), values={"who": "rank 1", "rank": 1, "place": "x"}), title=title)
    return Diagnosis("failed", 0, (), (root,), "/logs", NAME)


def test_a_verdict_is_kept_and_read_back(settings: Settings, tmp_path: Path) -> None:
    run = load_run(write_run(settings, NAME, tmp_path, exit_code=1))
    assert verdicts.kept(run) is None
    assert verdicts.keep(run, found())
    expected = Verdict(verdict="failed", code="hang", title="a collective timed out", rank=1)
    assert verdicts.kept(run) == expected
    assert verdicts.keep(run, replace(found(), root=None, verdict="succeeded"))
    assert verdicts.kept(run) == Verdict(verdict="succeeded")


def test_of_a_run_that_goes_on_nothing_is_kept(settings: Settings, tmp_path: Path) -> None:
    run = load_run(write_run(settings, NAME, tmp_path, state="running", ended=None, exit_code=None))
    assert not verdicts.keep(run, found())
    assert verdicts.kept(run) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"verdict": 3}', '{"verdict": "failed", "rank": "x"}'])
def test_a_damaged_verdict_is_none(settings: Settings, tmp_path: Path, text: str) -> None:
    folder = write_run(settings, NAME, tmp_path)
    (folder / verdicts.VERDICT_FILE).write_text(text)
    assert verdicts.kept(load_run(folder)) is None


def test_a_list_tells_it_at_once_and_a_new_list_too(settings: Settings, tmp_path: Path) -> None:
    first = FirstFailure(role="worker", rank=0, pid=7, exit_code=1, time=1050.0)
    run = load_run(write_run(settings, NAME, tmp_path, exit_code=1, first_failure=first))
    lister = Lister(settings, tmp_path)
    assert lister.look()[0].told is None
    verdicts.keep(run, found())
    for one in (lister, Lister(settings, tmp_path)):
        told = one.look()[0].told
        assert told is not None
        assert (told.title, told.rank) == ("a collective timed out", 1)
