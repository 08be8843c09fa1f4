"""Whatever stands in the files: a report or one clear error, and every place lies in its file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.findings import MswbError
from tests.unit.launch.reports import report_of
from tests.unit.launch.runs import (
    CALL,
    CPP_STACK,
    ascend,
    goodbye,
    joined,
    raised,
    record,
    registered,
    steps,
    timed_out,
    waited_in_collective,
    worker_died,
)

PIECES = [
    *joined(7, 0),
    *raised("RuntimeError: Launch kernel failed", inside=True),
    *ascend("EI0006", "Getting socket times out."),
    *registered(900, 9, [0, 1], 3),
    *timed_out(7, 60, "MS_WORKER"),
    *waited_in_collective(7, 42),
    *steps(1, 4),
    *CALL,
    *CPP_STACK,
    goodbye(7, 90),
    worker_died(7, 60, -9),
    record("ERROR", "MD", 7, 3, "MindSpore dataset is terminated with err msg: x"),
    "Fatal Python error: Segmentation fault",
    "Current thread 0x00007f2 (most recent call first):",
    "KeyError: Traceback (most recent call last):",
    "[rank1]: Traceback (most recent call last):",
    "2026-11-30T04:00:00.1Z x",
    "loss is nan",
    "Killed",
    "",
]
NAMES = [
    "worker_0.log",
    "worker_1.log",
    "scheduler.log",
    "console.txt",
    "rc.txt",
    "dmesg.txt",
    "exit_code_1",
    "run.json",
]
_line = st.one_of(st.sampled_from(PIECES), st.text(max_size=40)).map(lambda text: text.encode("utf-8", "surrogatepass"))
_log = st.lists(st.one_of(_line, st.binary(max_size=40)), max_size=30).flatmap(
    lambda lines: st.sampled_from([b"\n", b"\r\n", b"\r", b""]).map(lambda end: end.join(lines))
)


@settings(max_examples=150, deadline=None)
@given(files=st.dictionaries(st.sampled_from(NAMES), _log, min_size=1, max_size=4))
def test_garbage_never_breaks_a_diagnosis(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for file, data in files.items():
            Path(name, file).write_bytes(data)
        try:
            report = report_of(Path(name), complete=False)
        except MswbError as error:
            assert error.exit_code == 2
            return
        assert (report["root"] is None) == all(one["severity"] == "note" for one in report["findings"])
        for finding in report["findings"]:
            root = finding["consequence_of"]
            assert root is None or report["findings"][root]["consequence_of"] is None
