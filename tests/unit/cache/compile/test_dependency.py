"""MindSpore's dependency hash; that it equals the real one is for tests/e2e/test_compile_cache.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.compile.dependency import combine, dependency, parse, search_path
from mswb.cache.compile.modules import Finder, NoSuchParent, absolute
from tests.unit.cache.compile.projects import sha, write


def counted(project: Path, script: str = "train.py", python_path: str = "") -> list[str]:
    path = str(project / script)
    depends = dependency(path, search_path(path, python_path))
    return [str(Path(file).relative_to(project)) for file, _ in depends.files]


@pytest.mark.parametrize(
    ("statement", "files"),
    [
        ("import a", ["a.py"]),
        ("import a, b", ["a.py", "b.py"]),
        ("import a as mindspore", ["a.py"]),
        ("from a import *", ["a.py"]),
        ("from a import name", ["a.py"]),
        ("import pk", ["pk/__init__.py"]),
        ("import pk.sub", ["pk/sub.py"]),
        ("from pk import sub", ["pk/sub.py"]),
        ("from pk.sub import name", ["pk/sub.py"]),
        ("from pk import NAME", []),
        ("from pk import *", []),
        ("import space.inner", ["space/inner.py"]),
        ("import space", []),
        ("import absent.name", []),
        ("import mindspore_helper", []),
        ("from a import mindspore_x", []),
        ("import json, sys, os", []),
        ("def f():\n    import a", []),
        ("try:\n    import a\nexcept ImportError:\n    pass", []),
        ("if True:\n    import a", []),
    ],
)
def test_which_modules_count(tmp_path: Path, statement: str, files: list[str]) -> None:
    text = {"train.py": f"{statement}\n", "a.py": "", "b.py": "", "mindspore_helper.py": "", "os.py": ""}
    project = write(tmp_path, {**text, "pk/__init__.py": "NAME = 1\n", "pk/sub.py": "", "space/inner.py": ""})
    assert counted(project) == sorted([*files, "train.py"])


def test_relative_imports_are_followed_from_their_package(tmp_path: Path) -> None:
    files = {
        "train.py": "import pk\nimport pk.deep.leaf\n",
        "pk/__init__.py": "from . import one\nfrom .two import name\n",
        "pk/one.py": "",
        "pk/two.py": "import train\n",
        "pk/deep/__init__.py": "raise SystemExit\n",
        "pk/deep/leaf.py": "from ..three import name\n",
        "pk/three.py": "",
    }
    project = write(tmp_path, files)
    assert counted(project) == [
        "pk/__init__.py",
        "pk/deep/leaf.py",
        "pk/one.py",
        "pk/three.py",
        "pk/two.py",
        "train.py",
    ]


def test_with_its_folder_in_pythonpath_only_the_script_counts(tmp_path: Path) -> None:
    """Seen with MindSpore 2.10: the folder stands twice in sys.path, and one mention makes everything installed."""
    project = write(tmp_path, {"train.py": "import a\n", "a.py": ""})
    assert counted(project, python_path=str(tmp_path)) == ["train.py"]
    assert counted(project, python_path=str(tmp_path.parent)) == ["train.py"]


def test_the_hash_is_that_of_the_hashes_by_path(tmp_path: Path) -> None:
    project = write(tmp_path, {"train.py": "import a\nimport empty\n", "a.py": "x = 1\n", "empty.py": ""})
    depends = dependency(str(project / "train.py"), search_path(str(project / "train.py")))
    assert depends.digest == sha(sha("x = 1\n") + sha("import a\nimport empty\n")), "an empty file adds nothing"
    assert depends.digest == combine(depends.files)


def test_a_file_that_cannot_be_parsed_gives_no_hash(tmp_path: Path) -> None:
    project = write(tmp_path, {"train.py": "import a\n", "a.py": "x = = 1\n"})
    assert dependency(str(project / "train.py"), (str(project),)).digest is None
    assert dependency(str(project / "absent.py"), (str(project),)).digest is None


def test_a_changed_search_path_is_a_doubt(tmp_path: Path) -> None:
    project = write(tmp_path, {"train.py": "import sys\nsys.path.insert(0, 'lib')\n"})
    assert "changes sys.path" in dependency(str(project / "train.py"), (str(project),)).doubt


def test_a_package_wins_over_a_module_and_both_over_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"one/x/inner.py": "", "two/x.py": "", "three/x/__init__.py": "", "three/x.py": ""})
    one, two, three = (str(tmp_path / name) for name in ("one", "two", "three"))
    assert [Finder((one, *rest)).find("x").file for rest in ((two,), (three,))] == [  # type: ignore[union-attr]
        f"{two}/x.py",
        f"{three}/x/__init__.py",
    ]
    assert Finder((one,)).find("x").file is None  # type: ignore[union-attr]
    with pytest.raises(NoSuchParent):
        Finder((two,)).find("x.inner")


@pytest.mark.parametrize(
    ("name", "package", "full"),
    [
        ("a.b", None, "a.b"),
        (".b", "p", "p.b"),
        ("..b", "p.q", "p.b"),
        (".", "p", "p"),
        ("..b", "p", None),
        (".b", None, None),
    ],
)
def test_relative_names(name: str, package: str | None, full: str | None) -> None:
    assert absolute(name, package) == full


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    tree = parse(data, "x.py")
    assert tree is None or hasattr(tree, "body")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    project = write(tmp_path, {"train.py": "import a\n"})
    os.mkfifo(project / "a.py")
    assert counted(project) == ["train.py"]
