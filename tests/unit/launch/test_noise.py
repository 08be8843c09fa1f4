"""Routine lines are left out for people, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch.noise import is_noise
from mswb.launch.records import parse_record
from mswb.launch.signatures import match_line

SAMPLES = Path(__file__).parents[2] / "fixtures" / "launch"
HEAD = "[WARNING] ME(10155:140211457936960,MainProcess):2026-11-30-08:30:22.840.00 "


def lines(case: str) -> list[str]:
    return [line for path in (SAMPLES / case / "msrun_log").iterdir() for line in path.read_text().splitlines()]


def test_a_good_run_shrinks_to_its_prints_and_milestones() -> None:
    left = [line for line in lines("ok") if not is_noise(line)]
    assert len(left) < 25 < len(lines("ok")) / 10
    assert sum("step 2 loss" in line for line in left) == 2
    assert sum("Cluster is successfully initialized" in line for line in left) == 3


@pytest.mark.parametrize(
    "text",
    [
        HEAD
        + "[mindspore/context.py:1343] For 'context.set_context', the parameter 'device_target' will be deprecated",
        HEAD + "[mindspore/parallel/cluster/process_entity/_api.py:275] Distributed job is spawned. Waiting",
        HEAD + "[mindspore/parallel/cluster/process_entity/_api.py:112] The '--tail_worker_log' is:-2, which",
    ],
)
def test_what_every_process_says_once_is_routine(text: str) -> None:
    assert is_noise(text)


@pytest.mark.parametrize("text", ["", "step 1 loss 0.5", "Traceback (most recent call last):", "Connection 1 source"])
def test_what_the_script_prints_never_is(text: str) -> None:
    assert not is_noise(text)


def test_no_line_that_a_diagnosis_rests_on_is_left_out() -> None:
    hidden = [line for folder in SAMPLES.iterdir() if (folder / "msrun_log").is_dir() for line in lines(folder.name)]
    hidden = [line for line in hidden if is_noise(line)]
    assert hidden
    for line in hidden:
        record = parse_record(line)
        assert record is None or record.level in ("WARNING", "INFO", "DEBUG") or record.level.startswith("V")
        assert not [match for match in match_line(line) if match.signature.kind == "root"], line
