"""The doctor's report, and what it finds wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.env import doctor
from mswb.env.doctor import DoctorReport, report, script_owner
from mswb.settings import load_settings
from tests.unit.env.test_interpreter import fake_python


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    state, config = str(tmp_path / "state"), str(tmp_path / "none.toml")
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "MSWB_STATE_DIR": state, "MSWB_CONFIG": config}


def examine(tmp_path: Path, env: dict[str, str], python: Path | None = None) -> DoctorReport:
    chosen = python or fake_python(tmp_path / "bin")
    return report(load_settings(env), env, str(tmp_path), str(chosen))


def codes(told: DoctorReport) -> list[str]:
    return [one.code for one in told.findings if one.code not in ("network-folder", "inotify-limit", "tools-missing")]


def test_a_healthy_place(tmp_path: Path, env: dict[str, str]) -> None:
    told = examine(tmp_path, env)
    assert codes(told) == []
    assert told.interpreter is not None and told.interpreter.mindspore_version == "2.10.0"
    assert told.settings["state_dir"].source == "environment MSWB_STATE_DIR"
    assert {one.name: one.path for one in told.folders} == {
        "working folder": str(tmp_path),
        "state folder": env["MSWB_STATE_DIR"],
    }
    names = {one.name for one in told.dependencies}
    assert {"textual", "psutil", "google-re2"} <= names and not names & {"pytest", "mindspore", "paramiko"}


def test_no_usable_interpreter_is_a_finding_not_an_end(tmp_path: Path, env: dict[str, str]) -> None:
    told = examine(tmp_path, env, tmp_path / "absent")
    assert told.interpreter is None and codes(told) == ["interpreter-unusable"]


def test_an_interpreter_without_mindspore(tmp_path: Path, env: dict[str, str]) -> None:
    assert codes(examine(tmp_path, env, fake_python(tmp_path / "plain", mindspore=None))) == ["mindspore-absent"]


def test_another_mindspore_here(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("")
    assert codes(examine(tmp_path, env)) == ["mindspore-shadowed"]


def test_a_missing_dependency(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["no-such-package>=1", "other; extra == 'test'"])
    (one,) = examine(tmp_path, env).findings
    assert (one.code, one.severity, one.values["name"]) == ("dependency-missing", "error", "no-such-package")


def test_a_network_folder(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "filesystem_type", lambda path: "nfs4")
    told = examine(tmp_path, env)
    assert all(folder.network for folder in told.folders)
    assert [one.severity for one in told.findings if one.code == "network-folder"] == ["note", "note"]


MINE = "#!/bin/python\nimport sys\nfrom mindspore.parallel.cluster.run import main\nmain()\n"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (MINE, []),
        (MINE.replace("mindspore.parallel", "other_tool"), ["script-overwritten"]),
        ("#!/bin/sh\necho no python\n", ["script-overwritten"]),
    ],
)
def test_an_overwritten_msrun(script: str, found: list[str], tmp_path: Path, env: dict[str, str]) -> None:
    purelib = tmp_path / "venv" / "lib" / "python3.10" / "site-packages"
    purelib.mkdir(parents=True)
    program = fake_python(tmp_path / "venv" / "bin")
    text = program.read_text()
    program.write_text(text.replace(f'"purelib": "{program.parent}"', f'"purelib": "{purelib}"'))
    (program.parent / "msrun").write_text(script)
    assert codes(examine(tmp_path, env, program)) == found


def test_the_owner_of_a_script(tmp_path: Path) -> None:
    purelib = tmp_path / "lib" / "python3" / "site-packages"
    assert script_owner(str(purelib), "msrun") is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib" / "python3" / "site-packages").mkdir(parents=True)
    (tmp_path / "bin" / "msrun").write_text(MINE)
    assert script_owner(str(purelib), "msrun") == ("mindspore.parallel.cluster.run", str(tmp_path / "bin" / "msrun"))
