"""probe.py tells which MindSpore an interpreter would import, and never imports it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from mswb.inside.probe import MARK, version_of

PROBE = str(resources.files("mswb.inside") / "probe.py")


def probe(**variables: str) -> dict[str, str | None]:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run([sys.executable, PROBE], env=env, capture_output=True, text=True, check=True, cwd="/")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith(MARK))
    facts: dict[str, str | None] = json.loads(line.removeprefix(MARK))
    return facts


def fake(folder: Path, version: str = "__version__ = '2.99.1'\n") -> Path:
    (folder / "mindspore").mkdir(parents=True)
    (folder / "mindspore" / "__init__.py").write_text("raise SystemExit('it was imported')")
    (folder / "mindspore" / "version.py").write_text(version)
    return folder


def test_the_facts_of_this_interpreter() -> None:
    facts = probe()
    assert facts["version"] == "{}.{}.{}".format(*sys.version_info[:3])
    assert facts["prefix"] == sys.prefix and os.path.isdir(str(facts["purelib"]))


def test_mindspore_is_found_and_not_imported(tmp_path: Path) -> None:
    facts = probe(PYTHONPATH=str(fake(tmp_path)))
    assert facts["mindspore_version"] == "2.99.1"
    assert facts["mindspore_path"] == str(tmp_path / "mindspore")


@pytest.mark.parametrize(
    ("text", "version"),
    [("__version__ = '2.10.0'", "2.10.0"), ('__version__="2.4.0rc1+g1"', "2.4.0rc1+g1"), ("# __version__ = '", None)],
)
def test_the_version_of_a_folder(text: str, version: str | None, tmp_path: Path) -> None:
    found = version_of(str(fake(tmp_path, text) / "mindspore"))
    assert found == version if version else found  # else that of an installed package, or "unknown"


def test_a_folder_without_a_version_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mswb.inside import probe as module

    monkeypatch.setattr(module, "PACKAGES", ("no-such-package-anywhere",))
    assert version_of(str(tmp_path)) == "unknown"
