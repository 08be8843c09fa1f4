"""MindRecord against real MindSpore: what it writes is whole, and it reads what was mended, row by row."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mswb.cache.data.mindrecord.salvage import plan
from mswb.plan import apply
from tests.e2e.harness import SCRIPTS
from tests.unit.cache.mindrecord.files import look

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(300)]
Ask = Callable[[str | list[str]], list[str]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """MindSpore, which has written its files into ``data``, and reads what it is asked for."""
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "data").mkdir()
    child = subprocess.Popen(
        [sys.executable, str(SCRIPTS / "mindrecords.py"), str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "GLOG_v": "4"},
    )
    assert child.stdin is not None and child.stdout is not None
    into, out = child.stdin, child.stdout

    def answer(source: str | list[str]) -> list[str]:
        into.write(json.dumps(source) + "\n")
        into.flush()
        rows = json.loads(out.readline())
        assert isinstance(rows, list), rows
        return rows

    assert out.readline() == "written\n"
    yield answer
    into.close()
    child.wait()
    out.close()


def mend(path: Path) -> None:
    repair = plan(str(path), look(path), None)
    outcomes = apply(repair.plan, repair.kinds)
    assert outcomes and all(outcome.done for outcome in outcomes), (repair.plan.warnings, outcomes)


def test_what_mindspore_writes_and_what_it_reads(tmp_path: Path, ask: Ask) -> None:
    files = {path.name: path for path in sorted((tmp_path / "data").iterdir()) if path.suffix != ".db"}
    killed = files.pop("killed")
    assert len(files) == 11
    for path in files.values():
        found = look(path)
        assert (found.status, found.faults) == ("ok", ()), path
        assert found.intact_records == found.records

    rows = {name: ask([str(path)]) for name, path in files.items()}
    assert {name: len(found) for name, found in rows.items()} == {
        name: look(path).records for name, path in files.items()
    }

    # An index that is gone is made again, and MindSpore reads the same rows.
    for name, path in files.items():
        Path(f"{path}.db").unlink()
        mend(path)
        assert ask([str(path)]) == rows[name], name
    assert ask(str(files["shards0"])) == [row for number in range(3) for row in rows[f"shards{number}"]]

    # A new name.
    for ending in ("", ".db"):
        shutil.move(tmp_path / "data" / f"numbers{ending}", tmp_path / "data" / f"other{ending}")
    mend(tmp_path / "data" / "other")
    assert ask(str(tmp_path / "data" / "other")) == rows["numbers"]

    # Damaged rows are left out, the others are as they were.
    for name in ("pages", "texts", "both", "arrays"):
        path = files[name]
        data = bytearray(path.read_bytes())
        wrong = 1 if name in ("pages", "texts") else 2  # bytes of the length of the first blob part
        for byte in range(4, 4 + wrong):
            data[(1 << 15) + byte] ^= 0x10
        path.write_bytes(data)
        mend(path)
        # By one wrong byte alone the index knows better: the row is whole.
        assert ask(str(path) + ".repaired") == rows[name][wrong - 1 :], name

    # What was written before a writer was killed: as far as it goes, as in the file of a writer that was not.
    found = look(killed)
    assert found.status == "interrupted" and found.records and found.records > 100
    mend(killed)
    assert len(ask(str(killed) + ".repaired")) == found.records
