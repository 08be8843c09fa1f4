"""How often the kernel's out-of-memory killer struck in our control group.

Sources: Documentation/admin-guide/cgroup-v2.rst (memory.events, oom_kill) and cgroup-v1/memory.rst
(memory.oom_control, oom_kill since 4.13).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def oom_kills(root: Path = ROOT, own: Path = Path("/proc/self/cgroup")) -> int:
    """The count since the group was made; 0 where no group tells."""
    return count(counters(root, own))


def count(files: Iterable[Path]) -> int:
    """The count of the first of these files that tells it; 0 when none does."""
    return next((number for file in files if (number := _count(file)) is not None), 0)


def counters(root: Path, own: Path) -> list[Path]:
    """Files that may hold the count, best first. Inside a container the group's own root is mounted at ``root``."""
    files: list[Path] = []
    for line in _read(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            base, name = root / "memory", "memory.oom_control"
        elif not controllers:
            base, name = root, "memory.events"
        else:
            continue
        files += [base / path.lstrip("/") / name, base / name]
    return files


def _count(file: Path) -> int | None:
    for line in _read(file).splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
