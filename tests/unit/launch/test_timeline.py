"""Launch phases of ranks as spans of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch import timeline as module
from mswb.launch.logview.source import ShownLog
from mswb.launch.timeline import PhaseSpan, read_phases, timeline
from tests.unit.launch.runs import EPOCH, joined, record
from tests.unit.launch.samples import rank_log

PIPELINE = "mindspore/ccsrc/frontend/jit/ps/pipeline.cc:402] operator()"
JIT = "mindspore/ccsrc/frontend/jit/ps/executor/jit_executor_py.cc:90] operator()"
KERNEL = "mindspore/ccsrc/backend/x.cc:240] Run"


def write(folder: Path, lines: list[str], name: str = "worker_0.log") -> ShownLog:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return ShownLog(str(folder / name), "worker", 0, "node-1")


def spans_of(log: ShownLog) -> list[PhaseSpan]:
    return list(timeline([log]))


def told(spans: list[PhaseSpan]) -> list[tuple[str, str, float | None]]:
    """(kind, name, seconds)."""
    return [(one.kind, one.name, None if one.duration_us is None else one.duration_us / 1e6) for one in spans]


def action(second: float, text: str, place: str = PIPELINE) -> str:
    return record("INFO", "PIPELINE", 7, second, text, place)


def test_from_start_to_training(tmp_path: Path) -> None:
    lines = [
        record("INFO", "CORE", 7, 0, "first"),
        *joined(7, 0, 4),
        action(6, "Start compiling, phase: train.1", PIPELINE),
        action(6, "Start compiling 'Net.construct' and it will take a while."),
        action(6, "Status record: start type_inference action."),
        action(8, "Status record: end type_inference action."),
        action(8, "Status record: start task_emit action."),
        action(9, "Status record: end task_emit action."),
        "step 1 loss 3",
        record("WARNING", "CORE", 7, 20, "last"),
    ]
    spans = spans_of(write(tmp_path, lines))
    assert told(spans) == [
        ("start", "start", 3.0),
        ("cluster", "cluster", 1.0),
        ("compile", "type_inference", 2.0),
        ("compile", "task_emit", 1.0),
        ("training", "training", 11.0),
    ]
    inference = spans[2]
    assert (inference.line, inference.text, inference.rank, inference.node) == (8, "Net.construct", 0, "node-1")
    assert lines[spans[1].line - 1].endswith("retry(1/1200).")  # type: ignore[operator]


def test_actions_of_the_jit_compiler_and_one_that_hangs(tmp_path: Path) -> None:
    lines = [
        action(1, "Start compiling, phase: step.1", JIT),
        action(1, "Pass bootstrap start ...", JIT),
        action(2, "Pass bootstrap end.", JIT),
        action(2, "Pass type_inference start ...", JIT),
    ]
    spans = spans_of(write(tmp_path, lines))
    assert told(spans) == [("start", "start", 0.0), ("compile", "bootstrap", 1.0), ("compile", "type_inference", None)]
    assert spans[2].line == 4


def test_kernel_launches_are_one_span_and_the_open_one(tmp_path: Path) -> None:
    def kernel(second: float, text: str) -> str:
        return record("V12902", "RUNTIME_FRAMEWORK", 7, second, text, KERNEL)

    lines = [record("INFO", "CORE", 7, 0, "first")]
    for number in range(2000):
        lines += [
            kernel(1 + number, f"Begin launch kernel: Add-op{number}"),
            kernel(1.5 + number, f"End launch kernel: Add-op{number}"),
        ]
    spans = spans_of(write(tmp_path, [*lines, kernel(3000, "Begin launch kernel: AllReduce-op1")]))
    launches = [one for one in told(spans) if one[0] == "launch"]
    assert launches == [("launch", "kernels", 2999.0), ("launch", "AllReduce-op1", None)]


def test_clocks_are_corrected(tmp_path: Path) -> None:
    log = write(tmp_path, joined(7, 0, 4))
    shifted = ShownLog(log.path, "worker", 0, "node-1", 1_000_000)
    assert [one.start_us - 1_000_000 for one in timeline([log])] == [one.start_us for one in timeline([shifted])]
    assert timeline([log])[-1].end_us == timeline([shifted])[-1].end_us + 1_000_000  # type: ignore[operator]
    assert EPOCH > 0


def test_a_real_compilation_that_was_cut_off() -> None:
    spans = spans_of(ShownLog(str(rank_log("glog1")), "worker", 0))
    compiled = [one for one in spans if one.kind == "compile"]
    assert [one.kind for one in spans[:2]] == ["start", "cluster"]
    assert len(compiled) == 14 and compiled[-1].name == "optimize" and compiled[-1].end_us is None
    text = rank_log("glog1").read_text().splitlines()
    for span in compiled:
        assert span.line is not None and f"start {span.name} action" in text[span.line - 1]


def test_huge_logs_are_read_at_both_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_BYTES", 20_000)
    monkeypatch.setattr(module, "TAIL_BYTES", 20_000)
    monkeypatch.setattr(module, "_BLOCK", 8_000)
    filler = [record("INFO", "CORE", 7, 10, "something")] * 2000
    middle = [action(11, "Status record: start validate action."), action(12, "Status record: end validate action.")]
    first = [action(1, "Status record: start bootstrap action."), action(2, "Status record: end bootstrap action.")]
    last = [action(20, "Status record: start execute action.")]
    spans = spans_of(write(tmp_path, [*first, *filler, *middle, *filler, *last]))
    compiled = [(one.name, one.line) for one in spans if one.kind == "compile"]
    assert compiled == [("bootstrap", 1), ("execute", None)]


def test_a_storm_of_recompilations_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SPANS", 20)
    lines = []
    for number in range(0, 400, 2):
        lines += [
            action(number, "Status record: start bootstrap action."),
            action(number + 1, "Status record: end bootstrap action."),
        ]
    spans = spans_of(write(tmp_path, lines))
    assert len(spans) == 20
    assert spans[-1].end_us is not None and spans[-1].start_us - spans[0].start_us == 398_000_000


def test_what_was_read_comes_back_when_cancelled(tmp_path: Path) -> None:
    logs = [write(tmp_path, joined(7, 0), f"worker_{number}.log") for number in range(5)]
    seen: list[tuple[int, int]] = []
    spans = timeline(logs, lambda: len(seen) > 2, lambda done, total: seen.append((done, total)))
    assert {one.file for one in spans} == {logs[0].path, logs[1].path}
    assert seen == [(0, 5), (1, 5), (2, 5)]
    assert timeline(logs, budget_s=-1.0) == ()


def test_missing_empty_and_strange_logs_have_no_phases(tmp_path: Path) -> None:
    empty = write(tmp_path, [], "a.log")
    plain = write(tmp_path, ["hello", "step 3 loss 1"], "b.log")
    (tmp_path / "c.log").write_bytes(bytes(range(256)) * 50)
    strange = ShownLog(str(tmp_path / "c.log"))
    assert timeline([empty, plain, strange, ShownLog(str(tmp_path / "none.log")), ShownLog(str(tmp_path))]) == ()
    assert read_phases(plain, lambda: False) == []
