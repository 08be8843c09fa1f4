"""A MindIR file as data: everything but its weights, which stay spans of the file, and where external ones lie."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from mswb.convert import sniff, wire
from mswb.convert.mindir.schema import CLASSES, DTYPES, TABLE, External, Model, Tensor, elements
from mswb.convert.wire import Damage, Source, Span
from mswb.files.items import Guess
from mswb.files.peek import Peek
from mswb.findings import MswbError, Where, stop

LONGEST = 4096
"""Bytes of a path."""


def read(source: Source) -> Model:
    """The model in an open file.

    Raises:
        MswbError: ``not-a-model``, ``truncated`` or ``encrypted``, with the byte.
    """
    refuse_others(source, "mindir")
    try:
        model: Model = wire.decode(source, Span(0, source.size), "Model", TABLE, CLASSES)
    except Damage as damage:
        raise as_error(source.path, damage, sniff.KINDS["mindir"]) from None
    return model


def read_file(path: str) -> Model:
    """The model in a file; see :func:`read`."""
    with wire.open_source(path) as source:
        return read(source)


def refuse_others(source: Source, wanted: str) -> str:
    """The kind of model in a file, by its content, if it is ``wanted`` ("" for MindIR or ONNX).

    Raises:
        MswbError: ``not-a-model`` or ``encrypted``.
    """
    guess = sniff.sniff_file(Peek(source.path, source.size, source.at)) or _compile_cache(source)
    head = source.at(0, 64)
    if not source.size:
        raise _not(source.path, "the file is empty")
    if head.startswith(b"version https://git-lfs"):
        raise _not(source.path, "it is a Git LFS pointer, and the file itself was not fetched: git lfs pull")
    if head.lstrip()[:1] == b"<":
        raise _not(source.path, "it is an HTML or XML page: perhaps a download that needed a login")
    if guess is not None and guess.status == "encrypted":
        mode = guess.detail.partition("(")[2].rstrip(")")
        raise stop("encrypted", where=Where(file=source.path, offset=0), values={"mode": mode})
    if guess is None or guess.status == "not-a-model":
        if wanted != "onnx" and _nameless_mindir(source):
            return "mindir"
        raise _not(source.path, "its bytes are neither MindIR nor ONNX")
    if guess.kind not in ((wanted,) if wanted else ("mindir", "onnx")):
        raise _not(source.path, f"it is of another kind ({sniff.KINDS[guess.kind]}, {guess.detail})")
    return guess.kind


def _compile_cache(source: Source) -> Guess | None:
    """A graph of the compile cache is MindIR too; only its name says whose it is."""
    return sniff.sniff_file(Peek("model", source.size, source.at))


def _nameless_mindir(source: Source) -> bool:
    """Whether a file that is called .mindir holds a graph, though it lacks the versions by which it is recognised.

    Raises:
        MswbError: it begins like one, and is damaged.
    """
    if not source.path.lower().endswith(".mindir") or source.at(0, 1) not in (b"\x0a", b"\x12", b"\x2a", b"\x3a"):
        return False
    try:
        model: Model = wire.decode(source, Span(0, source.size), "Model", TABLE, CLASSES)
    except Damage as damage:
        raise as_error(source.path, damage, sniff.KINDS["mindir"]) from None
    return model.graph is not None and bool(model.graph.node)


def as_error(path: str, damage: Damage, what: str) -> MswbError:
    """The error for bytes that can't be read."""
    where = Where(file=path, offset=damage.offset)
    if damage.cut:
        return stop("truncated", where=where, values={"what": what, "reason": damage.reason})
    return stop("not-a-model", where=where, values={"reason": f"it is damaged: {damage.reason}"})


def _not(path: str, reason: str) -> MswbError:
    return stop("not-a-model", where=Where(file=path, offset=0), values={"reason": reason})


class Held(NamedTuple):
    """Where the bytes of a weight are, and how many; ``problem`` is a finding code when they can't be reached."""

    place: Literal["raw", "external", "typed", "none"]
    file: str
    start: int
    length: int
    problem: str = ""
    reason: str = ""


def held(model_path: str, tensor: Tensor) -> Held:
    """Where a weight's bytes are, without reading them.

    External data must lie in the model's folder; links that lead out of it count as outside.
    """
    if tensor.external_data is not None:
        return _external(model_path, tensor.external_data)
    if tensor.raw_data is not None:
        start = tensor.raw_data.start if isinstance(tensor.raw_data, Span) else 0
        return Held("raw", model_path, start, len(tensor.raw_data))
    typed = (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data)
    if any(typed) or tensor.string_data:
        return Held("typed", model_path, tensor.offset or 0, 0)
    return Held("none", model_path, tensor.offset or 0, 0)


def _external(model_path: str, data: External) -> Held:
    name, start = data.location or "", data.start or 0
    folder = os.path.realpath(os.path.dirname(model_path) or ".")
    inside = 0 < len(name) <= LONGEST and "\0" not in name and not os.path.isabs(name)
    if not inside or ".." in re.split(r"[/\\]", name):
        return Held("external", name, start, 0, "external-data-escape", "it is not a path below the model's folder")
    path = os.path.join(folder, name)
    real = os.path.realpath(path)
    if os.path.commonpath((folder, real)) != folder:
        return Held("external", name, start, 0, "external-data-escape", f"a link leads to {real}")
    try:
        with wire.open_source(path) as source:
            size = source.size
    except MswbError as error:
        return Held("external", path, start, 0, "external-data-missing", error.finding.title)
    wanted = size - start if data.length is None else data.length
    return Held("external", path, start, max(0, min(wanted, size - start)) if start >= 0 else 0)


def wanted_bytes(tensor: Tensor) -> int | None:
    """How many bytes the shape and data type ask for; None where they don't tell."""
    count = elements(tensor.dims)
    width = DTYPES.get(tensor.data_type or 0, ("", 0))[1]
    return None if count is None or not width else count * width
