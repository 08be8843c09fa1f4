"""What the toast about the end of a run says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mswb.jobs.runs import load_run
from mswb.settings import Settings
from mswb.ui.services import end_word
from tests.ui.launch_states import failed_diagnosis
from tests.unit.flows.test_known_runs import settings, write_run

__all__ = ["settings"]


@pytest.mark.parametrize(
    ("verdict", "facts", "word"),
    [
        ("failed", {"exit_code": 1}, "failed"),
        ("succeeded", {}, "succeeded"),
        ("unknown", {"exit_code": 130, "stopped_by": "user"}, "stopped"),
        ("unknown", {"exit_code": -9, "stopped_by": "user"}, "stopped"),
        ("unknown", {"exit_code": 3}, "failed"),
        ("unknown", {"exit_code": None, "backend": "adopted"}, "ended"),
    ],
)
def test_how_a_run_ended(settings: Settings, tmp_path: Path, verdict: str, facts: dict[str, object], word: str) -> None:
    run = load_run(write_run(settings, "20260101_000000_1", tmp_path, **facts))
    diagnosis = replace(failed_diagnosis(), verdict=verdict, root=None)
    assert end_word(run, diagnosis) == word
