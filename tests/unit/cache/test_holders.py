"""Who uses a path: real processes that have it open, mapped, as working folder, or in their environment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mswb.cache.holders import FOLDER_VARIABLES, Snapshot, snapshot

WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
OPEN = "import sys; f = open(sys.argv[1]);"
MAPPED = "import mmap, os; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=1); os.closerange(3, 99);"


@contextmanager
def process(code: str, *arguments: str, **options: object) -> Iterator[int]:
    """A process that lives as long as the block."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == "up\n"
        try:
            yield child.pid
        finally:
            child.stdin.close()


def uses(path: Path, seen: Snapshot | None = None) -> set[tuple[int, str]]:
    found = (seen or snapshot()).of(str(path), FOLDER_VARIABLES)
    return {(one.process.pid, one.how) for one in found}


def test_each_kind_of_use_is_seen_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_bytes(b"x" * 5000)
    with (
        process(OPEN + WAIT, str(folder / "inner" / "file")) as opened,
        process("import sys;" + MAPPED + WAIT, str(folder / "inner" / "file")) as mapped,
        process(WAIT, cwd=folder) as inside,
        process(WAIT, env={"MS_COMPILER_CACHE_PATH": str(tmp_path)}) as compiles,
        process(WAIT, env={"ANY_NAME": f"/elsewhere:{folder}/inner/"}) as named,
        process(WAIT, cwd=tmp_path, env={"PWD": str(folder), "ANY_NAME": str(tmp_path)}) as other,
    ):
        seen = snapshot()
        assert uses(folder, seen) == {
            (opened, "open"),
            (mapped, "mapped"),
            (inside, "cwd"),
            (compiles, "MS_COMPILER_CACHE_PATH"),
            (named, "ANY_NAME"),
        }
        assert other not in {pid for pid, _ in uses(folder / "inner", seen)}
        assert uses(tmp_path / "cac", seen) == {(compiles, "MS_COMPILER_CACHE_PATH")}
        assert next(map(str, seen.of(str(folder / "inner" / "file")))).startswith("process ")
    assert uses(folder) == set()


def test_a_name_that_begins_alike_is_another(tmp_path: Path) -> None:
    for name in ("cache", "cache2", "cache-b"):
        (tmp_path / name).mkdir()
    with process(WAIT, cwd=tmp_path / "cache2") as two, process(WAIT, cwd=tmp_path / "cache-b"):
        seen = snapshot()
        assert uses(tmp_path / "cache", seen) == set()
        assert uses(tmp_path / "cache2", seen) == {(two, "cwd")}


def test_what_this_process_uses_is_no_use(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w"):
        assert uses(tmp_path / "file") == set()
