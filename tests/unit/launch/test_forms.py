"""The forms of progress lines: the built-in ones, and the user's own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.findings import MswbError
from mswb.launch.forms import BUILT_IN, MAX_PATTERN, Forms, StepForm, Values, forms_of
from mswb.settings import Settings, load_settings


def settings(folder: Path, config: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(config, encoding="utf-8")
    return load_settings({"HOME": str(folder), "MSWB_CONFIG": str(file)})


@pytest.mark.parametrize("form", BUILT_IN.values, ids=lambda form: form.name)
def test_each_form_of_a_value_fits_its_own_sample(form: StepForm) -> None:
    assert form in BUILT_IN.fitting(form.sample)
    values = BUILT_IN.beside(form.sample)
    assert values is not None and values != Values()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step 3 lr: 1e-05, x", Values(lr=1e-05)),
        ("step 3 learning_rate=0.1", Values(lr=0.1)),
        ("12.5 samples/s", Values(samples_s=12.5)),
        ("throughput: 88 samples/s/npu", Values(samples_s=88.0)),
        ("step_time: 2s", Values(step_ms=2000.0)),
        ("per_step_time: 120 ms", Values(step_ms=120.0)),
        ("3/9 [00:02<00:03, 4.0it/s]", Values(step_ms=250.0)),
        ("3/9 [00:02<00:03, 2.5s/it]", Values(step_ms=2500.0)),
        ("global_batch_size: 512, batch_size: 32", Values(batch=512, batch_is_global=True)),
        ("'batch_size': 32", Values(batch=32)),
    ],
)
def test_values(text: str, expected: Values) -> None:
    assert BUILT_IN.beside(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "loss 0.5",
        "train_throughput_per_npu: 12.3T",
        "throughput: 12.3 TFLOPS",
        "color: 3",
        "batch_size",
        "9 tokens/s",
        "",
    ],
)
def test_what_is_no_value(text: str) -> None:
    assert BUILT_IN.beside(text) is None


@given(st.text(max_size=300) | st.from_regex(r"(epoch|step|loss|lr|batch|/s| ms|[ :\d/.,\[\]]){0,60}", fullmatch=True))
def test_no_text_breaks_the_forms(text: str) -> None:
    BUILT_IN.step(text)
    BUILT_IN.beside(text)


@given(st.sampled_from([form.sample for form in (*BUILT_IN.steps, *BUILT_IN.values)]), st.binary(max_size=40))
def test_the_quick_search_finds_what_a_form_fits(sample: str, noise: bytes) -> None:
    data = noise.replace(b"\n", b" ") + b"\n" + sample.encode() + b"\n"
    if BUILT_IN.step(sample) is not None or " lr" in sample:
        begin = data.index(b"\n") + 1 if BUILT_IN.find(data, 0, len(noise)) >= 0 else 0
        if BUILT_IN.step(sample) is not None:
            assert BUILT_IN.find(data, begin, len(data)) >= 0


def test_without_patterns_of_the_user_the_built_in_ones_apply(tmp_path: Path) -> None:
    assert forms_of(settings(tmp_path, "")) == BUILT_IN


def test_patterns_of_the_user_come_first_and_need_no_known_word(tmp_path: Path) -> None:
    config = r"""[progress]
patterns = ['it=(?P<step>\d+)/(?P<steps>\d+) ce=(?P<loss>\S+)', 'rate (?P<lr>\S+)', 'pace (?P<step_s>\S+)']
"""
    forms = forms_of(settings(tmp_path, config))
    step = forms.step("it=5/10 ce=0.25")
    assert step is not None and (step.step, step.steps, step.loss) == (5, 10, 0.25)
    assert forms.beside("rate 0.5") == Values(lr=0.5)
    assert forms.beside("pace 0.5") == Values(step_ms=500.0)
    step = forms.step("it=5/10 ce=what")  # no number: the rest still counts
    assert step is not None and (step.step, step.loss) == (5, None)
    assert math.isnan(forms.step("it=5/10 ce=nan").loss or 0)  # type: ignore[union-attr]
    for line in (b"it=5/10 ce=1", b"rate 0.5"):
        assert forms.find(line, 0, len(line)) == 0
    assert forms.step("epoch: 1 step: 3, loss is 0.5") == BUILT_IN.step("epoch: 1 step: 3, loss is 0.5")


@pytest.mark.parametrize(
    ("config", "name", "reason"),
    [
        ("[progress]\npatterns = ['(?P<step>\\d+']\n", "patterns, number 1", "missing"),
        ("[progress]\npatterns = ['(?P<step>\\d+)', '(?=x)(?P<loss>y)']\n", "patterns, number 2", "invalid"),
        ("[progress]\npatterns = ['step']\n", "patterns, number 1", "its groups"),
        ("[progress]\npatterns = ['(?P<speed>x)']\n", "patterns, number 1", "its groups"),
        ("[progress]\npatterns = [3]\n", "patterns, number 1", "text"),
        ("[progress]\npatterns = ['']\n", "patterns, number 1", "text"),
        (f"[progress]\npatterns = ['(?P<step>{'a' * MAX_PATTERN})']\n", "patterns, number 1", "characters"),
        ("[progress]\npatterns = 'x'\n", "patterns", "list"),
        ("[progress]\npattern = ['x']\n", "pattern", "patterns"),
    ],
)
def test_a_wrong_pattern_is_one_clear_finding(tmp_path: Path, config: str, name: str, reason: str) -> None:
    with pytest.raises(MswbError) as caught:
        forms_of(settings(tmp_path, config))
    finding = caught.value.finding
    assert finding.code == "config-invalid"
    assert f"[progress] {name} " in finding.title and reason in finding.title
    assert finding.where.file == str(tmp_path / "config.toml")


def test_many_long_patterns_work_together(tmp_path: Path) -> None:
    patterns = ", ".join(f"'{chr(97 + number) * 300}(?P<step>\\d+)'" for number in range(20))
    forms = forms_of(settings(tmp_path, f"[progress]\npatterns = [{patterns}]\n"))
    line = b"t" * 300 + b"7"
    assert forms.find(line, 0, len(line)) >= 0
    assert forms.step(line.decode()) is not None
    assert isinstance(forms, Forms)
