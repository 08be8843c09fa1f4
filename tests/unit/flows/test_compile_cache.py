"""The compile cache of a launch: what changes its folder, what does not, and what is told before the start."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.cache.compile import key as keys
from mswb.cache.compile.dependency import dependency, search_path
from mswb.cache.compile.seal import seal_all
from mswb.env.interpreter import Interpreter
from mswb.flows import compile_cache
from mswb.flows.compile_cache import Keyed
from mswb.launch.command import parse_flags
from mswb.launch.environment import build
from mswb.settings import load_settings
from tests.unit.cache.compile.projects import GRAPH, write

PYTHON = Interpreter(sys.executable, "3.11.0", "/usr", "/usr/site", "2.10.0", "/usr/site/mindspore", "1.26.4", "test")
ON = {"MS_COMPILER_CACHE_ENABLE": "1"}
TEXT = "import mindspore as ms\nimport net\nimport os\nprint(os.environ.get('DEPTH'))\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "p", {"train.py": TEXT, "net.py": "K = 1\n", "a.yaml": "k: 1\n"})


def keyed(project: Path, *words: str, env: dict[str, str] | None = None, python: Interpreter = PYTHON) -> Keyed:
    environ = {"HOME": str(project), "MSWB_STATE_DIR": str(project / "state"), **(ON if env is None else env)}
    words = words or ("train.py",)
    request = parse_flags(["--worker_num", "1", *words], environ, str(project))
    overlay = build(request, python, "RUN", str(project / "log"), environ)
    return compile_cache.keyed(request, python, overlay, load_settings(environ))


def folder(found: Keyed) -> str:
    assert found.folder is not None
    assert found.overlay.get("MS_COMPILER_CACHE_PATH") == found.folder.path
    assert found.folder.path.endswith(found.folder.key.key[:16])
    return found.folder.path


def test_nothing_happens_while_the_cache_is_off(project: Path) -> None:
    found = keyed(project, env={})
    assert (found.folder, found.findings) == (None, ())
    assert "MS_COMPILER_CACHE_PATH" not in found.overlay.environ()


def test_each_switch_turns_it_on(project: Path) -> None:
    (project / "code.py").write_text("import mindspore as ms\nms.set_context(enable_compile_cache=True)\n")
    by_setting = keyed(project, env={"MSWB_COMPILE_CACHE": "1"})
    assert by_setting.overlay.get("MS_COMPILER_CACHE_ENABLE") == "1"
    assert (
        folder(by_setting)
        == folder(keyed(project))
        == folder(keyed(project, "--env", "MS_COMPILER_CACHE_ENABLE=1", "train.py", env={}))
    )
    assert folder(keyed(project, "code.py", env={}))
    assert keyed(project, env={"MSWB_COMPILE_CACHE": "1", "MS_COMPILER_CACHE_ENABLE": "0"}).folder is None


def test_the_folder_is_shown_with_its_origin(project: Path) -> None:
    entry = next(one for one in keyed(project).overlay.entries if one.name == "MS_COMPILER_CACHE_PATH")
    assert entry.origin == "mswb"
    assert entry.value.startswith(str(project / "ms_compile_cache"))


def test_a_folder_of_the_users_is_kept_and_gets_folders_of_keys(project: Path, tmp_path: Path) -> None:
    found = folder(keyed(project, env={**ON, "MS_COMPILER_CACHE_PATH": str(tmp_path / "mine")}))
    assert os.path.dirname(found) == str(tmp_path / "mine")


def test_what_a_graph_may_depend_on_changes_the_folder(project: Path) -> None:
    base = folder(keyed(project))
    other = replace(PYTHON, mindspore_version="2.9.0")
    seen = [
        folder(keyed(project, "train.py", "A")),
        folder(keyed(project, "train.py", "B")),
        folder(keyed(project, "train.py", "a.yaml")),
        folder(keyed(project, env={**ON, "DEPTH": "4"})),
        folder(keyed(project, env={**ON, "MS_ENABLE_GRAD_ACC": "1"})),
        folder(keyed(project, "--env", "ANY=1", "train.py")),
        folder(keyed(project, "--worker_num", "2", "train.py")),
        folder(keyed(project, python=other)),
    ]
    (project / "a.yaml").write_text("k: 2\n")
    seen.append(folder(keyed(project, "train.py", "a.yaml")))
    (project / "net.py").write_text("K = 2\n")  # in PYTHONPATH under mswb run: MindSpore itself would not see it
    seen.append(folder(keyed(project)))
    assert len({base, *seen}) == 1 + len(seen)


def test_what_no_graph_depends_on_does_not(project: Path) -> None:
    base = folder(keyed(project))
    os.utime(project / "net.py", (1, 1))
    (project / "unrelated.py").write_text("x = 1\n")
    noise = {**ON, "SSH_TTY": "/dev/pts/1", "GLOG_v": "1", "MS_NODE_TIMEOUT": "90", "PWD": "/x"}
    assert folder(keyed(project, env=noise)) == base
    assert folder(keyed(project, "--master_port", "9000", "--log_dir", "logs", "train.py")) == base


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--no_env", "MS_COMPILER_CACHE_PATH", "train.py"), "--no_env"),
        (("pytest", "x.py"), "no script"),
        (("python", "-c", "pass"), "no script"),
        (("python", "-m", "no.such.module"), "no script"),
    ],
)
def test_runs_that_cannot_have_a_folder_are_warned(project: Path, words: tuple[str, ...], reason: str) -> None:
    found = keyed(project, *words)
    assert found.folder is None
    assert [(one.code, reason in one.title) for one in found.findings] == [("compile-cache-shared", True)]


def test_a_script_that_names_a_folder_itself_is_warned_and_keyed(project: Path) -> None:
    (project / "own.py").write_text("ms.set_context(enable_compile_cache=True, compile_cache_path='x')\n")
    found = keyed(project, "own.py")
    assert folder(found) and [one.code for one in found.findings] == ["compile-cache-shared", "compile-cache-folder"]


@pytest.mark.parametrize("words", [("python", "-m", "pk"), ("python", "-m", "pk.run", "A"), ("python", "pk")])
def test_modules_and_folders_have_code_too(project: Path, words: tuple[str, ...]) -> None:
    write(project, {"pk/__init__.py": "", "pk/__main__.py": "from net import K\n", "pk/run.py": "import net\n"})
    before = keyed(project, *words)
    assert before.folder is not None and "net.py" in before.folder.key.code
    (project / "net.py").write_text("K = 3\n")
    assert folder(keyed(project, *words)) != folder(before)


def test_a_forced_cache_is_warned_of(project: Path) -> None:
    found = keyed(project, env={**ON, "MS_DEV_FORCE_USE_COMPILE_CACHE": "1"})
    assert "compile-cache-forced" in [one.code for one in found.findings]


def begun(project: Path) -> Path:
    """As after a run that ended well."""
    found = keyed(project)
    assert found.folder is not None
    compile_cache.begin(found.folder, "run", 5.0)
    inner = Path(found.folder.path, "rank_0", "graph_cache")
    inner.mkdir(parents=True)
    (inner / "compile_cache_0.mindir").write_bytes(GRAPH.read_bytes())
    (inner / "compile_dependency.hash").write_text("0" * 64)
    seal_all(found.folder.path, "run", 0.0)
    return inner


def test_what_the_folder_holds_is_told(project: Path) -> None:
    assert [one.title.rpartition(": ")[2] for one in keyed(project).findings] == ["new"]
    begun(project)
    (found,) = keyed(project).findings
    assert found.severity == "note" and "graphs of earlier runs with this key: 1, sealed: 1" in found.title


def test_why_a_folder_is_new_is_told(project: Path) -> None:
    begun(project)
    (found,) = keyed(project, "train.py", "B").findings
    assert "arguments" in found.title
    (project / "net.py").write_text("K = 2\n")
    (found,) = keyed(project).findings
    assert "file net.py" in found.title


def test_a_damaged_graph_stops_the_start(project: Path) -> None:
    path = begun(project) / "compile_cache_0.mindir"
    path.write_bytes(path.read_bytes()[:-3] + b"abc")
    damaged = [one for one in keyed(project).findings if one.code == "compile-cache-damaged"]
    assert [one.severity for one in damaged] == ["error"] and "compile_cache_0.mindir" in damaged[0].title


def test_another_programs_graph_is_warned_of(project: Path) -> None:
    (begun(project) / "compile_dependency.hash").write_text("1" * 64)
    assert "compile-cache-foreign" in [one.code for one in keyed(project).findings]


def test_beginning_again_leaves_the_key_as_it_was(project: Path) -> None:
    found = keyed(project).folder
    assert found is not None
    compile_cache.begin(found, "one", 1.0)
    compile_cache.begin(found, "two", 2.0)
    assert keys.read_key(found.path).run == "one"  # type: ignore[union-attr]
    Path(found.path, keys.KEY_FILE).write_text("{")
    compile_cache.begin(found, "three", 3.0)
    assert keys.read_key(found.path).run == "three"  # type: ignore[union-attr]


def test_a_value_that_may_be_secret_is_not_written_down(project: Path) -> None:
    found = keyed(project, "--env", "TOKEN=hunter2", "train.py").folder
    assert found is not None and "hunter2" not in str(found.key) and "TOKEN" in found.key.environment


def test_graphs_in_a_folder_of_the_scripts_own_are_looked_at(project: Path) -> None:
    options = "enable_compile_cache=True, compile_cache_path='c'"
    text = f"import mindspore as ms\nK = open('k.json').read()\nms.set_context({options})\n"
    write(project, {"own.py": text, "k.json": "1"})
    inner = project / "c" / "rank_0" / "graph_cache"
    inner.mkdir(parents=True)
    (inner / "compile_cache_0.mindir").write_bytes(GRAPH.read_bytes())
    script = str(project / "own.py")
    digest = dependency(script, search_path(script)).digest
    assert digest is not None
    (inner / "compile_dependency.hash").write_text(digest)
    assert _codes(project) == ["compile-cache-shared", "compile-cache-folder"]
    os.utime(project / "k.json", (4e9, 4e9))
    assert _codes(project) == ["compile-cache-shared", "compile-cache-foreign", "compile-cache-folder"]
    (inner / "compile_dependency.hash").write_text("0" * 64)
    assert _codes(project) == ["compile-cache-shared", "compile-cache-folder"], "it compiles anew"


def _codes(project: Path) -> list[str]:
    return [one.code for one in keyed(project, "own.py").findings]
