"""Whether the chosen interpreter has the MindSpore that the launch needs, and would import that one."""

from __future__ import annotations

from collections.abc import Iterator

from mswb.env.interpreter import Interpreter, shadows
from mswb.findings import Finding, Where, make
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay
from mswb.launch.preflight.scripts import Script


def check(request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, script: Script) -> Iterator[Finding]:
    """A missing, a shadowed and an incompatible MindSpore."""
    other = shadows(interpreter, request.cwd, {"PYTHONPATH": overlay.get("PYTHONPATH")})
    if other is not None:
        ours = interpreter.mindspore_path or "-"
        yield make("mindspore-shadowed", where=Where(file=other), values={"other": other, "ours": ours})
    elif interpreter.mindspore_version is None:
        yield from _without_mindspore(request, interpreter, script)
    if interpreter.mindspore_version is not None and _numpy_too_new(interpreter):
        values = {"module": "mindspore", "numpy": interpreter.numpy_version}
        evidence = f"mindspore {interpreter.mindspore_version}, numpy {interpreter.numpy_version}"
        yield make("package-incompatible", severity="warning", evidence=evidence, values=values)


def _without_mindspore(request: LaunchRequest, interpreter: Interpreter, script: Script) -> Iterator[Finding]:
    evidence = f"{interpreter.path} ({interpreter.source}): Python {interpreter.version} without MindSpore"
    if request.backend == "msrun" or script.imports_mindspore:
        yield make("module-missing", evidence=evidence, values={"module": "mindspore"})
    else:
        yield make("plain-python-run", evidence=evidence, values={"python": interpreter.path})


def _numpy_too_new(interpreter: Interpreter) -> bool:
    """MindSpore 2.x up to 2.10 wants NumPy 1."""
    return (interpreter.numpy_version or "").startswith("2.") and _minor(interpreter.mindspore_version or "") <= 10


def _minor(version: str) -> int:
    parts = version.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "2" and parts[1].isdecimal() else 99
