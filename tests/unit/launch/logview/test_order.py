"""Lines of several files in the order of time: against a naive merge, built at once, in buckets, and growing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.launch.logview import order as ordering
from mswb.launch.logview.order import Order, Source
from mswb.launch.logview.rows import Place
from mswb.launch.records import parse_record
from tests.unit.launch.logview.logs import append, cpp, indexed, write

STEPS = st.lists(st.tuples(st.integers(-2_500_000, 3_000_000), st.booleans()), max_size=25)


def log_of(steps: list[tuple[int, bool]], text: str = "") -> str:
    """Records and prints; the clock mostly goes on, sometimes back."""
    moment, lines = 0, []
    for step, is_record in steps:
        moment = max(0, moment + step)
        lines.append(cpp(moment, f"{text}{len(lines)}") if is_record else f"print {len(lines)}\n")
    return "".join(lines)


def naive(contents: list[str], offsets: list[int]) -> list[Place]:
    """Each line has the latest time its file has named so far; files in turn where times are equal."""
    keyed = []
    for file, content in enumerate(contents):
        latest = -1
        for line, text in enumerate(content.splitlines()):
            record = parse_record(text)
            latest = max(latest, -1 if record is None else record.time - offsets[file])
            keyed.append((latest, file, line))
    return [Place(file, line) for _, file, line in sorted(keyed)]


def order_of(chunked: Order) -> list[Place]:
    return [chunk.place(row) for chunk in chunked.chunks for row in range(chunk.size)]


@contextmanager
def sources(paths: list[Path], offsets: list[int] | None = None) -> Iterator[list[Source | None]]:
    with ExitStack() as stack:
        indexes = [stack.enter_context(indexed(path)) for path in paths]
        yield [Source(index, offset) for index, offset in zip(indexes, offsets or [0] * len(paths), strict=True)]


def built(files: list[Source | None]) -> Order:
    made = Order()
    list(made.build(files))
    while made.sort_next(files) is not None:
        pass
    return made


SMALL = {"BUCKET": 1 << 4, "CHUNK": 8, "STEP": 5, "_SAMPLE": 2}


@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["at once", "in buckets"])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs=st.lists(STEPS, min_size=2, max_size=4), offset=st.integers(-3_000_000, 3_000_000))
def test_the_order_is_that_of_the_times(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: dict[str, int],
    logs: list[list[tuple[int, bool]]],
    offset: int,
) -> None:
    for name, value in sizes.items():
        monkeypatch.setattr(ordering, name, value)
    contents = [log_of(steps) for steps in logs]
    offsets = [offset, *[0] * (len(logs) - 1)]
    paths = [write(tmp_path / f"{number}", content) for number, content in enumerate(contents)]
    with sources(paths, offsets) as files:
        assert order_of(built(files)) == naive(contents, offsets)


def test_lines_without_times_make_no_giant_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(ordering, name, value)
    contents = ["print\n" * 100 + cpp(1) * 20, "print\n" * 7, "print\n" * 55, cpp(2) * 9]
    paths = [write(tmp_path / f"{number}", content) for number, content in enumerate(contents)]
    with sources(paths) as files:
        made = built(files)
        assert order_of(made) == naive(contents, [0] * 4)
        assert max(chunk.size for chunk in made.chunks) <= 29


def test_before_sorting_every_line_has_a_row_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(ordering, name, value)
    contents = [log_of([(1_000_000, True)] * 60), log_of([(700_000, True)] * 60)]
    paths = [write(tmp_path / f"{number}", content) for number, content in enumerate(contents)]
    with sources(paths) as files:
        made = Order()
        shares = list(made.build(files))
        assert shares == sorted(shares) and shares[-1] == 1.0
        assert made.unsorted > 2
        right = naive(contents, [0, 0])
        assert sorted(order_of(made)) == sorted(right)
        assert order_of(made)[-3:] == right[-3:], "the end is in order at once"
        numbers = []
        while (number := made.sort_next(files)) is not None:
            numbers.append(number)
        assert numbers == sorted(numbers, reverse=True)
        assert order_of(made) == right


def test_one_file_keeps_its_order_and_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "CHUNK", 8)
    path = write(tmp_path / "log", log_of([(5, True), (-5, True), (0, False)] * 10))
    with sources([path]) as files:
        made = built(files)
        assert order_of(made) == [Place(0, line) for line in range(30)]
        assert sum(chunk.nbytes for chunk in made.chunks) == 0
        append(path, "more\n" * 50)
        files[0].index.extend()  # type: ignore[union-attr]
        changed = made.grow(files)
        assert changed == 3
        assert order_of(made) == [Place(0, line) for line in range(80)]
        assert max(chunk.size for chunk in made.chunks) == 8
        assert made.grow(files) is None


def grown(made: Order, files: list[Source | None], path: Path, text: str) -> list[Place]:
    append(path, text)
    for source in files:
        assert source is not None
        source.index.extend()
    made.grow(files)
    return order_of(made)


def test_a_line_that_comes_late_finds_its_place(tmp_path: Path) -> None:
    one = write(tmp_path / "0", cpp(10) + cpp(20))
    two = write(tmp_path / "1", cpp(15))
    with sources([one, two]) as files:
        made = built(files)
        assert grown(made, files, two, cpp(18)) == [Place(0, 0), Place(1, 0), Place(1, 1), Place(0, 1)]


def test_a_print_stays_with_a_record_that_came_with_it_else_it_comes_last(tmp_path: Path) -> None:
    one = write(tmp_path / "0", cpp(10))
    two = write(tmp_path / "1", cpp(30))
    with sources([one, two]) as files:
        made = built(files)
        assert grown(made, files, one, cpp(20) + "with it\n") == [
            Place(0, 0), Place(0, 1), Place(0, 2), Place(1, 0),
        ]  # fmt: skip
        assert grown(made, files, one, "alone\n")[-1] == Place(0, 3)
        assert grown(made, files, two, "too\n")[-1] == Place(1, 1)


def test_logs_that_name_no_times_come_in_the_order_of_arrival(tmp_path: Path) -> None:
    paths = [write(tmp_path / "0", "a\n"), write(tmp_path / "1", "b\n")]
    with sources(paths) as files:
        made = built(files)
        for file, line in ((0, 1), (1, 1), (0, 2)):
            assert grown(made, files, paths[file], "x\n")[-1] == Place(file, line)


def test_an_unfinished_line_gets_its_time_when_it_is_whole(tmp_path: Path) -> None:
    paths = [write(tmp_path / "0", cpp(10)), write(tmp_path / "1", cpp(20))]
    with sources(paths) as files:
        made = built(files)
        late = cpp(15)
        assert grown(made, files, paths[0], late[:7])[-1] == Place(0, 1)
        assert grown(made, files, paths[0], late[7:]) == [Place(0, 0), Place(0, 1), Place(1, 0)]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=20))
def test_growing_records_end_up_as_if_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[tuple[int, int]]
) -> None:
    """Records whose times rise over all files, in batches; chunks of eight rows."""
    monkeypatch.setattr(ordering, "CHUNK", 8)
    contents = ["", "", ""]
    paths = [write(tmp_path / f"{number}", "") for number in range(3)]
    with sources(paths) as files:
        made = built(files)
        moment = 0
        for file, count in batches:
            text = "".join(cpp(moment + step) for step in range(count))
            moment += count
            contents[file] += text
            grown(made, files, paths[file], text)
        assert order_of(made) == naive(contents, [0, 0, 0])
        lines = [content.count("\n") for content in contents]
        for chunk in made.chunks:
            for one in chunk.ranges:
                assert 0 <= one.first < one.stop <= lines[one.file]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.booleans()), max_size=8))
def test_very_much_that_is_new_is_cut_into_buckets_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[tuple[int, int, bool]]
) -> None:
    """Records a third of a second apart, taken in whole or with their last line cut; many at once by buckets."""
    for name, value in {**SMALL, "BEHIND": 10}.items():
        monkeypatch.setattr(ordering, name, value)
    contents = ["", "", ""]
    paths = [write(tmp_path / f"{number}", "") for number in range(3)]
    with sources(paths) as files:
        made = built(files)
        moment = 0
        for file, count, cut in batches:
            text = "".join(cpp(300_000 * (moment + step)) for step in range(count))
            moment += count
            contents[file] += text
            for part in (text[:-3], text[-3:]) if cut else (text,):
                append(paths[file], part)
                files[file].index.extend()  # type: ignore[union-attr]
                list(made.catch_up(files)) if made.is_behind(files) else made.grow(files)
            assert len(set(order_of(made))) == sum(chunk.size for chunk in made.chunks)
        while made.sort_next(files) is not None:
            pass
        assert order_of(made) == naive(contents, [0, 0, 0])


def test_catching_up_tells_which_chunks_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SMALL, "BEHIND": 10}.items():
        monkeypatch.setattr(ordering, name, value)
    paths = [write(tmp_path / f"{number}", "".join(cpp(1_000_000 * step) for step in range(20))) for number in range(2)]
    with sources(paths) as files:
        made = built(files)
        before = list(made.chunks)
        append(paths[0], "".join(cpp(1_000_000 * step) for step in range(20, 60)))
        files[0].index.extend()  # type: ignore[union-attr]
        assert made.is_behind(files)
        assert next(made.catch_up(files)) < 1 and made.chunks == before, "stopped early, nothing has changed"
        list(made.catch_up(files))
        assert made.changed == len(before) - 1
        assert made.chunks[: made.changed] == before[:-1] and not made.is_behind(files)


def test_a_file_that_appears_joins_when_it_is_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "CHUNK", 4)
    contents = ["".join(cpp(1_000_000 * step) for step in range(6)), cpp(100)]
    paths = [write(tmp_path / f"{number}", content) for number, content in enumerate(contents)]
    with sources(paths) as files:
        made = built(files)
        assert made.fits(files)
        young = write(tmp_path / "young", "print\n" + cpp(7_000_000))
        old = write(tmp_path / "old", cpp(500))
        with indexed(young) as newer, indexed(old) as older:
            assert made.fits([*files, Source(newer)])
            made.grow([*files, Source(newer)])
            assert made.fits([*files, Source(newer)])
            assert not made.fits([*files, Source(newer), Source(older)])


def test_a_second_file_beside_one_is_another_order(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number}", cpp(1)) for number in range(2)]
    with sources(paths) as files:
        made = built(files[:1])
        assert made.fits(files[:1])
        assert not made.fits(files)
