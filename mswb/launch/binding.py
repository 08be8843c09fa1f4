"""``--bind_core`` and ``--bind_numa``: what msrun 2.10 accepts, checked before anything starts, and the command prefix.

Rules: ``_parse_and_validate_bind_*`` in run.py, ``_bind.py`` and ``_generate_cmd`` in _utils.py of 2.10. NUMA wins over
cores; a core list then goes through numactl. The scheduler is bound only by an explicit table.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mswb.launch.usage import refuse

Kind = Literal["core", "numa"]
_IDS = re.compile(r"\d{1,6}-\d{1,6}|\d{1,6}(?:,\d{1,6})*")
_KEY = re.compile(r"device\d+|scheduler")
MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Binding:
    """How processes are tied to cores or NUMA nodes.

    automatic: spread over what the host has. table: id lists as taskset and numactl take them, by ``deviceN`` and
    ``scheduler``. file: the JSON file of the newer schema, whose content is in ``config``.
    """

    automatic: bool = False
    table: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.automatic or bool(self.table) or self.file is not None


UNBOUND = Binding()


def read_binding(kind: Kind, text: str, available: Collection[int], cwd: str) -> Binding:
    """The value of ``--bind_core`` or ``--bind_numa``.

    Args:
        available: the ids that this host (or container) has; empty when unknown, then no id is refused.

    Raises:
        MswbError: ``usage`` for a text that is neither a truth value, a table nor (for NUMA) a file; for absent ids.
    """
    flag = f"bind_{kind}"
    word = text.strip().lower()
    if word in ("true", "false"):
        return Binding(automatic=word == "true")
    if kind == "numa" and not text.lstrip().startswith("{"):
        return _from_file(flag, os.path.join(cwd, text))
    table = _json_object(flag, text)
    lists = {key: _id_list(flag, key, value) for key, value in table.items()}
    for key, ids in lists.items():
        _refuse_absent(flag, key, ids, available)
    return Binding(table=lists)


def contract(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] to ``0-2,5``, the form that taskset and numactl take."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def shares(numbers: Sequence[int], count: int) -> list[str]:
    """Equal parts of ``numbers`` for ``count`` processes, as id lists; empty ones when there are too few."""
    size = len(numbers) // count
    return [contract(numbers[i * size : (i + 1) * size]) for i in range(count)] if size else [""] * count


def prefix(
    local_rank: int | None,
    local_worker_num: int,
    core: Binding,
    numa: Binding,
    available: Mapping[Kind, Sequence[int]],
    tools: Collection[str],
) -> tuple[str, ...]:
    """The words in front of a process's command that bind it; empty when nothing is asked or a tool is missing.

    Args:
        local_rank: index of the worker on this node, or None for the scheduler.
        tools: which of ``taskset`` and ``numactl`` this host has.
    """
    if numa.file is not None:
        return _from_config(local_rank, numa.config)
    cores = _ids_for(local_rank, local_worker_num, core, available["core"])
    nodes = _ids_for(local_rank, local_worker_num, numa, available["numa"]) if "numactl" in tools else ""
    if nodes:
        return ("numactl", "--membind", nodes, *(("--physcpubind", cores) if cores else ("--cpunodebind", nodes)))
    return ("taskset", "-c", cores) if cores and "taskset" in tools else ()


def _ids_for(local_rank: int | None, count: int, binding: Binding, available: Sequence[int]) -> str:
    if binding.table:
        return binding.table.get("scheduler" if local_rank is None else f"device{local_rank}", "")
    if binding.automatic and local_rank is not None:
        return shares(available, count)[local_rank]
    return ""


def _from_config(local_rank: int | None, config: Mapping[str, Any]) -> tuple[str, ...]:
    key = "scheduler" if local_rank is None else f"device{local_rank}"
    cpu_mode, memory_mode = _modes(config)
    cpus = config.get("bind_cpu", {}).get(key)
    memory = config.get("bind_memory", {}).get(key) if memory_mode == "numa" else None
    words: list[str] = [] if memory is None else ["--membind", str(memory)]
    if cpu_mode == "numa" and cpus is not None:
        words += ["--cpunodebind", str(cpus)]
    cores = str((cpus or {}).get("main") or "").replace(" ", "") if cpu_mode == "cpu" else ""
    if cores and words:
        words += ["--physcpubind", cores]
    elif cores:
        return ("taskset", "-c", cores)
    return ("numactl", *words) if words else ()


def _modes(config: Mapping[str, Any]) -> tuple[str, str]:
    modes = config.get("bind_config", {})
    return str(modes.get("bind_cpu_mode", "none")).lower(), str(modes.get("bind_memory_mode", "none")).lower()


def _from_file(flag: str, path: str) -> Binding:
    if not os.path.isfile(path):
        raise refuse("bind-not-a-table", flag=flag, value=path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_FILE_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise refuse("file-unreadable", flag=flag, path=path, reason=problem) from None
    config = _json_object(flag, text)
    if "bind_config" not in config:
        raise refuse("bind-file-schema", path=path, problem="bind_config is missing")
    defect = _schema_problem(config)
    if defect:
        raise refuse("bind-file-schema", path=path, problem=defect)
    return Binding(file=os.path.abspath(path), config=config)


def _schema_problem(config: Mapping[str, Any]) -> str | None:
    for name in ("bind_config", "bind_cpu", "bind_memory"):
        if not isinstance(config.get(name, {}), dict):
            return f"{name} is not an object"
    cpu_mode, memory_mode = _modes(config)
    if cpu_mode not in ("cpu", "numa", "none"):
        return f"bind_cpu_mode is {cpu_mode!r}, not cpu, numa or none"
    if memory_mode not in ("numa", "none"):
        return f"bind_memory_mode is {memory_mode!r}, not numa or none"
    tables = config.get("bind_cpu", {}).values() if cpu_mode == "cpu" else ()
    if not all(value is None or isinstance(value, dict) for value in tables):
        return "with bind_cpu_mode cpu each device of bind_cpu needs an object with 'main'"
    return None


def _json_object(flag: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise refuse("bind-not-a-table", flag=flag, value=text) from None
    if not isinstance(value, dict):
        raise refuse("bind-not-a-table", flag=flag, value=text)
    return value


def _id_list(flag: str, key: str, value: Any) -> str:
    if not _KEY.fullmatch(key):
        raise refuse("bind-key", flag=flag, value=key)
    items = [re.sub(r"\s+", "", item) for item in value] if _is_texts(value) else [""]
    if not all(_IDS.fullmatch(item) for item in items):
        raise refuse("bind-ids", flag=flag, key=key, value=json.dumps(value))
    return ",".join(items)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _refuse_absent(flag: str, key: str, ids: str, available: Collection[int]) -> None:
    if not available:
        return
    for part in ids.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise refuse("bind-ids", flag=flag, key=key, value=part)
    # Ranges are tested by their ends first, so that 0-999999 costs nothing.
    top = max(available)
    absent = next((number for number in _numbers(ids, top + 1) if number not in available), None)
    if absent is not None:
        have = contract(sorted(available))
        raise refuse("bind-absent", flag=flag, key=key, value=absent, available=have)


def _numbers(ids: str, limit: int) -> list[int]:
    """The ids of a list, none counted further than ``limit``."""
    numbers: list[int] = []
    for part in ids.split(","):
        first, _, last = part.partition("-")
        numbers += range(min(int(first), limit), min(int(last or first), limit) + 1)
    return numbers
