"""What the form of a conversion has done beside the event loop: looking at the model, and at what was typed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from mswb.convert.facts import ValueFacts
from mswb.files.safety import printable
from mswb.findings import Finding, MswbError, stop
from mswb.ui.screens.convert_form.state import ALL, INPUT, OUTPUT, PRECISION, SHAPES, VERIFY, Looked, Values


def look(values: Values, folder: Path) -> Looked:
    """What these values would do, without doing it; paths are relative to ``folder``."""
    problems: dict[str, Finding] = {}
    for name, check in _CHECKS.items():
        text = values.get(name, "").strip()
        if text:
            _note(problems, name, lambda check=check, text=text: check(text, folder))  # type: ignore[misc]
    source = _path(values.get(INPUT, ""), folder)
    kind, shapes = "", ""
    if values.get(INPUT, "").strip():
        try:
            kind, shapes = _model(source)
        except MswbError as error:
            problems[INPUT] = error.finding
    else:
        _note(problems, INPUT, lambda: _refuse("there is no model to convert", "name an ONNX or MindIR file"))
    if shapes and values.get(SHAPES, "").strip() == shapes:
        problems.pop(SHAPES, None)  # nobody typed them, and the model may have any names
    target = values.get(OUTPUT, "").strip()
    default = _default(values.get(INPUT, "").strip(), kind, folder)
    whole = _path(target or default, folder)
    if kind:
        _note(problems, OUTPUT, lambda: _target(source, whole))
    if kind == "onnx" and values.get(PRECISION) == ALL:
        _note(problems, PRECISION, lambda: _refuse(f"{ALL} is for MindIR to ONNX", "choose FP32, FP16 or MIXED"))
    used = {name: found for name, found in problems.items() if values.get(VERIFY) or name not in _OF_VERIFY}
    return Looked(values, kind, default if kind else "", shapes, used, os.path.exists(whole))


def _default(source: str, kind: str, folder: Path) -> str:
    """Beside the model; an ONNX file that is there already may be what the model was made from."""
    base = os.path.splitext(source)[0]
    if kind != "mindir":
        return f"{base}.mindir"
    return f"{base}_mindir.onnx" if os.path.exists(_path(f"{base}.onnx", folder)) else f"{base}.onnx"


def _model(path: str) -> tuple[str, str]:
    from mswb.convert.inspect import inspect

    facts = inspect(path)
    weights = {one.name for one in facts.weights}
    inputs = [value for graph in facts.graphs[:1] for value in graph.inputs if value.name not in weights]
    return facts.format, "; ".join(shape_words(value) for value in inputs if value.shape is not None)


def shape_words(value: ValueFacts) -> str:
    """An input as ``--input_shape`` has it; a size that is open is ?."""
    sizes = (str(size) if isinstance(size, int) and size >= 0 else "?" for size in value.shape or ())
    return f"{printable(value.name)}:[{','.join(sizes)}]"


def _note(problems: dict[str, Finding], name: str, check: Callable[[], None]) -> None:
    try:
        check()
    except MswbError as error:
        problems.setdefault(name, error.finding)


def _path(text: str, folder: Path) -> str:
    return os.path.join(folder, os.path.expanduser(text.strip()))


def _refuse(problem: str, fix: str) -> None:
    raise stop("usage", values={"problem": problem, "fix": fix})


def _target(source: str, target: str) -> None:
    above = os.path.dirname(target)
    if not os.path.isdir(above):
        raise stop("path-missing", values={"path": above})
    if os.path.isdir(target):
        _refuse(f"{target} is a folder", "name a file")
    if os.path.exists(target) and os.path.samefile(source, target):
        _refuse("the output would overwrite the input", "give it another name")
    if not os.access(above, os.W_OK):
        raise stop("path-unwritable", values={"path": target, "reason": "Permission denied"})


def _shapes(text: str, folder: Path) -> None:
    from mswb.convert.adjust import parse_shapes

    parse_shapes((text,))


def _overrides(text: str, folder: Path) -> None:
    from mswb.convert.adjust import parse_overrides

    parse_overrides(text)


def _frozen(text: str, folder: Path) -> None:
    for one in text.split():
        name, sign, value = one.partition("=")
        if not (name and sign and value):
            _refuse(f"{one} freezes nothing", "write NAME=VALUE, several parted by blanks")


def _seed(text: str, folder: Path) -> None:
    try:
        int(text)
    except ValueError:
        _refuse(f"{text} is no whole number", "give one, such as 1")


def _threshold(text: str, folder: Path) -> None:
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        _refuse(f"{text} is no error that could pass", "give one, such as 1e-5")


def _inputs(text: str, folder: Path) -> None:
    path = _path(text, folder)
    if not os.path.isfile(path):
        raise stop("path-missing", values={"path": path})


def _python(text: str, folder: Path) -> None:
    path = _path(text, folder)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise stop("path-missing", values={"path": path})


_CHECKS: Mapping[str, Callable[[str, Path], None]] = {
    SHAPES: _shapes,
    "custom_op_config": _overrides,
    "freeze": _frozen,
    "seed": _seed,
    "threshold": _threshold,
    "inputs": _inputs,
    "python": _python,
}
_OF_VERIFY = frozenset({"seed", "threshold", "inputs", "python"})
