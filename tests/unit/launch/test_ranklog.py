"""One log, followed: what is counted and known is the same whichever way the bytes came."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.files.follow import Follower
from mswb.launch import ranklog
from mswb.launch.logs import blocks, read_lines
from mswb.launch.progress import progress_of
from mswb.launch.ranklog import RankLog, count, count_piece
from tests.unit.launch.runs import START, python_record, record
from tests.unit.launch.samples import log_files, rank_log

HEADS = (b"[ERROR] ", b"[CRITICAL] ", b"[EXCEPTION] ", b"Traceback (most recent call last):", b"[WARNING] ")
LINES = st.lists(
    st.sampled_from([*HEADS, b"[INFO] CORE", b"[ERROR", b"x [ERROR] y", b"", b"step 3", b"[WARNIN"])
    | st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")),
    max_size=30,
)


def plain_counts(data: bytes) -> tuple[int, int, int]:
    """Like the log view, by the first eight bytes of a line."""
    heads = [line[:8] for line in data.split(b"\n")]
    errors = sum(head in {known[:8] for known in HEADS[:4]} for head in heads)
    return data.count(b"\n"), errors, sum(head == HEADS[4][:8] for head in heads)


def followed(path: Path, tail: int = ranklog.TAIL) -> tuple[RankLog, Follower]:
    log = RankLog(str(path))
    follower = Follower(path, start=log.open(tail))
    log.take(follower.poll(), follower.partial)
    return log, follower


@given(LINES)
def test_counts_of_whole_lines(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert count(data, at_start=True) == plain_counts(data)


@given(LINES, st.integers(1, 60))
def test_pieces_count_each_line_once(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    errors = warnings = 0
    for begin in range(0, len(data), size):
        end = min(begin + size, len(data))
        ahead = data[begin - 1 : begin] if begin else b"\n"
        found = count_piece(ahead + data[begin : end + 8], end - begin)
        errors, warnings = errors + found[0], warnings + found[1]
    assert (errors, warnings) == plain_counts(data)[1:]


@settings(max_examples=50)
@given(lines=LINES, tail=st.integers(1, 200), piece=st.integers(1, 100))
def test_tail_and_pieces_make_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: int, piece: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "worker_0.log"
    path.write_bytes(data := b"".join(line + b"\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranklog, "PIECE", piece)
        log, _ = followed(path, tail)
        while log.count():
            assert 0 < log.counted <= 1
    assert (log.lines, log.errors, log.warnings) == plain_counts(data)
    assert (log.left, log.counted) == (0, 1.0)


def test_big_logs_tell_their_last_state_before_they_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    filler = record("WARNING", "CORE", 7, 1, "something") + "\n"
    path.write_text("step 1/100 loss 9\n" + filler * 20_000 + "step 50/100 loss 0.25\n")
    log, _ = followed(path)
    assert log.left > 1 << 20 and log.counted < 0.5
    assert log.step is not None and (log.step.step, log.step.steps, log.step.loss) == (50, 100, 0.25)
    assert log.progress is not None and log.progress.phase == "running"
    while log.count():
        pass
    assert (log.lines, log.warnings, log.errors) == (20_002, 20_000, 0)


def test_a_step_long_before_the_end_is_found_while_counting(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    filler = record("WARNING", "CORE", 7, 1, "something") + "\n"
    path.write_text("step 1/100\n" + filler * 10_000 + "step 7/100 loss 1.5\n" + filler * 10_000)
    log, _ = followed(path)
    assert log.step is None and log.progress is None
    while log.count():
        pass
    assert log.step is not None and (log.step.step, log.step.loss) == (7, 1.5)
    assert log.progress is not None and log.progress.phase == "running"


@pytest.mark.parametrize("path", log_files(), ids=lambda path: "/".join(path.parts[-3:]))
def test_real_logs_say_the_same_as_the_reader_of_whole_logs(path: Path) -> None:
    log, _ = followed(path)
    known = progress_of(blocks(read_lines(path)))
    if log.progress is None:
        assert known.phase == "starting"
    else:
        assert (log.progress.phase, log.progress.text) == (known.phase, known.text)
    assert (log.step.step if log.step else None) == (known.step.step if known.step else None)


def test_compiling_then_steps_then_compiling_again(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("")
    log, follower = followed(path)

    def append(*lines: str) -> str:
        with path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        log.take(follower.poll(), follower.partial)
        assert log.progress is not None
        return f"{log.progress.phase} {log.progress.text}".strip()

    place = "mindspore/ccsrc/frontend/jit/ps/pipeline.cc:402] operator()"
    jit = "mindspore/ccsrc/frontend/jit/ps/executor/jit_executor_py.cc:90] operator()"
    start = record("INFO", "PIPELINE", 7, 1, "Status record: start optimize action.", place)
    assert append(start) == "compiling optimize"
    assert append("step 1 loss 2") == "running"
    assert append(record("INFO", "PIPELINE", 7, 2, "Pass type_inference start ...", jit)) == "compiling type_inference"
    assert log.progress is not None and log.progress.total == 38
    assert append("step 1 loss 2", start.replace("optimize", "validate")) == "compiling validate"
    assert append(start.replace("optimize", "task_emit"), "step 2 loss 1") == "running"
    assert log.step is not None and log.step.loss == 1


def test_what_is_measured_when_nothing_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("")
    clock = [1000.0]
    monkeypatch.setattr(ranklog.time, "time", lambda: clock[0])
    log, follower = followed(path)
    for step in range(0, 40, 4):
        with path.open("a") as file:
            file.writelines(f"epoch: 1/2 step: {number}/100 loss 1\n" for number in range(step, step + 4))
        log.take(follower.poll())
        clock[0] += 2.0
    assert log.step_ms == 500.0  # four steps in two seconds
    assert log.eta_s == pytest.approx((200 - 39) * 0.5)
    assert log.last_output == clock[0] - 2.0


def test_records_carry_their_own_time(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    text = [python_record("INFO", 7, second, f"step {second}/50 loss 1", "a.py:3") for second in range(10, 40, 10)]
    path.write_text("".join(f"{line}\n" for line in text[:1]))
    log, follower = followed(path)
    for line in text[1:]:
        with path.open("a") as file:
            file.write(f"{line}\n")
        log.take(follower.poll())
    assert log.step_ms == 1000.0 and log.eta_s == 20.0
    assert START.year == 2026


def test_printed_times_win(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("{ Epoch:[  1/  2], step:[   20/  100], loss: 10.512, per_step_time: 1234ms, lr: 1e-05\n")
    log, _ = followed(path)
    assert log.step_ms == 1234.0 and log.eta_s == pytest.approx(180 * 1.234)


def test_a_log_that_is_cut_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("[ERROR] x\n" * 5 + "step 9/10 loss 3\n")
    log, follower = followed(path)
    assert (log.errors, log.step and log.step.step) == (5, 9)
    path.write_text("step 1/10 loss 4\n")
    log.take(follower.poll(), follower.partial)
    assert (log.lines, log.errors, log.step and log.step.step) == (1, 0, 1)


def test_a_progress_bar_without_a_newline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("start\n")
    log, follower = followed(path)
    with path.open("a") as file:
        file.write("\rEpoch 1/3:  40%|####      | 4/10 [00:02<00:03, loss=0.41]")
        file.write("\rEpoch 1/3:  50%|#####     | 5/10 [00:02<00:03, loss=0.40]")
    log.take(follower.poll(), follower.partial)
    assert log.step is not None and (log.step.step, log.step.steps, log.step.loss) == (5, 10, 0.40)


def test_half_a_number_is_no_step(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    log = RankLog(str(path))
    follower = Follower(path, start=log.open())
    path.write_text("step 1234/9999 loss 2\nstep 12")
    log.take(follower.poll(), follower.partial)
    assert log.step is not None and log.step.step == 1234


def test_missing_and_empty_logs_are_not_zero(tmp_path: Path) -> None:
    log, follower = followed(tmp_path / "worker_0.log")
    assert (log.present, log.last_output, log.progress, log.step_ms) == (False, None, None, None)
    (tmp_path / "worker_0.log").write_text("hello\n")
    log.take(follower.poll())
    assert log.present and log.lines == 1 and log.last_output is not None


def test_a_warning_about_an_earlier_step_moves_nothing_back(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("")
    log, follower = followed(path)
    warning = python_record("WARNING", 7, 30, "learning rate of epoch 0 step 29 is high", "train.py:12")
    for line in ("epoch: 2 step: 30, loss is 0.5, step time: 20.0 ms", warning):
        with path.open("a") as file:
            file.write(line + "\n")
        log.take(follower.poll(), follower.partial)
        assert log.step is not None and (log.step.epoch, log.step.step) == (2, 30)
        assert log.progress is not None and log.progress.step is not None and log.progress.step.step == 30


def test_words_of_a_traceback_or_of_mindspore_are_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("step 4 loss 1\n" + (record("WARNING", "CORE", 7, 1, "retry step 99 loss 7") + "\n") * 3)
    log, _ = followed(path)
    assert log.step is not None and log.step.step == 4


def test_a_flood_of_steps_costs_only_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("".join(f"step {number} loss {number}\n" for number in range(50_000)))
    log = RankLog(str(path))
    parsed: list[bytes] = []
    original = RankLog._step_of
    monkeypatch.setattr(RankLog, "_step_of", lambda self, line: parsed.append(line) or original(self, line))
    follower = Follower(path, start=log.open())
    log.take(follower.poll())
    while log.count():
        pass
    assert log.step is not None and log.step.step == 49_999
    assert log.lines == 50_000
    assert len(parsed) < 10


def test_logs_of_a_real_compilation(tmp_path: Path) -> None:
    log, _ = followed(rank_log("glog1"))
    assert log.progress is not None
    assert (log.progress.phase, log.progress.done, log.progress.total) == ("compiling", 14, 25)
