"""Curves from logs: every form of print, in whatever pieces it comes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.files.follow import Block
from mswb.launch.curves import CurveLog, CurveReader, Curves, Name, StepCounter
from mswb.launch.forms import BUILT_IN, Forms, Step
from tests.unit.launch.runs import python_record, record
from tests.unit.launch.samples import rank_log


def read(lines: Iterable[str], forms: Forms = BUILT_IN) -> Curves:
    reader = CurveReader(forms)
    reader.feed([Block("".join(f"{line}\n" for line in lines).encode(), 0)])
    return reader.curves


def points(curves: Curves, name: Name) -> list[tuple[float, float]]:
    return [(point.step, point.value) for point in curves.series[name]]


def test_mindformers() -> None:
    line = "{{ Epoch:[  1/  2], step:[{step:5}/  100], loss: {loss}, per_step_time: {ms}ms, lr: 1e-05, overflow: False"
    curves = read(
        [
            "global_batch_size: 64",
            line.format(step=1, loss=10.5, ms=2000),
            line.format(step=2, loss="nan", ms=1000),
            line.format(step=3, loss=9.5, ms=1000),
        ]
    )
    loss = points(curves, "loss")
    assert [step for step, _ in loss] == [1, 2, 3] and math.isnan(loss[1][1])
    assert points(curves, "step_ms") == [(1, 2000), (2, 1000), (3, 1000)]
    assert points(curves, "samples_s") == [(1, 32), (2, 64), (3, 64)]
    assert points(curves, "lr") == [(1, 1e-5), (2, 1e-5), (3, 1e-5)]
    assert curves.names == ("loss", "step_ms", "samples_s", "lr")
    assert curves.eta_s == pytest.approx(197 * 1.0)
    assert not curves.measured
    assert curves.series["loss"].broken == 1


def test_words_about_an_earlier_step_take_no_curve_back() -> None:
    line = "epoch: {} step: {}, loss is 3"
    curves = read([line.format(1, 1), line.format(1, 2), "rate of epoch 0 step 1 is high", line.format(1, 3)])
    assert points(curves, "loss") == [(1, 3), (2, 3), (3, 3)]


def test_loss_and_time_monitor_over_two_epochs() -> None:
    epoch = [
        "epoch: {0} step: 1, loss is 3",
        "epoch: {0} step: 2, loss is 2",
        "Train epoch time: 9 ms, per step time: 50 ms",
    ]
    curves = read(line.format(number) for number in (1, 2) for line in epoch)
    assert points(curves, "loss") == [(1, 3), (2, 2), (3, 3), (4, 2)]
    assert points(curves, "step_ms") == [(2, 50), (4, 50)]
    assert curves.eta_s is None  # nobody said how many steps there are


def test_printed_throughput_is_taken_as_it_is() -> None:
    curves = read(
        ["batch_size: 8", "step 1/9 loss 3 throughput: 77 samples/s step_time: 500 ms", "step 2/9", "12.5 img/s"]
    )
    assert points(curves, "samples_s") == [(1, 77), (2, 12.5)]
    assert points(curves, "step_ms") == [(1, 500)]


def test_records_of_python_give_their_time() -> None:
    lines = [
        python_record("INFO", 7, second, f"step {number}/20 loss 1", "a.py:1")
        for number, second in ((1, 0), (2, 4), (4, 6))
    ]
    curves = read([*lines, record("WARNING", "CORE", 7, 9, "step 9 loss 5")])
    assert points(curves, "step_ms") == [(2, 4000), (4, 1000)]
    assert curves.measured
    assert points(curves, "loss") == [(1, 1), (2, 1), (4, 1)]
    assert curves.eta_s == pytest.approx(16 * 2.5)


def test_steps_that_come_while_we_watch_are_measured() -> None:
    reader = CurveReader()
    for batch in range(5):
        text = "".join(f"step {batch * 10 + number}/100 loss 1\n" for number in range(10))
        reader.feed([Block(text.encode(), 0)], 1000.0 + batch * 2)
        reader.feed([Block(b"nothing of interest\n", 0)], 1001.0 + batch * 2)
        reader.feed([], 1001.5 + batch * 2)
    curves = reader.curves
    assert points(curves, "step_ms") == [(19, 200), (29, 200), (39, 200), (49, 200)]
    assert curves.measured and curves.eta_s == pytest.approx(51 * 0.2)


@pytest.mark.parametrize(
    ("lines", "places"),
    [
        (["epoch 1 step 9 loss 1", "epoch 2 step 1 loss 1"], [9, 10]),
        (["step 10/10 loss 1", "step 1/10 loss 1"], [10, 11]),
        (["step 8 loss 1", "step 9 loss 1", "step 0 loss 1"], [8, 9, 10]),
        (["epoch 1 step 100 loss 1", "epoch 2 step 200 loss 1"], [100, 200]),  # counted on over the epochs
        (["step 90 loss 1", "step 95 loss 1", "step 91 loss 2"], [90, 91]),  # resumed from a checkpoint
        (["epoch 3/9, loss: 1", "epoch 4/9, loss: 2"], [3, 4]),
        (["loss 3", "step 2 loss 1"], [2]),
    ],
)
def test_steps_go_on_over_epochs(lines: list[str], places: list[float]) -> None:
    assert [step for step, _ in points(read(lines), "loss")] == places


def test_patterns_of_the_user(tmp_path: Path) -> None:
    from mswb.launch.forms import forms_of
    from tests.unit.launch.test_forms import settings as configured

    forms = forms_of(
        configured(tmp_path, "[progress]\npatterns = ['it=(?P<step>\\d+) ce=(?P<loss>\\S+) eta=(?P<lr>\\S+)']\n")
    )
    curves = read(["it=1 ce=5 eta=0.5", "it=2 ce=4 eta=0.25"], forms)
    assert points(curves, "loss") == [(1, 5), (2, 4)]
    assert points(curves, "lr") == [(1, 0.5), (2, 0.25)]


@settings(max_examples=60)
@given(
    forms=st.lists(
        st.sampled_from(
            ["step {0}/99 loss {0} lr: 0.1 step_time: 5 ms", "noise", "epoch: 1 step: {0}, loss is nan", "img"]
        ),
        max_size=25,
    ),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=10),
)
def test_pieces_of_whole_lines_make_the_same_curves(forms: list[str], sizes: list[int]) -> None:
    lines = [form.format(number).encode() + b"\n" for number, form in enumerate(forms)]
    reader = CurveReader()
    begin = 0
    while begin < len(lines):
        size = sizes[begin % len(sizes)]
        reader.feed([Block(b"".join(lines[begin : begin + size]), 0)])
        begin += size
    whole = read([line.decode().rstrip("\n") for line in lines])
    for name, series in reader.curves.series.items():
        assert repr(list(series)) == repr(list(whole.series[name]))


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    CurveReader().feed([Block(data, 0)])


def test_a_form_that_comes_late_is_learned() -> None:
    lines = [f"step {number} loss 1" for number in range(1000)]
    curves = read([*lines, *(f"step {number} loss 1 lr: 0.5" for number in range(1000, 1100))])
    assert len(curves.series["lr"]) >= 80


def test_counter_without_a_step() -> None:
    counter = StepCounter()
    assert counter.count(Step(0, None, None, None, None, None, 5.0)) is None


def test_a_log_is_read_in_pieces_and_kept_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "worker_0.log"
    path.write_text("".join(f"step {number}/5000 loss 1\n" for number in range(4000)))
    monkeypatch.setattr("mswb.launch.curves.READ", 10_000)
    monkeypatch.setattr("mswb.files.follow.CHUNK", 10_000)
    log = CurveLog(str(path))
    first = log.read(1.0, lambda: True)
    assert log.behind and 0 < log.offset < path.stat().st_size
    assert first.step is not None and first.step.step is not None and first.step.step < 1000
    curves = log.read(1.0)
    assert not log.behind and curves.step is not None and curves.step.step == 3999
    assert curves.series["loss"].count == 4000 and not curves.measured
    with path.open("a") as file:
        file.write("step 4000/5000 loss nan\n")
    curves = log.read(3.0)
    assert curves.series["loss"].broken == 1 and not curves.measured  # nobody knows when the one before came
    with path.open("a") as file:
        file.write("step 4001/5000 loss 2\n")
    assert log.read(4.0).measured
    path.write_text("step 1/5000 loss 9\n")  # the run was started again
    curves = log.read(5.0)
    assert [(point.step, point.value) for point in curves.series["loss"]] == [(1, 9.0)]


def test_a_log_that_is_not_there_yet_has_no_curves(tmp_path: Path) -> None:
    log = CurveLog(str(tmp_path / "worker_0.log"))
    assert log.read(1.0).names == ()
    (tmp_path / "worker_0.log").write_text("step 1 loss 2\n")
    assert log.read(2.0).names == ("loss",)


def test_a_real_run() -> None:
    curves = CurveLog(str(rank_log("ok"))).read(0.0)
    assert points(curves, "loss") == [(0, 0.7179), (1, 0.7179), (2, 0.7179)]
