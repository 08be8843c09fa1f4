"""``cached`` over Python sources: what is read when, limits, changes of the source and its code, strictness."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.cache import CannotCache, cached
from mswb.inside.cached.times import flush_all, read_stats
from mswb.inside.store import read_manifest


class Source:
    """Ten samples of two columns; says which were read."""

    def __init__(self, root: Path | None = None, count: int = 10, size: int = 4) -> None:
        self.root, self.count, self.size = root, count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        logging.getLogger("source").info("%d", number)
        return np.full(self.size, number, np.float32), np.int64(number)


@pytest.fixture
def read() -> Iterator[list[int]]:
    """The samples that were read from a source; told without a global that changes, which would count for the key."""
    numbers: list[int] = []
    logger, handler = logging.getLogger("source"), logging.Handler()
    handler.emit = lambda record: numbers.append(int(record.getMessage()))  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield numbers
    logger.removeHandler(handler)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


def folders(root: Path, name: str = "train") -> list[Path]:
    return sorted(path for path in (root / name).iterdir() if path.is_dir())


def stats(root: Path, name: str = "train") -> dict[str, Any]:
    flush_all()
    (folder,) = folders(root, name)
    return read_stats(str(folder))


def values(dataset: Any) -> list[float]:
    """One epoch, as a GeneratorDataset over numbers reads it."""
    return [float(dataset.source[number][0].flat[0]) for number in range(len(dataset.source))]


def test_an_epoch_of_misses_and_then_hits_in_this_process_and_the_next(root: Path, read: list[int]) -> None:
    dataset = cached(Source(), "train", num_parallel_workers=2)
    assert dataset.column_names == ["data", "label"]
    assert dataset.options == {"num_parallel_workers": 2, "python_multiprocessing": False}
    expected = [float(number) for number in range(10)]
    assert values(dataset) == expected
    assert (stats(root)["hits"], stats(root)["misses"]) == (0, 10)
    assert values(dataset) == expected
    assert sorted(read) == list(range(10)), "each sample is read from the source once"
    again = cached(Source(), "train")
    row = again.source[3]
    assert [array.dtype for array in row] == [np.float32, np.int64] and row[0].shape == (4,) and row[1].shape == ()
    assert (stats(root)["hits"], stats(root)["misses"]) == (11, 10)
    assert stats(root)["source_ms"]["count"] == 10
    (folder,) = folders(root)
    manifest = read_manifest(str(folder))
    assert folder.name == manifest.key[:16] and manifest.num_samples == 10 and manifest.name == "train"
    assert not (folder / "LOCK").exists() and (folder / "0000.shard").exists()
    assert manifest.writers[0]["records"] == 10 and manifest.writers[0]["ended"] is not None


def test_a_sample_beyond_the_end_names_both_numbers() -> None:
    with pytest.raises(IndexError, match="sample 10 of a cache with 10 samples"):
        cached(Source(), "train").source[10]
    assert cached(Source(), "train").source[-1][1] == 9


def test_what_does_not_fit_is_read_from_the_source_each_time(
    root: Path, read: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    source = Source(size=80_000)
    dataset = cached(source, "train", cache_size=1)
    assert values(dataset) == values(dataset) == [float(number) for number in range(10)]
    assert (stats(root)["hits"], stats(root)["misses"]) == (3, 17)
    assert "the cache is full (cache_size)" in capsys.readouterr().err
    from mswb.inside.cached.filler import close_all

    close_all()
    (folder,) = folders(root)
    assert sum(path.stat().st_size for path in folder.glob("*.shard")) <= 1 << 20
    assert read_manifest(str(folder)).num_samples is None
    read.clear()
    assert values(cached(source, "train", cache_size=1)) == [float(number) for number in range(10)]
    assert len(read) == 7
    values(cached(source, "train", cache_size=10))
    read.clear()
    assert values(cached(source, "train", cache_size=10)) == [float(number) for number in range(10)]
    assert read == []


def numbers(count: int = 5, size: int = 1) -> Callable[[], Iterator[Any]]:
    def generate() -> Iterator[Any]:
        for number in range(count):
            yield np.full(size, number, np.int32), np.array("abcdefgh"[number]), np.array(b"x\0" * number)

    return generate


def test_a_sequence_is_read_once_and_then_has_numbers(root: Path) -> None:
    dataset = cached(numbers(), "train", column_names=["a", "b", "c"])
    row = dataset.source[3]
    assert row[0].tolist() == [3] and row[1].item() == "d" and row[2].tobytes() == b"x\0x\0x\0"
    assert (stats(root)["hits"], stats(root)["misses"]) == (1, 5)
    assert len(dataset.source) == 5
    assert dataset.options["shuffle"] is False, "MindSpore does not shuffle an iterable by itself"


@pytest.mark.parametrize(("shards", "expected"), [((1, 0), [0, 1, 2, 3, 4]), ((2, 1), [1, 3])])
def test_a_sequence_that_does_not_fit_goes_on_from_its_source(shards: tuple[int, int], expected: list[int]) -> None:
    options = {"num_shards": shards[0], "shard_id": shards[1]} if shards[0] > 1 else {}
    dataset = cached(numbers(size=80_000), "train", 1, column_names=["a", "b", "c"], **options)
    assert [int(row[0][0]) for row in dataset.source] == expected
    assert [int(row[0][0]) for row in dataset.source] == expected


def test_shapes_that_differ_late_make_columns_of_any_shape() -> None:
    def generate() -> Iterator[Any]:
        for number in range(20):
            yield np.zeros(3 if number < 15 else number)

    dataset = cached(generate, "train")
    assert [len(dataset.source[number][0]) for number in (0, 15, 19)] == [3, 15, 19]


def test_a_change_of_the_source_is_seen_and_told(
    tmp_path: Path, root: Path, read: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.jpg").write_text("one")
    values(cached(Source(data), "train"))
    values(cached(Source(data), "train"))
    assert len(folders(root)) == 1
    (data / "2.jpg").write_text("two")
    read.clear()
    values(cached(Source(data), "train"))
    assert len(read) == 10 and len(folders(root)) == 2
    assert "made again, since stale-source: +1 -0 ~0 (2.jpg)" in capsys.readouterr().err


def test_a_change_of_the_code_is_seen_told_and_noted(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def source(factor: int) -> Any:
        class Scaled(Source):
            def __getitem__(self, number: int) -> tuple[Any, ...]:
                return np.full(2, number * factor), np.int64(number)

        return Scaled()

    assert values(cached(source(1), "train"))[3] == 3
    assert values(cached(source(2), "train"))[3] == 6
    told = capsys.readouterr().err
    assert "stale-code: test_cached:" in told.replace(__name__, "test_cached") and "__getitem__ changed" in told
    noted = [path for path in folders(root) if "stale-code" in read_stats(str(path)).get("notes", {})]
    assert len(noted) == 1
    cached(source(1), "train")
    assert not [path for path in folders(root) if read_stats(str(path)).get("notes")], "it is the current one again"


def test_other_names_salts_and_versions_are_other_caches(root: Path) -> None:
    for options in ({}, {"salt": "a"}, {"version": "1"}, {"version": "2"}, {"column_names": ["x", "y"]}):
        cached(Source(), "train", **options)  # type: ignore[arg-type]
    assert len(folders(root)) == 5


def test_strict_mode_stops_at_another_number_of_samples(root: Path) -> None:
    values(cached(Source(count=10), "train", strict=True))
    with pytest.raises(IndexError, match="10 samples in it, 9 in its source"):
        cached(Source(count=9), "train", strict=True)
    values(cached(Source(count=9), "train"))


def test_a_damaged_sample_is_an_error_with_path_and_offset(root: Path) -> None:
    values(cached(Source(), "train"))
    from mswb.inside.cached.filler import close_all

    close_all()
    (folder,) = folders(root)
    shard = folder / "0000.shard"
    os.chmod(shard, 0o600)
    data = bytearray(shard.read_bytes())
    at = data.index(np.full(4, 5, np.float32).tobytes())
    data[at] ^= 1
    shard.write_bytes(data)
    dataset = cached(Source(), "train")
    assert float(dataset.source[4][0][0]) == 4
    with pytest.raises(ValueError, match=rf"Invalid cache file format: {shard} at byte {at - 64}: "):
        dataset.source[5]


def test_a_source_that_gives_other_columns_is_stopped(root: Path) -> None:
    source = Source()
    cached(source, "train")

    class Other:
        __len__ = Source.__len__
        count, root, size = 10, None, 4

        def __getitem__(self, number: int) -> tuple[Any, ...]:
            return np.full(4, number, np.float32 if number % 9 in (0, 1) else np.float64), np.int64(number)

    with pytest.raises(ValueError, match="changes its dtype from sample to sample"):
        cached(Other(), "other")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (3, "a int is no source"),
        (iter([1, 2]), "gives its samples only once"),
        ([], "the source has no samples"),
        ([object()], "can't be cached|content can't be told"),
    ],
)
def test_what_is_no_source_is_refused(source: Any, reason: str) -> None:
    with pytest.raises((CannotCache, ValueError, TypeError), match=reason):
        cached(source, "train")


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "x\0y", 5])
def test_names_that_are_no_folder_are_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="can't be the name of a cache"):
        cached(Source(), name)


def test_random_sources_are_refused_unless_someone_answers_for_them() -> None:
    class Noisy(Source):
        def __getitem__(self, number: int) -> tuple[Any, ...]:
            return np.random.rand(2), np.int64(number)

    with pytest.raises(CannotCache, match=r"Noisy\.__getitem__ uses numpy\.random\.rand"):
        cached(Noisy(), "train")
    assert len(cached(Noisy(), "train", deterministic=True).source) == 10


def test_a_root_that_can_not_be_written_is_no_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    source = Source()
    dataset = cached(source, "train", root=str(tmp_path / "file"))
    assert dataset.source is source
    assert "no cache at" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["write_manifest", "StoreWriter"])
def test_a_full_disk_is_no_end(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from mswb.inside.cached import filler

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    source = Source()
    monkeypatch.setattr(filler, name, full)
    assert cached(source, "train").source is source
    assert "can't be written (No space left on device)" in capsys.readouterr().err


def test_a_disk_that_fills_up_keeps_what_was_acknowledged(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mswb.inside.store import writer

    dataset = cached(Source(size=100), "train")
    for number in range(5):
        dataset.source[number]
    dataset.source.filler.sync()
    with monkeypatch.context() as patched:
        patched.setattr(writer, "_write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        for number in range(10):
            assert float(dataset.source[number][0][0]) == number
        dataset.source.filler.sync()
    assert "the disk is full" in capsys.readouterr().err
    assert values(dataset) == values(dataset) == [float(number) for number in range(10)]
    assert (stats(root)["hits"], stats(root)["misses"]) == (15, 20)


def test_a_cache_over_a_cache_has_the_key_of_the_first_in_its_own(root: Path) -> None:
    def over(size: int) -> Any:
        first = cached(Source(size=size), "train").source
        values(cached(first, "second"))
        return cached(first, "second").source

    assert over(4)[3][0].tolist() == [3] * 4
    over(4)
    assert len(folders(root, "second")) == 1
    assert over(5)[3][0].tolist() == [3] * 5
    assert len(folders(root, "second")) == 2


def test_a_spawned_worker_reads_and_falls_back_to_the_source(root: Path) -> None:
    import pickle

    dataset = cached(Source(), "train")
    dataset.source[3]
    dataset.source.filler.sync()
    worker = pickle.loads(pickle.dumps(dataset.source))
    assert [float(worker[number][0][0]) for number in (3, 4)] == [3, 4]
    assert worker.filler is None and len(worker) == 10


def test_what_was_filled_as_it_came_is_completed_at_once(root: Path, read: list[int]) -> None:
    from mswb.inside.cached.filler import close_all

    lazy = cached(Source(), "train").source
    for number in (5, 9, 2):
        lazy[number]
    close_all()
    read.clear()
    dataset = cached(Source(), "train", eager=True)
    assert sorted(read) == [0, 1, 3, 4, 6, 7, 8]
    assert values(dataset) == [float(number) for number in range(10)]
    (folder,) = folders(root)
    assert read_manifest(str(folder)).num_samples == 10 and not list(folder.glob("*.part"))
    assert stats(root)["hits"] == 10


def test_files_that_an_inner_source_reads_are_watched(tmp_path: Path, root: Path) -> None:
    class Inner:
        def __init__(self, path: Path) -> None:
            self.path = path

    class Outer(Source):
        def __init__(self, inner: Inner) -> None:
            super().__init__()
            self.inner = inner

        def __getitem__(self, number: int) -> tuple[Any, ...]:
            return np.load(self.inner.path)[number], np.int64(number)

    path = tmp_path / "x.npy"
    np.save(path, np.zeros(10))
    assert cached(Outer(Inner(path)), "train").source[0][0] == 0
    np.save(path, np.ones(10, np.float32))
    assert cached(Outer(Inner(path)), "train").source[0][0] == 1


@pytest.mark.parametrize(
    ("source", "options", "told"),
    [
        (Source(), {}, True),
        (Source(), {"files": []}, False),
        ([np.zeros(3)] * 4, {}, False),
    ],
)
def test_a_source_without_files_is_told(
    source: Any, options: dict[str, Any], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    cached(source, "train", **options)
    words = "mswb cache: train: no source files known: name them with files=[...]\n"
    assert (words in capsys.readouterr().err) == told
