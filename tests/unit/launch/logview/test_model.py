"""The model of a log view: what is shown of growing, filtered, folded, cut, replaced and missing files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.files.levels import Level
from mswb.launch.logview import order as ordering
from mswb.launch.logview.filters import Filter, parse_filter
from mswb.launch.logview.model import LogModel
from mswb.launch.logview.rows import Place
from mswb.launch.logview.source import ShownLog
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, model_of, places, texts, worked, write


def hits_of(model: LogModel) -> list[Place]:
    state = worked(model)
    assert state.hits is not None and state.hits_done
    return [state.rows.place_at(state.hits.select(number)) for number in range(state.hits.count)]


def changed(model: LogModel, *paths: Path) -> None:
    for path in paths:
        model.changed(str(path))


def test_several_files_are_one_stream(tmp_path: Path) -> None:
    one = write(tmp_path / "a", cpp(1, "a") + "print of a\n" + cpp(4, "d"))
    two = write(tmp_path / "b", cpp(2, "b") + cpp(3, "c", "ERROR"))
    with model_of(one, two) as model:
        state = model.snapshot()
        assert texts(model) == ["a\n"[:-1], "print of a", "b", "c", "d"]
        assert (state.built, state.merged, state.errors, state.warnings) == (True, True, 1, 3)


def test_the_tail_is_there_before_anything_is_indexed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "".join(f"line {number}\n" for number in range(1000)) + "unfinished")
    model = LogModel([ShownLog(str(path))])
    model.show_tail()
    state = model.snapshot()
    assert not state.built
    assert [one.line.text for one in state.tail[-2:]] == ["line 999", "unfinished"]
    model.close()


def test_the_tail_of_several_files_is_merged(tmp_path: Path) -> None:
    one = write(tmp_path / "a", cpp(1, "a") + cpp(4, "d"))
    two = write(tmp_path / "b", cpp(2, "b") + cpp(3, "c") + "print\n")
    model = LogModel([ShownLog(str(one)), ShownLog(str(two)), ShownLog(str(tmp_path / "missing"))])
    model.show_tail()
    assert [one.line.body for one in model.snapshot().tail] == ["a", "b", "c", "print", "d"]
    model.close()


def test_what_is_written_later_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "one\n")
    told: list[tuple[int, int]] = []
    with model_of(path, forget=lambda file, line: told.append((file, line))) as model:
        layout = model.snapshot().layout
        append(path, "two\nthr")
        changed(model, path)
        assert texts(model, worked(model)) == ["one", "two", "thr"]
        append(path, "ee\n")
        changed(model, path)
        assert texts(model, worked(model)) == ["one", "two", "three"]
        assert told[-2:] == [(0, 0), (0, 2)]
        assert model.snapshot().layout == layout


def test_filter_and_search_go_on_with_what_comes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", cpp(1, "a", "INFO") + cpp(2, "b", "ERROR"))
    with model_of(path) as model:
        model.ask(parse_filter("level:error"), "bad")
        assert texts(model, worked(model)) == ["b"]
        append(path, cpp(3, "bad c", "ERROR") + "belongs to it, bad\n" + cpp(4, "bad d", "INFO"))
        changed(model, path)
        assert texts(model, worked(model)) == ["b", "bad c", "belongs to it, bad"]
        assert hits_of(model) == [Place(0, 2), Place(0, 3)]


def test_a_cut_file_is_begun_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "one\ntwo\nthree\n")
    other = write(tmp_path / "b", "other\n")
    with model_of(path, other) as model:
        write(path, "new\n")
        changed(model, path)
        state = worked(model)
        assert sorted(texts(model, state)) == ["new", "other"]
        assert state.generations == (1, 0)
        os.replace(write(tmp_path / "c", "replaced\n"), path)
        changed(model, path)
        assert sorted(texts(model, worked(model))) == ["other", "replaced"]


def test_a_file_that_is_not_there_yet_is_shown_when_it_comes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", cpp(1, "a"))
    late = tmp_path / "late"
    with model_of(path, late) as model:
        assert texts(model) == ["a"]
        assert [problem.code for problem in model.snapshot().problems] == ["path-missing"]
        write(late, cpp(2, "b"))
        changed(model, late)
        assert texts(model, worked(model)) == ["a", "b"]
        assert model.snapshot().problems == ()


def test_files_are_added(tmp_path: Path) -> None:
    path = write(tmp_path / "a", cpp(1, "a") + cpp(5, "e"))
    with model_of(path) as model:
        more = write(tmp_path / "b", cpp(3, "c"))
        model.add([ShownLog(str(more), "worker", 1), ShownLog(str(path))])
        state = worked(model)
        assert texts(model, state) == ["a", "c", "e"]
        assert len(state.files) == 2
        model.add([ShownLog(str(write(tmp_path / "c", cpp(4, "d"))), "scheduler")])
        assert texts(model, worked(model)) == ["a", "c", "d", "e"]


def test_ranks_and_roles_are_chosen(tmp_path: Path) -> None:
    one, two = write(tmp_path / "a", cpp(1, "a")), write(tmp_path / "b", cpp(2, "b"))
    with model_of(one, two) as model:
        model.ask(Filter(ranks=frozenset({1})), "")
        assert texts(model, worked(model)) == ["b"]
        model.ask(Filter(roles=frozenset({"scheduler"})), "")
        assert texts(model, worked(model)) == []


def test_a_traceback_folds_and_unfolds(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "print\n" + TRACEBACK + "step 9\n")
    with model_of(path) as model:
        assert model.fold(Place(0, 3)) == Place(0, 1)
        state = worked(model)
        assert [place.line for place in places(state)] == [0, 1, 5]
        span = state.folded_at(Place(0, 1))
        assert span is not None and span.stop - span.first == 4
        assert state.passing.count == 6
        assert model.fold(Place(0, 1)) == Place(0, 1)
        assert worked(model).rows.count == 6
        assert model.fold(Place(0, 0)) is None


def test_everything_folds_and_goes_on_to(tmp_path: Path) -> None:
    alike = "".join(cpp(number, f"retry({number})") for number in range(10))
    path = write(tmp_path / "a", TRACEBACK + "step 9\n" + alike)
    with model_of(path) as model:
        assert model.fold_all()
        assert [place.line for place in places(worked(model))] == [0, 4, 5]
        append(path, cpp(10, "retry(10)") + "step 10\n" + TRACEBACK)
        changed(model, path)
        assert [place.line for place in places(worked(model))] == [0, 4, 5, 16, 17]
        assert model.unfold(Place(0, 2)) == Place(0, 0)
        assert [place.line for place in places(worked(model))] == [0, 1, 2, 3, 4, 5, 16, 17]
        assert model.fold(Place(0, 2)) == Place(0, 0)
        assert [place.line for place in places(worked(model))] == [0, 4, 5, 16, 17]
        assert not model.fold_all()
        assert worked(model).rows.count == 21


def test_a_search_finds_what_is_folded_away(tmp_path: Path) -> None:
    path = write(tmp_path / "a", TRACEBACK)
    with model_of(path) as model:
        model.fold(Place(0, 0))
        model.ask(Filter(), "main")
        assert hits_of(model) == [Place(0, 2)]


def test_a_folded_head_that_is_filtered_away_hides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a", TRACEBACK)
    with model_of(path) as model:
        model.fold(Place(0, 0))
        model.ask(Filter(keep=("main",)), "")
        assert [place.line for place in places(worked(model))] == [2]


def test_indexing_can_be_stopped_and_resumed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "one\ntwo\n")
    model = LogModel([ShownLog(str(path))])
    model.stop()
    assert not model.step()
    append(path, "three\n")
    assert not model.step()
    state = model.snapshot()
    assert state.work is not None and state.work.stopped and not state.built
    assert [one.line.text for one in state.tail] == ["one", "two", "three"]
    model.resume()
    assert texts(model, worked(model)) == ["one", "two", "three"]
    model.close()


def test_more_files_than_may_be_held_open(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number}", cpp(number, f"{number}")) for number in range(40)]
    before = len(os.listdir("/proc/self/fd"))
    with model_of(*paths, budget=4) as model:
        assert len(os.listdir("/proc/self/fd")) <= before + 4
        assert texts(model) == [str(number) for number in range(40)]
        append(paths[39], cpp(50, "more"))
        changed(model, paths[39])
        assert texts(model, worked(model))[-1] == "more"
        os.unlink(paths[38])
        changed(model, paths[38])
        assert worked(model).rows.count == 41
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_is_the_index_and_the_order(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{rank}", "".join(cpp(step * 3 + rank) for step in range(5000))) for rank in range(3)]
    with model_of(*paths) as model:
        model.ask(Filter(level=Level.WARNING, drop=("9",)), "8")
        state = worked(model)
        assert state.rows.total == 15_000
        assert model.memory_bytes <= 10 * 15_000


LINES = st.sampled_from(["a\n", "b\n", "ab", "\n", cpp(5, "a", "ERROR"), cpp(1, "b", "INFO"), cpp(3, "ab")])
FILTERS = st.sampled_from(["", "a", "!a", "b !a", "rank:0", "rank:1 a"])


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.tuples(st.integers(0, 1), st.lists(LINES, max_size=6).map("".join)), max_size=8),
    asked=st.lists(st.tuples(FILTERS, st.sampled_from(["", "a", "b"])), min_size=8, max_size=8),
    single=st.booleans(),
)
def test_what_is_shown_is_what_a_naive_filter_keeps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batches: list[tuple[int, str]],
    asked: list[tuple[str, str]],
    single: bool,
) -> None:
    monkeypatch.setattr(ordering, "CHUNK", 6)
    paths = [write(tmp_path / "0", "")] + ([] if single else [write(tmp_path / "1", "")])
    contents = [""] * len(paths)
    with model_of(*paths) as model:
        for (file, text), (wanted, search) in zip(batches, asked, strict=False):
            file = 0 if single else file
            contents[file] += text
            append(paths[file], text)
            changed(model, paths[file])
            model.ask(parse_filter(wanted), search)
            state = worked(model)
            lines = {
                Place(number, line): piece
                for number, content in enumerate(contents)
                for line, piece in enumerate(content.split("\n")[: content.count("\n") + (content[-1:] not in "\n")])
            }
            kept = {place for place, piece in lines.items() if naive(parse_filter(wanted), place.file, piece)}
            assert set(places(state)) == kept
            assert len(places(state)) == len(kept)
            for number in range(len(paths)):
                mine = [place.line for place in places(state) if place.file == number]
                assert mine == sorted(mine)
            if search:
                assert set(hits_of(model)) == {place for place in kept if search in lines[place].lower()}


def naive(wanted: Filter, rank: int, text: str) -> bool:
    if wanted.ranks and rank not in wanted.ranks:
        return False
    found = [re.search(word, text, re.IGNORECASE) is not None for word in wanted.keep]
    lost = [re.search(word, text, re.IGNORECASE) is not None for word in wanted.drop]
    return all(found) and not any(lost)
