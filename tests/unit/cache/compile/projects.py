"""Projects and caches for the tests of the compile cache."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from mswb.cache.compile.dependency import dependency, search_path

GRAPH = Path(__file__).parents[3] / "fixtures" / "inventory" / "compile" / "compile_cache_0.mindir"
PLAIN = "import mindspore as ms\nimport helper\nprint(helper.K)\n"


def sha(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def write(folder: Path, files: dict[str, str]) -> Path:
    """A project of these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def cache(project: Path, script: str = "train.py", graphs: int = 1) -> Path:
    """A folder of graphs as MindSpore leaves it after ``python SCRIPT`` with MS_COMPILER_CACHE_PATH=cache."""
    folder = project / "cache" / "rank_0" / "graph_cache"
    folder.mkdir(parents=True)
    for number in range(graphs):
        shutil.copyfile(GRAPH, folder / f"compile_cache_{number}.mindir")
    path = str(project / script)
    digest = dependency(path, search_path(path)).digest
    assert digest is not None
    (folder / "compile_dependency.hash").write_text(digest)
    return folder
