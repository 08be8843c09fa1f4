"""Jumps: errors and tracebacks, silences, moments; forwards, backwards, over chunks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mswb.files.levels import Level
from mswb.launch.logview import order as ordering
from mswb.launch.logview.filters import Filter
from mswb.launch.logview.finding import Ground, Silence, next_severe, next_silence, row_at_time, time_of
from mswb.launch.logview.model import LogModel
from mswb.launch.logview.rows import Place
from tests.unit.launch.logview.logs import START, TRACEBACK, cpp, model_of, worked, write

RULE = "-" * 52 + "\n"
SECTION = RULE + "- Python Call Stack (For framework developers)\n" + RULE + TRACEBACK


def ground(model: LogModel) -> Ground:
    state = worked(model)
    offsets = {number: log.offset_us for number, log in enumerate(state.files)}
    return Ground(state.rows, state.passing, model.indexes(), offsets)


def all_from(find: Callable[[int], int | None], row: int) -> list[int]:
    found = []
    while (following := find(row)) is not None:
        found.append(following)
        row = following
    return found


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "CHUNK", 5)


def never() -> bool:
    return False


def test_errors_and_tracebacks_of_their_own_are_found_both_ways(tmp_path: Path) -> None:
    text = (
        cpp(1, level="ERROR")
        + cpp(2)
        + "step 1\n"
        + TRACEBACK
        + "step 2\n"
        + cpp(3, "failed", "ERROR")
        + SECTION
        + cpp(4)
        + cpp(5, level="CRITICAL")
    )
    with model_of(write(tmp_path / "a", text)) as model:
        place = ground(model)
        error = 3 + 4 + 1
        last = len(text.splitlines()) - 1
        forward = all_from(lambda row: next_severe(place, row, Level.ERROR, forward=True, cancelled=never), -1)
        assert forward == [0, 3, error, last]
        backward = all_from(lambda row: next_severe(place, row, Level.ERROR, forward=False, cancelled=never), last + 1)
        assert backward == forward[::-1]
        assert next_severe(place, 0, Level.WARNING, forward=True, cancelled=never) == 1
        assert next_severe(place, 0, Level.ERROR, forward=True, cancelled=lambda: True) is None


def test_only_rows_that_pass_are_jumped_to(tmp_path: Path) -> None:
    with model_of(write(tmp_path / "a", cpp(1, "x", "ERROR") + cpp(2, "y", "ERROR"))) as model:
        model.ask(Filter(keep=("Run. y",)), "")
        assert next_severe(ground(model), -1, Level.ERROR, forward=True, cancelled=never) == 1


def test_silences_are_found_over_files_and_chunks(tmp_path: Path) -> None:
    second = 1_000_000
    moments = [0, 1, 2, 3, 4, 20, 21, 22, 60, 61]
    one = "".join(cpp(moment * second) + "print\n" for moment in moments[::2])
    two = "".join(cpp(moment * second) for moment in moments[1::2])
    with model_of(write(tmp_path / "a", one), write(tmp_path / "b", two)) as model:
        place = ground(model)
        times = [time_of(place, place.rows.place(row)) for row in range(place.rows.count)]
        rows = [row for row in range(len(times) - 1) if times[row + 1] - times[row] >= 10 * second]
        # the record is silent behind, not the print that follows it
        rows = [row if place.rows.place(row).file == 1 else row - 1 for row in rows]
        found = all_from(lambda row: row_of(next_silence(place, row, forward=True, cancelled=never)), -1)
        assert found == rows and len(rows) == 2
        back = all_from(lambda row: row_of(next_silence(place, row, forward=False, cancelled=never)), place.rows.count)
        assert back == rows[::-1]
        assert next_silence(place, -1, forward=True, cancelled=never) == Silence(rows[0], 16 * second)
        assert next_silence(place, -1, forward=True, cancelled=lambda: True) is None


def row_of(silence: Silence | None) -> int | None:
    return None if silence is None else silence.row


def test_a_moment_is_found(tmp_path: Path) -> None:
    text = "early\n" + "".join(cpp(step * 1_000_000) + "print\n" for step in range(100))
    with model_of(write(tmp_path / "a", text)) as model:
        place = ground(model)
        assert row_at_time(place, START + 30_500_000) == 1 + 31 * 2
        assert row_at_time(place, START - 5) == 1
        assert row_at_time(place, START + 200_000_000) is None
        assert time_of(place, Place(0, 0)) is None
        assert time_of(place, Place(0, 62)) == START + 30_000_000


def test_an_empty_view_has_nothing_to_find(tmp_path: Path) -> None:
    with model_of(write(tmp_path / "a", "")) as model:
        place = ground(model)
        assert next_severe(place, 0, Level.ERROR, forward=True, cancelled=never) is None
        assert next_silence(place, 0, forward=False, cancelled=never) is None
        assert row_at_time(place, 0) is None
