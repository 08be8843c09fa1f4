"""What Python's objects are called, and what they are made of."""

from __future__ import annotations

import hashlib
import types
from typing import Any, Iterator, List

_IN_C = (types.WrapperDescriptorType, types.MethodDescriptorType)


def source_of(path: str) -> bytes:
    """The sha256 of a module's file."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).digest()
    except OSError:
        return b"absent"


def made_in_c(kind: type) -> bool:
    """Whether objects of a class may keep something that is no attribute: it is written in C."""
    return kind is not object and any(isinstance(item, _IN_C) for item in vars(kind).values())


def slots_of(kind: type) -> List[str]:
    """The attributes in ``__slots__`` of a class, by the names that they have in its objects."""
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    own = kind.__name__.lstrip("_")
    hidden = [name.startswith("__") and not name.endswith("__") and bool(own) for name in names]
    names = [f"_{own}{name}" if mangled else name for name, mangled in zip(names, hidden)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def name_of(thing: Any) -> str:
    """``module:Class.method``."""
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return f"{module_of(thing)}:{getattr(thing, '__qualname__', type(thing).__name__)}"


def module_of(thing: Any) -> str:
    """The name of the module that a thing says it is of; an empty text where it says none."""
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""


def hex_of(parts: Iterator[bytes]) -> str:
    """The digest of a description."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def holder_of(place: str) -> str:
    """The name of the attribute or variable of a place, by which a lone dot may be told to be a folder."""
    quoted = place.split("'")
    return quoted[1] if len(quoted) > 2 else place.rpartition(".")[2]
