"""What a program takes in beside the files that MindSpore counts."""

from __future__ import annotations

from pathlib import Path

from mswb.cache.compile.sources import Sources, read_sources
from tests.unit.cache.compile.projects import write


def sources(project: Path) -> Sources:
    return read_sources(str(project / "train.py"), (str(project), "/site"), ("/site",), str(project))


def test_imports_anywhere_and_the_packages_around_them_are_its_code(tmp_path: Path) -> None:
    files = {
        "train.py": "def f():\n    import a\ntry:\n    from pk.sub import x\nexcept ImportError:\n    import b\n",
        "a.py": "import importlib\nimportlib.import_module('late')\n",
        "b.py": "",
        "late.py": "",
        "pk/__init__.py": "from .side import y\n",
        "pk/sub.py": "x = 1\n",
        "pk/side.py": "y = 1\n",
        "unrelated.py": "",
    }
    names = {Path(path).relative_to(tmp_path).as_posix() for path in sources(write(tmp_path, files)).files}
    assert names == {"train.py", "a.py", "b.py", "late.py", "pk/__init__.py", "pk/sub.py", "pk/side.py"}


def test_what_is_taken_in_is_named_with_its_line(tmp_path: Path) -> None:
    text = "import sys, os, argparse\nx = sys.argv[1]\ny = os.environ['LAYERS']\nz = open('c.json').read()\n"
    found = sources(write(tmp_path, {"train.py": text}))
    assert [str(one) for one in found.outside.values()] == [
        "arguments (train.py, line 1)",
        "sys.argv (train.py, line 2)",
        "the environment (train.py, line 3)",
        "a file (train.py, line 4)",
    ]


def test_data_files_variables_and_options_of_the_cache(tmp_path: Path) -> None:
    text = "open('conf/net.json'); open('absent.json'); os.getenv('NET_DEPTH'); f(compile_cache_path='x')\n"
    found = sources(write(tmp_path, {"train.py": text, "conf/net.json": "{}"}))
    assert found.inputs == {str(tmp_path / "conf/net.json")}
    assert "NET_DEPTH" in found.variables
    assert found.text_options == {"compile_cache_path"}


def test_a_program_that_takes_nothing_in(tmp_path: Path) -> None:
    assert not sources(write(tmp_path, {"train.py": "import mindspore\nprint(1)\n"})).outside
