"""What MindSpore says of its compile cache is worth a note, and never the cause of a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch.diagnose import diagnose
from mswb.launch.signatures import load_signatures, match_line
from tests.unit.launch.runs import write

LATER = 4e9
LINES = {one.code: one.sample for one in load_signatures() if one.id in ("M01", "M02", "M03")}
FAILED = [
    "Traceback (most recent call last):",
    '  File "/home/user/train.py", line 3, in <module>',
    "    step()",
    "ValueError: no",
]


@pytest.mark.parametrize("code", sorted(LINES))
def test_a_good_run_gets_a_note(tmp_path: Path, code: str) -> None:
    write(tmp_path, "worker_0.log", [LINES[code], LINES[code], "epoch: 1 step: 1, loss is 0.5"])
    write(tmp_path, "rc.txt", ["rc=0"])
    found = diagnose(tmp_path, now=LATER)
    assert [one.code for one in found.findings] == [code]
    assert found.verdict == "succeeded"


@pytest.mark.parametrize("code", sorted(LINES))
def test_the_cause_of_a_failure_stays_the_first(tmp_path: Path, code: str) -> None:
    write(tmp_path, "worker_0.log", [LINES[code], *FAILED])
    write(tmp_path, "rc.txt", ["rc=1"])
    found = diagnose(tmp_path, now=LATER)
    assert (found.root, found.findings[0].code) == (0, "script-exception")
    assert found.findings[1].code == code and found.findings[1].consequence_of is None


def test_a_death_without_a_word_is_told_beside_a_note(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", [LINES["compile-cache-hit"]])
    write(tmp_path, "rc.txt", ["rc=1"])
    found = diagnose(tmp_path, now=LATER)
    assert found.verdict == "failed" and found.root is not None
    assert found.findings[found.root].code != "compile-cache-hit"


@pytest.mark.parametrize(
    "words",
    [
        "The compilation dependency files are changed.",
        "Failed to find cache file, execute all the compilation actions.",
    ],
)
def test_what_is_said_of_a_first_run_is_benign(words: str) -> None:
    assert [match.signature.kind for match in match_line(words)] == ["benign"]
