"""What folds: blocks of the grammar, repetitions, sections; whole files, growing files, single lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.files.patterns import Pattern
from mswb.files.search import Hits
from mswb.launch.logview import spans as folding
from mswb.launch.logview.shapes import same_as_before
from mswb.launch.logview.spans import REPEAT, Span, SpanScan, block_at, scan, span_at
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, indexed, write

RULE = "-" * 52 + "\n"
ERROR = cpp(5, "Launch failed", "ERROR") + RULE + "- Framework Error Message:\n" + RULE + "the reason\n\n"
PRINTS = "epoch 1\nepoch 2 of three\nloss is 1.0\n"


def found(path: Path, text: str) -> list[tuple[int, int, str]]:
    with indexed(write(path, text)) as index:
        return [(span.first, span.stop, span.kind) for span in scan(index, 0, index.line_count) if span.folds]


def test_a_traceback_is_one_block_and_counts_as_an_error(tmp_path: Path) -> None:
    with indexed(write(tmp_path / "log", PRINTS + TRACEBACK + PRINTS)) as index:
        assert scan(index, 0, index.line_count) == [Span(3, 7, "traceback", Level.ERROR)]
        assert all(span_at(index, line) == Span(3, 7, "traceback", Level.ERROR) for line in range(3, 7))
        assert span_at(index, 0) is None


def test_a_record_folds_with_what_belongs_to_it(tmp_path: Path) -> None:
    text = cpp(1) + ERROR + cpp(9) + "  indented\n\tdeeper\n" + cpp(10) + PRINTS
    assert found(tmp_path / "log", text) == [(1, 7, "record"), (7, 10, "record")]


def test_prints_and_single_records_do_not_fold(tmp_path: Path) -> None:
    assert found(tmp_path / "log", cpp(1) + PRINTS + cpp(2, "other") + "  \n") == []


def test_lines_alike_but_for_numbers_fold(tmp_path: Path) -> None:
    retries = "".join(cpp(number * 1000, f"retry({number}/1200)") for number in range(5, 15))
    assert found(tmp_path / "log", cpp(1) + retries + "end\n") == [(1, 11, REPEAT)]
    assert found(tmp_path / "few", "step 1\nstep 2\nstep 30\nother\n") == []


def test_an_error_is_never_folded_away_among_lines_alike(tmp_path: Path) -> None:
    bad = "".join(cpp(number, "failed", "ERROR") for number in range(6))
    assert found(tmp_path / "log", bad) == []
    text = "".join(f"[INFO] ME(1,7f,python):2026 Status record: start {name}\n" for name in "abcdef")
    middle = text + cpp(1, "broken", "ERROR") + text
    assert found(tmp_path / "sections", middle) == [(0, 6, "GRAPH_BUILD"), (7, 13, "GRAPH_BUILD")]


def test_sections_bridge_a_few_other_lines(tmp_path: Path) -> None:
    launches = [cpp(number, f"Begin launch kernel: Add-op{number}", "V12902") for number in range(8)]
    text = "".join(launch + "print\n" * (number % 3) for number, launch in enumerate(launches))
    assert found(tmp_path / "log", PRINTS + text + PRINTS) == [(3, 17, "KERNEL_LAUNCH")]


def test_processes_that_share_a_file_interleave(tmp_path: Path) -> None:
    lines = TRACEBACK.splitlines(keepends=True)
    text = "".join([*lines[:2], cpp(1, pid=7), *lines[2:]])
    with indexed(write(tmp_path / "log", text)) as index:
        assert block_at(index, 0) == Span(0, 2, "traceback", Level.ERROR)
        assert block_at(index, 3) == Span(3, 5, "traceback", Level.ERROR)


PIECES = st.sampled_from(
    [*TRACEBACK.splitlines(keepends=True), *ERROR.splitlines(keepends=True), TRACEBACK, ERROR, "print\n", "\n",
     "  File \"x.py\", line 1, in f\n", cpp(1), cpp(2, "retry(1/9)"), cpp(3, "retry(2/9)"), cpp(4, "Start compiling")]
)  # fmt: skip


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(PIECES, max_size=12).map("".join), min_size=1, max_size=5), st.integers(2, 9))
def test_a_growing_file_is_folded_without_overlaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[str], piece: int
) -> None:
    monkeypatch.setattr(folding, "PIECE_LINES", piece)
    path = write(tmp_path / "log", "")
    scanned = SpanScan()
    with indexed(path) as index:
        for batch in batches:
            append(path, batch)
            index.extend()
            before = list(scanned.spans)
            while (first := scanned.step(index)) is not None:
                kept = [span for span in before if span.stop <= first]
                assert scanned.spans[: len(kept)] == kept, "nothing ahead of the line that is told has changed"
                before = list(scanned.spans)
            for one, other in zip(scanned.spans, scanned.spans[1:], strict=False):
                assert one.stop <= other.first
            assert all(0 <= span.first < span.stop <= index.line_count for span in scanned.spans)
            assert scanned.step(index) is None


def test_a_traceback_that_comes_in_pieces_is_one_block_in_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "log", PRINTS)
    scanned = SpanScan()
    with indexed(path) as index:
        for line in TRACEBACK.splitlines(keepends=True):
            append(path, line)
            index.extend()
            while scanned.step(index) is not None:
                pass
        assert scanned.spans == [Span(3, 7, "traceback", Level.ERROR)]


@pytest.mark.parametrize("batch", [1, 7, 300])
def test_a_run_that_goes_on_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(folding, "PIECE_LINES", 50)
    retries = [f"retry {number}\n" for number in range(300)]
    launches = [f"[V12902] KERNEL(1,7f): Begin launch kernel: {name * 3}\n" for name in "abcdefghij" * 30]
    path = write(tmp_path / "log", "")
    scanned = SpanScan()
    lines = [*retries, *launches]
    with indexed(path) as index:
        for number in range(0, len(lines), batch):
            append(path, "".join(lines[number : number + batch]))
            index.extend()
            while scanned.step(index) is not None:
                pass
    assert [tuple(span)[:3] for span in scanned.spans] == [(0, 300, REPEAT), (300, 600, "KERNEL_LAUNCH")]


@pytest.mark.parametrize("piece", [1 << 20, 40])
def test_lines_are_alike_when_only_their_digits_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("mswb.launch.logview.shapes.PIECE", piece)
    lines = ["step 1\n", "step 234\n", "step x\n", "step x\n", "pets x\n", "\n", "\n", "12\n", "3\n", "a" * 50 + "\n"]
    with indexed(write(tmp_path / "log", "".join(lines) + "a" * 50)) as index:
        expected = [False, True, False, True, False, False, False, False, False, False, True]
        assert same_as_before(index, 0, index.line_count).tolist() == expected


def test_nothing_is_looked_for_in_a_huge_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_HUGE", 1000)
    text = "x" * 5000 + "\n" + TRACEBACK + "y" * 5000 + " Begin launch kernel: \n" + TRACEBACK
    path = write(tmp_path / "log", text)
    with indexed(path) as index:
        asked: set[int] = set()
        original = folding.search

        def noted(index: LogIndex, pattern: Pattern, *, first_line: int, stop_line: int) -> Iterator[Hits]:
            asked.update(range(first_line, stop_line))
            return original(index, pattern, first_line=first_line, stop_line=stop_line)

        monkeypatch.setattr(folding, "search", noted)
        assert [span.kind for span in scan(index, 0, index.line_count)] == ["traceback", "traceback"]
        assert asked == set(range(1, 10)) - {5}


def test_a_file_cut_while_it_is_read_is_no_error(tmp_path: Path) -> None:
    path = write(tmp_path / "log", TRACEBACK * 20)
    with indexed(path) as index:
        path.write_bytes(b"")
        assert scan(index, 0, index.line_count) is not None
