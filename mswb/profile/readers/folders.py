"""Profile folders: what a profiler wrote for one rank, by its listing, and by its name where that is bare."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from mswb.files.items import Guess

_MINDSPORE = re.compile(r".*_\d{14,17}_ascend_ms$")
_TORCH = re.compile(r".*_\d{14,17}_ascend_pt$")
_CANN = re.compile(r"PROF_\d+_\d{14,17}_\w+$")
_DEVICE = re.compile(r"(?:device_\d+|host)$")
_RANK_FILE = re.compile(r"profiler_info_?(\d*)\.json$")
_RANGE = re.compile(r"(?:^|.*_)rank(\d+)_start(\d+)_stop(\d+)$")
_RAW = re.compile(r"(?:cpu_op_|cpu_framework_|cpu_ms_memory|mindspore\.|torch\.)")
_OUTPUT = ("ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output")


def sniff(path: str, names: Sequence[str]) -> Guess | None:
    """The profile that a folder is, or None."""
    name = os.path.basename(path)
    inside = set(names)
    if _MINDSPORE.match(name) or _TORCH.match(name) or "ASCEND_PROFILER_OUTPUT" in inside:
        return _framework(path, name, inside)
    if _CANN.match(name) and (not names or any(_DEVICE.match(one) or one in _OUTPUT for one in names)):
        return _cann(inside, f"a folder called {name}")
    if "mindstudio_profiler_output" in inside and any(_DEVICE.match(one) for one in names):
        return _cann(inside, "a folder with host, device and mindstudio_profiler_output")
    raw = [one for one in names if _RAW.match(one)] if name == "FRAMEWORK" else []
    if raw:
        return Guess("framework-raw", f"{len(raw)} raw files", f"a folder called FRAMEWORK with {raw[0]}")
    if name in _OUTPUT and names:
        return Guess("profiler-output", f"{len(names)} files", f"a folder called {name}")
    return None


def _framework(path: str, name: str, inside: set[str]) -> Guess:
    kind = "torch-npu-profile" if _TORCH.match(name) else "mindspore-profile"
    present = sorted(inside & {"ASCEND_PROFILER_OUTPUT", "FRAMEWORK"})
    present += sorted(one for one in inside if one.startswith("PROF_"))
    reason = f"a folder with {', '.join(present[:3])}" if present else f"a folder called {name}"
    words = [*_rank(path, inside), *present]
    if not present:
        return Guess(kind, "nothing was captured: only logs, or nothing", reason, "empty")
    if present == ["FRAMEWORK"]:
        return Guess(kind, ", ".join([*words, "not analysed"]), reason)
    return Guess(kind, ", ".join(words), reason)


def _rank(path: str, inside: set[str]) -> list[str]:
    """The rank by profiler_info_N.json, or by the folder that a dynamic profile lies in."""
    numbers = [
        match.group(1) for match in map(_RANK_FILE.match, sorted(inside)) if match is not None and match.group(1)
    ]
    if numbers:
        return [f"rank {numbers[0]}"]
    match = _RANGE.match(os.path.basename(os.path.dirname(path)))
    return [f"rank {match.group(1)}, steps {match.group(2)} to {match.group(3)}"] if match is not None else []


def _cann(inside: set[str], reason: str) -> Guess:
    devices = sorted(one for one in inside if one.startswith("device_"))
    exported = "mindstudio_profiler_output" in inside
    words = devices + (["exported"] if exported else ["not exported: msprof --export=on makes its tables"])
    return Guess("cann-profile", ", ".join(words), reason, "" if devices or exported or "host" in inside else "empty")
