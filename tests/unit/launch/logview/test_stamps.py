"""Times of many lines at once, against the record's own grammar."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.launch.logview.stamps import NO_TIME, line_times, own_times
from mswb.launch.records import parse_record
from tests.unit.launch.logview.logs import START, cpp, indexed, python, write

MICROS = st.integers(0, 5 * 365 * 86400 * 1_000_000)
LEVELS = st.sampled_from(["WARNING", "INFO", "ERROR", "DEBUG", "CRITICAL", "EXCEPTION", "V12902"])
LINES = st.one_of(
    st.builds(cpp, MICROS, level=LEVELS, pid=st.integers(0, 9_999_999_999), module=st.sampled_from(["ME", "GE_ADPT"])),
    st.builds(python, MICROS, st.just("text")),
    st.sampled_from(
        [
            "\n",
            "print\n",
            "  indented\n",
            "[INFO] no record\n",
            "[ERROR] Dataset failed (1,2):2026\n",
            "[WARNING] ME(1,7f,python):2026-11-30-04:00:00 [a.cc:4] Run] no fraction\n",
            "[WARNING] ME(1,7f,python):2026-11-30-25:00:00.000.000 [a.cc:4] Run] no such hour\n",
            "[WARNING] ME(1,7f,python):2026-13-30-05:00:00.000.000 [a.cc:4] Run] no such month\n",
            "[WARNING] ME(1,7f,python):2026-11-30-05:00:00.7 [a.cc:4] Run] short fraction\n",
            "[WARNING] ME(1,7f,python):2026-11-30-05:00:00.7. [a.cc:4] Run] empty fraction\n",
            "[WARNING] ME(1,7f,python):2026-11-30-05:00:00.7123 [a.cc:4] Run] long fraction\n",
            "[WARNING] ME(1):2026-11-30-05:00:00.007 [a.cc:4] Run] old form\n",
            "[WARNING] ME(1,7f",
        ]
    ),
)


def naive(text: str, offset_us: int = 0) -> list[int]:
    records = [parse_record(line) for line in text.split("\n")[: text.count("\n") + (not text.endswith("\n"))]]
    return [NO_TIME if record is None else record.time - offset_us for record in records]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, min_size=1, max_size=30), st.integers(-1000, 1000))
def test_the_times_are_those_of_the_records(tmp_path: Path, lines: list[str], offset_us: int) -> None:
    text = "".join(lines)
    expected = naive(text, offset_us)
    with indexed(write(tmp_path / "log", text)) as index:
        assert own_times(index, 0, index.line_count, offset_us).tolist() == expected
        rising = [max(expected[: number + 1]) for number in range(len(expected))]
        assert line_times(index, 0, index.line_count, offset_us).tolist() == rising


def test_reading_in_pieces_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(cpp(number * 1000, "x" * (number % 50)) for number in range(300))
    with indexed(write(tmp_path / "log", text)) as index:
        whole = own_times(index, 0, 300).tolist()
        monkeypatch.setattr("mswb.launch.logview.stamps.PIECE", 500)
        assert own_times(index, 0, 300).tolist() == whole == [START + number * 1000 for number in range(300)]
        assert own_times(index, 100, 110).tolist() == whole[100:110]


def test_a_huge_line_is_not_read_for_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = cpp(1)[:-1] + "x" * (4 << 20) + "\n" + cpp(2)
    with indexed(write(tmp_path / "log", text)) as index:
        read: list[int] = []
        original = index.read
        monkeypatch.setattr(index, "read", lambda offset, size: read.append(size) or original(offset, size))
        assert own_times(index, 0, 2).tolist() == [START + 1, START + 2]
        assert sum(read) < 1 << 12


def test_no_lines_have_no_times(tmp_path: Path) -> None:
    with indexed(write(tmp_path / "log", "")) as index:
        assert own_times(index, 0, 0).tolist() == []
