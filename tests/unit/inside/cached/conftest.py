"""A stand-in for MindSpore, so that caches are tested without it: a GeneratorDataset that keeps what it is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from mswb.inside.cached import filler, opening, say, times


class GeneratorDataset:
    def __init__(self, source: Any, column_names: list[str], **options: Any) -> None:
        self.source, self.column_names, self.options = source, column_names, options

    def shuffle(self, buffer: int) -> GeneratorDataset:
        self.options["shuffled"] = buffer
        return self


@pytest.fixture(autouse=True)
def mindspore(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """MindSpore, and every test a process that has cached nothing yet."""
    package, dataset = ModuleType("mindspore"), ModuleType("mindspore.dataset")
    dataset.GeneratorDataset = GeneratorDataset  # type: ignore[attr-defined]
    package.dataset = dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mindspore", package)
    monkeypatch.setitem(sys.modules, "mindspore.dataset", dataset)
    monkeypatch.setattr(say, "_said", set())
    monkeypatch.setattr(times, "_recorders", {})
    monkeypatch.setattr(opening, "WAIT_STEP_S", 0.01)
    yield
    filler.close_all()
