"""Every state of every pane, drawn as it was when somebody last looked at it and found it good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.pictures import FOLDER, difference
from tests.ui.scenes.all_scenes import SCENES
from tests.ui.scenes.stage import pictures
from tests.ui.sessions import LARGE, SMALL


def file_of(name: str, size: tuple[int, int]) -> Path:
    return FOLDER / f"{name}-{size[0]}x{size[1]}.txt"


@pytest.mark.asyncio
@pytest.mark.parametrize("name", SCENES)
async def test_scene(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    shown = await pictures(SCENES[name], tmp_path, monkeypatch)
    problems = []
    for size, now in shown.items():
        file = file_of(name, size)
        if request.config.getoption("--update-screens"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(now, encoding="utf-8")
        known = file.read_text(encoding="utf-8") if file.exists() else ""
        if known != now:
            problems.append(f"{file.name} has changed; look at it, then keep it with --update-screens")
            problems.append(difference(known, now) if known else now)
    assert not problems, "\n".join(problems)


def test_there_is_no_picture_without_a_scene() -> None:
    sizes = {name: (SMALL,) if scene.small else (SMALL, LARGE) for name, scene in SCENES.items()}
    assert set(FOLDER.rglob("*.txt")) <= {file_of(name, size) for name in SCENES for size in sizes[name]}
