"""The compile cache on real MindSpore: the wrong graph that it runs without a word, seen and avoided."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mswb.cache.compile.dependency import dependency, search_path
from tests.e2e.harness import Workspace, free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.mindspore

PICK = """
import os, sys
if os.environ.get("MS_ROLE") == "MS_SCHED":
    sys.exit()
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
import helper

ms.set_context(mode=ms.GRAPH_MODE)


class A(nn.Cell):
    def construct(self, x):
        return x * helper.TWO


class B(nn.Cell):
    def construct(self, x):
        return x * 100.5 + 1.0


shape = tuple(int(size) for size in sys.argv[2].split(","))
for name in sys.argv[1]:
    out = {"A": A, "B": B}[name]()(Tensor(np.ones(shape, np.float32))).asnumpy()
    print("NET", name, float(out.ravel()[0]), out.shape)
"""
RIGHT = {"A": "2.0", "B": "101.5"}
SHAPES = {
    "train.py": """
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
import json as j, top
import pk.sub
from pk import NAME, other
from space import inner
from plain import *
from pk import *
import full
import mindspore_helper
try:
    import hidden
except ImportError:
    pass
class A(nn.Cell):
    def construct(self, x):
        return x + 1.0
def late():
    import hidden
ms.set_context(mode=ms.GRAPH_MODE)
A()(Tensor(np.ones((4,), np.float32)))
from mindspore.graph.api import _get_compile_cache_dep_files
print("FILES", j.dumps(sorted(_get_compile_cache_dep_files())))
""",
    "top.py": "import deep\nfrom pk.name import value\n",
    "deep.py": "import top\n",
    "plain.py": "x = 1\n",
    "hidden.py": "",
    "mindspore_helper.py": "",
    "pk/__init__.py": "NAME = 1\nfrom .side import value\n",
    "pk/sub.py": "from . import side\n",
    "pk/side.py": "value = 1\n",
    "pk/name.py": "value = 1\n",
    "pk/other.py": "from .side import value\nfrom . import NAME\n",
    "space/inner.py": "",
    "full/__init__.py": "from .m import q\nfrom . import n\n",
    "full/m.py": "q = 1\n",
    "full/n.py": "",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    (tmp_path / "pick.py").write_text(PICK)
    (tmp_path / "helper.py").write_text("TWO = 2.0\n")
    return workspace


def plain(folder: Path, *words: str) -> str:
    """A script under MindSpore alone, with its compile cache on."""
    env = {**os.environ, "MS_COMPILER_CACHE_ENABLE": "1", "MS_COMPILER_CACHE_PATH": str(folder / "cache")}
    env.pop("PYTHONPATH", None)
    done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def nets(text: str) -> list[tuple[str, str]]:
    return re.findall(r"NET (\w) (\S+) \(\d", text)


def statuses(workspace: Workspace, path: Path) -> tuple[int, dict[str, str], list[str]]:
    """Exit code, status by folder, and all that was found."""
    done = workspace.mswb("cache", "verify", "--format", "json", str(path))
    rows = done.report["entries"]
    titles = [f"{one['code']} {one['title']}" for one in done.report["findings"]]
    return done.code, {row["path"]: row["status"] for row in rows if row["kind"] == "compile-cache"}, titles


def test_the_hash_is_of_mindspore(tmp_path: Path) -> None:
    for name, text in SHAPES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    out = plain(tmp_path, "train.py")
    files = json.loads(next(line for line in out.splitlines() if line.startswith("FILES "))[6:])
    script = str(tmp_path / "train.py")
    ours = dependency(script, search_path(script))
    assert [file for file, _ in ours.files] == files
    assert ours.digest == (tmp_path / "cache/rank_0/graph_cache/compile_dependency.hash").read_text()


def test_the_wrong_graph_is_run_without_a_word_and_seen(workspace: Workspace) -> None:
    folder = workspace.folder
    assert nets(plain(folder, "pick.py", "AB", "4")) == [("A", "2.0"), ("B", "101.5")]
    out = plain(folder, "pick.py", "BA", "3,5")
    assert nets(out) == [("B", "2.0"), ("A", "101.5")], "MindSpore looks at the number of the compile alone"
    assert "(3, 5)" not in out, "nor at the shape"
    code, found, titles = statuses(workspace, folder)
    assert (code, list(found.values())) == (0, ["unverified"])
    assert any("sys.argv (pick.py" in title for title in titles)
    (folder / "helper.py").write_text("TWO = 3.0\n")
    _, found, titles = statuses(workspace, folder)
    assert list(found.values()) == ["stale-source"] and any("pick.py" in title for title in titles)
    assert workspace.mswb("cache", "repair", "--force", str(folder / "cache")).code == 0
    assert not list((folder / "cache/rank_0/graph_cache").glob("*.mindir"))


def start(workspace: Workspace, *words: str) -> tuple[int, str]:
    """``mswb run`` of one rank; exit code and what the rank wrote."""
    on = ("--env", "MS_COMPILER_CACHE_ENABLE=1")
    flags = ("--backend", "direct", "--worker_num", "1", "--master_port", str(free_port()), *on)
    done = subprocess.run(
        workspace.command("run", *flags, *words),
        cwd=workspace.folder,
        env=workspace.env,
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout + done.stderr


def test_under_mswb_each_key_has_its_own_graphs(workspace: Workspace) -> None:
    folder = workspace.folder
    code, out = start(workspace, "--detach", "pick.py", "AB", "4")
    assert code == 0, out
    seals = folder / "ms_compile_cache"
    wait_until(lambda: len(list(seals.glob("*/rank_0/graph_cache/mswb-seal.json"))) == 1, 120)
    code, out = start(workspace, "pick.py", "BA", "3,5")
    assert (code, nets(out)) == (0, [("B", "101.5"), ("A", "2.0")]), out
    assert "changed since the last: arguments" in out
    code, found, _ = statuses(workspace, folder)
    assert (code, list(found.values())) == (0, ["ok", "ok"])
    code, out = start(workspace, "pick.py", "AB", "4")
    assert (code, nets(out)) == (0, [("A", "2.0"), ("B", "101.5")]), out
    assert "Use the compilation cache" in out and "sealed: 2" in out

    seal = next(path for path in seals.glob("*/rank_0/graph_cache") if _flip(path))
    code, found, titles = statuses(workspace, folder)
    assert code == 1 and found[str(seal)] == "corrupted"
    assert any(title.startswith("corrupted") and "SHA-256" in title for title in titles)
    code, out = start(workspace, "pick.py", "AB", "4")
    assert code == 1 and "compile-cache-damaged" in out, out
    assert not nets(out)


def _flip(folder: Path) -> bool:
    """Change the constant 100.5 to 98.5 in the graphs of AB."""
    key = json.loads((folder.parents[1] / "mswb-key.json").read_text())
    path = folder / "compile_cache_1.mindir"
    if "AB" not in key["words"]:
        return False
    data = path.read_bytes()
    assert data.count(b"\x00\x00\xc9\x42") == 1
    path.chmod(0o600)
    path.write_bytes(data.replace(b"\x00\x00\xc9\x42", b"\x00\x00\xc5\x42"))
    return True
