"""What is noted of pipelines behind a DatasetCache, with stand-ins for MindSpore's classes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mswb.cache.server import sources
from mswb.inside import server_cache
from mswb.inside.server_cache import MARK, RECORDS


class Cache:
    session_id = 77
    port = 50177


class Dataset:
    """As much of MindSpore's as is looked at."""

    def __init__(self, *children: Dataset, cache: Cache | None = None) -> None:
        self.children = list(children)
        self.cache = cache

    def create_ir_tree(self, getter_mode: bool = False) -> str:
        return f"tree {getter_mode}"


class ImageFolderDataset(Dataset):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.dataset_dir = folder


class Decode:
    def __init__(self) -> None:
        self.to_pil = False


class MapDataset(Dataset):
    def __init__(self, child: Dataset, operations: list[Any], cache: Cache | None) -> None:
        super().__init__(child, cache=cache)
        self.operations = operations


def scaler(factor: float) -> Callable[[float], float]:
    def scale(value: float) -> float:
        return value * factor

    return scale


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "img" / "cls"
    folder.mkdir(parents=True)
    for name in "abc":
        (folder / f"{name}.png").write_text(name)
    return tmp_path / "img"


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Dataset], None]:
    """Runs a pipeline as the training of a run would."""

    def train(run: str, dataset: Dataset) -> None:
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("MSWB_EVENTS", str(folder / "events.jsonl"))
        monkeypatch.delenv("RANK_ID", raising=False)
        monkeypatch.setattr(Dataset, "create_ir_tree", Dataset.create_ir_tree)
        server_cache.install(SimpleNamespace(Dataset=Dataset))
        assert dataset.create_ir_tree(True) == "tree True"
        dataset.create_ir_tree()
        monkeypatch.undo()

    return train


def pipeline(images: Path, factor: float = 2.0) -> Dataset:
    return Dataset(MapDataset(ImageFolderDataset(str(images)), [Decode(), scaler(factor)], Cache()))


def test_a_pipeline_is_noted_once_a_run_with_files_and_code(
    images: Path, tmp_path: Path, training: Callable[[str, Dataset], None], capfd: pytest.CaptureFixture[str]
) -> None:
    training("r1", pipeline(images))
    (note,) = server_cache.read(str(tmp_path / "runs" / "r1" / RECORDS))
    assert (note.session, note.port, note.sources) == (77, 50177, [str(images)])
    assert note.listing.count("\n") == 4 and note.code
    assert note.pipeline == ["ImageFolderDataset()", "MapDataset(Decode{'to_pil': False}, scaler.<locals>.scale)"]
    training("r2", pipeline(images))
    assert capfd.readouterr().err == ""
    assert not sources.of_notes(sources.notes_of(tmp_path / "runs", 77))


def test_changed_files_are_told_at_the_next_start(
    images: Path, tmp_path: Path, training: Callable[[str, Dataset], None], capfd: pytest.CaptureFixture[str]
) -> None:
    training("r1", pipeline(images))
    (images / "cls" / "a.png").write_text("other")
    (images / "cls" / "b.png").unlink()
    (images / "cls" / "d.png").write_text("d")
    training("r2", pipeline(images))
    told = capfd.readouterr().err
    assert told.startswith(f"{MARK}session 77 on port 50177 serves old rows: files +1 -1 ~1")
    event = json.loads((tmp_path / "runs" / "r2" / "events.jsonl").read_text())
    assert (event["event"], f"{MARK}{event['text']}") == ("stale-source", told.splitlines()[0])
    found = sources.of_notes(sources.notes_of(tmp_path / "runs", 77))
    assert [tuple(Path(path).name for path in paths) for paths in (found.added, found.removed, found.changed)] == [
        ("d.png",),
        ("b.png",),
        ("a.png",),
    ]
    assert "1 added (d.png), 1 removed (b.png), 1 changed (a.png)" in str(found)


def test_a_changed_function_is_told_by_name(
    images: Path, tmp_path: Path, training: Callable[[str, Dataset], None], capfd: pytest.CaptureFixture[str]
) -> None:
    training("r1", pipeline(images))
    training("r2", pipeline(images, 3.0))
    assert "code changed" in capfd.readouterr().err
    found = sources.of_notes(sources.notes_of(tmp_path / "runs", 77))
    assert any("scale" in name for name in found.code) and not found.changed


def test_another_pipeline_of_the_session_is_no_change(
    images: Path, training: Callable[[str, Dataset], None], capfd: pytest.CaptureFixture[str]
) -> None:
    training("r1", pipeline(images))
    training("r2", Dataset(MapDataset(ImageFolderDataset(str(images)), [Decode()], Cache())))
    assert capfd.readouterr().err == ""


def test_pipelines_without_a_cache_are_left_alone(
    images: Path, tmp_path: Path, training: Callable[[str, Dataset], None]
) -> None:
    training("r1", Dataset(MapDataset(ImageFolderDataset(str(images)), [Decode()], None)))
    assert list((tmp_path / "runs" / "r1").iterdir()) == []


@pytest.mark.parametrize("environ", [{}, {"RANK_ID": "1"}, {"MS_ROLE": "MS_SCHED"}])
def test_only_the_first_rank_of_a_run_of_ours_looks(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MSWB_EVENTS", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv("MSWB_EVENTS", str(tmp_path / "events.jsonl"))
        monkeypatch.setenv(name, value)
    plain = Dataset.create_ir_tree
    server_cache.install(SimpleNamespace(Dataset=Dataset))
    assert Dataset.create_ir_tree is plain


def test_what_goes_wrong_in_it_does_not_stop_the_pipeline(
    training: Callable[[str, Dataset], None], capfd: pytest.CaptureFixture[str]
) -> None:
    class Odd(Dataset):
        @property
        def operations(self) -> list[Any]:
            raise RuntimeError("odd")

    training("r1", Odd(cache=Cache()))
    assert "could not be noted" in capfd.readouterr().err


def test_cut_and_foreign_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / RECORDS
    good = {"time": 1, "session": 2, "port": 3, "pipeline": [], "sources": [], "listing": "", "code": None}
    path.write_text("\n".join([json.dumps(good), json.dumps(good)[:-5], "[]", '{"time": "x"}', ""]))
    assert [note.session for note in server_cache.read(str(path))] == [2]
    assert server_cache.read(str(path), 3) == [] and len(server_cache.read(str(path), 2)) == 1
    assert server_cache.read(str(tmp_path / "none")) == []
    assert server_cache.notes(str(tmp_path / "none")) == []
