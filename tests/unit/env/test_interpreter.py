"""Which interpreter trainings run in: the order, the probe, its memory, and hostile answers."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.env import interpreter
from mswb.env.interpreter import Candidate, Interpreter, find_interpreter, probe, shadows, wrapper_folder
from mswb.findings import MswbError
from mswb.settings import Settings, load_settings


def fake_python(folder: Path, name: str = "python", mindspore: str | None = "2.10.0") -> Path:
    """A program that answers like an interpreter; it notes each call in ``calls`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "version": "3.10.1",
        "prefix": str(folder),
        "purelib": str(folder),
        "executable": str(folder / name),
        "mindspore_version": mindspore,
        "mindspore_path": str(folder / "mindspore") if mindspore else None,
        "numpy_version": None,
    }
    program = folder / name
    program.write_text(f"#!/bin/sh\necho x >> '{folder}/calls'\necho 'MSWB-PROBE {json.dumps(facts)}'\n")
    program.chmod(0o755)
    return program


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().split()) if (folder / "calls").exists() else 0


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    state, config = str(tmp_path / "state"), str(tmp_path / "none.toml")
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "MSWB_STATE_DIR": state, "MSWB_CONFIG": config}


def settings(env: dict[str, str]) -> Settings:
    return load_settings(env)


def find(option: str | None, env: dict[str, str]) -> Interpreter:
    return find_interpreter(option, settings(env), env)


# The order


def test_the_order(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_python(tmp_path / "asked")
    named = fake_python(tmp_path / "named")
    fake_python(tmp_path / "venv" / "bin", mindspore=None)
    fake_python(tmp_path / "conda" / "bin")
    on_path = fake_python(tmp_path / "path")
    own = fake_python(tmp_path / "own")
    monkeypatch.setattr(interpreter.sys, "executable", str(own))
    env |= {"MSWB_PYTHON": str(named), "VIRTUAL_ENV": str(tmp_path / "venv"), "CONDA_PREFIX": str(tmp_path / "conda")}
    env["PATH"] = f"{tmp_path / 'path'}:/usr/bin:/bin"
    assert find(str(asked), env).source == "--python"
    assert find(None, env).source == "environment MSWB_PYTHON"
    del env["MSWB_PYTHON"]
    config = tmp_path / "config.toml"
    config.write_text(f'python = "{named}"\n')
    assert find(None, {**env, "MSWB_CONFIG": str(config)}).source == str(config)
    assert find(None, env).source == "$VIRTUAL_ENV"  # though it has no MindSpore: it was activated on purpose
    del env["VIRTUAL_ENV"]
    assert find(None, env).source == "$CONDA_PREFIX"
    del env["CONDA_PREFIX"]
    assert find(None, env) == replace(probe(Candidate(str(on_path), ""), settings(env), env), source="python on PATH")
    env["PATH"] = "/nonexistent"
    assert find(None, env).source == "mswb's own"


def test_candidates_are_named_once_and_none_is_started(tmp_path: Path, env: dict[str, str]) -> None:
    fake_python(tmp_path / "project" / ".venv" / "bin")
    fake_python(tmp_path / "active" / "bin")
    fake_python(tmp_path / "active" / "bin", "python3")
    env |= {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "active" / "bin")}
    env |= {"MSWB_PYTHON": str(tmp_path / "chosen")}
    found = interpreter.candidates(settings(env), env, tmp_path / "project")
    assert [(one.path.removeprefix(str(tmp_path)), one.source) for one in found] == [
        ("/chosen", "environment MSWB_PYTHON"),
        ("/project/.venv/bin/python", ".venv of this folder"),
        ("/active/bin/python", "$VIRTUAL_ENV"),
        ("/active/bin/python3", "python3 on PATH"),
        (sys.executable, "mswb's own"),
    ]
    assert calls(tmp_path / "project" / ".venv" / "bin") == calls(tmp_path / "active" / "bin") == 0


def test_python_on_path_counts_only_with_mindspore(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_python(tmp_path / "path", "python", mindspore=None)
    fake_python(tmp_path / "path", "python3")
    env["PATH"] = str(tmp_path / "path") + ":/usr/bin:/bin"
    assert find(None, env).source == "python3 on PATH"


def test_a_broken_python_on_path_is_passed_over(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "path" / "python").chmod(0o755)
    monkeypatch.setattr(interpreter.sys, "executable", str(fake_python(tmp_path / "own")))
    env["PATH"] = str(tmp_path / "path")
    assert find(None, env).source == "mswb's own"


def test_an_environment_that_vanished_is_passed_over(tmp_path: Path, env: dict[str, str]) -> None:
    fake_python(tmp_path / "conda" / "bin")
    env |= {"VIRTUAL_ENV": str(tmp_path / "gone"), "CONDA_PREFIX": str(tmp_path / "conda")}
    assert find(None, env).source == "$CONDA_PREFIX"


@pytest.mark.parametrize("form", ["folder", "program", "name", "home"])
def test_what_python_may_name(form: str, tmp_path: Path, env: dict[str, str]) -> None:
    program = fake_python(tmp_path / "venv" / "bin")
    env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    text = {"folder": str(tmp_path / "venv"), "program": str(program), "name": "python", "home": str(program)}[form]
    assert find(text, env).path == str(program)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "no such program"),
        ("#!/bin/sh\necho 'it is broken' >&2\nexit 1\n", "it is broken"),
        ("#!/bin/sh\nexit 0\n", "Python 3"),
        ("#!/nonexistent/interpreter\n", "No such file"),
        ("#!/bin/sh\necho 'MSWB-PROBE {'\n", "MSWB-PROBE"),
        ("#!/bin/sh\necho 'MSWB-PROBE {\"version\": 3}'\n", "MSWB-PROBE"),
        ("#!/bin/sh\nprintf '\\033]0;evil\\007'\n", r"\x1b"),
    ],
)
def test_a_named_interpreter_that_is_none(script: str | None, reason: str, tmp_path: Path, env: dict[str, str]) -> None:
    program = tmp_path / "program"
    if script is not None:
        program.write_text(script)
        program.chmod(0o755)
    with pytest.raises(MswbError) as error:
        find(str(program), env)
    assert (error.value.finding.code, error.value.exit_code) == ("interpreter-unusable", 2)
    assert reason in str(error.value) and "\x1b" not in str(error.value)


# The probe


def test_noise_around_the_answer_is_tolerated(tmp_path: Path, env: dict[str, str]) -> None:
    program = fake_python(tmp_path / "noisy")
    answer = program.read_text().splitlines()[-1]
    program.write_text(f"#!/bin/sh\necho hello\nprintf '\\377\\000'\n{answer}\necho warning >&2\nsleep 600\n")
    assert find(str(program), env).version == "3.10.1"  # at once, not after the sleep


def test_a_flood_ends_the_probe(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "MAX_OUTPUT_BYTES", 100_000)
    program = tmp_path / "flood"
    program.write_text("#!/bin/sh\nexec yes\n")
    program.chmod(0o755)
    with pytest.raises(MswbError):
        find(str(program), env)


def test_a_silent_program_is_given_up(tmp_path: Path, env: dict[str, str]) -> None:
    program = tmp_path / "silent"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    assert interpreter._output_of([str(program)], env, 0.2) == b""


def test_a_real_interpreter_answers(env: dict[str, str]) -> None:
    found = find(sys.executable, env)
    assert found.version == "{}.{}.{}".format(*sys.version_info[:3]) and found.prefix == sys.prefix


def test_a_probe_is_remembered_until_something_changes(tmp_path: Path, env: dict[str, str]) -> None:
    folder = tmp_path / "py"
    program = fake_python(folder)
    state = settings(env)
    one = Candidate(str(program), "first")
    (folder / "calls").write_text("")  # its creation changes the folder that counts as site-packages
    probe(one, state, env)
    again = probe(replace(one, source="second"), state, env)
    assert calls(folder) == 1 and again.source == "second"
    (folder / "new_package").mkdir()
    probe(one, state, env)
    assert calls(folder) == 2
    probe(one, state, {**env, "PYTHONPATH": "/other"})
    assert calls(folder) == 3
    program.write_text(program.read_text() + "# changed\n")
    probe(one, state, env)
    assert calls(folder) == 4


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"facts": {}, "stamps": []}', b"[" * 100_000, b"\xff"])
def test_a_damaged_memory_is_a_new_probe(content: bytes, tmp_path: Path, env: dict[str, str]) -> None:
    program = fake_python(tmp_path / "py")
    found = find(str(program), env)
    (file,) = (tmp_path / "state" / "interpreters").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(content)
    assert find(str(program), env) == found


def test_a_state_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "file").write_text("")
    env["MSWB_STATE_DIR"] = str(tmp_path / "file" / "state")
    assert find(str(fake_python(tmp_path / "py")), env).mindspore_version == "2.10.0"


# Another MindSpore, and a wrapper


def test_an_older_copy_shadows(tmp_path: Path, env: dict[str, str]) -> None:
    found = find(str(fake_python(tmp_path / "py")), env)
    assert shadows(found, str(tmp_path), {}) is None
    (tmp_path / "work" / "mindspore").mkdir(parents=True)
    assert shadows(found, str(tmp_path / "work"), {}) is None  # a folder of data, no package
    (tmp_path / "work" / "mindspore" / "__init__.py").write_text("")
    other = str(tmp_path / "work" / "mindspore")
    assert shadows(found, str(tmp_path / "work"), {}) == other
    assert shadows(found, "/", {"PYTHONPATH": f"/none:{tmp_path / 'work'}"}) == other
    assert shadows(replace(found, mindspore_path=other), str(tmp_path / "work"), {}) is None


def test_the_folder_counts_only_when_both_names_lead_to_it(tmp_path: Path, env: dict[str, str]) -> None:
    program = fake_python(tmp_path / "bin")
    found = find(str(program), env)
    assert found.folder_with_python is None
    (tmp_path / "bin" / "python3").symlink_to("python")
    assert found.folder_with_python == str(tmp_path / "bin")
    (tmp_path / "bin" / "python3").unlink()
    fake_python(tmp_path / "bin", "python3")
    assert found.folder_with_python is None


def test_a_wrapper_keeps_a_virtual_environment(tmp_path: Path, env: dict[str, str]) -> None:
    import subprocess

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    found = find(str(tmp_path / "venv"), env)
    folder = wrapper_folder(found, tmp_path / "wrap")
    for name in ("python", "python3"):
        words = [os.path.join(folder, name), "-c", "import sys; print(sys.prefix)"]
        assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == str(
            tmp_path / "venv"
        )
