"""What a file is to the Convert pane: which model format, by its structure; the kinds and their names.

ONNX and MindIR are both protobuf without a magic number, and share field 7 (the graph). They part in the first field:
ONNX counts its IR version (a varint), MindIR spells it ("1.1"), and ONNX's model version (5) is a number, MindIR's a
text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mswb.files import wire
from mswb.files.items import FileFacts, Guess, Item
from mswb.files.peek import Peek

KINDS: Mapping[str, str] = {
    "onnx": "ONNX model",
    "mindir": "MindIR model",
    "ms": "Lite model",
    "air": "AIR model",
    "om": "Ascend OM model",
    "weights": "MindIR weights",
}
"""Every kind, with the words that a person reads."""

_V, _B = wire.VARINT, wire.BYTES
# Field numbers and wire types: onnx.proto (ModelProto, GraphProto), mind_ir.proto, ge's ModelDef.
_ONNX = {1: _V, 2: _B, 3: _B, 4: _B, 5: _V, 6: _B, 7: _B, 8: _B, 14: _B, 20: _B, 25: _B, 26: _B}
_ONNX_GRAPH = {1: _B, 2: _B, 5: _B, 10: _B, 11: _B, 12: _B, 13: _B, 14: _B, 15: _B, 16: _B}
_MINDIR = {1: _B, 2: _B, 3: _B, 4: _B, 5: _B, 6: _B, 7: _B, 8: _B, 9: _B, 10: _V, 11: _B, 12: _B, 13: _V, 14: _B}
_MINDIR_GRAPH = dict.fromkeys(range(1, 11), _B)
_AIR = {1: _B, 2: _V, 3: _B, 7: _B, 11: _B}

_ENCRYPTED = {b"\xd8\x5e\x3a\x7f": "AES-GCM", b"\xd9\x5e\x3a\x7f": "AES-CBC", b"\xda\x5e\x3a\x7f": "SM4-CBC"}
_LITE = (b"MSL2", b"MSL1", b"MSL0")
_OM_MAGIC = b"IMOD"
_BY_NAME = {".onnx": "onnx", ".mindir": "mindir", ".ms": "ms", ".air": "air", ".om": "om"}
_COMPILE_CACHE = re.compile(r"(?:[A-Z_]+_?)?(?:backend_)?compile_cache_\d+\.mindir$")
_LFS = b"version https://git-lfs.github.com/spec/"
_DATA_FILE = re.compile(r"data_\d+$")
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,3}[\w.+-]{0,20}$")


def sniff_file(peek: Peek) -> Guess | None:
    """What model a file holds, or None. A graph of the compile cache is the Cache pane's."""
    if _COMPILE_CACHE.match(peek.name):
        return None
    return next((guess for guess in (sniffer(peek) for sniffer in _SNIFFERS) if guess is not None), None)


def join(items: Sequence[Item], files: Mapping[str, FileFacts]) -> list[Item]:
    """Models with the files beside them that hold their weights. ``files`` are all regular files of the folder."""
    return [_with_parts(item, files) if item.parts else item for item in items]


def sniff_folder(path: str, names: Sequence[str]) -> Guess | None:
    """The weights of a MindIR model over 1 GB: ``NAME_variables/data_0`` and so on, beside ``NAME_graph.mindir``."""
    name = os.path.basename(path)
    if not name.endswith("_variables") or not names or not all(_DATA_FILE.match(one) for one in names):
        return None
    model = name.removesuffix("_variables") + "_graph.mindir"
    return Guess("weights", f"weights of {model}", "a folder called NAME_variables with data_0 and so on")


def external_names(peek: Peek) -> tuple[str, ...]:
    """The files that an ONNX model keeps its weights in, as far as its first and last 28 KiB name them, sorted.

    Each is the text of a StringStringEntryProto with the key "location".
    """
    names = set()
    for part in (peek.at(0, 28 << 10), peek.tail(28 << 10)):
        for match in _LOCATION.finditer(part):
            raw = part[match.end() : match.end() + match.group(1)[0]]
            names.add(raw.decode("utf-8", "backslashreplace"))
    return tuple(sorted(names))


def _onnx(peek: Peek) -> Guess | None:
    top = wire.scan(peek, limit=32)
    graph, version = top.first(7), top.first(1)
    if graph is None or not top.fits(_ONNX) or (version is None and top.first(8) is None):
        return None
    if graph.end > graph.start and not _graph_fits(peek, graph, _ONNX_GRAPH):
        return None
    reason = "protobuf with ONNX's fields: a number as IR version, a graph in field 7"
    detail = ", ".join(_onnx_words(peek, top))
    external = external_names(peek)
    if external:
        detail += f", weights in {', '.join(external[:3])}" + (" and others" if len(external) > 3 else "")
    return Guess("onnx", detail, reason, _model_status(top, external), external)


def _onnx_words(peek: Peek, top: wire.Message) -> list[str]:
    version = top.first(1)
    words = [f"IR version {version.value}"] if version is not None else []
    opsets = [_opset(peek, field) for field in top.all(8)]
    words += [f"opset {', '.join(opset for opset in opsets if opset)}"] if any(opsets) else []
    producer = wire.text(peek, top.first(2))
    return words + ([f"by {producer}"] if producer else [])


def _opset(peek: Peek, field: wire.Field) -> str:
    inside = wire.scan(peek, field.start, field.end, limit=4)
    domain, version = wire.text(peek, inside.first(1)), inside.first(2)
    number = str(version.value) if version is not None else "?"
    return f"{domain} {number}" if domain else number


def _model_status(top: wire.Message, external: Sequence[str]) -> str:
    if top.ending == "past-end":
        return "truncated"
    if any(os.path.isabs(name) or ".." in name.split("/") for name in external):
        return "external-data-escape"
    return ""


def _mindir(peek: Peek) -> Guess | None:
    if peek.head[:4] in _ENCRYPTED and not peek.lower.endswith(".ckpt"):
        mode = _ENCRYPTED[peek.head[:4]]
        return Guess("mindir", f"encrypted ({mode})", f"the magic of {mode} encryption", "encrypted")
    top = wire.scan(peek, limit=32)
    graph = top.first(7)
    if graph is None or not top.fits(_MINDIR) or not _graph_fits(peek, graph, _MINDIR_GRAPH):
        return None
    ir, made = wire.text(peek, top.first(1)), wire.text(peek, top.first(5))
    if not any(text is not None and _VERSION.match(text) for text in (ir, made)):
        return None
    words = [f"IR version {ir}"] if ir else []
    words += [f"{wire.text(peek, top.first(2)) or 'model version'} {made}"] if made else []
    reason = "protobuf with MindIR's fields: texts as versions, a graph in field 7"
    return Guess("mindir", ", ".join(words), reason, "truncated" if top.ending == "past-end" else "")


def _graph_fits(peek: Peek, graph: wire.Field, schema: Mapping[int, int]) -> bool:
    """Whether the first fields in the graph are those of a graph."""
    return wire.scan(peek, graph.start, graph.end, limit=4).fits(schema)


def _lite(peek: Peek) -> Guess | None:
    mark = peek.head[4:8]
    if mark not in _LITE or len(peek.head) < 16:
        return None
    root = int.from_bytes(peek.head[:4], "little")
    if not 8 <= root < peek.size:
        return None
    name = mark.decode("ascii")
    return Guess("ms", f"flatbuffer {name}", f"the flatbuffer identifier {name} at byte 4")


def _air(peek: Peek) -> Guess | None:
    if not peek.head.startswith(b"\x0a"):
        return None
    top = wire.scan(peek, limit=16)
    if not top.fits(_AIR) or top.first(2) is None or top.first(7) is None:
        return None
    name = wire.text(peek, top.first(1)) or "unnamed"
    return Guess("air", f"graph engine model {name}", "protobuf with the fields of a graph engine's model")


def _om(peek: Peek) -> Guess | None:
    if not peek.head.startswith(_OM_MAGIC) or peek.size < 256:
        return None
    return Guess("om", "compiled for an Ascend device", "the magic IMOD")


def _by_name(peek: Peek) -> Guess | None:
    kind = _BY_NAME.get(os.path.splitext(peek.lower)[1])
    if kind is None:
        return None
    if not peek.size:
        return Guess(kind, "0 bytes", "its name", "empty")
    if peek.head.startswith(_LFS):
        return Guess(
            kind, "a pointer: the file itself was not fetched (git lfs pull)", "its name, git-lfs text", "lfs-pointer"
        )
    return Guess(
        kind, f"called {KINDS[kind]}, but not one", f"its name; the content is no {KINDS[kind]}", "not-a-model"
    )


_SNIFFERS: tuple[Callable[[Peek], Guess | None], ...] = (_lite, _om, _mindir, _onnx, _air, _by_name)


def _with_parts(item: Item, files: Mapping[str, FileFacts]) -> Item:
    """The weights' files count with the model when they lie in its own folder; the missing ones are named."""
    folder = os.path.dirname(item.path)
    found = [files[path] for path in (os.path.join(folder, name) for name in item.parts) if path in files]
    missing = [name for name in item.parts if "/" not in name and os.path.join(folder, name) not in files]
    return replace(
        item,
        size_bytes=item.size_bytes + sum(file.size_bytes for file in found),
        disk_bytes=item.disk_bytes + sum(file.disk_bytes for file in found),
        detail=f"{item.detail}; {', '.join(missing)} is not here" if missing else item.detail,
        status=item.status or ("external-data-missing" if missing else ""),
        files=1 + len(found),
    )
