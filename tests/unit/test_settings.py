"""Settings: the order of sources, and one clear error for what can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.findings import MswbError
from mswb.settings import KNOWN, load_settings


def environ(tmp_path: Path, **extra: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), **extra}


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / ".config" / "mswb" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_know_that_they_are_defaults(tmp_path: Path) -> None:
    settings = load_settings(environ(tmp_path))
    assert settings.state_dir == tmp_path / ".local/state/mswb"
    assert {entry.source for entry in settings.entries.values()} == {"default"}
    assert settings.python is None


def test_the_file_beats_the_default_and_the_environment_beats_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'state_dir = "/a"\npython = "/usr/bin/python3"\n')
    settings = load_settings(environ(tmp_path, MSWB_STATE_DIR="/b"))
    assert settings["state_dir"] == "/b"
    assert settings.entries["state_dir"].source == "environment MSWB_STATE_DIR"
    assert settings.entries["python"].source == str(path)


def test_mswb_config_names_another_file(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("silence_s = 5\n")
    settings = load_settings(environ(tmp_path, MSWB_CONFIG=str(tmp_path / "other.toml")))
    assert settings["silence_s"] == 5.0


@pytest.mark.parametrize(
    "text", ["silence_s = 'soon'", "silence_s = -1", "silence_s = nan", "python = 3", "no_such = 1", "broken ="]
)
def test_what_cannot_be_used_is_refused_with_the_file_named(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(MswbError) as caught:
        load_settings(environ(tmp_path))
    assert caught.value.finding.code == "config-invalid"
    assert str(path) in str(caught.value)


def test_a_bad_environment_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(MswbError, match="MSWB_SILENCE_S"):
        load_settings(environ(tmp_path, MSWB_SILENCE_S="x"))


def test_every_setting_has_a_variable_of_its_own() -> None:
    assert len({known.variable for known in KNOWN.values()}) == len(KNOWN)


def test_tables_of_later_faces_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, '[keys]\nquit = "q"\n')
    assert load_settings(environ(tmp_path))["lang"] == ""
