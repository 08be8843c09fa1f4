"""One record's grammar: each trap seen with real MindSpore has a golden case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.launch.logs import Record, cut_lines, iso, level_of, parse_iso, parse_record
from tests.unit.launch.samples import log_files

CPP = (
    "[WARNING] DISTRIBUTED(8461,7fb0319c5e40,python):2026-11-30-04:06:28.118.654 "
    "[mindspore/ccsrc/cluster/topology/cluster_context.cc:428] PostProcess] This node 1 rank id: 1"
)
PYTHON = (
    "[WARNING] ME(10007:140193050839936,MainProcess):2026-11-30-04:07:26.720.00 "
    "[mindspore/run_check/_check_version.py:317] Using custom package"
)


def test_cpp_record_is_taken_apart() -> None:
    assert parse_record(CPP) == Record(
        level="WARNING",
        module="DISTRIBUTED",
        pid=8461,
        tid="7fb0319c5e40",
        process="python",
        time=parse_iso("2026-11-30T04:06:28.118654"),
        source_file="mindspore/ccsrc/cluster/topology/cluster_context.cc",
        source_line=428,
        func="PostProcess",
        text="This node 1 rank id: 1",
        verbose_tag=None,
    )


@pytest.mark.parametrize(
    ("fraction", "microseconds"),
    [(".720.00", 72_000), (".410.00", 41_000), (".275.000", 275_000), (".5.", 5), (".123.456", 123_456), (".99.", 99)],
)
def test_python_fraction_is_the_count_of_microseconds_without_leading_zeros(fraction: str, microseconds: int) -> None:
    record = parse_record(PYTHON.replace(".720.00", fraction))
    assert record is not None
    assert record.time == parse_iso("2026-11-30T04:07:26") + microseconds
    assert record.from_python


def test_the_same_fraction_from_cpp_is_milliseconds_and_microseconds() -> None:
    record = parse_record(CPP.replace(".118.654", ".072.005"))
    assert record is not None
    assert iso(record.time) == "2026-11-30T04:06:28.072005"


@pytest.mark.parametrize("func", ["operator()", "~Name", "operator<<", "mindspore::Foo<int>::Run", "Run"])
def test_odd_function_names(func: str) -> None:
    record = parse_record(CPP.replace("PostProcess", func))
    assert record is not None
    assert (record.func, record.text) == (func, "This node 1 rank id: 1")


def test_verbose_record_has_its_tag() -> None:
    record = parse_record(CPP.replace("WARNING", "V12902"))
    assert record is not None
    assert (record.level, record.verbose_tag) == ("V12902", 12902)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[WARNING] ME(24561,python):2020-09-07-11:00:36.245.123 [mindspore/ccsrc/a.cc:12] Run] old form",
            (24561, "", "python", "Run", "old form"),
        ),
        (
            "[ERROR] HCCL(1234,python3):2024-05-22-10:13:04.123.456 [adapter_hccp.cc:1] [99]socket failed",
            (1234, "", "python3", None, "[99]socket failed"),
        ),
        (
            "[INFO] ME(77:140,Process-3):2020-09-07-11:00:36.245.1 [mindspore/train/model.py:5] text",
            (77, "140", "Process-3", None, "text"),
        ),
        (
            "[EXCEPTION] ANALYZER(7,ff,python):2021-02-04-11:00:36.245.001 [/home/a b/x.cc:9] Infer] bad",
            (7, "ff", "python", "Infer", "bad"),
        ),
    ],
)
def test_old_forms(line: str, expected: tuple[object, ...]) -> None:
    record = parse_record(line)
    assert record is not None
    assert (record.pid, record.tid, record.process, record.func, record.text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "[ERROR] Execute user Python code failed, check 'Python Call Stack' above.",
        "[INFO] done",
        "[WARNING] ME(12",
        "[WARNING] ME(12,ab,python):2026-13-45-04:06:28.118.654 [a.cc:1] F] x",
        "[WARNING] ME(12,ab,python):2026-11-30-25:06:28.118.654 [a.cc:1] F] x",
        "",
        "[",
    ],
)
def test_what_only_looks_like_a_record(line: str) -> None:
    assert parse_record(line) is None


def test_colours_are_no_part_of_a_record() -> None:
    coloured = CPP.replace("[WARNING]", "\x1b[1;33m[WARNING]\x1b[0m")
    assert parse_record(coloured) == parse_record(CPP)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (CPP.encode(), "WARNING"),
        (CPP.replace("WARNING", "V12902").encode(), "V12902"),
        (b"[ERROR] Execute user Python code failed", None),
        (b"ERROR", None),
        (b"", None),
        (b"\xff\xfe[ERROR] ME(1", None),
    ],
)
def test_level_by_the_first_bytes(line: bytes, level: str | None) -> None:
    assert level_of(line) == level


def test_every_cpp_record_of_the_captures_has_its_function() -> None:
    lines = [line for path in log_files() for line in cut_lines(path.read_bytes().splitlines(keepends=True))]
    records = [record for line in lines if (record := parse_record(line.text)) is not None]
    assert len(records) > 10_000
    assert [record for record in records if record.process != "MainProcess" and record.func is None] == []
    assert [record for record in records if record.process == "MainProcess" and record.func is not None] == []


def test_level_and_record_agree_on_the_captures() -> None:
    for path in log_files():
        for line in path.read_bytes().splitlines(keepends=True):
            record = parse_record(line.decode("utf-8", "replace"))
            if record is not None:
                assert level_of(line) == record.level


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    parse_record(text)
    parse_record("[ERROR] ME(1,2,python):" + text)
    level_of(text.encode("utf-8", "replace"))


_words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x1b"), max_size=40)


@given(
    level=st.sampled_from(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "V12902"]),
    module=st.sampled_from(["ME", "GRAPH_KERNEL", "PS"]),
    pid=st.integers(1, 4_194_304),
    tid=st.integers(0, 2**48),
    time=st.integers(0, 4_000_000_000 * 10**6),
    line=st.integers(1, 99_999),
    func=st.sampled_from(["Run", "operator()", "~Actor", "a::b<c>"]),
    text=_words,
)
def test_cpp_records_round_trip(
    level: str, module: str, pid: int, tid: int, time: int, line: int, func: str, text: str
) -> None:
    day, clock = iso(time).split("T")
    seconds, micros = clock.split(".")
    head = f"[{level}] {module}({pid},{tid:x},python):{day}-{seconds}.{micros[:3]}.{micros[3:]}"
    written = f"{head} [a/b.cc:{line}] {func}] {text}"
    record = parse_record(written)
    assert record is not None
    assert (record.level, record.module, record.pid, record.tid) == (level, module, pid, f"{tid:x}")
    assert (record.time, record.source_line, record.func, record.text) == (time, line, func, text)


@given(micros=st.integers(0, 999_999), text=_words)
def test_python_records_round_trip(micros: int, text: str) -> None:
    digits = str(micros)
    written = f"[INFO] ME(7:140,MainProcess):2026-11-30-04:07:26.{digits[:3]}.{digits[3:]} [mindspore/a.py:1] {text}"
    record = parse_record(written)
    assert record is not None
    assert record.time == parse_iso("2026-11-30T04:07:26") + micros
    assert (record.func, record.text) == (None, text)


def test_a_time_with_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        parse_iso("2026-11-30T04:07:26+01:00")
